package import Sessions
package import Vocabulary

/// Marks for handoff cookies that the gateway has handled but the browser sends again.
///
/// The gateway clears a handoff cookie once its token was used or refused. The gateway's `Set-Cookie` does not reach a
/// cookie that the app or a sibling domain set for a parent domain or another path (RFC 6265 5.3). The browser keeps
/// sending that cookie. The answer that clears a handoff cookie therefore also sets a cookie with a mark of each value.
/// A marked value is treated as absent.
extension HandoffConsumer {
    /// The maximum number of marked values. No honest browser has more, and the cookie must stay small.
    private static let mostMarks = 8
    /// The maximum length of the cookie: marks, separated by dots. The gateway sets no longer value, and ignores longer
    /// values: otherwise, one request could make it compare thousands of values with thousands of marks.
    package static let longestMarks = Self.mostMarks * (TokenAuthority.markLength + 1) - 1

    /// Returns the value of the cookie that marks these values of handoff cookies.
    ///
    /// - Parameter earlier: The cookie's present value. Its marks are for cookies of other paths. They are kept up to
    ///   the maximum.
    package func marks(of values: [[UInt8]], besides earlier: [UInt8]) -> Secret {
        var marks = values.prefix(Self.mostMarks).map { self.authority.mark(of: $0) }
        for mark in earlier.split(separator: UInt8(ascii: ".")).map(Array.init)
        where marks.count < Self.mostMarks && TokenAuthority.isMark(mark) && !marks.contains(mark) {
            marks.append(mark)
        }
        return Secret(Array(marks.joined(separator: [UInt8(ascii: ".")])))
    }

    /// Returns whether `marks`, the value of the cookie that holds marks, contains the mark of `value`.
    package func isMarked(_ value: [UInt8], in marks: some Collection<UInt8>) -> Bool {
        let mark = self.authority.mark(of: value)
        return marks.split(separator: UInt8(ascii: ".")).contains { $0.elementsEqual(mark) }
    }

    /// Returns the proof that the user of this browser was asked about this token and confirmed it.
    package func confirmed(_ pending: PendingHandoff, on authority: String) -> ConfirmedToken {
        let mark = self.authority.confirmationMark(
            of: pending.token.bytes,
            attempt: pending.attempt.value,
            on: authority
        )
        return ConfirmedToken(transport: pending.transport, mark: mark)
    }

    /// Returns the mark of the session's account for the browser's cookie. `nil` if somebody acts for the user.
    package func accountMark(of session: Session) -> Secret? { self.authority.accountMark(of: session) }
}
