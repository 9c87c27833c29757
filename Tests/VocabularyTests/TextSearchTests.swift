import Testing
import Vocabulary

@Suite("Search in texts") struct TextSearchTests {
    struct Row: Sendable {
        let text: String, wanted: String
        /// In bytes; nil: it is not there.
        let place: Int?
    }

    @Test(
        "A text is found byte for byte where it is for the first time",
        arguments: [
            Row(text: "https://a", wanted: "://", place: 5), Row(text: "aab", wanted: "ab", place: 1),
            Row(text: "abab", wanted: "ab", place: 0), Row(text: "ab", wanted: "abc", place: nil),
            Row(text: "", wanted: "a", place: nil), Row(text: "", wanted: "", place: 0),
            Row(text: "a", wanted: "", place: 0), Row(text: "a", wanted: "A", place: nil),
            Row(text: "x\r\n\r\ny", wanted: "\n\r", place: 2), Row(text: "\u{E9}\u{F6}", wanted: "\u{F6}", place: 2),
            // The same letter in other bytes.
            Row(text: "e\u{301}", wanted: "\u{E9}", place: nil),
        ]
    )
    func search(_ row: Row) {
        let found = row.text.firstRange(of: row.wanted)
        #expect(found.map { row.text.utf8.distance(from: row.text.startIndex, to: $0.lowerBound) } == row.place)
        #expect(found.map { row.text[$0].utf8.elementsEqual(row.wanted.utf8) } ?? true)
        #expect(row.text.contains(row.wanted) == (row.place != nil))
        #expect(row.text.dropFirst(0).contains(row.wanted) == (row.place != nil))
    }

    @Test("A text takes the place of another, everywhere, and what takes it is not searched")
    func replacing() {
        #expect("a_b_c".replacing("_", with: "-") == "a-b-c")
        #expect("aaa".replacing("aa", with: "a") == "aa")
        #expect("abc".replacing("b", with: "bb") == "abbc")
        #expect("abc".replacing("x", with: "y") == "abc")
        #expect("b".replacing("b", with: "") == "")
        #expect("abc".replacing("", with: "x") == "abc")
    }
}
