import Cryptography
import Testing

@Suite("SHA-256, HMAC and HKDF")
struct KeyedHashTests {
    @Test(
        "SHA-256 (FIPS 180-4 examples)",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func sha256(message: String, digest: String) {
        #expect(SHA256.digest(Array(message.utf8)).bytes == hex(digest))
    }

    /// Key, message and code of RFC 4231 4.2 to 4.8 (4.6 is truncated to 16 bytes).
    static let hmacVectors: [(key: [UInt8], message: [UInt8], code: [UInt8])] = [
        (
            [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
            hex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        ),
        (
            [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
            hex("773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe")
        ),
        (
            Array(1...25), [UInt8](repeating: 0xCD, count: 50),
            hex("82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b")
        ),
        (
            [UInt8](repeating: 0x0C, count: 20), Array("Test With Truncation".utf8),
            hex("a3b6167473100ee06e0c796c2955552b")
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            hex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        ),
        (
            [UInt8](repeating: 0xAA, count: 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8
            ),
            hex("9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2")
        ),
    ]

    @Test("HMAC-SHA-256 (RFC 4231)", arguments: hmacVectors.indices)
    func hmac(index: Int) {
        let (key, message, code) = Self.hmacVectors[index]
        let hmac = HMACKey(key)
        // Twice, because a key is used for many messages.
        for _ in 0..<2 {
            #expect(Array(hmac.sha256(message).bytes.prefix(code.count)) == code)
            #expect(message.withUnsafeBytes { hmac.sha256($0) } == hmac.sha256(message))
        }
    }

    @Test("HMAC takes the empty key and the empty message")
    func hmacEmpty() {
        #expect(
            HMACKey([]).sha256([]).bytes == hex("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        )
    }

    @Test("One key serves many threads at once")
    func hmacConcurrent() async {
        let key = HMACKey(Array("Jefe".utf8))
        let expected = Self.hmacVectors[1].code
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 {
                        #expect(key.sha256(Array("what do ya want for nothing?".utf8)).bytes == expected)
                    }
                }
            }
        }
    }

    @Test("A digest keeps its bytes in order, and is compared by them")
    func digest() throws {
        let bytes = [UInt8](0..<32)
        let digest = try #require(Digest256(bytes))
        #expect(digest.bytes == bytes)
        #expect(digest.base64URL == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
        #expect(digest.withUnsafeBytes { Array($0) } == bytes)
        #expect(Digest256(bytes) == digest)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(Digest256(other) != digest)
        }
        #expect(Digest256([]) == nil)
        #expect(Digest256([UInt8](0..<31)) == nil)
        #expect(Digest256([UInt8](0..<33)) == nil)
    }

    @Test("HKDF-SHA-256 (RFC 5869 A.1)")
    func hkdfBasic() {
        let derived = HKDF(secret: [UInt8](repeating: 0x0B, count: 22), salt: Array(0x00...0x0C)).bytes(
            for: Array(0xF0...0xF9),
            count: 42
        )
        #expect(
            derived == hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        )
    }

    @Test("HKDF-SHA-256 with long inputs (RFC 5869 A.2)")
    func hkdfLong() {
        let derived = HKDF(secret: Array(0x00...0x4F), salt: Array(0x60...0xAF)).bytes(
            for: Array(0xB0...0xFF),
            count: 82
        )
        #expect(
            derived
                == hex(
                    """
                    b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09
                    da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
                    """
                )
        )
    }

    @Test("HKDF-SHA-256 without salt and info (RFC 5869 A.3)")
    func hkdfBare() {
        let derived = HKDF(secret: [UInt8](repeating: 0x0B, count: 22)).bytes(for: "", count: 42)
        #expect(
            derived == hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
        )
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(HKDF(secret: [UInt8](repeating: 0x0B, count: 22), salt: zeros).bytes(for: "", count: 42) == derived)
    }

    @Test("HKDF gives each purpose its own bytes, up to 255 blocks")
    func hkdfPurposes() {
        let secret = Random.bytes(32)
        let one = HKDF(secret: secret).bytes(for: "one", count: 32)
        #expect(one == HKDF(secret: secret).bytes(for: Array("one".utf8), count: 32))
        #expect(one != HKDF(secret: secret).bytes(for: "two", count: 32))
        #expect(one != HKDF(secret: secret, salt: [1]).bytes(for: "one", count: 32))
        #expect(HKDF(secret: secret).bytes(for: "one", count: 8160).starts(with: one))
    }
}
