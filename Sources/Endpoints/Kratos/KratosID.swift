import Cryptography
import Vocabulary

/// Conversion between the bytes of a UUID and its text (RFC 9562 4).
enum UUIDText {
    /// Returns the text of sixteen bytes, in lower case.
    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            switch index {
            case 4, 6, 8, 10: text.append(UInt8(ascii: "-"))
            default: break
            }
            Hexadecimal.append(byte, to: &text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the sixteen bytes of a UUID in either case. `nil` if the text is not a UUID.
    static func bytes(_ text: String) -> [UInt8]? {
        // A quick check: most ids are not UUIDs, and have another length.
        guard text.utf8.count == 36 else { return nil }
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32 else { return nil }
        let bytes = stride(from: 0, to: 32, by: 2).compactMap { Hexadecimal.byte(digits[$0], digits[$0 + 1]) }
        return bytes.count == 16 && self.text(bytes) == text.lowercased() ? bytes : nil
    }

    /// Turns the bytes into a UUID of version 8, whose bits may have any meaning (RFC 9562 5.8).
    static func stamp(_ bytes: inout [UInt8]) {
        bytes[6] = 0x80 | bytes[6] & 0x0F
        bytes[8] = 0x80 | bytes[8] & 0x3F
    }
}

/// Ids in the form that Ory's clients require: `ory-client` fails on ids of sessions, devices and identities that are
/// not UUIDs.
enum KratosID {
    enum Kind: String {
        case device, identity, session
    }

    /// Returns `id` if it is a UUID, otherwise a UUID derived from `id` alone. Apps store the UUID as their user's id,
    /// so every gateway must derive it alike.
    static func uuid(_ kind: Kind, of id: String) -> String {
        if UUIDText.bytes(id) != nil { return id }
        var name: [UInt8] = []
        name.reserveCapacity(32 + id.utf8.count)
        for part in ["sallyport ", kind.rawValue, " id 1 ", id] { name.append(utf8: part) }
        var bytes = Array(SHA256.digest(name).bytes.prefix(16))
        UUIDText.stamp(&bytes)
        return UUIDText.text(bytes)
    }
}
