/// A result of `check --network`.
struct Verdict: Sendable {
    enum Level: String, Sendable {
        case ok, warning, error
    }

    var level: Level
    /// What was checked, e.g. `127.0.0.1:6379 commands` or `provider keys`.
    var subject: String
    /// What was found and, where something is wrong, how to correct it.
    var finding: String
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
