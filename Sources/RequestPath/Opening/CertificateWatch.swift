package import Settings
import Synchronization

/// Looks whether the files of certificates were replaced, and takes renewed ones into use. It blocks, so it is not called on
/// a loop.
package final class CertificateWatch: Sendable {
    /// What a look has found.
    package enum Outcome: Sendable {
        case unchanged
        /// These are in use from now on.
        case renewed(TLSSettings)
        /// The files have changed and cannot be used; the former certificates stay.
        case kept(String)
    }

    private struct Seen: Sendable {
        /// nil: no look yet.
        var tls: ListenerTLS?
        var marks: [FileMark?] = []
    }

    /// Whose files were seen last, and how. Those of other settings are read anew, whatever has happened to them since these
    /// were loaded.
    private let seen = Mutex(Seen())
    private let files: SettingsFiles
    private let judges: SettingsJudges

    package init(files: SettingsFiles = .system, judges: SettingsJudges) {
        self.files = files
        self.judges = judges
    }

    /// Looks once. Files that have not changed since the last look are not read again.
    ///
    /// - Parameters:
    ///   - listeners: All with the same settings.
    ///   - whole: Those of which the certificates are a part.
    package func look(at listeners: [ListenerTLS], for whole: Settings) -> Outcome {
        guard let first = listeners.first else { return .unchanged }
        let settings = first.settings
        // Before they are read: what is replaced meanwhile is found by the next look.
        let marks = settings.files.map { FileMark($0) }
        let hasChanged = self.seen.withLock { seen in
            defer { seen = Seen(tls: first, marks: marks) }
            return seen.tls !== first || seen.marks != marks
        }
        guard hasChanged else { return .unchanged }
        do {
            let renewed = try settings.readAgain(from: self.files, by: self.judges)
            if let fault = renewed.fault(for: whole) { throw fault }
            guard renewed != settings else { return .unchanged }
            for tls in listeners { try tls.replace(by: renewed) }
            return .renewed(renewed)
        } catch {
            // They are looked at again as they are: a mode is mended, or the certificate becomes valid, without a new file.
            self.seen.withLock { $0 = Seen() }
            return .kept("\(error)")
        }
    }
}
