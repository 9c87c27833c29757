/// A result of `check --network`.
package struct Verdict: Sendable {
    /// The severity of a finding.
    package enum Level: String, Sendable {
        case ok, warning, error
    }

    /// The severity of this finding.
    package var level: Level
    /// The thing that was checked, e.g. `127.0.0.1:6379 commands` or `provider keys`.
    package var subject: String
    /// The result of the check and, if something is wrong, how to correct it.
    package var finding: String
}

extension Verdict {
    /// Returns this verdict with the provider's name in its subject.
    func of(_ provider: String) -> Verdict {
        Verdict(level: self.level, subject: "\(provider): \(self.subject)", finding: self.finding)
    }

    static func ok(_ subject: String, _ finding: String) -> Verdict {
        Verdict(level: .ok, subject: subject, finding: finding)
    }

    static func warning(_ subject: String, _ finding: String) -> Verdict {
        Verdict(level: .warning, subject: subject, finding: finding)
    }

    static func error(_ subject: String, _ finding: String) -> Verdict {
        Verdict(level: .error, subject: subject, finding: finding)
    }
}

/// A verdict is thrown by a check that cannot continue.
extension Verdict: Error {
    /// Runs a check and returns its verdict, whether the check returns or throws it.
    static func of(_ check: () async throws(Verdict) -> Verdict) async -> Verdict {
        do throws(Verdict) {
            return try await check()
        } catch {
            return error
        }
    }
}
