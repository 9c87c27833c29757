extension StringProtocol {
    /// Returns whether both texts have equal bytes, as protocols compare identifiers (OpenID Connect Core 3.1.3.7, RFC
    /// 8259 8.3). `==` treats canonically equivalent texts as equal.
    package func isExactly(_ other: some StringProtocol) -> Bool {
        // Comparing buffers is faster than comparing `UTF8View`s.
        let isEqual = self.utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { own.elementsEqual($0) }
        }
        return (isEqual ?? nil) ?? self.utf8.elementsEqual(other.utf8)
    }

    /// Returns whether the text has the same bytes as one of the texts.
    package func isExactlyOne(of texts: [String]) -> Bool { texts.contains { $0.isExactly(self) } }

    /// Returns whether the text begins with the bytes of `prefix`. `hasPrefix` compares characters: it returns false if
    /// a combining mark follows the prefix.
    package func begins(exactlyWith prefix: some StringProtocol) -> Bool { self.utf8.starts(with: prefix.utf8) }

    /// Returns whether the text has 1 to `longest` bytes and no control character (C0, DEL or C1). Plain texts are safe
    /// in logs and header fields.
    package func isPlain(upTo longest: Int) -> Bool {
        (1...longest).contains(self.utf8.count)
            && self.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}
