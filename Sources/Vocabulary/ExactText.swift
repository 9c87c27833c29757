extension StringProtocol {
    /// Whether both texts have equal bytes. Identifiers of protocols are compared this way (OpenID Connect Core
    /// 3.1.3.7, RFC 8259 8.3). `==` would treat canonically equivalent texts as equal.
    package func isExactly(_ other: some StringProtocol) -> Bool {
        // Buffers are compared faster than the views of texts.
        let isEqual = self.utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { own.elementsEqual($0) }
        }
        return (isEqual ?? nil) ?? self.utf8.elementsEqual(other.utf8)
    }

    /// Whether the text has the bytes of one of these texts.
    package func isExactlyOne(of texts: [String]) -> Bool { texts.contains { $0.isExactly(self) } }

    /// Whether the text begins with the bytes of `prefix`. `hasPrefix` compares characters, and a combining mark after
    /// the prefix changes its last character.
    package func begins(exactlyWith prefix: some StringProtocol) -> Bool { self.utf8.starts(with: prefix.utf8) }

    /// Whether the text has 1 to `longest` bytes and no control character (Unicode's C0, DEL and C1), so that logs and
    /// fields can contain it.
    package func isPlain(upTo longest: Int) -> Bool {
        (1...longest).contains(self.utf8.count)
            && self.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}
