import RequestPath
import Testing

/// Comments of an event stream are told from its fields, however the bytes are cut.
@Suite struct EventStreamLinesTests {
    /// A reference, because an expectation changes no value.
    private final class Lines {
        private var lines = EventStreamLines()
        func pass(_ text: String) -> Bool { Array(text.utf8).withUnsafeBufferPointer { self.lines.pass($0) } }
    }

    @Test(arguments: [
        ":\n\n", ": keep-alive\n\n", ":data: no\n\n", "\n\n\n", "\r\n:ping\r\n\r\n", ":a\r:b\r\r", ":a\r\n\r\n:b",
    ]) func commentsAreNoEvents(_ text: String) {
        let whole = Lines()
        #expect(!whole.pass(text))
        let cut = Lines()
        for character in text.unicodeScalars { #expect(!cut.pass(String(character))) }
    }

    @Test(arguments: [
        "data: 1\n\n", "event: ping\n", "id\n", "retry: 1\r\n", ":a\ndata: 1\n\n", ":a\rdata: 1\r\r", "\r\n\r\ndata",
        " :a\n", "data: a\n:b\n",
    ]) func fieldsAre(_ text: String) {
        let whole = Lines()
        #expect(whole.pass(text))
        let cut = Lines()
        let found = text.unicodeScalars.map { cut.pass(String($0)) }
        #expect(found.contains(true))
    }

    @Test func eachPartOfALongFieldIsOne() {
        let lines = Lines()
        #expect(lines.pass("data: aaa"))
        #expect(lines.pass(":::"))
        #expect(!lines.pass("\n\n"))
        #expect(!lines.pass(": a comment that is"))
        #expect(!lines.pass("data: cut\n"))
        #expect(lines.pass("d"))
    }
}
