extension String {
    /// The text with another character in its middle, where every character of base64url may stand.
    package var altered: String {
        guard !self.isEmpty else { return self }
        var text = self
        let middle = text.index(text.startIndex, offsetBy: text.count / 2)
        text.replaceSubrange(middle...middle, with: text[middle] == "A" ? "B" : "A")
        return text
    }
}
