package import Sessions
package import Vocabulary

/// The attempt cookie's value: the secret of a try, and after a dot the transfer token that was in the URL, if it was
/// moved here.
///
/// A try that the store could not answer must be repeated, and its token must not stay in the address bar until then. The
/// same holds for a token that the user has confirmed: the next navigation consumes it.
package enum AttemptCookie {
    /// Stands between the two parts.
    package static let separator = UInt8(ascii: ".")
    /// The maximum length of the gateway's tokens.
    private static let longest = TokenAuthority.tokenLength

    /// The value with which the try of `secret` can be repeated.
    package static func value(_ secret: AttemptSecret, moving token: some Sequence<UInt8>) -> Secret {
        Secret(secret.value.bytes + [Self.separator] + token)
    }

    /// Whether `token` can be a token of the gateway; nothing else may be put into the cookie.
    package static func canHold(_ token: UnsafeBufferPointer<UInt8>) -> Bool {
        (1...Self.longest).contains(token.count)
            && token.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}
