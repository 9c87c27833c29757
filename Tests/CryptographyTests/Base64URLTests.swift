import Cryptography
import Testing

@Suite("Base64 for URLs")
struct Base64URLTests {
    @Test(
        "RFC 4648 10, without padding",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func vectors(plain: String, text: String) {
        #expect(Base64URL.encode(plain.utf8) == text)
        #expect(Base64URL.encoded(Array(plain.utf8)) == Array(text.utf8))
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test("The last two characters of the alphabet are those for URLs (RFC 4648 5)")
    func alphabet() {
        #expect(Base64URL.encode([0xFB, 0xFF, 0xBF] as [UInt8]) == "-_-_")
        #expect(Base64URL.decode("-_-_") == [0xFB, 0xFF, 0xBF])
        #expect(Base64URL.decode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")?.count == 48)
    }

    @Test(
        "Padding, the other alphabet, stray bits, stray bytes and impossible lengths are refused",
        arguments: [
            "Zg==", "Zg=", "Zm8=", "=", "+/+/", "Zh", "Zm9", "Z", "Zm9vY", " Zg", "Zg ", "Zm\n9v", "Zm9v\0", "Zm9vé",
            "Zm9v.", "ＡＢ",
        ]
    )
    func refused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("Encoded bytes decode to themselves, at every length")
    func roundTrip() {
        for count in 0..<100 {
            let bytes = Random.bytes(count)
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes)
            #expect(text.utf8.count == (count * 4 + 2) / 3)
        }
    }

    @Test("No two texts decode to the same bytes")
    func canonical() {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var seen: Set<[UInt8]> = []
        for first in alphabet {
            for second in alphabet {
                guard let bytes = Base64URL.decode(String([first, second])) else { continue }
                #expect(seen.insert(bytes).inserted)
            }
        }
        #expect(seen.count == 256)
    }
}
