import Testing
import Vocabulary

@Suite("JSON merge patches") struct MergePatchTests {
    private static func value(_ text: String) throws -> JSONValue { try #require(JSONText.decode(Array(text.utf8))) }

    @Test(
        "The examples of RFC 7396, appendix A",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"a":1,"e":null}"#),
            ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ]
    )
    func examples(_ example: (String, String, String)) throws {
        #expect(try Self.value(example.0).merged(with: Self.value(example.1)) == Self.value(example.2))
    }

    @Test("The patch between two objects makes one of the other, and names only what differs")
    func difference() throws {
        let former = try Self.value(#"{"a":1,"b":{"c":[1],"d":true},"e":{"f":1}}"#)
        let wanted = try Self.value(#"{"b":{"c":[2],"d":true,"g":{"h":"x"}},"e":{"f":1},"i":2}"#)
        let patch = former.patch(to: wanted)
        #expect(former.merged(with: patch) == wanted)
        #expect(patch.leaves().map(\.path) == ["a", "b.c", "b.g.h", "i"])
        #expect(wanted.patch(to: wanted) == [:] && wanted.patch(to: wanted).leaves().isEmpty)
    }

    @Test("What says only what counts anyway is left out of a patch")
    func defaults() throws {
        let patch = try Self.value(#"{"a":1,"b":{"c":2,"d":3},"e":null,"f":{"g":1}}"#)
        let complete = try Self.value(#"{"a":1,"b":{"c":2,"d":4},"e":5,"f":{"g":1}}"#)
        #expect(try patch.without(defaultsOf: complete) == Self.value(#"{"b":{"d":3},"e":null}"#))
    }
}
