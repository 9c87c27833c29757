/// The `path` of a route: literal segments, `*` for one segment, `**` at the end for the rest.
///
/// A pattern is written in decoded form: `/a b` matches `/a%20b`. Bytes are compared exactly, including letter case.
/// There are no regular expressions, so every pattern is anchored and nothing backtracks. `/admin/**` matches `/admin`,
/// `/admin/` and everything below. In other patterns, a slash at the end makes a different path.
struct RoutePattern: Hashable {
    enum Segment: Hashable {
        case literal([UInt8])
        /// `*`: exactly one non-empty segment.
        case any
    }

    var segments: [Segment] = []
    /// Whether the pattern ends with `**`.
    var hasRest = false

    /// The reason why a text is not a pattern, with a correction.
    struct Fault: Error {
        var message: String
    }

    init(_ text: String) throws(Fault) {
        guard text.utf8.first == UInt8(ascii: "/") else { throw Fault(message: "a path begins with /") }
        for byte in text.utf8 {
            switch byte {
            case 0..<0x20, 0x7F, UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"), UInt8(ascii: ";"):
                throw Fault(message: "a path cannot hold control characters or any of ? # \\ ;")
            case UInt8(ascii: "%"):
                throw Fault(message: "patterns are compared with the decoded path: write the character, not its escape")
            default: break
            }
        }
        let parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case "**":
                guard isLast else { throw Fault(message: "** is allowed only at the end; use * for one segment") }
                self.hasRest = true
            case "*": self.segments.append(.any)
            case ".", "..": throw Fault(message: "paths with dot segments are refused, so this never matches")
            case "" where !isLast: throw Fault(message: "runs of / are merged, so this never matches")
            default:
                guard !part.contains("*") else { throw Fault(message: "* must be a whole segment") }
                self.segments.append(.literal(Array(part.utf8)))
            }
        }
        if case .literal(let first)? = self.segments.first, first.elementsEqual(".sallyport".utf8) {
            throw Fault(message: "/.sallyport belongs to the gateway on every host")
        }
    }

    /// Whether this pattern names what follows a path that `exact` matches, such as `/a/b` after `/a`.
    ///
    /// - Parameter bySlashOnly: Whether only a slash follows.
    func goesOn(behind exact: RoutePattern, bySlashOnly: Bool) -> Bool {
        let depth = exact.segments.count
        guard self.segments.count > depth || (self.segments.count == depth && self.hasRest && !bySlashOnly) else {
            return false
        }
        return zip(exact.segments, self.segments).allSatisfy { $0 == .any || $0 == $1 }
    }

    /// Returns the pattern for readings with folded letters (`LetterCase`).
    func folded(keepsCase: Bool) -> RoutePattern { self.mapLabels { LetterCase.folded($0, keepsCase: keepsCase) } }

    /// The pattern for paths whose letters beyond ASCII are unknown (`LetterCase.outline`).
    var outline: RoutePattern {
        self.mapLabels { LetterCase.outline(LetterCase.folded($0, keepsCase: true)) }
    }

    /// Whether a label contains letters beyond ASCII.
    var isBeyondASCII: Bool {
        self.segments.contains { segment in
            if case .literal(let label) = segment { label.contains { $0 >= 0x80 } } else { false }
        }
    }

    private func mapLabels(_ change: ([UInt8]) -> [UInt8]) -> RoutePattern {
        var pattern = self
        pattern.segments = self.segments.map { segment in
            if case .literal(let label) = segment { .literal(change(label)) } else { .any }
        }
        return pattern
    }

    /// Returns a path that the pattern matches, with `segment` for `*` and `**`.
    func example(_ segment: String) -> String {
        let names = self.segments.map { part in
            if case .literal(let label) = part { String(decoding: label, as: UTF8.self) } else { segment }
        }
        return "/" + (names + (self.hasRest ? [segment] : [])).joined(separator: "/")
    }
}
