package import Settings
import Synchronization

/// Where the certificates of the gateway's own listeners come from.
package protocol CertificateSource: Sendable {
    /// The settings of TLS with the certificates that the source has now. It blocks, so it is not called on a loop.
    ///
    /// - Parameter settings: The settings in use. They have no certificate while a listener waits for its first one.
    /// - Returns: `nil` if the source has no certificates, or the ones that it has returned before.
    /// - Throws: Why the source has no certificates that can be used.
    func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings?
}

/// The files that the settings name. They are read when the settings are loaded, so a listener never waits for them.
package final class CertificateFiles: CertificateSource {
    private struct Seen: Sendable {
        /// The settings as they were read from the files. `nil` if the files have to be read again.
        var settings: TLSSettings?
        var marks: [FileMark?] = []
    }

    /// The files as they were at the last call. Those of settings that were loaded since then are read again, even if the
    /// files have not changed.
    private let seen = Mutex(Seen())
    private let files: SettingsFiles
    private let judges: SettingsJudges

    package init(_ files: SettingsFiles = .system, judges: SettingsJudges) {
        self.files = files
        self.judges = judges
    }

    package func certificates(for settings: TLSSettings) throws(CertificateFault) -> TLSSettings? {
        // Before they are read: what is replaced meanwhile is found by the next call.
        let marks = settings.files.map { FileMark($0) }
        guard self.seen.withLock({ $0.settings != settings || $0.marks != marks }) else { return nil }
        // Bad files are read again as they are: a mode is mended, or the certificate becomes valid, without a new file.
        self.seen.withLock { $0 = Seen() }
        let renewed = try settings.readAgain(from: self.files, by: self.judges)
        self.seen.withLock { $0 = Seen(settings: renewed, marks: marks) }
        return renewed
    }
}
