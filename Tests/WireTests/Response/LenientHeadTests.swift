import RequestPath
import Testing

/// Answers of old servers: rewritten in strict form, or left as they are and refused.
@Suite struct LenientHeadTests {
    private static let parser = ResponseParser(
        names: FieldNames(roles: FieldNames.responseRoles, managedNames: [], managedPrefixes: []),
        limit: 4096
    )

    /// The head as clients get it; nil: it is refused all the same.
    private static func strict(_ text: String) throws -> String? {
        let bytes = Array(text.utf8)
        guard case .rewritten(let written, let count) = LenientHead.rewrite(bytes, limit: 4096) else { return nil }
        #expect(count == bytes.count)
        let head = ResponseHead(fieldCount: 20)
        let result = try written.withUnsafeBufferPointer { buffer in
            Self.parser.parse(try #require(buffer.baseAddress), buffer.count, into: head)
        }
        #expect(result != .incomplete)
        return result == .complete ? String(decoding: written, as: UTF8.self) : nil
    }

    private static func head(_ fields: String..., status: String = "200 OK", version: String = "1.1") -> String {
        "HTTP/\(version) \(status)\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    @Test(
        "What old servers write is rewritten in the one form that every client reads alike",
        arguments: [
            ("HTTP/1.1 200 OK\nA: b\nContent-Length: 5\n\n", head("A: b", "Content-Length: 5")),
            ("HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\n", head("A: b", "C: d")),
            ("HTTP/1.1 200 OK\nA: b\r\n\r\n", head("A: b")),
            ("\r\n" + head("A: b"), head("A: b")), ("\nHTTP/1.1 200 OK\n\n", head()),
            (head("Content-Length: 5", "Content-Length: 5"), head("Content-Length: 5")),
            (head("Content-Length: 5, 5"), head("Content-Length: 5")),
            (head("content-length: 5,5", "A: b", "Content-Length:5"), head("content-length: 5", "A: b")),
            (head("Location: /x", "Location: /x"), head("Location: /x")),
            (head("Transfer-Encoding: identity", "Content-Length: 5"), head("Content-Length: 5")),
            (head("Transfer-Encoding: Identity"), head()),
            (head("Content-Length:", "Connection: close"), head("Connection: close")),
            (head("Content-Length: ", version: "1.0"), head(version: "1.0")),
            (head(status: "600 Odd"), head(status: "500 Odd")), (head(status: "999"), head(status: "500")),
            (head("Transfer-Encoding: identity", "Content-Length:", "Connection: close"), head("Connection: close")),
            (head("A: b", " "), head("A: b")), (head("A : b"), head("A: b")),
            (head("A: b", " c", "\t d"), head("A: b c d")),
        ]
    )
    func rewritten(text: String, expected: String) throws {
        #expect(try Self.strict(text) == expected)
    }

    @Test(
        "What readers could take for different answers is refused, also of old servers",
        arguments: [
            head("Content-Length: 5", "Content-Length: 6"), head("Content-Length: 5, 6"), head("Content-Length: 5,"),
            head("Content-Length: 5 5"), head("Content-Length: +5", "Content-Length: +5"),
            head("Content-Length: -1, -1"),
            head("Content-Length: 5, 05"), head("Location: /x", "Location: /y"), head("Location: /x", "Location: /X"),
            head("Transfer-Encoding: chunked", "Content-Length: 5"), head("Transfer-Encoding: identity, chunked"),
            head("Transfer-Encoding: identity", "Transfer-Encoding: chunked"), head("Transfer-Encoding: gzip"),
            head("Content-Length:"), head("Content-Length:", version: "1.1"),
            "HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length:\n\n",
            head("Content-Length:", "Connection: close", "Transfer-Encoding: gzip"),
            head("Content-Length: 5", "Content-Length:", "Connection: close"), "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            head("A"), head(": b"), head("A b: c"), head(" A: b"), head("A: b\u{0}"), head("A: b\rC: d"),
            "ICY 200 OK\n\n",
            "HTTP/1.1 200 OK\r\r\n\r\n", head(status: "6000"), head(status: "60 x"), head(status: "6ab x"),
            head(status: "1000 x"),
            "<html>\n\n",
            "HTTP/1.1 200 OK\nA: b\u{1}\n\n", "HTTP/2.0 200 OK\n\n", "HTTP/1.1  200 OK\n\n",
        ]
    )
    func refused(text: String) throws {
        #expect(try Self.strict(text) == nil)
    }

    @Test("A head of which a part is there is waited for, within the limit")
    func parts() {
        let whole = Array("\r\nHTTP/1.1 200 OK\nContent-Length: 5, 5\n\n".utf8)
        for count in 1..<whole.count {
            #expect(LenientHead.rewrite(Array(whole[..<count]), limit: 4096) == .incomplete, "\(count)")
        }
        let long = Array("HTTP/1.1 200 OK\n".utf8) + [UInt8](repeating: 0x41, count: 5000)
        #expect(LenientHead.rewrite(long, limit: 4096) == .same)
        #expect(LenientHead.rewrite(long + Array("\n\n".utf8), limit: 4096) == .same)
        guard case .rewritten(_, let count) = LenientHead.rewrite(whole + Array("hello".utf8), limit: 4096) else {
            Issue.record("refused")
            return
        }
        #expect(count == whole.count, "the content is no part of it")
    }
}
