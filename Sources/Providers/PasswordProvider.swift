package import Vocabulary

/// A provider that checks passwords.
package protocol PasswordProvider: Sendable {
    /// Returns whether a check of a password from this source could begin now. It is called before any rate limit is
    /// charged, so that a flood of attempts causes no work.
    func hasRoom(for source: SignInSource) -> Bool

    /// Checks a password. The check takes equally long for unknown users and for known ones.
    ///
    /// - Parameters:
    ///   - identifier: The identifier as the user typed it.
    ///   - password: The UTF-8 bytes of the password, as the user typed it.
    ///   - source: The source of the attempt. A provider with limited capacity shares it among the sources.
    /// - Throws: `signin.refused` for an unknown user and for a wrong password alike. `provider.unavailable` if the
    ///   provider cannot be reached, is overloaded or cannot decide.
    func authenticate(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async throws(NotDone) -> Authentication
}

extension PasswordProvider {
    /// Returns true, because most providers have no limit.
    package func hasRoom(for source: SignInSource) -> Bool { true }
}
