/// A result of `check --network`.
package struct Verdict: Sendable {
    /// How severe a finding is.
    package enum Level: String, Sendable {
        case ok, warning, error
    }

    /// How severe this finding is.
    package var level: Level
    /// What was checked, e.g. `127.0.0.1:6379 commands` or `provider keys`.
    package var subject: String
    /// What was found, and what to do if something is wrong.
    package var finding: String
}

extension Verdict {
    /// Returns this verdict with the provider's name in front of its subject.
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

/// Checks throw a verdict if they cannot continue.
extension Verdict: Error {
    /// Runs a check. Returns the verdict that it returns or throws.
    static func of(_ check: () async throws(Verdict) -> Verdict) async -> Verdict {
        do throws(Verdict) {
            return try await check()
        } catch {
            return error
        }
    }
}
