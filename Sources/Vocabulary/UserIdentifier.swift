/// A normalised identifier: bytes, with ASCII letters in lower case and nothing else changed.
///
/// Providers look users up by it and limits are counted under it, so no other spelling is counted separately
/// (CVE-2025-24806). It consists of bytes, because Swift's `String` takes different bytes for equal (Unicode
/// equivalence).
package struct UserIdentifier: Sendable, Hashable {
    /// The longest identifier in bytes.
    package static let longest = 256
    package let bytes: [UInt8]

    /// nil when the text is empty, too long, or contains a control character: no user has such an identifier.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.bytes = text.utf8.map { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
    }
}
