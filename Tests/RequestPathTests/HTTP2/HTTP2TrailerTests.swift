import NIOCore
import RequestPath
import Settings
import TestSupport
import Testing

/// Trailers on a connection of HTTP/2, in both directions.
@Suite("Trailers of HTTP/2") struct HTTP2TrailerTests {
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let get = ClientFrames.request()
    private static let post = ClientFrames.request("POST")

    /// The names and values of the last fields on a stream.
    private static func trailers(_ frames: [ServerFrame], _ stream: UInt32 = 1) -> [String] {
        frames.last { $0.kind == 1 && $0.stream == stream }?.fields.map { "\($0.name): \($0.value)" } ?? []
    }

    // MARK: Answers

    @Test("Trailers of an app end the stream behind its content, with names in lower case", arguments: [1, 7, 1000])
    func behindContent(_ step: Int) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer(Self.chunked)
        var frames = bench.sent()
        var rest = Array("5\r\nhello\r\n0\r\nX-Sum: 1\r\nServer-Timing:  db\r\nX-Auth-Subject: root\r\n\r\n".utf8)[...]
        while !rest.isEmpty {
            _ = app.goOn(String(decoding: rest.prefix(step), as: UTF8.self))
            rest = rest.dropFirst(step)
            frames += bench.sent()
        }
        #expect(frames.content() == "hello" && frames.reset() == nil)
        #expect(Self.trailers(frames) == ["x-sum: 1", "server-timing: db"])
        #expect(frames.filter(\.endsStream).count == 1 && frames.last { $0.stream == 1 }?.endsStream == true)
        #expect(frames.last { $0.stream == 1 }?.kind == 1 && !bench.connection.isBusy)
    }

    @Test("Trailers of an app without content follow the head, at once or later", arguments: [true, false])
    func withoutContent(_ isLate: Bool) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        var frames: [ServerFrame] = []
        if isLate {
            _ = app.answer(Self.chunked)
            frames = bench.sent()
            #expect(!frames.hasEnded())
            _ = app.goOn("0\r\nX-Sum: 1\r\n\r\n")
        } else {
            _ = app.answer(Self.chunked + "0\r\nX-Sum: 1\r\n\r\n")
        }
        frames += bench.sent()
        let heads = frames.filter { $0.kind == 1 && $0.stream == 1 }
        #expect(heads.count == 2 && heads.first?.fields.first?.value == "200" && heads.first?.endsStream == false)
        #expect(Self.trailers(frames) == ["x-sum: 1"] && heads.last?.endsStream == true)
        #expect(frames.content().isEmpty && frames.reset() == nil && !bench.connection.isBusy)
    }

    @Test("An answer of which no trailer passes ends with its content")
    func noneLeft() throws {
        let bench = try HTTP2Bench()
        for stream in [1, 3] as [UInt32] {
            let app = bench.app()
            bench.come(ClientFrames().headers(stream, Self.get))
            app.send()
            let trailers = stream == 1 ? "Set-Cookie: a=b\r\nConnection: x\r\nContent-Length: 9\r\n" : ""
            _ = app.answer(Self.chunked + "5\r\nhello\r\n0\r\n\(trailers)\r\n")
            let frames = bench.sent()
            #expect(frames.filter { $0.kind == 1 }.count == 1 && frames.content(stream) == "hello")
            #expect(frames.hasEnded(stream) && frames.last { $0.stream == stream }?.kind == 0)
        }
    }

    @Test("Trailers wait until the client has taken the content")
    func behindTheWindow() throws {
        let bench = try HTTP2Bench(client: [(id: 4, value: 3)])
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer(Self.chunked + "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n")
        var frames = bench.sent()
        #expect(frames.content() == "hel" && !frames.hasEnded())
        frames = bench.come(ClientFrames().windowUpdate(1, 10))
        #expect(frames.content() == "lo" && Self.trailers(frames) == ["x-sum: 1"] && frames.hasEnded())
    }

    @Test("A stream that is reset, and the one that uses its memory next, get no trailers of another one")
    func reset() throws {
        let bench = try HTTP2Bench(client: [(id: 4, value: 3)])
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer(Self.chunked + "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n")
        #expect(bench.sent().content() == "hel")
        bench.come(ClientFrames().reset(1))
        let next = bench.app()
        bench.come(ClientFrames().headers(3, Self.get))
        next.send()
        _ = next.answer(Self.chunked + "2\r\nhi\r\n0\r\n\r\n")
        let frames = bench.sent()
        #expect(frames.content(3) == "hi" && frames.hasEnded(3) && frames.filter { $0.kind == 1 }.count == 1)
    }

    // MARK: Requests

    @Test("Trailers of a body without length reach the app, except those that only the gateway may set")
    func ofRequests() throws {
        let bench = try HTTP2Bench()
        for stream in [1, 3] as [UInt32] {
            let app = bench.app()
            bench.come(ClientFrames().headers(stream, Self.post, endsStream: false))
            app.send()
            bench.come(ClientFrames().data(stream, Array("hi".utf8)))
            let fields = [
                ("x-sum", "1"), ("x-auth-subject", "root"), ("x_sum", "2"), ("remote-user", "root"),
                ("x-forwarded-for", "192.0.2.1"), ("location", "/x"), ("server-timing", "db"),
            ]
            bench.come(ClientFrames().headers(stream, fields))
            #expect(app.sent == "hi" && app.isComplete && app.trailers == "x-sum: 1\r\nserver-timing: db\r\n")
            _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(bench.sent().status(stream) == "200")
        }
        let plain = bench.app()
        bench.come(ClientFrames().headers(5, Self.post, endsStream: false))
        plain.send()
        bench.come(ClientFrames().data(5, Array("hi".utf8), endsStream: true))
        #expect(plain.sent == "hi" && plain.isComplete && plain.trailers.isEmpty)
    }

    @Test(
        "Trailers that nobody sends without intent refuse the request",
        arguments: [
            ("host", "evil.example"), ("cookie", "a=b"), ("authorization", "a"), ("content-type", "text/html"),
            ("set-cookie", "a=b"), ("trailer", "x"), ("expect", "100-continue"), ("content-encoding", "gzip"),
        ]
    )
    func refused(_ name: String, _ value: String) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.post, endsStream: false))
        app.send()
        bench.come(ClientFrames().data(1, Array("hi".utf8)))
        let frames = bench.come(ClientFrames().headers(1, [("x-sum", "1"), (name, value)]))
        #expect(!app.isComplete && app.isAbandoned)
        #expect(frames.status() == "400" && frames.content().contains("request.framing"))
    }

    @Test(
        "Trailers that are no fields of HTTP/2 reset the stream",
        arguments: [
            [("x-Upper", "a")], [("x a", "b")], [("x-a", "b\r\nx-auth-subject: root")], [("x-a", "b\u{0}")],
            [("x-a\r\nhost", "b")], [("transfer-encoding", "chunked")], [("connection", "x")], [(":path", "/")],
        ]
    )
    func malformed(_ fields: [(String, String)]) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.post, endsStream: false))
        app.send()
        bench.come(ClientFrames().data(1, Array("hi".utf8)))
        let frames = bench.come(ClientFrames().headers(1, [("x-sum", "1")] + fields))
        #expect(frames.reset() == 1 && !app.isComplete && app.isAbandoned && app.trailers.isEmpty)
    }

    @Test("More trailers than a head may have are refused, and far more reset the stream")
    func tooLarge() throws {
        for (count, isFar) in [(3, false), (20, true)] {
            let bench = try HTTP2Bench { $0.limits.fields = 1024 }
            let app = bench.app()
            bench.come(ClientFrames().headers(1, Self.post, endsStream: false))
            app.send()
            bench.come(ClientFrames().data(1, Array("hi".utf8)))
            let fields = (0..<count).map { ("x-\($0)", String(repeating: "a", count: 400)) }
            let frames = bench.come(ClientFrames().headers(1, fields))
            #expect(!app.isComplete && app.isAbandoned)
            #expect(isFar ? frames.reset() == 11 : frames.status() == "431", "\(frames)")
        }
    }
}
