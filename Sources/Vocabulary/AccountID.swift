/// The ids of users who are one person at several providers (`accounts.link`): `acc_` and 32 characters of base64url. Such an
/// id names one person whatever the realm is. No provider's own id has this form, because it is refused there.
package enum AccountID {
    private static let mark = "acc_"
    private static let length = 32

    /// The id of 24 bytes in base64url, as a keyed hash gives them.
    package static func id(_ encoded: String) -> String { self.mark + encoded }

    /// Whether a text has this form.
    package static func isOne(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count == self.mark.utf8.count + self.length, text.begins(exactlyWith: self.mark) else {
            return false
        }
        return bytes.dropFirst(self.mark.utf8.count).allSatisfy { byte in
            byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
    }
}
