import Testing
import Vocabulary

@Suite("Members of JSON objects") struct JSONValueTests {
    private static let object: JSONValue = ["a": 1, "b": .null, "c": ["d": .null, "e": "f"], "g": [.null]]

    @Test("A member that is null is absent, at every level") func null() {
        let object = Self.object
        #expect(object["a"] == 1 && object["b"] == nil && object["missing"] == nil)
        #expect(object["c"]?["d"] == nil && object["c"]?["e"] == "f" && object["b"]?["x"] == nil)
        #expect(object["g"] == [.null], "an element of a list has its place")
        #expect(object.members?.keys.sorted() == ["a", "c", "g"])
        for value: JSONValue in [.null, 1, "a", ["a"], true] {
            #expect(value["a"] == nil && value.members == nil, "\(value)")
        }
        #expect(JSONValue.object([:]).members == [:])
    }

    @Test("A merge patch tells null from absence") func patch() {
        #expect(Self.object.removes("b") && !Self.object.removes("a") && !Self.object.removes("missing"))
        #expect(!JSONValue.null.removes("b"))
    }
}
