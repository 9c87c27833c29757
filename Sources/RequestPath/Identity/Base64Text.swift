/// Padded base64, which basic credentials need (RFC 7617 2).
enum Base64Text {
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let rest = bytes.count - index
            let word =
                UInt32(bytes[index]) << 16 | (rest > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (rest > 2 ? UInt32(bytes[index + 2]) : 0)
            text.append(alphabet[Int(word >> 18 & 63)])
            text.append(alphabet[Int(word >> 12 & 63)])
            text.append(rest > 1 ? alphabet[Int(word >> 6 & 63)] : 0x3D)
            text.append(rest > 2 ? alphabet[Int(word & 63)] : 0x3D)
            index += 3
        }
        return text
    }
}
