import Testing
import Vocabulary

@Suite("Halves of surrogate pairs in JSON (RFC 8259 8.2)")
struct LoneSurrogateTests {
    @Test(
        "Half a pair is refused, or U+FFFD stands for it, and what stands beside it stays",
        arguments: [
            (#""\ud83d""#, "\u{FFFD}"), (#""\uDE00""#, "\u{FFFD}"), (#""Anna \ud83d""#, "Anna \u{FFFD}"),
            (#""\ud83dx""#, "\u{FFFD}x"), (#""\ud83d\n""#, "\u{FFFD}\n"), (#""\ud83d\u0041""#, "\u{FFFD}A"),
            (#""\ud83d\ud83d\ude00""#, "\u{FFFD}\u{1F600}"), (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
            (#"["a","\ud83d"]"#, ["a", "\u{FFFD}"]), (#"{"a":{"b":"\udfff"}}"#, ["a": ["b": "\u{FFFD}"]]),
        ] as [(String, JSONValue)]
    )
    func halves(text: String, value: JSONValue) {
        #expect(JSONText.decode(Array(text.utf8)) == nil)
        #expect(JSONText.decode(Array(text.utf8), loneSurrogates: .replaced) == value)
    }

    @Test(
        "What breaks the grammar, or stands in a name, is refused in any case",
        arguments: [
            #""\ud83d\u12""#, #""\ud83d\u""#, #""\ud83d\""#, #""\ud8""#, #""\ud83g""#, #""\ud83d"#, #"{"\ud83d":1}"#,
            #"{"a":{"x\udc00":1}}"#, #"{"\ud83d":1,"\ud83e":2}"#,
        ]
    )
    func refused(text: String) {
        #expect(JSONText.decode(Array(text.utf8), loneSurrogates: .replaced) == nil)
    }

    @Test("A whole pair is one character") func pairs() {
        for surrogates in [JSONText.LoneSurrogates.refused, .replaced] {
            let text = Array(#"{"\ud83d\ude00":"\ud83d\ude00"}"#.utf8)
            #expect(JSONText.decode(text, loneSurrogates: surrogates) == ["\u{1F600}": "\u{1F600}"])
        }
    }
}
