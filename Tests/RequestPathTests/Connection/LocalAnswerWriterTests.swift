import Endpoints
import NIOCore
import RequestPath
import Testing
import Vocabulary

/// The heads of the gateway's own answers.
@Suite struct LocalAnswerWriterTests {
    private static let date = "Thu, 26 Nov 2026 05:00:00 GMT"

    private func text(
        _ response: EndpointResponse,
        lines: [String] = [],
        connection: ConnectionField = .none
    ) -> String {
        let id = RequestID(seed: 1, sequence: 2)
        let head = LocalAnswerHead(LocalAnswer(response), requestID: id, lines: lines.flatMap { Array($0.utf8) })
        var buffer = ByteBuffer()
        LocalAnswerWriter.write(head, date: Array(Self.date.utf8), connection: connection, into: &buffer)
        return String(buffer: buffer)
    }

    @Test("A head has its fields, the id, the length, and the added lines")
    func complete() {
        let answer = EndpointResponse(status: 200, fields: [("content-type", "text/plain")], body: Array("hello".utf8))
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

            """
        let lines = ["Set-Cookie: a=b\r\n", "Set-Cookie: c=d\r\n", "Vary: Origin\r\n"]
        #expect(self.text(answer, lines: lines) == expected)
    }

    private static let id = "X-Request-Id: 00000000000000010000000000000002\r\n"

    @Test("Statuses without a body have no length", arguments: [204, 304])
    func withoutBody(_ status: Int) {
        let text = self.text(EndpointResponse(status: status, body: Array("x".utf8)))
        let start = "HTTP/1.1 \(status) \(StatusText.phrase(status))\r\n"
        #expect(text == start + "Date: \(Self.date)\r\n\(Self.id)\r\n")
    }

    @Test("The end of the connection is announced, and its going on to clients that do not expect it")
    func connection() {
        let answer = EndpointResponse(status: 503)
        let start = "HTTP/1.1 503 Service Unavailable\r\nDate: \(Self.date)\r\n\(Self.id)Content-Length: 0\r\n"
        #expect(self.text(answer) == start + "\r\n")
        #expect(self.text(answer, connection: .keepAlive) == start + "Connection: keep-alive\r\n\r\n")
        #expect(self.text(answer, connection: .close) == start + "Connection: close\r\n\r\n")
    }

    @Test("A field whose value would add a line is left out", arguments: ["a\r\nb: c", "a\nb", "a\rb", "a\0b"])
    func lineBreaks(_ value: String) {
        let text = self.text(EndpointResponse(status: 204, fields: [("x", value), ("y", "z")]))
        #expect(text == "HTTP/1.1 204 No Content\r\nDate: \(Self.date)\r\ny: z\r\n\(Self.id)\r\n")
    }
}
