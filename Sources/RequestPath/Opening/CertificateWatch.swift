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

    /// The files as they were seen last; empty: not yet.
    private let marks: Mutex<[FileMark?]> = Mutex([])
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
        guard let settings = listeners.first?.settings else { return .unchanged }
        // Before they are read: what is replaced meanwhile is found by the next look.
        let marks = settings.files.map { FileMark($0) }
        let hasChanged = self.marks.withLock { former in
            defer { former = marks }
            return former != marks
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
            self.forget()
            return .kept("\(error)")
        }
    }

    /// Forgets what was seen: the next look reads the files again, whatever has happened to them meanwhile.
    package func forget() {
        self.marks.withLock { $0 = [] }
    }
}
