import Cryptography
import Vocabulary

/// The syntax of foreign tokens. Bytes with another syntax are never sent to a provider.
enum TokenSyntax {
    /// The maximum length of a token in bytes.
    private static let longest = 8192
    /// The minimum length of an opaque token in bytes. A shorter token could be guessed.
    private static let shortest = 8

    /// Returns whether the bytes have the form of a JWT in compact form (RFC 7515 7.1): three parts in base64url, the
    /// first beginning like a JSON object.
    static func isJWT(_ token: UnsafeRawBufferPointer) -> Bool {
        guard token.count <= Self.longest, token.starts(with: "eyJ".utf8) else { return false }
        guard let first = token.place(of: UInt8(ascii: ".")),
            let second = token.place(of: UInt8(ascii: "."), from: first + 1), first + 1 < second,
            second + 1 < token.count
        else { return false }
        return Base64URL.isText(token[..<first]) && Base64URL.isText(token[(first + 1)..<second])
            && Base64URL.isText(token[(second + 1)...])
    }

    /// Returns whether the bytes are a `token68` (RFC 9110 11.2), like every bearer token (RFC 6750 2.1).
    static func isToken68(_ token: UnsafeRawBufferPointer) -> Bool {
        guard (Self.shortest...Self.longest).contains(token.count) else { return false }
        var hasPadding = false
        for byte in token {
            switch byte {
            case UInt8(ascii: "="):
                hasPadding = true
            case UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                guard !hasPadding else { return false }
            default:
                guard !hasPadding, byte.isAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") else {
                    return false
                }
            }
        }
        return token.first != UInt8(ascii: "=")
    }
}
