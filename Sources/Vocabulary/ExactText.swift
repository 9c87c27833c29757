extension StringProtocol {
    /// Whether both have the same bytes. Identifiers of protocols are compared so (OpenID Connect Core 3.1.3.7, RFC 8259
    /// 8.3); `==` would take canonically equivalent texts for equal.
    package func isExactly(_ other: some StringProtocol) -> Bool {
        // As buffers, which are compared faster than the views of texts.
        let isEqual = self.utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { own.elementsEqual($0) }
        }
        return (isEqual ?? nil) ?? self.utf8.elementsEqual(other.utf8)
    }

    /// Whether one of these texts has the same bytes.
    package func isExactlyOne(of texts: [String]) -> Bool { texts.contains { $0.isExactly(self) } }

    /// Whether its first bytes are those of `prefix`. `hasPrefix` compares characters, and a combining mark behind the prefix
    /// makes another one of its last.
    package func begins(exactlyWith prefix: some StringProtocol) -> Bool { self.utf8.starts(with: prefix.utf8) }

    /// Whether it has 1 to `longest` bytes and no control character (Unicode's C0, DEL and C1), so that it can stand in
    /// logs and fields.
    package func isPlain(upTo longest: Int) -> Bool {
        (1...longest).contains(self.utf8.count)
            && self.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}
