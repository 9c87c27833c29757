import Cryptography
import Testing

@Suite("Padded base64")
struct Base64Tests {
    /// RFC 4648 10.
    @Test(
        "The vectors of the RFC, both ways",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func vectors(bytes: String, text: String) {
        #expect(Base64.encode(Array(bytes.utf8)) == text)
        #expect(Base64.decoded(Array(text.utf8)) == Array(bytes.utf8))
    }

    @Test("All bytes come back, by the standard alphabet")
    func allBytes() {
        for count in 250...256 {
            let bytes = (0..<count).map { UInt8($0) }
            let text = Base64.encoded(bytes)
            #expect(text.allSatisfy { !"-_".utf8.contains($0) })
            #expect(Base64.decoded(text) == bytes)
        }
        #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
    }

    @Test(
        "What is not exactly the text of some bytes is refused",
        arguments: ["Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm 9", "-_==", "Zg==Zg==", "=Zg="]
    )
    func refused(text: String) {
        #expect(Base64.decoded(Array(text.utf8)) == nil)
    }
}
