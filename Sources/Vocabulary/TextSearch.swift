/// Search in a text for another. The standard library's functions of these names belong to its regular expressions, which
/// would add more than a megabyte to the gateway; the manifest leaves them out.
extension StringProtocol {
    /// Whether the text is in this one, byte for byte.
    package func contains(_ text: String) -> Bool {
        self.firstRange(of: text) != nil
    }

    /// Where the text is for the first time, byte for byte; nil: nowhere. An empty text is at the beginning.
    package func firstRange(of text: String) -> Range<Index>? {
        let wanted = text.utf8
        var start = self.utf8.startIndex
        while true {
            let rest = self.utf8[start...]
            if rest.starts(with: wanted) { return start..<rest.index(start, offsetBy: wanted.count) }
            if rest.isEmpty { return nil }
            self.utf8.formIndex(after: &start)
        }
    }

    /// This text with another one in each place of `text`, which is not empty.
    package func replacing(_ text: String, with replacement: String) -> String {
        var changed = ""
        var rest = self[...]
        while let place = rest.firstRange(of: text), !place.isEmpty {
            changed += rest[..<place.lowerBound]
            changed += replacement
            rest = rest[place.upperBound...]
        }
        return changed + rest
    }
}
