package import Settings
import Synchronization

/// A source of TLS certificates for the gateway's listeners.
package protocol CertificateSource: Sendable {
    /// Returns the TLS settings with the source's current certificates. Blocks: do not call it on an event loop.
    ///
    /// - Parameter settings: The settings in use. They have no certificates while a listener waits for its first one.
    /// - Returns: `nil` if the source has no new certificates.
    /// - Throws: The reason why the source has no usable certificates.
    func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings?
}

/// Certificates from the files that the settings list. Loading settings reads the files, so a listener never waits for
/// them.
package final class CertificateFiles: CertificateSource {
    private struct Seen: Sendable {
        /// The settings as read from the files. `nil` if the files must be read again.
        var settings: TLSSettings?
        var marks: [FileMark?] = []
    }

    /// The settings and the state of the files at the last call.
    private let seen = Mutex(Seen())
    private let files: SettingsFiles
    private let judges: SettingsJudges

    package init(_ files: SettingsFiles = .system, judges: SettingsJudges) {
        self.files = files
        self.judges = judges
    }

    package func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings? {
        // Marked before reading, so that the next call notices a file that is replaced in the meantime.
        let marks = settings.files.map { FileMark($0) }
        guard self.seen.withLock({ $0.settings != settings || $0.marks != marks }) else { return nil }
        // After a failure, unchanged files are read again: their mode may be fixed, or the certificate may become
        // valid.
        self.seen.withLock { $0 = Seen() }
        let renewed = try settings.readAgain(from: self.files, by: self.judges)
        self.seen.withLock { $0 = Seen(settings: renewed, marks: marks) }
        return renewed
    }
}
