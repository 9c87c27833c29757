package import Vocabulary

/// A provider that takes a password: it proves that a user is who they say.
package protocol PasswordProvider: Sendable {
    /// Whether a try from this source could be begun now; answered at once. Where it could not, the source is told to come
    /// again before anything is counted: a flood of such tries does no work and fills no limit.
    func hasRoom(for source: SignInSource) -> Bool

    /// Checks a password. The answer takes the same time whether the user exists or not.
    ///
    /// - Parameters:
    ///   - identifier: What the user typed, as it came.
    ///   - password: UTF-8 bytes as they came.
    ///   - source: Where the try comes from: a provider that cannot serve everybody at once gives each source its share.
    func authenticate(identifier: String, password: Secret, from source: SignInSource) async -> AuthenticationResult
}

extension PasswordProvider {
    /// For providers that take everybody.
    package func hasRoom(for source: SignInSource) -> Bool { true }
}
