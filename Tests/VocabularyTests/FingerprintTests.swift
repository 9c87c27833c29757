import Testing
import Vocabulary

@Suite("Fingerprints") struct FingerprintTests {
    private static func fingerprint(_ bytes: [UInt8]) -> Fingerprint {
        Fingerprint(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    @Test("It is the first 50 bits in base32 of RFC 4648, in lower case")
    func text() {
        // "foobar" is MZXW6YTBOI in RFC 4648 10; 48 bits, so the last character has bits of what follows.
        #expect(Self.fingerprint(Array("foobar".utf8) + [0, 0]).description == "mzxw6ytboi")
        #expect(Self.fingerprint([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]).description == "7777777777")
        #expect(Self.fingerprint([UInt8](repeating: 0, count: 32)).description == "aaaaaaaaaa")
    }

    @Test("Each of its characters is any of the 32")
    func characters() {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
        for place in 0..<Fingerprint.length {
            for number in alphabet.indices {
                let bits = UInt64(number) << UInt64(59 - 5 * place)
                var expected = [Character](repeating: "a", count: Fingerprint.length)
                expected[place] = alphabet[number]
                #expect(Fingerprint(bits).description == String(expected))
                expected = [Character](repeating: "7", count: Fingerprint.length)
                expected[place] = alphabet[31 - number]
                #expect(Fingerprint(~bits).description == String(expected))
            }
        }
    }

    @Test("Its text is read back, and nothing else is one")
    func reading() {
        let fingerprint = Self.fingerprint([0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0])
        #expect(Fingerprint(fingerprint.description) == fingerprint)
        for text in ["", "mzxw6ytbo", "mzxw6ytboia", "MZXW6YTBOI", "mzxw6ytb01", "mzxw6ytb\u{e9}"] {
            #expect(Fingerprint(text) == nil, "\(text)")
        }
    }
}
