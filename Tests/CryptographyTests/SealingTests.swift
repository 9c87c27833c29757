import Cryptography
import Testing
import Vocabulary

@Suite struct SealingTests {
    struct Vector: Sendable {
        var key: String
        var nonce: String
        var plaintext: String
        var authenticated: String
        var ciphertext: String
        var tag: String
    }

    /// Test cases 13, 14 and 16 of the GCM specification (McGrew and Viega).
    static let vectors = [
        Vector(
            key: String(repeating: "00", count: 32),
            nonce: String(repeating: "00", count: 12),
            plaintext: "",
            authenticated: "",
            ciphertext: "",
            tag: "530f8afbc74536b9a963b4f1c4cb738b"
        ),
        Vector(
            key: String(repeating: "00", count: 32),
            nonce: String(repeating: "00", count: 12),
            plaintext: String(repeating: "00", count: 16),
            authenticated: "",
            ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        Vector(
            key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888",
            plaintext: """
                d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
                """,
            authenticated: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            ciphertext: """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
                """,
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]

    @Test("AES-256-GCM gives the specification's answers", arguments: Self.vectors)
    func vector(_ vector: Vector) {
        let (key, nonce, authenticated) = (hex(vector.key), hex(vector.nonce), hex(vector.authenticated))
        let sealed = key.withUnsafeBytes {
            AES256GCM.seal(hex(vector.plaintext), key: $0, nonce: nonce, authenticating: authenticated)
        }
        #expect(sealed == hex(vector.ciphertext + vector.tag))
        let opened = key.withUnsafeBytes {
            AES256GCM.open(sealed[...], key: $0, nonce: nonce[...], authenticating: authenticated)
        }
        #expect(opened == hex(vector.plaintext))
    }

    private let ring = SealingKeyRing(current: Secret("the secret of the tests"))
    private let place = Array("sp:s:{tag}:digest".utf8)

    @Test("A sealed record opens only at its place")
    func opensAtItsPlace() throws {
        let text = Array("who it is".utf8)
        let sealed = self.ring.seal(text, for: self.place)
        #expect(sealed.count == text.count + SealingKeyRing.overhead)
        let opened = try self.ring.open(sealed, for: self.place)
        #expect(opened == text)
        #expect(throws: SealingError.damaged) { try self.ring.open(sealed, for: self.place + [0]) }
        let empty = try self.ring.open(self.ring.seal([], for: self.place), for: self.place)
        #expect(empty.isEmpty)
    }

    @Test("Sealing the same twice gives different bytes")
    func fresh() {
        #expect(self.ring.seal([1], for: self.place) != self.ring.seal([1], for: self.place))
    }

    @Test("One changed bit or a truncation anywhere is detected")
    func altered() throws {
        let sealed = self.ring.seal(Array("who it is".utf8), for: self.place)
        for index in sealed.indices {
            for bit in 0..<8 {
                var bytes = sealed
                bytes[index] ^= 1 << bit
                let altered = bytes
                #expect(throws: SealingError.self) { try self.ring.open(altered, for: self.place) }
            }
            #expect(throws: SealingError.damaged) { try self.ring.open(Array(sealed[..<index]), for: self.place) }
        }
    }

    @Test("A newer format and an unknown key are distinguished from damage")
    func errors() throws {
        let sealed = self.ring.seal([1, 2, 3], for: self.place)
        #expect(throws: SealingError.unknownKey) {
            try SealingKeyRing(current: Secret("another secret")).open(sealed, for: self.place)
        }
        let newer = [2] + sealed.dropFirst()
        #expect(throws: SealingError.newer(2)) { try self.ring.open(newer, for: self.place) }
    }

    @Test("After a rotation the old secret's records open and the new one seals")
    func rotation() throws {
        let old = Secret("the old secret")
        let new = Secret("the new secret")
        let before = SealingKeyRing(current: old)
        let after = SealingKeyRing(current: new, accepted: [old])
        let sealed = before.seal([7], for: self.place)
        let opened = try after.open(sealed, for: self.place)
        #expect(opened == [7])
        #expect(throws: SealingError.unknownKey) {
            try before.open(after.seal([7], for: self.place), for: self.place)
        }
        #expect(after.names(of: "alice").contains(before.names(of: "alice")[0]))
        #expect(after.names(of: "alice").count == 2)
        #expect(SealingKeyRing(current: old, accepted: [old]).names(of: "alice").count == 1)
    }

    @Test("What another secret than the current one has sealed is known without opening it")
    func current() {
        let (old, new) = (Secret("the old secret"), Secret("the new secret"))
        let before = SealingKeyRing(current: old, accepted: [new])
        let after = SealingKeyRing(current: new, accepted: [old])
        let sealed = before.seal([1, 2, 3], for: self.place)
        #expect(before.isCurrent(sealed) && !after.isCurrent(sealed))
        #expect(!before.isCurrent([]) && !before.isCurrent(Array(sealed.prefix(5))))
    }

    @Test("SHA-1 names a script as Redis does")
    func scriptName() {
        #expect(SHA1.hex(Array("return 1".utf8)) == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
        #expect(SHA1.hex([]) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    }
}
