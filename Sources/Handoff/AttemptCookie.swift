package import Sessions
package import Vocabulary

/// The attempt cookie's value: the secret of a try, and after a dot the transfer token that was moved here, if one was.
///
/// A try that the store could not answer must be repeated, and its token must not stay in the address bar until then. The
/// same holds for a token that the user has confirmed, in a link or in a cookie: the next navigation consumes it. Such a
/// value also says, after another dot, where the token was.
package enum AttemptCookie {
    /// Stands between the parts.
    package static let separator = UInt8(ascii: ".")
    /// The maximum length of the gateway's tokens.
    private static let longest = TokenAuthority.tokenLength

    /// The value with which the try of `secret` can be repeated.
    ///
    /// - Parameter confirmed: Where the token was that the user has confirmed; nil: the user was not asked.
    package static func value(
        _ secret: AttemptSecret,
        moving token: some Sequence<UInt8>,
        confirmed: HandoffTransport? = nil
    ) -> Secret {
        let mark = confirmed.map { [Self.separator] + $0.rawValue.utf8 } ?? []
        return Secret(secret.value.bytes + [Self.separator] + token + mark)
    }

    /// Whether `token` can be a token of the gateway; nothing else may be put into the cookie.
    package static func canHold(_ token: some Collection<UInt8>) -> Bool {
        (1...Self.longest).contains(token.count)
            && token.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}
