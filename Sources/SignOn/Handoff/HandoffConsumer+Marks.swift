package import Sessions
package import Vocabulary

/// Handoff cookies that were dealt with but that the browser sends again.
///
/// A handoff cookie is cleared once its token was used or refused. The gateway's `Set-Cookie` does not reach a cookie
/// that the app or a sibling domain set for a parent domain or another path (RFC 6265 5.3), so the browser sends it
/// again and again. Therefore the answer that clears it also sets a cookie with a mark of each value, and a marked
/// value is treated as if it were absent.
extension HandoffConsumer {
    /// How many values are marked at once: no honest browser has more, and the cookie must stay small.
    private static let mostMarks = 8
    /// The maximum length of the cookie: marks separated by dots. A longer value, which the gateway never sets, is ignored;
    /// otherwise one request could make the gateway compare thousands of values with thousands of marks.
    package static let longestMarks = Self.mostMarks * (TokenAuthority.markLength + 1) - 1

    /// The value of the cookie that marks these values of handoff cookies.
    ///
    /// - Parameter earlier: The value that the browser already has. Its marks are kept as far as there is room, for
    ///   cookies of other paths.
    package func marks(of values: [[UInt8]], besides earlier: [UInt8]) -> Secret {
        var marks = values.prefix(Self.mostMarks).map { self.authority.mark(of: $0) }
        for mark in earlier.split(separator: UInt8(ascii: ".")).map(Array.init)
        where marks.count < Self.mostMarks && TokenAuthority.isMark(mark) && !marks.contains(mark) {
            marks.append(mark)
        }
        return Secret(Array(marks.joined(separator: [UInt8(ascii: ".")])))
    }

    /// Whether `marks`, the value of that cookie, contains the mark of this value.
    package func isMarked(_ value: [UInt8], in marks: some Collection<UInt8>) -> Bool {
        let mark = self.authority.mark(of: value)
        return marks.split(separator: UInt8(ascii: ".")).contains { $0.elementsEqual(mark) }
    }

    /// That the user of the browser with this token has been asked about it and has confirmed it.
    package func confirmed(_ pending: PendingHandoff, on authority: String) -> ConfirmedToken {
        let mark = self.authority.confirmationMark(
            of: pending.token.bytes,
            attempt: pending.attempt.value,
            on: authority
        )
        return ConfirmedToken(transport: pending.transport, mark: mark)
    }

    /// The mark by which a browser with this new session shows its account later; nil if it must not.
    package func accountMark(of session: Session) -> Secret? { self.authority.accountMark(of: session) }
}
