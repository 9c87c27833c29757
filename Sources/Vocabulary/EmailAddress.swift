/// An email address, compared without regard to the case of ASCII letters. Other letters are not folded: look-alikes in
/// another script remain different.
package struct EmailAddress: Hashable, Sendable {
    /// The maximum length in bytes: 64 before the `@` and 255 after it (RFC 5321 4.5.3.1).
    private static let longest = 320

    /// The part before the `@`, folded.
    package let local: [UInt8]
    /// The part after the `@`, folded.
    package let domain: [UInt8]

    /// `nil` unless the text has exactly one `@` with text on both sides. Damaged texts, blanks and control bytes are
    /// rejected, too (CVE-2026-40574).
    package init?(_ text: String) {
        let parts = Self.folded(text).split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty,
            !text.isDamaged,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return nil }
        self.local = Array(parts[0])
        self.domain = Array(parts[1])
    }

    /// The folded text.
    package var text: String { String(decoding: self.local + [UInt8(ascii: "@")] + self.domain, as: UTF8.self) }

    /// Returns the bytes of a text with ASCII letters in lower case.
    package static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
