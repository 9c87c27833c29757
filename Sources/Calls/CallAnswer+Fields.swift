import Vocabulary

extension CallAnswer {
    /// The longest pause that a provider's answer can cause.
    private static let longestPause: Duration = .seconds(3600)

    /// The delay in `Retry-After` (RFC 9110 10.2.3), at most one hour; `nil` unless the field is a number of seconds.
    package var retryAfter: Duration? {
        guard let text = self.field("retry-after"), !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(text).map { min(.seconds($0), Self.longestPause) } ?? Self.longestPause
    }

    /// Returns true if `Content-Type` is this media type (lower case), with or without parameters.
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
