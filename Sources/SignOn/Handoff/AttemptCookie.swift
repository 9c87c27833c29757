package import Sessions
package import Vocabulary

/// The attempt cookie's value: the secret of an attempt, and after a dot the transfer token that was moved here, if one was.
///
/// An attempt that the store could not answer must be repeated, and its token must not stay in the address bar until then. The
/// same holds for a token that the user has confirmed, in a link or in a cookie: the next navigation consumes it. Such a
/// value also says, after more dots, where the token was, and proves by a keyed hash that the user was asked.
package enum AttemptCookie {
    /// Stands between the parts.
    package static let separator = UInt8(ascii: ".")
    /// The maximum length of the gateway's tokens.
    private static let longest = TokenAuthority.tokenLength

    /// The value with which the attempt of `secret` can be repeated.
    ///
    /// - Parameter confirmed: That the user has confirmed the token; nil: the user was not asked.
    package static func value(
        _ secret: AttemptSecret,
        moving token: some Sequence<UInt8>,
        confirmed: ConfirmedToken? = nil
    ) -> Secret {
        let end = confirmed.map { [Self.separator] + $0.transport.rawValue.utf8 + [Self.separator] + $0.mark } ?? []
        return Secret(secret.value.bytes + [Self.separator] + token + end)
    }

    /// Whether `token` can be a token of the gateway; nothing else may be put into the cookie.
    package static func canHold(_ token: some Collection<UInt8>) -> Bool {
        (1...Self.longest).contains(token.count)
            && token.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}

/// That a user has confirmed a token, as the attempt cookie says it.
package struct ConfirmedToken: Sendable, Equatable {
    /// Where the token was.
    package let transport: HandoffTransport
    /// The proof (`TokenAuthority.confirmationMark`), not checked yet.
    package let mark: [UInt8]

    package init(transport: HandoffTransport, mark: [UInt8]) {
        self.transport = transport
        self.mark = mark
    }
}
