import Cryptography
import Testing
import Vocabulary

@Suite("Password hashes by Argon2")
struct Argon2Tests {
    private func matches(_ password: [UInt8], _ hash: String) -> Bool {
        Argon2.verify(password: password, encoded: Secret(hash))
    }

    /// The first four are of the reference implementation's tests, the others were made by its library.
    @Test(
        "Hashes of other programs are verified, and only with their password",
        arguments: [
            (
                "password",
                "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
            ),
            (
                "password",
                "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"
            ),
            (
                "password",
                "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ"
            ),
            (
                "password",
                "$argon2i$v=16$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ"
            ),
            (
                "correct horse",
                "$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$L1b1NjppUoj/KIEORq1pof4waLxklM0mqKZzt9nCsKI"
            ),
            (
                "correct horse",
                "$argon2id$v=19$m=1024,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$UDengyDgIHrEpswm+GeJvBdp5V8H6p/bLZoLqHbHq7Y"
            ),
            ("", "$argon2id$v=19$m=1024,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$T55cGG9wRsroHi1yUIPOqQ"),
            (
                "p\u{E4}ss",
                "$argon2id$v=19$m=1024,t=1,p=2$MDEyMzQ1Njc4OWFiY2RlZg$r5NMk91+8G+Sf22GhIQoSaa4tTf9VavEoNWc49WBnNA"
            ),
            (
                "a\u{0}b",
                "$argon2id$v=19$m=1024,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$vNDnW9EVxl8BpKWURUHGtpDsAO9oNhiwyOfPkuN7nVY"
            ),
        ]
    )
    func foreignHash(password: String, hash: String) {
        let password = Array(password.utf8)
        #expect(Argon2.isWellFormed(Secret(hash)))
        #expect(self.matches(password, hash))
        #expect(PasswordHash.verify(password: password, encoded: Secret(hash)))
        #expect(!self.matches(password + [0x20], hash))
        #expect(!self.matches([0x20] + password, hash))
        #expect(!self.matches(password + [0], hash))
    }

    private static let salt = "MDEyMzQ1Njc4OWFiY2RlZg"
    private static let hash = "UDengyDgIHrEpswm+GeJvBdp5V8H6p/bLZoLqHbHq7Y"

    @Test("A decoy is of the same kind and cost as the real hash, and nothing matches it")
    func decoy() {
        let real = Secret("$argon2id$v=19$m=1024,t=1,p=1$\(Self.salt)$\(Self.hash)")
        let decoy = PasswordHash.decoy(like: real)
        #expect(Argon2.isWellFormed(decoy) && decoy.bytes.starts(with: "$argon2id$v=19$m=1024,t=1,p=1$".utf8))
        #expect(decoy != PasswordHash.decoy(like: real) && decoy.bytes.count == real.bytes.count)
        for password in ["", "correct horse"] {
            #expect(!PasswordHash.verify(password: Array(password.utf8), encoded: decoy))
        }
    }

    @Test(
        "A malformed or too costly hash matches nothing",
        arguments: [
            "", "$", "$argon2id$", "argon2id$v=19$m=1024,t=1,p=1$\(salt)$\(hash)",
            "$argon2id$v=19$m=1024,t=1,p=1$\(salt)$\(hash)$", "$argon2id$v=19$m=1024,t=1,p=1$\(salt)",
            "$argon2id$v=19$m=1024,t=1,p=1$\(salt)$", "$argon2id$v=19$m=1024,t=1,p=1$$\(hash)",
            "$argon2id$v=19$m=1024,t=1,p=1$\(salt)$\(hash)=", "$argon2id$v=19$m=1024,t=1,p=1$\(salt)$\(hash)\n",
            "$argon2d$v=19$m=1024,t=1,p=1$\(salt)$\(hash)", "$ARGON2ID$v=19$m=1024,t=1,p=1$\(salt)$\(hash)",
            "$argon2id$v=20$m=1024,t=1,p=1$\(salt)$\(hash)", "$argon2id$v=$m=1024,t=1,p=1$\(salt)$\(hash)",
            "$argon2id$v=19$m=1024,t=1$\(salt)$\(hash)", "$argon2id$v=19$m=1024,t=1,p=1,$\(salt)$\(hash)",
            "$argon2id$v=19$m=01024,t=1,p=1$\(salt)$\(hash)", "$argon2id$v=19$m=+1024,t=1,p=1$\(salt)$\(hash)",
            "$argon2id$v=19$m=1024,t=-1,p=1$\(salt)$\(hash)", "$argon2id$v=19$m=1024,t=1,p=0$\(salt)$\(hash)",
            "$argon2id$v=19$m=8,t=1,p=1$\(salt)$\(hash)", "$argon2id$v=19$m=1048576,t=1,p=1$\(salt)$\(hash)",
            "$argon2id$v=19$m=4294967295,t=4294967295,p=4294967295$\(salt)$\(hash)",
            "$argon2id$v=19$m=99999999999,t=1,p=1$\(salt)$\(hash)", "$argon2id$v=19$m=1024,t=1025,p=1$\(salt)$\(hash)",
            "$argon2id$v=19$m=1024,t=1,p=1$\(salt)$\(String(repeating: "A", count: 600))",
        ]
    )
    func malformed(text: String) {
        #expect(!Argon2.isWellFormed(Secret(text)))
        #expect(!self.matches(Array("correct horse".utf8), text))
        #expect(!PasswordHash.verify(password: Array("correct horse".utf8), encoded: Secret(text)))
    }
}
