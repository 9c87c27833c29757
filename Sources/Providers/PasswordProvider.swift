package import Vocabulary

/// A provider that checks passwords.
package protocol PasswordProvider: Sendable {
    /// Returns at once whether an attempt from this source could begin now. If not, the source must try again later.
    /// This method is called before all limits apply, so that a flood of attempts causes no work and fills no limit.
    func hasRoom(for source: SignInSource) -> Bool

    /// Checks a password. The answer takes as long for unknown users as for known ones.
    ///
    /// - Parameters:
    ///   - identifier: The user's input, unchanged.
    ///   - password: The password's UTF-8 bytes, unchanged.
    ///   - source: The source of the attempt. A provider with limited capacity divides the capacity among the sources.
    /// - Throws: `signin.refused` for an unknown user or a wrong password, without telling which.
    ///   `provider.unavailable` if the provider cannot be reached, is overloaded or cannot decide.
    func authenticate(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async throws(NotDone) -> Authentication
}

extension PasswordProvider {
    /// Returns true, for providers without a limit.
    package func hasRoom(for source: SignInSource) -> Bool { true }
}
