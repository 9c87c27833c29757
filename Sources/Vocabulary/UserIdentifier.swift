/// A user's normalised sign-in identifier: ASCII letters in lower case, Unicode's normalization form C, and no
/// invisible characters at the ends (keyboards of phones add them).
///
/// Providers look users up by this form and rate limits apply to it, so that no spelling evades a limit
/// (CVE-2025-24806). Other letters keep their case. Bytes are compared, so letters that look or fold alike differ.
package struct UserIdentifier: Sendable, Hashable {
    /// The maximum length in bytes.
    package static let longest = 256
    /// The maximum length of the input in bytes. Some spellings are longer than the identifier.
    private static let longestInput = 4 * Self.longest

    package let bytes: [UInt8]

    /// `nil` if the text is empty, too long, or contains a control character. No user has such an identifier.
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
