import Vocabulary

extension CallAnswer {
    /// The longest pause that a provider's answer can cause.
    private static let longestPause: Duration = .seconds(3600)

    /// The pause in `Retry-After` in seconds (RFC 9110 10.2.3), at most an hour; `nil` if missing or a date.
    package var retryAfter: Duration? {
        guard let text = self.field("retry-after"), !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(text).map { min(.seconds($0), Self.longestPause) } ?? Self.longestPause
    }

    /// Whether the provider labels its body with this media type, with any parameters.
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
