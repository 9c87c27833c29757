import COpenSSL

/// HKDF with SHA-256 (RFC 5869), made of HMACs. OpenSSL's HKDF takes ten times as long, because it looks up its
/// algorithms at each use.
package struct HKDF: Sendable {
    private let extracted: HMACKey

    /// Extracts the key from which all other keys are derived.
    ///
    /// An empty salt means 32 zero bytes. An empty secret is a programming error and ends the process.
    package init(secret: [UInt8], salt: [UInt8] = []) {
        precondition(!secret.isEmpty, "the secret for HKDF must not be empty")
        // HMAC pads a short key with zeros, so an empty key acts as 32 zero bytes.
        let key = salt.isEmpty ? Self.unsalted : HMACKey(salt)
        var code = key.sha256(secret).bytes
        defer { OPENSSL_cleanse(&code, code.count) }
        self.extracted = HMACKey(code)
    }

    /// Derives `count` bytes (1 to 8160) for the purpose `info`.
    package func bytes(for info: String, count: Int) -> [UInt8] {
        self.bytes(for: Array(info.utf8), count: count)
    }

    /// Derives `count` bytes for the purpose `info`.
    ///
    /// `count` is 1 to 8160 (255 blocks). Any other number is a programming error and ends the process.
    package func bytes(for info: [UInt8], count: Int) -> [UInt8] {
        precondition((1...8160).contains(count), "HKDF cannot give that many bytes")
        var derived: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while derived.count < count {
            number += 1
            block.append(contentsOf: info)
            block.append(number)
            block = self.extracted.sha256(block).bytes
            derived.append(contentsOf: block.prefix(count - derived.count))
        }
        return derived
    }

    private static let unsalted = HMACKey([])
}
