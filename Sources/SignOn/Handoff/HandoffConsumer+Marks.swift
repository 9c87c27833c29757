package import Sessions
package import Vocabulary

/// Marks of handoff cookies that the gateway has already handled.
///
/// After a token was used or refused, the gateway clears the cookie. It cannot clear a cookie that the app or a sibling
/// domain set for a parent domain or another path (RFC 6265 5.3), and the browser sends such a cookie again. The
/// gateway therefore sets a second cookie with a keyed hash (mark) of each handled value, and ignores marked values.
extension HandoffConsumer {
    /// The maximum number of marks in the cookie. An honest browser needs fewer.
    private static let maxMarks = 8
    /// The maximum length of the marks cookie in bytes. A longer cookie is ignored, because comparing thousands of
    /// marks would be too expensive.
    package static let longestMarks = Self.maxMarks * (TokenAuthority.markLength + 1) - 1

    /// Returns the value of the marks cookie for these handled values.
    ///
    /// - Parameter earlier: The present value of the marks cookie. Its marks are kept if there is room.
    package func marks(of values: [[UInt8]], besides earlier: [UInt8]) -> Secret {
        var marks = values.prefix(Self.maxMarks).map { self.authority.mark(of: $0) }
        for mark in earlier.split(separator: UInt8(ascii: ".")).map(Array.init)
        where marks.count < Self.maxMarks && TokenAuthority.isMark(mark) && !marks.contains(mark) {
            marks.append(mark)
        }
        return Secret(Array(marks.joined(separator: [UInt8(ascii: ".")])))
    }

    /// Returns whether `marks`, the value of the marks cookie, has a mark of `value`.
    package func isMarked(_ value: [UInt8], in marks: some Collection<UInt8>) -> Bool {
        let mark = self.authority.mark(of: value)
        return marks.split(separator: UInt8(ascii: ".")).contains { $0.elementsEqual(mark) }
    }

    /// Returns the proof that the user of this browser has confirmed the token.
    package func confirmed(_ pending: PendingHandoff, on authority: String) -> ConfirmedToken {
        let mark = self.authority.confirmationMark(
            of: pending.token.bytes,
            attempt: pending.attempt.value,
            on: authority
        )
        return ConfirmedToken(transport: pending.transport, mark: mark)
    }

    /// Returns the keyed hash of the session's account, for the last-account cookie. `nil` if somebody acts for the
    /// user.
    package func accountMark(of session: Session) -> Secret? { self.authority.accountMark(of: session) }
}
