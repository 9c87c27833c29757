package import Settings
import Synchronization

/// The source of the certificates of the gateway's own listeners.
package protocol CertificateSource: Sendable {
    /// Returns the TLS settings with the source's current certificates. Blocks: do not call it on an event loop.
    ///
    /// - Parameter settings: The settings in use. They have no certificates while a listener waits for its first one.
    /// - Returns: `nil` if the source has no certificates, or has returned its current certificates before.
    /// - Throws: The reason why the source has no usable certificates.
    func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings?
}

/// The certificate files of the settings. They are read when settings are loaded, so a listener never waits for them.
package final class CertificateFiles: CertificateSource {
    private struct Seen: Sendable {
        /// The settings as read from the files. `nil` if the files must be read again.
        var settings: TLSSettings?
        var marks: [FileMark?] = []
    }

    /// The state of the files at the last call. The files of settings loaded since then are read again even if they
    /// have not changed.
    private let seen = Mutex(Seen())
    private let files: SettingsFiles
    private let judges: SettingsJudges

    package init(_ files: SettingsFiles = .system, judges: SettingsJudges) {
        self.files = files
        self.judges = judges
    }

    package func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings? {
        // The marks are made before reading, so that the next call finds a file that is replaced in the meantime.
        let marks = settings.files.map { FileMark($0) }
        guard self.seen.withLock({ $0.settings != settings || $0.marks != marks }) else { return nil }
        // Bad files are read again even if unchanged: their mode may be fixed, or the certificate may become valid.
        self.seen.withLock { $0 = Seen() }
        let renewed = try settings.readAgain(from: self.files, by: self.judges)
        self.seen.withLock { $0 = Seen(settings: renewed, marks: marks) }
        return renewed
    }
}
