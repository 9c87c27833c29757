internal import Sessions
package import Vocabulary

/// Handoff cookies that were dealt with and came back nevertheless.
///
/// A handoff cookie is cleared once its token was used or refused. Our `Set-Cookie` does not reach one that was set for a
/// parent domain or another path, by the app or by a sibling domain (RFC 6265 5.3), so that the browser sends it again
/// and again. The answer that clears it therefore also sets a cookie of ours with a mark of each value, and what is marked
/// is treated as if it had gone.
extension HandoffConsumer {
    /// How many values are marked at once: no honest browser has more, and ours must stay a small cookie.
    private static let mostMarks = 8
    /// The most bytes that the cookie has: marks with a dot between them. Of a longer value, which we have not set, no
    /// mark counts, or one request could have thousands of values compared with thousands of marks.
    package static let longestMarks = Self.mostMarks * (TokenAuthority.markLength + 1) - 1

    /// The value of the cookie that marks these values of handoff cookies.
    ///
    /// - Parameter earlier: The value that the browser has; its marks are kept as far as there is room, for cookies of other
    ///   paths.
    package func marks(of values: [[UInt8]], besides earlier: [UInt8]) -> Secret {
        var marks = values.prefix(Self.mostMarks).map { self.authority.mark(of: $0) }
        for mark in earlier.split(separator: UInt8(ascii: ".")).map(Array.init)
        where marks.count < Self.mostMarks && TokenAuthority.isMark(mark) && !marks.contains(mark) {
            marks.append(mark)
        }
        return Secret(Array(marks.joined(separator: [UInt8(ascii: ".")])))
    }

    /// Whether `marks`, the value of that cookie, has the mark of this value.
    package func isMarked(_ value: [UInt8], in marks: some Collection<UInt8>) -> Bool {
        let mark = self.authority.mark(of: value)
        return marks.split(separator: UInt8(ascii: ".")).contains { $0.elementsEqual(mark) }
    }
}
