package import Sessions
package import Vocabulary

/// The value of the attempt cookie: an attempt's secret, and after a dot the transfer token if the cookie carries it.
///
/// The browser must repeat an attempt that the store could not answer, and the address bar must not show the token in
/// the meantime. A token that the user confirmed, from a link or a cookie, is also moved into this cookie, and the next
/// navigation consumes it. Further dots then separate the token's transport and a keyed hash that proves confirmation.
package enum AttemptCookie {
    /// The separator of the parts.
    package static let separator = UInt8(ascii: ".")
    /// The maximum length of the gateway's tokens.
    private static let longest = TokenAuthority.tokenLength

    /// Returns the value with which the browser can repeat the attempt of `secret`.
    ///
    /// - Parameter confirmed: The user's confirmation of the token. `nil` if the user was not asked.
    package static func value(
        _ secret: AttemptSecret,
        moving token: some Sequence<UInt8>,
        confirmed: ConfirmedToken? = nil
    ) -> Secret {
        let end = confirmed.map { [Self.separator] + $0.transport.rawValue.utf8 + [Self.separator] + $0.mark } ?? []
        return Secret(secret.value.bytes + [Self.separator] + token + end)
    }

    /// Returns whether `token` has the syntax of the gateway's tokens. Nothing else may be put into the cookie.
    package static func canHold(_ token: some Collection<UInt8>) -> Bool {
        (1...Self.longest).contains(token.count)
            && token.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}

/// A user's confirmation of a token, as the attempt cookie carries it.
package struct ConfirmedToken: Sendable, Equatable {
    /// The transport that carried the token.
    package let transport: HandoffTransport
    /// The proof (`TokenAuthority.confirmationMark`), not yet verified.
    package let mark: [UInt8]

    package init(transport: HandoffTransport, mark: [UInt8]) {
        self.transport = transport
        self.mark = mark
    }
}
