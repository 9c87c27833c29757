import RequestPath
import Testing
import Vocabulary

/// The bytes of the gateway's own answers.
@Suite struct LocalAnswerTests {
    private static let date = "Thu, 26 Nov 2026 05:00:00 GMT"

    private func text(
        _ answer: LocalAnswer,
        id: RequestID? = RequestID(seed: 1, sequence: 2),
        lines: [String] = [],
        crossOrigin: String = "",
        isHead: Bool = false,
        keepsAlive: Bool = true,
        saysKeepAlive: Bool = false
    ) -> String {
        let bytes = answer.serialized(
            requestID: id,
            date: Self.date,
            extraLines: lines.map { Array($0.utf8) },
            crossOriginLines: Array(crossOrigin.utf8),
            isHead: isHead,
            keepsAlive: keepsAlive,
            saysKeepAlive: saysKeepAlive
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("An answer has its fields, the id, the length, the added lines, and then the body")
    func complete() {
        let answer = LocalAnswer(status: 200, fields: [("content-type", "text/plain")], body: Array("hello".utf8))
        let expected = """
            HTTP/1.1 200 OK\r
            Date: \(Self.date)\r
            content-type: text/plain\r
            X-Request-Id: 00000000000000010000000000000002\r
            Content-Length: 5\r
            Set-Cookie: a=b\r
            Set-Cookie: c=d\r
            Vary: Origin\r
            \r
            hello
            """
        let lines = ["Set-Cookie: a=b\r\n", "Set-Cookie: c=d\r\n"]
        #expect(self.text(answer, lines: lines, crossOrigin: "Vary: Origin\r\n") == expected)
        let head = self.text(answer, lines: lines, crossOrigin: "Vary: Origin\r\n", isHead: true)
        #expect(head == String(expected.dropLast(5)))
    }

    @Test("Statuses without a body have neither length nor body", arguments: [204, 304])
    func withoutBody(_ status: Int) {
        let text = self.text(LocalAnswer(status: status, body: Array("x".utf8)), id: nil)
        #expect(text == "HTTP/1.1 \(status) \(StatusText.phrase(status))\r\nDate: \(Self.date)\r\n\r\n")
    }

    @Test("The end of the connection is announced, and its going on to clients that do not expect it")
    func connection() {
        let answer = LocalAnswer(status: 503)
        let start = "HTTP/1.1 503 Service Unavailable\r\nDate: \(Self.date)\r\nContent-Length: 0\r\n"
        #expect(self.text(answer, id: nil) == start + "\r\n")
        #expect(self.text(answer, id: nil, saysKeepAlive: true) == start + "Connection: keep-alive\r\n\r\n")
        #expect(self.text(answer, id: nil, keepsAlive: false) == start + "Connection: close\r\n\r\n")
    }

    @Test("A field whose value would add a line is left out", arguments: ["a\r\nb: c", "a\nb", "a\rb", "a\0b"])
    func lineBreaks(_ value: String) {
        let text = self.text(LocalAnswer(status: 204, fields: [("x", value), ("y", "z")]), id: nil)
        #expect(text == "HTTP/1.1 204 No Content\r\nDate: \(Self.date)\r\ny: z\r\n\r\n")
    }
}
