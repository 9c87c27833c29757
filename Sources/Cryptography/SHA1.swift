import COpenSSL
import Vocabulary

/// SHA-1 (FIPS 180-4), only for names: Redis knows a script by the SHA-1 of its text. It protects nothing.
package enum SHA1 {
    /// The 40 lower-case hexadecimal digits of the digest of `message`.
    package static func hex(_ message: [UInt8]) -> String {
        let digest = [UInt8](unsafeUninitializedCapacity: 20) { buffer, initialized in
            let result = withPointer(message) {
                EVP_Digest($0, $1, buffer.baseAddress, nil, Fetched.sha1, nil)
            }
            mustSucceed(result, "EVP_Digest")
            initialized = 20
        }
        var text = [UInt8]()
        for byte in digest { Hexadecimal.append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }
}

extension Fetched {
    nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil).orStop("SHA-1")
}
