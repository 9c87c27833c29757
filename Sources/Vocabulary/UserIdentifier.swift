/// A user's normalised sign-in identifier: ASCII letters in lower case, Unicode's normalization form C, and no
/// invisible characters at the ends.
///
/// User lookups and rate limits use this form. Another spelling of an identifier cannot evade a limit (CVE-2025-24806).
/// Letters outside ASCII keep their case.
package struct UserIdentifier: Sendable, Hashable {
    /// The maximum length in bytes.
    package static let longest = 256
    /// The maximum length of the input in bytes, before normalization.
    private static let longestInput = 4 * Self.longest

    package let bytes: [UInt8]

    /// `nil` if the text is empty, too long, or contains an ASCII control character.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longestInput else { return nil }
        let text = text.withoutInvisibleEnds.composed
        guard (1...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.bytes = text.utf8.map { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
    }
}
