import Vocabulary

extension CallAnswer {
    /// The longest `Retry-After` that is respected.
    private static let longestPause: Duration = .seconds(3600)

    /// The value of `Retry-After` (RFC 9110 10.2.3), at most one hour; `nil` unless it is a number of seconds.
    package var retryAfter: Duration? {
        guard let text = self.field("retry-after"), !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(text).map { min(.seconds($0), Self.longestPause) } ?? Self.longestPause
    }

    /// Returns whether `Content-Type` is this media type, given in lower case. Parameters are ignored.
    package func isType(_ name: String) -> Bool {
        let type = self.field("content-type")?.prefix { $0 != ";" } ?? ""
        return type.trimmingBlanks().lowercased() == name
    }
}

extension Substring {
    fileprivate func trimmingBlanks() -> Substring {
        var text = self
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text.drop { $0 == " " || $0 == "\t" }
    }
}
