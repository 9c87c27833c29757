/// A result of `check --network`.
package struct Verdict: Sendable {
    /// How bad a finding is.
    package enum Level: String, Sendable {
        case ok, warning, error
    }

    /// How bad the finding is.
    package var level: Level
    /// The thing that was checked, e.g. `127.0.0.1:6379 commands` or `provider keys`.
    package var subject: String
    /// Says what was found and, if something is wrong, how to correct it.
    package var finding: String
}

extension Verdict {
    /// The same, about the provider with this name.
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

/// Thrown by a check that cannot go on.
extension Verdict: Error {
    /// The verdict of a check, however it ends.
    static func of(_ check: () async throws(Verdict) -> Verdict) async -> Verdict {
        do throws(Verdict) {
            return try await check()
        } catch {
            return error
        }
    }
}
