package import Sessions
package import Vocabulary

/// The format of the attempt cookie. A browser with this cookie can repeat an attempt after its answer was lost.
///
/// ```
/// secret                         the attempt's secret
/// secret.token                   with a transfer token that was moved out of the URL
/// secret.token.transport.mark    with a token that the user has confirmed (`ConfirmedToken`)
/// ```
/// The next navigation consumes the token in the cookie.
package enum AttemptCookie {
    /// The separator of the parts.
    package static let separator = UInt8(ascii: ".")
    /// The maximum length of the gateway's tokens.
    private static let longest = TokenAuthority.tokenLength

    /// Returns the cookie's value for the attempt with `secret` and a token.
    ///
    /// - Parameter confirmed: The user's confirmation. `nil` if the user was not asked.
    package static func value(
        _ secret: AttemptSecret,
        moving token: some Sequence<UInt8>,
        confirmed: ConfirmedToken? = nil
    ) -> Secret {
        let end = confirmed.map { [Self.separator] + $0.transport.rawValue.utf8 + [Self.separator] + $0.mark } ?? []
        return Secret(secret.value.bytes + [Self.separator] + token + end)
    }

    /// Returns whether `token` has the length and characters of the gateway's tokens. The cookie must hold no other
    /// value.
    package static func canHold(_ token: some Collection<UInt8>) -> Bool {
        (1...Self.longest).contains(token.count)
            && token.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}

/// The proof in the attempt cookie that the user has confirmed a token.
package struct ConfirmedToken: Sendable, Equatable {
    /// The transport with which the token first arrived.
    package let transport: HandoffTransport
    /// The keyed hash (`TokenAuthority.confirmationMark`), not yet verified.
    package let mark: [UInt8]

    package init(transport: HandoffTransport, mark: [UInt8]) {
        self.transport = transport
        self.mark = mark
    }
}
