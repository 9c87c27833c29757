import COpenSSL
import Vocabulary

/// SHA-1 (FIPS 180-4), for uses that need no security: Redis identifies a script by the SHA-1 of its text, and the
/// WebSocket handshake contains a SHA-1.
package enum SHA1 {
    /// Returns the 20 bytes of the digest of `message`.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 20) { buffer, initialized in
            let result = withPointer(message) {
                EVP_Digest($0, $1, buffer.baseAddress, nil, Fetched.sha1, nil)
            }
            mustSucceed(result, "EVP_Digest")
            initialized = 20
        }
    }

    /// Returns the digest of `message` in 40 lower-case hexadecimal digits.
    package static func hex(_ message: [UInt8]) -> String {
        var text = [UInt8]()
        for byte in self.digest(message) { Hexadecimal.append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }
}

extension Fetched {
    nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil).orStop("SHA-1")
}
