import Cryptography
import Testing
import Vocabulary

@Suite("Password hashes")
struct ScryptTests {
    @Test("scrypt (RFC 7914 12, the vectors that fit in 32 MiB)")
    func vectors() {
        #expect(
            Scrypt.derive(password: [], salt: [], cost: .init(n: 16, r: 1, p: 1), count: 64)
                == hex(
                    """
                    77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442
                    fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906
                    """
                )
        )
        #expect(
            Scrypt.derive(
                password: Array("password".utf8),
                salt: Array("NaCl".utf8),
                cost: .init(n: 1024, r: 8, p: 16),
                count: 64
            )
                == hex(
                    """
                    fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162
                    2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640
                    """
                )
        )
        #expect(
            Scrypt.derive(
                password: Array("pleaseletmein".utf8),
                salt: Array("SodiumChloride".utf8),
                cost: .init(n: 16_384, r: 8, p: 1),
                count: 64
            )
                == hex(
                    """
                    7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2
                    d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887
                    """
                )
        )
    }

    /// RFC 7914's third vector in our format.
    private static let salt = Base64URL.encode("SodiumChloride".utf8)
    private static let hash = Base64URL.encode(
        hex(
            """
            7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2
            d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887
            """
        )
    )

    /// The same as a PHC string.
    private static let phcSalt = salt.replacing("-", with: "+").replacing("_", with: "/")
    private static let phcHash = hash.replacing("-", with: "+").replacing("_", with: "/")
    private static let phc = "$scrypt$ln=14,r=8,p=1$\(phcSalt)$\(phcHash)"

    @Test(
        "A hash from another program is verified, and only with its password",
        arguments: ["scrypt:16384:8:1:\(salt):\(hash)", phc]
    )
    func foreignHash(text: String) {
        let encoded = Secret(text)
        #expect(Scrypt.isWellFormed(encoded))
        #expect(Scrypt.verify(password: Array("pleaseletmein".utf8), encoded: encoded))
        for wrong in ["", "pleaseletmeiN", "pleaseletmein ", "pleaseletmei", "\0pleaseletmein"] {
            #expect(!Scrypt.verify(password: Array(wrong.utf8), encoded: encoded), "\(wrong)")
        }
    }

    @Test(
        "A hashed password verifies, and each hash has its own salt",
        arguments: ["correct horse", "", "pass\0word", "pässwörd"]
    )
    func ownHash(password: String) {
        let password = Array(password.utf8)
        let encoded = Scrypt.hash(password: password)
        #expect(Scrypt.isWellFormed(encoded))
        #expect(encoded.bytes.starts(with: "scrypt:16384:8:5:".utf8))
        #expect(Scrypt.verify(password: password, encoded: encoded))
        #expect(!Scrypt.verify(password: password + [0x20], encoded: encoded))
        #expect(Scrypt.hash(password: password) != encoded)
        #expect("\(encoded)" == "<redacted>")
    }

    @Test("A decoy costs what the real hash costs, and nothing matches it")
    func decoy() {
        #expect(Scrypt.decoy(like: Secret(Self.phc)).bytes.starts(with: "scrypt:16384:8:1:".utf8))
        let decoy = Scrypt.decoy(like: Secret("scrypt:1024:8:2:\(Self.salt):\(Self.hash)"))
        #expect(Scrypt.isWellFormed(decoy))
        #expect(decoy.bytes.starts(with: "scrypt:1024:8:2:".utf8))
        #expect(!Scrypt.verify(password: [], encoded: decoy))
        #expect(Scrypt.isWellFormed(Scrypt.decoy(like: Secret("nonsense"))))
    }

    @Test(
        "A malformed, weak or too costly hash matches nothing",
        arguments: [
            "", ":", ":::::", "scrypt", "scrypt:16384:8:1", "scrypt:16384:8:1:\(salt)", "scrypt:16384:8:1:\(salt):",
            "scrypt:16384:8:1::\(hash)", "scrypt:16384:8:1:\(salt):\(hash):", " scrypt:16384:8:1:\(salt):\(hash)",
            "scrypt:16384:8:1:\(salt):\(hash)\n", "SCRYPT:16384:8:1:\(salt):\(hash)",
            "bcrypt:16384:8:1:\(salt):\(hash)",
            "$scrypt$ln=14,r=8,p=1$\(phcSalt)=$\(phcHash)", "$scrypt$ln=14,r=8$\(phcSalt)$\(phcHash)",
            "$scrypt$ln=14,p=1,r=8$\(phcSalt)$\(phcHash)", "$scrypt$ln=014,r=8,p=1$\(phcSalt)$\(phcHash)",
            "$scrypt$ln=0,r=8,p=1$\(phcSalt)$\(phcHash)", "$scrypt$ln=64,r=8,p=1$\(phcSalt)$\(phcHash)",
            "$scrypt$ln=14,r=8,p=1$\(phcSalt)$", "$scrypt$ln=14,r=8,p=1$\(salt)$\(hash)$", "x\(phc)",
            "$argon2id$v=19$m=65536,t=3,p=4$\(phcSalt)$\(phcHash)", "scrypt:16384:8:1:\(salt)=:\(hash)",
            "scrypt:16384:8:1:\(salt):\(hash)==",
            "scrypt:16383:8:1:\(salt):\(hash)", "scrypt:0:8:1:\(salt):\(hash)", "scrypt:1:8:1:\(salt):\(hash)",
            "scrypt:16384:0:1:\(salt):\(hash)", "scrypt:16384:8:0:\(salt):\(hash)", "scrypt:-16384:8:1:\(salt):\(hash)",
            "scrypt:+16384:8:1:\(salt):\(hash)", "scrypt:016384:8:1:\(salt):\(hash)",
            "scrypt:0x4000:8:1:\(salt):\(hash)",
            "scrypt:16384.0:8:1:\(salt):\(hash)", "scrypt:16384: 8:1:\(salt):\(hash)",
            "scrypt:18446744073709551616:8:1:\(salt):\(hash)", "scrypt:16384:18446744073709551615:1:\(salt):\(hash)",
            "scrypt:536870912:8:1:\(salt):\(hash)", "scrypt:1048576:8:1:\(salt):\(hash)",
            "scrypt:16384:8:65:\(salt):\(hash)",
            "scrypt:262144:8:64:\(salt):\(hash)", "scrypt:16:1:1:\(salt):\(hash)", "scrypt:512:8:1:\(salt):\(hash)",
            "scrypt:16384:8:1:\(salt):AAAA", "scrypt:16384:8:1:c2FsdA:\(hash)",
            "scrypt:16384:8:1:\(salt):\(String(repeating: "A", count: 4000))",
        ]
    )
    func malformed(text: String) {
        let encoded = Secret(text)
        #expect(!Scrypt.isWellFormed(encoded))
        #expect(!Scrypt.verify(password: Array("pleaseletmein".utf8), encoded: encoded))
    }

    @Test("Bytes that are not text match nothing")
    func notText() {
        for _ in 0..<1000 {
            #expect(!Scrypt.verify(password: [], encoded: Secret(Array("scrypt:".utf8) + Random.bytes(60))))
        }
    }

    @Test("A cost that OpenSSL refuses gives nothing")
    func refusedCost() {
        #expect(Scrypt.derive(password: [], salt: [], cost: .init(n: 3, r: 1, p: 1), count: 32) == nil)
        #expect(Scrypt.derive(password: [], salt: [], cost: .init(n: 1 << 30, r: 8, p: 1), count: 32) == nil)
        #expect(Scrypt.derive(password: [], salt: [], cost: .init(n: 16, r: 1, p: 1), count: 0) == nil)
    }
}
