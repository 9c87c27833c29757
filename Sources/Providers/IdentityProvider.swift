package import Sessions
package import Vocabulary

/// Proves that a user is who they say.
package protocol IdentityProvider: Sendable {
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

extension IdentityProvider {
    /// For providers that take everybody.
    package func hasRoom(for source: SignInSource) -> Bool { true }
}

/// What a provider says. Not reaching a verdict is no refusal.
package enum AuthenticationResult: Sendable, Equatable {
    /// - Parameters:
    ///   - aal: The assurance level reached, e.g. `aal1`.
    ///   - methods: In the order of use, e.g. `password`.
    case authenticated(Identity, aal: String, methods: [String])
    /// Unknown user or wrong password: nobody is told which.
    case refused
    /// The provider cannot be reached or has too much to do: 503 with `Retry-After`.
    case unavailable
}

/// The one spelling of an identifier: bytes, with ASCII letters in lower case and nothing else changed.
///
/// Providers look users up by it and limits are counted under it, so no other spelling has a count of its own
/// (CVE-2025-24806). Bytes, because Swift's `String` takes different bytes for equal (Unicode equivalence).
package struct UserIdentifier: Sendable, Hashable {
    /// The longest identifier in bytes.
    package static let longest = 256
    package let bytes: [UInt8]

    /// nil: empty, too long, or with a control character, so nobody's.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.bytes = text.utf8.map { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
    }
}
