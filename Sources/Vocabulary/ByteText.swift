extension [UInt8] {
    /// Appends a text in UTF-8 with one copy.
    package mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { self.append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits.
    package mutating func append(digits number: Int) {
        self.append(utf8: String(number))
    }
}
