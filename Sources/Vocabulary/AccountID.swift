/// Ids of users with linked accounts at several providers (`accounts.link`): `acc_` and 32 characters of base64url.
/// An account id names one person in every realm. A provider's id of this form is rejected.
package enum AccountID {
    private static let mark = "acc_"
    private static let length = 32

    /// Returns the account id for a keyed hash of 24 bytes in base64url.
    package static func id(_ encoded: String) -> String { self.mark + encoded }

    /// Returns whether a text has the form of an account id.
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
