package import Vocabulary

/// A provider that checks passwords.
package protocol PasswordProvider: Sendable {
    /// Whether a try from this source could begin now; answered at once. If not, the source is told to try again later
    /// before anything is counted, so that a flood of tries causes no work and fills no limit.
    func hasRoom(for source: SignInSource) -> Bool

    /// Checks a password. The answer takes the same time whether or not the user exists.
    ///
    /// - Parameters:
    ///   - identifier: The user's input, unchanged.
    ///   - password: The password's UTF-8 bytes, unchanged.
    ///   - source: Where the try comes from: a provider with limited capacity gives each source its share.
    /// - Throws: `signin.refused` for an unknown user and for a wrong password: the client does not learn which.
    ///   `provider.unavailable`: the provider cannot be reached or is overloaded; one that cannot decide does not refuse.
    func authenticate(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async throws(NotDone) -> Authentication
}

extension PasswordProvider {
    /// For providers without a limit.
    package func hasRoom(for source: SignInSource) -> Bool { true }
}
