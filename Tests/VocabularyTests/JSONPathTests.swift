import Testing
import Vocabulary

@Suite("Paths into JSON")
struct JSONPathTests {
    @Test(
        "A step leads into the elements of lists, leaves out what lacks the member, and makes one list of lists",
        arguments: [
            (["a": "x"], ["a"], "x"), (["a": ["b": 1]], ["a", "b"], 1), (["a": .null], ["a"], .null), ([:], ["a"], nil),
            (["g": [["n": "a"], ["n": "b"]]], ["g", "n"], ["a", "b"]),
            (["g": [["n": "a"], [:], ["n": .null], "x", 1, ["m": "b"], ["n": ""]]], ["g", "n"], ["a", ""]),
            (["g": [["n": ["a", "b"]], ["n": "c"]]], ["g", "n"], ["a", "b", "c"]),
            (["g": [[["n": "a"]], [[["n": "b"]], []]]], ["g", "n"], ["a", "b"]),
            (["g": [["r": [["n": "a"], ["n": "b"]]], ["r": ["n": "c"]]]], ["g", "r", "n"], ["a", "b", "c"]),
            (["g": []], ["g"], []), (["g": []], ["g", "n"], nil), (["g": [[:]]], ["g", "n"], nil),
            (["g": "x"], ["g", "n"], nil), (["g": [["a"], ["b", ["c"]], []]], ["g"], ["a", "b", "c"]),
            (["g": [["n": ["m": 1]]]], ["g", "n"], [["m": 1]]), ([["n": "a"]], ["n"], ["a"]), ("x", [], "x"),
        ] as [(JSONValue, [String], JSONValue?)]
    )
    func paths(document: JSONValue, path: [String], value: JSONValue?) {
        #expect(document.value(at: path) == value)
    }
}
