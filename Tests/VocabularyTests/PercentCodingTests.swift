import Testing
import Vocabulary

@Suite("Percent-encoding and forms")
struct PercentCodingTests {
    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test("Decoding is done once, either strictly or as most apps do it")
    func decoding() {
        for (text, strict, lenient) in [
            ("", "", ""), ("abc", "abc", "abc"), ("%41%4a%4A", "AJJ", "AJJ"), ("%2541", "%41", "%41"),
            ("%", nil, "%"), ("%4", nil, "%4"), ("%4x%41", nil, "%4xA"), ("%%41", nil, "%A"), ("a%", nil, "a%"),
        ] as [(String, String?, String)] {
            #expect(self.text(PercentCoding.decoded(text.utf8, plusIsSpace: false)) == strict)
            #expect(self.text(PercentCoding.leniently(text.utf8, plusIsSpace: false)) == lenient)
        }
        #expect(self.text(PercentCoding.decoded("a+b%2B".utf8, plusIsSpace: true)) == "a b+")
        #expect(self.text(PercentCoding.decoded("a+b%2B".utf8, plusIsSpace: false)) == "a+b+")
        #expect(self.text(PercentCoding.decoded(Array("x%41y".utf8)[1...], plusIsSpace: false)) == "Ay")
    }

    @Test("All bytes except unreserved ones are encoded")
    func encoding() {
        #expect(PercentCoding.encoded("aZ09-._~") == "aZ09-._~")
        #expect(PercentCoding.encoded("/ ?&=%\u{E9}") == "%2F%20%3F%26%3D%25%C3%A9")
    }

    @Test("Hexadecimal digits of either case are accepted, and nothing else")
    func digits() {
        let digits = Array("0123456789abcdefABCDEF".utf8)
        for byte in UInt8.min...UInt8.max {
            let expected = digits.firstIndex(of: byte).map { UInt8($0 < 16 ? $0 : $0 - 6) }
            #expect(Hexadecimal.value(byte) == expected)
        }
        var text: [UInt8] = []
        for byte in [0x00, 0x9F, 0xFA] as [UInt8] { Hexadecimal.append(byte, to: &text) }
        #expect(self.text(text) == "009ffa")
    }

    private func pairs(_ text: String) -> [String] {
        FormText.pairs(text.utf8).map { "\($0.name)|\($0.value)" }
    }

    @Test("Any query can be read, whatever it contains")
    func pairs() {
        #expect(self.pairs("") == [] && self.pairs("&&") == [])
        #expect(self.pairs("a=1&b&c=&=d&a=2=3&x+y=%26") == ["a|1", "b|", "c|", "|d", "a|2=3", "x y|&"])
        #expect(self.pairs("a=%zz&b=%") == ["a|%zz", "b|%"])
        #expect(self.pairs("a=%FF") == ["a|\u{FFFD}"])
    }

    @Test("A form can be read only if nothing in it is malformed")
    func strictPairs() {
        #expect(FormText.strictPairs("a=1&b+c=%C3%A9".utf8)?.map(\.value) == ["1", "\u{E9}"])
        for broken in ["a=%", "%zz=1", "a=%C3%28"] { #expect(FormText.strictPairs(broken.utf8) == nil) }
    }
}
