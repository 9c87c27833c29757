import RequestPath
import Testing
import Vocabulary

/// 414 and 431 at the limit and one byte above it, for complete and incomplete requests.
@Suite struct RequestLimitTests {
    private static let parser = RequestParser(
        names: Heads.requestNames,
        limits: HeadLimits(line: 256, field: 512, fields: 1024, fieldCount: 8),
        dropsUnderscore: true
    )

    private static func result(_ text: String) -> ParseResult { Heads.result(text, with: Self.parser) }

    private static func filled(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test func takesARequestLineUpToTheLimit() {
        let rest = "GET / HTTP/1.1\r".utf8.count
        #expect(Self.result(head("GET /\(Self.filled(256 - rest)) HTTP/1.1")) == .complete)
        #expect(
            Self.result(head("GET /\(Self.filled(257 - rest)) HTTP/1.1")) == .refused(.requestLineTooLong)
        )
    }

    @Test func refusesARequestLineThatDoesNotEnd() {
        #expect(Self.result("GET /" + Self.filled(200)) == .incomplete)
        #expect(Self.result("GET /" + Self.filled(252)) == .refused(.requestLineTooLong))
        #expect(Self.result(Self.filled(300)) == .refused(.requestLineTooLong))
    }

    @Test func takesAFieldUpToTheLimit() {
        let refusal = ParseResult.refused(.requestFieldsTooLarge)
        #expect(Self.result(head("GET / HTTP/1.1", "X: " + Self.filled(508))) == .complete)
        #expect(Self.result(head("GET / HTTP/1.1", "X: " + Self.filled(509))) == refusal)
        #expect(Self.result(head("GET / HTTP/1.1", Self.filled(600) + ": x")) == refusal)
        #expect(Self.result("GET / HTTP/1.1\r\nX: " + Self.filled(508)) == .incomplete)
        #expect(Self.result("GET / HTTP/1.1\r\nX: " + Self.filled(510)) == refusal)
    }

    @Test func takesAllFieldsUpToTheLimit() {
        let refusal = ParseResult.refused(.requestFieldsTooLarge)
        let host = "Host: a\r\n".utf8.count
        let first = "X: " + Self.filled(500)
        let room = 1024 - host - (first.utf8.count + 2)
        #expect(Self.result(head("GET / HTTP/1.1", first, "Y: " + Self.filled(room - 5))) == .complete)
        #expect(Self.result(head("GET / HTTP/1.1", first, "Y: " + Self.filled(room - 4))) == refusal)
        #expect(Self.result("GET / HTTP/1.1\r\n\(first)\r\n\(first)\r\nZ: " + Self.filled(100)) == refusal)
    }

    @Test func takesTheMostFieldsAndNoMore() {
        let seven = (0..<7).map { "X\($0): 1\r\n" }.joined()
        #expect(Self.result("GET / HTTP/1.1\r\nHost: a\r\n\(seven)\r\n") == .complete)
        let refused = Self.result("GET / HTTP/1.1\r\nHost: a\r\n\(seven)Y: 1\r\n\r\n")
        #expect(refused == .refused(.requestFieldsTooLarge))
        // Fields that are dropped later count as well.
        let aliases = (0..<8).map { "X_\($0): 1\r\n" }.joined()
        #expect(
            Self.result("GET / HTTP/1.1\r\nHost: a\r\n\(aliases)\r\n") == .refused(.requestFieldsTooLarge)
        )
    }

    @Test func hasTheDefaultLimits() {
        let line = String(repeating: "x", count: 8192)
        #expect(Heads.result("GET /\(line) HTTP/1.1\r\nHost: a\r\n\r\n") == .refused(.requestLineTooLong))
        let field = String(repeating: "x", count: 16_384)
        #expect(Heads.result(head("GET / HTTP/1.1", "X: \(field)")) == .refused(.requestFieldsTooLarge))
        let many = (0..<100).map { "X\($0): 1\r\n" }.joined()
        #expect(
            Heads.result("GET / HTTP/1.1\r\nHost: a\r\n\(many)\r\n") == .refused(.requestFieldsTooLarge)
        )
        let wide = (0..<5).map { "X\($0): \(field.dropLast(100))\r\n" }.joined()
        #expect(
            Heads.result("GET / HTTP/1.1\r\nHost: a\r\n\(wide)\r\n") == .refused(.requestFieldsTooLarge)
        )
    }
}
