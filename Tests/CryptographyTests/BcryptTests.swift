import Cryptography
import Testing
import Vocabulary

@Suite("Password hashes by bcrypt")
struct BcryptTests {
    private func matches(_ password: [UInt8], _ hash: String) -> Bool {
        Bcrypt.verify(password: password, encoded: Secret(hash))
    }

    private static let digitsAndLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

    /// Those of jBCrypt and crypt_blowfish.
    @Test(
        "Hashes of other programs are verified, and only with their password",
        arguments: [
            ("", "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."),
            ("", "$2a$08$HqWuK6/Ng6sg9gQzbLrgb.Tl.ZHfXLhvt/SgVyWhQqgqcZ7ZuUtye"),
            ("a", "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"),
            ("abc", "$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i"),
            ("abcdefghijklmnopqrstuvwxyz", "$2a$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC"),
            ("~!@#$%^&*()      ~!@#$%^&*()PNBFRD", "$2a$06$fPIsBO8qRqkjj273rfaOI.HtSV9jLDpTbZn782DC6/t7qT67P6FfO"),
            ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
            ("U*U", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
            ("U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
            ("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
            ("pässwörd", "$2b$04$abcdefghijklmnopqrstuuyx2n0Zzopyr9QuYTMCfOJJOj526QVoC"),
            (digitsAndLetters, "$2b$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"),
        ]
    )
    func foreignHash(password: String, hash: String) {
        let password = Array(password.utf8)
        #expect(Bcrypt.isWellFormed(Secret(hash)))
        #expect(self.matches(password, hash))
        #expect(PasswordHash.verify(password: password, encoded: Secret(hash)))
        #expect(!self.matches(password + [0x20], hash))
        #expect(!self.matches([0x20] + password, hash))
        #expect(!self.matches(Array(password.dropLast()) + [0x7F], hash))
    }

    @Test("A password that bcrypt would read in part does not match")
    func notReadWhole() {
        let whole = Array(Self.digitsAndLetters.utf8)
        #expect(whole.count == 72)
        let hash = "$2b$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"
        #expect(self.matches(whole, hash))
        for more in [[0x61], [0x00], Array(whole.prefix(1)), whole, [UInt8](repeating: 0x61, count: 2000)] {
            #expect(!self.matches(whole + more, hash), "\(more.count)")
        }
        // libcrypt alone would take each of these for the empty password or for "U*U".
        #expect(!self.matches([0], "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."))
        #expect(!self.matches(Array("\0a".utf8), "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."))
        #expect(!self.matches(Array("U*U\0U".utf8), "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"))
        // The stand-in for such a password is the empty one, which is not to match either.
        let empty = "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."
        #expect(!self.matches(whole + [0x61], empty))
    }

    @Test("Bits of the salt that do not count may be set")
    func looseBits() {
        let password = Array(Self.digitsAndLetters.utf8)
        #expect(self.matches(password, "$2b$05$abcdefghijklmnopqrstuv5s2v8.iXieOjg/.AySBTTZIIVFJeBui"))
        #expect(!self.matches(password, "$2b$05$abcdefghijklmnopqrstuO5s2v8.iXieOjg/.AySBTTZIIVFJeBui"))
    }

    @Test("A decoy is of the same kind and cost as the real hash, and nothing matches it")
    func decoy() {
        let real = Secret("$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")
        let decoy = PasswordHash.decoy(like: real)
        #expect(Bcrypt.isWellFormed(decoy) && decoy.bytes.starts(with: "$2y$05$".utf8))
        #expect(decoy != PasswordHash.decoy(like: real))
        for password in ["", "U*U"] {
            #expect(!PasswordHash.verify(password: Array(password.utf8), encoded: decoy))
        }
        let scrypt = Scrypt.hash(password: Array("U*U".utf8))
        #expect(PasswordHash.verify(password: Array("U*U".utf8), encoded: scrypt))
        #expect(PasswordHash.decoy(like: scrypt).bytes.starts(with: "scrypt:16384:8:5:".utf8))
    }

    private static let saltAndHash = "CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"

    @Test(
        "A malformed or too costly hash matches nothing",
        arguments: [
            "", "$", "$$$", "*0", "$2a$05", "$2a$05$", "$2a$05$\(saltAndHash.dropLast())", "$2a$05$\(saltAndHash)W",
            "$2a$05$\(saltAndHash)$", "$2a$05\(saltAndHash)", "x$2a$05$\(saltAndHash)", " $2a$05$\(saltAndHash)",
            "$2a$05$\(saltAndHash)\n", "$2a$05$\(saltAndHash.dropLast())\0", "$2a$05$\(saltAndHash.dropLast())=",
            "$2$05$\(saltAndHash)", "$2x$05$\(saltAndHash)", "$2A$05$\(saltAndHash)", "$2b$5$\(saltAndHash)",
            "$2b$+5$\(saltAndHash)", "$2b$005$\(saltAndHash)", "$2b$00$\(saltAndHash)", "$2b$03$\(saltAndHash)",
            "$2b$17$\(saltAndHash)", "$2b$31$\(saltAndHash)", "$2b$99$\(saltAndHash)", "$y$05$\(saltAndHash)",
            "$5$05$\(saltAndHash)", "$argon2id$05$\(saltAndHash)",
        ]
    )
    func malformed(text: String) {
        #expect(!Bcrypt.isWellFormed(Secret(text)))
        #expect(!self.matches(Array("U*U".utf8), text))
        #expect(!PasswordHash.verify(password: Array("U*U".utf8), encoded: Secret(text)))
    }

    @Test("The costs from 4 to 16 can be verified")
    func costs() {
        for cost in ["04", "09", "10", "16"] { #expect(Bcrypt.isWellFormed(Secret("$2b$\(cost)$\(Self.saltAndHash)"))) }
    }

    @Test("Many are verified at once")
    func atOnce() async {
        let right = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let password = number.isMultiple(of: 2) ? "U*U" : "U*V"
                    let hash = "$2a$05$\(Self.saltAndHash)"
                    return Bcrypt.verify(password: Array(password.utf8), encoded: Secret(hash))
                        == number.isMultiple(of: 2)
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(right == 64)
    }
}
