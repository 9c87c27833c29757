import Foundation
import GatewayBench
import Testing

/// Apps that write their answers in another form than RFC 9112.
@Suite("Answers of old servers", .blocking) struct OldServerTests {
    private static func file(_ app: FakeUpstream, _ answers: String) -> String {
        Config.open(
            upstream: app.port,
            more: "upstreams:\n  app:\n    url: http://127.0.0.1:\(app.port)\n    answers: \(answers)\n"
        ).replacing("upstream: http://127.0.0.1:\(app.port)\n", with: "upstream: app\n", maxReplacements: 1)
    }

    private static let fine = [
        "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 5\n\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5  \r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 103 Early Hints\nLink: </a.css>\n\nHTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\nConnection: close\r\n\r\nhello",
        "HTTP/1.0 200 OK\n\nhello",
    ]

    private static let refused = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
        "HTTP/1.1 302 Found\nLocation: /a\nLocation: /b\nContent-Length: 0\n\n",
        "220 mail.example.com ESMTP\n\n",
    ]

    /// An app that answers `/n` with the n-th of these, in whole or byte by byte, and closes then.
    private static func app(_ answers: [String]) throws -> FakeUpstream {
        try FakeUpstream { link in
            guard let request = link.next() else { return }
            let parts = request.target.split(separator: "/")
            guard let index = parts.first.flatMap({ Int($0) }), answers.indices.contains(index) else { return }
            guard parts.count > 1 else {
                _ = link.send(answers[index])
                return
            }
            for byte in answers[index].unicodeScalars { _ = link.send(String(byte)) }
        }
    }

    @Test(
        "With answers: lenient clients get them in strict form, however they arrive; without, 502",
        arguments: [1, 2]
    )
    func lenient(parts: Int) throws {
        let app = try Self.app(Self.fine + Self.refused)
        defer { app.stop() }
        func path(_ index: Int) -> String { "/\(index)" + (parts > 1 ? "/slowly" : "") }
        try Gateway.with(Self.file(app, "lenient")) { gateway throws in
            for index in Self.fine.indices {
                let wire = try gateway.connect()
                wire.send(Request.get(path(index), ["Connection: close"]))
                let answer = String(latin1: wire.receiveAll().bytes)
                #expect(answer.contains("HTTP/1.1 200 OK\r\n"), "\(Self.fine[index]): \(answer)")
                #expect(try gateway.get(path(index)).text == "hello", "\(Self.fine[index])")
                let head = answer.components(separatedBy: "\r\n\r\n").dropLast().joined(separator: "\r\n")
                #expect(!head.replacing("\r\n", with: "").contains("\n"), "\(answer)")
                let lengths = head.lowercased().components(separatedBy: "content-length:").count - 1
                #expect(lengths <= 1 && !head.contains("5, 5") && !head.contains("identity"), "\(answer)")
            }
            for index in Self.refused.indices {
                let answer = try gateway.get(path(Self.fine.count + index))
                #expect(answer.status == 502 && answer.reason == "upstream.malformed", "\(Self.refused[index])")
            }
        }
        try Gateway.with(Self.file(app, "strict")) { gateway throws in
            for index in Self.fine.indices where index != 3 {
                let answer = try gateway.get(path(index))
                #expect(answer.status == 502, "\(Self.fine[index]): \(answer.lines)")
            }
        }
    }

    @Test("A reload changes what is taken, also for an app whose connections stay")
    func reload() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 2\(request.target == "/old" ? ", 2" : "")\r\n\r\nok")
            }
        )
        defer { app.stop() }
        try Gateway.with(Self.file(app, "strict")) { gateway throws in
            #expect(try gateway.get("/").status == 200)
            for (answers, status) in [("lenient", 200), ("strict", 502), ("lenient", 200)] {
                try gateway.reload(Self.file(app, answers))
                #expect(try gateway.get("/old").status == status, "\(answers)")
            }
        }
    }

    @Test("A status from 600 on is 500 for clients, and a second equal Location is left out")
    func others() throws {
        let app = try Self.app([
            "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n",
        ])
        defer { app.stop() }
        try Gateway.with(Self.file(app, "lenient")) { gateway throws in
            let odd = try gateway.get("/0")
            #expect(odd.status == 500 && odd.text == "ok")
            let found = try gateway.get("/1")
            #expect(found.status == 302 && found.values("location") == ["/a"])
        }
    }
}
