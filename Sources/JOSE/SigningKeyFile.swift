package import Vocabulary

/// The keys of a PEM file (RFC 7468), each as PKCS #8 or in OpenSSL's older form. The first key of each kind signs, and
/// all keys are published.
package struct SigningKeyFile: Sendable {
    /// The maximum number of keys in one file.
    private static let maxKeys = 16

    /// The P-256 keys, which sign assertions; `nil` if the file has none.
    package let assertions: SigningKeyRing?
    /// The RSA keys, which sign id_tokens; `nil` if the file has none.
    package let idTokens: SigningKeyRing?

    package init(pem: Secret) throws(JOSEError) {
        var keys: [SigningKey] = []
        for block in try Self.blocks(of: pem) {
            let key: SigningKey
            do throws(JOSEError) {
                key = try SigningKey(pem: block)
            } catch {
                throw JOSEError("key \(keys.count + 1): \(error.detail)")
            }
            guard key.algorithm == .es256 || key.algorithm == .rs256 else {
                throw JOSEError(
                    "key \(keys.count + 1) is for \(key.algorithm.rawValue): neither an EC key on P-256 nor an RSA key"
                )
            }
            guard !keys.contains(where: { $0.publicKey.thumbprint == key.publicKey.thumbprint }) else {
                throw JOSEError("key \(keys.count + 1) is there a second time")
            }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw JOSEError("no private key in PEM") }
        guard keys.count <= Self.maxKeys else { throw JOSEError("more than \(Self.maxKeys) keys") }
        self.assertions = SigningKeyRing(keys.filter { $0.algorithm == .es256 })
        self.idTokens = SigningKeyRing(keys.filter { $0.algorithm == .rs256 })
    }

    /// Returns the blocks with keys. `EC PARAMETERS`, a block that `openssl ecparam -genkey` writes before a key, is
    /// skipped.
    private static func blocks(of pem: Secret) throws(JOSEError) -> [Secret] {
        var blocks: [Secret] = []
        var block: [UInt8]?
        var label: Substring = ""
        for line in pem.bytes.split(separator: 0x0A) {
            let text = String(decoding: line, as: UTF8.self).trimmingSuffix { $0 == "\r" || $0 == " " }
            if text.hasPrefix("-----BEGIN "), text.hasSuffix("-----") {
                guard block == nil else { throw JOSEError("a PEM block without an end") }
                label = text.dropFirst(11).dropLast(5)
                block = []
            }
            block? += Array(text.utf8) + [0x0A]
            guard text == "-----END \(label)-----", let whole = block else { continue }
            block = nil
            switch label {
            case "EC PARAMETERS": continue
            case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY": blocks.append(Secret(whole))
            case "ENCRYPTED PRIVATE KEY": throw JOSEError("an encrypted key, for which there is no password")
            default: throw JOSEError("a PEM block that is not a private key")
            }
        }
        guard block == nil else { throw JOSEError("a PEM block without an end") }
        return blocks
    }
}

extension String {
    /// Returns the text without the characters at its end for which `isTrimmed` is true.
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return rest
    }
}
