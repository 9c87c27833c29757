import NIOCore
import RequestPath
import Settings
import TestSupport
import Testing
import Vocabulary

/// A connection of HTTP/2 from frames to the app, and back.
@Suite("A connection of HTTP/2") struct HTTP2ConnectionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let get = ClientFrames.request()

    @Test("Requests of one turn are answered in one write, each on its stream") func answersStreams() throws {
        let bench = try HTTP2Bench()
        let none = ClientFrames.request(path: "/none")
        let sent = bench.come(ClientFrames().headers(1, none).headers(3, none))
        #expect(sent.status(1) == "404" && sent.status(3) == "404")
        #expect(sent.hasEnded(1) && sent.hasEnded(3))
        #expect(sent.content(1).contains("route.not_found"))
        #expect(!bench.connection.isBusy)
    }

    @Test("The gateway begins with settings: streams, windows, size of fields, tunnels, no priorities") func settings()
        throws
    {
        let bench = try HTTP2Bench(opens: false)
        let sent = bench.sent()
        let entries = try #require(sent.first).payload
        #expect(sent.first?.kind == 4 && entries.count == 30)
        func value(_ id: UInt8) -> [UInt8]? {
            stride(from: 0, to: entries.count, by: 6).first { entries[$0 + 1] == id }.map {
                Array(entries[($0 + 2)..<($0 + 6)])
            }
        }
        #expect(value(3) == [0, 0, 0, 100] && value(4) == [0, 1, 0, 0] && value(6) == [0, 1, 0, 0])
        #expect(value(8) == [0, 0, 0, 1] && value(9) == [0, 0, 0, 1])
        #expect(sent.contains { $0.kind == 8 && $0.stream == 0 && $0.number == 200 * 65_536 + 8 * 983_040 - 65_535 })
    }

    @Test("A request reaches the app as HTTP/1, and its answer comes back without fields of one hop") func forwards()
        throws
    {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get + [("x-a", "b"), ("cookie", "a=1"), ("cookie", "b=2")]))
        #expect(app.headText.hasPrefix("GET /app/x HTTP/1.1\r\n"))
        #expect(app.headText.contains("\r\nx-a: b\r\n") && app.headText.contains("\r\nCookie: a=1; b=2\r\n"))
        #expect(!app.headText.lowercased().contains("transfer-encoding"))
        app.send()
        _ = app.answer(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-Kept: Yes\r\n\r\nhello"
        )
        let sent = bench.sent()
        let names = try #require(sent.first { $0.kind == 1 }).fields.map(\.name)
        #expect(names == [":status", "content-length", "x-kept", "date", "x-request-id"])
        #expect(sent.status() == "200" && sent.content() == "hello" && sent.hasEnded())
        #expect(sent.filter(\.endsStream).count == 1 && sent.reset() == nil)
    }

    @Test("An answer without length ends with its stream") func chunkedAnswer() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        var sent = bench.sent()
        #expect(sent.content() == "abc" && !sent.hasEnded())
        #expect(sent.first { $0.kind == 1 }?.fields.map(\.name) == [":status", "date", "x-request-id"])
        _ = app.goOn("2\r\nde\r\n0\r\n\r\n")
        sent = bench.sent()
        #expect(sent.content() == "de" && sent.hasEnded())
    }

    @Test(
        "An answer without content ends with its head",
        arguments: [
            ("HEAD", "200 OK\r\nContent-Length: 5"), ("GET", "204 No Content"), ("GET", "304 Not Modified\r\nETag: x"),
        ]
    )
    func noContent(_ method: String, _ head: String) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, ClientFrames.request(method)))
        app.send()
        _ = app.answer("HTTP/1.1 \(head)\r\n\r\n")
        let frames = bench.sent().filter { $0.stream == 1 }
        #expect(frames.count == 1 && frames[0].kind == 1 && frames[0].endsStream)
    }

    @Test("Hints of an app come ahead of its answer, without fields of one hop") func earlyHints() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        app.announce("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n")
        var sent = bench.sent()
        #expect(sent.status() == "103" && !sent.hasEnded())
        #expect(sent.first { $0.kind == 1 }?.fields.map(\.name) == [":status", "link"])
        app.announce("HTTP/1.1 102 Processing\r\n\r\n")
        _ = app.answer(Self.ok)
        sent = bench.sent()
        #expect(sent.filter { $0.kind == 1 }.map { $0.fields.first?.value } == ["102", "200"])
        #expect(sent.content() == "hello" && sent.hasEnded() && sent.goAway == nil)
    }

    @Test("Hints for a stream that has ended, or from a route that drops them, are not sent") func droppedHints() throws
    {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        bench.come(ClientFrames().reset(1))
        app.announce("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        #expect(bench.sent().isEmpty)
        let deaf = try HTTP2Bench { settings in
            for index in settings.hosts[0].routes.indices { settings.hosts[0].routes[index].earlyHints = false }
        }
        let other = deaf.app()
        deaf.come(ClientFrames().headers(1, Self.get))
        other.send()
        other.announce("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        _ = other.answer(Self.ok)
        #expect(deaf.sent().filter { $0.kind == 1 }.map { $0.fields.first?.value } == ["200"])
    }

    // MARK: Bodies

    @Test("A body of a known length is passed on as it is") func bodyWithLength() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(
            ClientFrames().headers(1, ClientFrames.request("POST", [("content-length", "10")]), endsStream: false)
        )
        app.send()
        bench.come(ClientFrames().data(1, Array("hello".utf8)))
        #expect(!app.isComplete)
        bench.come(ClientFrames().data(1, Array("world".utf8), endsStream: true))
        #expect(app.sent == "helloworld" && app.isComplete)
        #expect(app.headText.contains("\r\ncontent-length: 10\r\n"))
    }

    /// As `httpx` sends bodies: the end has a frame of its own. Until then the app must not take the request for whole.
    @Test(
        "A body of a known length is whole when its stream has ended, and malformed with more behind it",
        arguments: ["", "hello"]
    )
    func endBehindBody(_ body: String) throws {
        let bench = try HTTP2Bench()
        let length = [("content-length", String(body.utf8.count))]
        for stream in [1, 3, 5, 7, 9, 11] as [UInt32] {
            let app = bench.app()
            bench.come(ClientFrames().headers(stream, ClientFrames.request("POST", length), endsStream: false))
            app.send()
            if !body.isEmpty {
                bench.come(ClientFrames().data(stream, Array(body.utf8.dropLast())))
                #expect(app.sent == body.dropLast())
                bench.come(ClientFrames().data(stream, Array(body.utf8.suffix(1))))
            }
            #expect(!app.isComplete && (!body.isEmpty || app.headText.isEmpty))
            switch stream {
            case 1: bench.come(ClientFrames().data(stream, [], endsStream: true))
            case 3: bench.come(ClientFrames().data(stream, []).headers(stream, [("a", "b")]))
            case 5: #expect(bench.come(ClientFrames().data(stream, [1])).reset(stream) == 1)
            case 7: #expect(bench.come(ClientFrames().data(stream, [1], endsStream: true)).reset(stream) == 1)
            case 9:
                #expect(bench.come(ClientFrames().data(stream, [1]).headers(stream, [("a", "b")])).reset(stream) == 1)
            default:
                bench.connection.sweep(.now() + .seconds(11))
                let sent = bench.sent()
                #expect(sent.status(stream) == "408" && sent.hasEnded(stream))
                bench.connection.sweep(.now() + .seconds(14))
                #expect(bench.sent().reset(stream) == 0)
            }
            guard stream <= 3 else {
                #expect(!app.isComplete && (app.isAbandoned || app.headText.isEmpty) && !bench.connection.isBusy)
                bench.bench.pool.kept = []
                continue
            }
            app.send()
            #expect(app.headText.contains("\r\ncontent-length: \(body.utf8.count)\r\n"))
            #expect(app.sent == body && (app.isComplete || body.isEmpty))
            _ = app.answer(Self.ok)
            let sent = bench.sent()
            #expect(sent.content(stream) == "hello" && sent.hasEnded(stream) && sent.reset(stream) == nil)
            #expect(!app.isAbandoned && !bench.connection.isBusy)
        }
    }

    @Test("A body that is shorter than its length never reaches the app as a whole one", arguments: [true, false])
    func shortBody(_ hasTrailers: Bool) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        let fields = ClientFrames.request("POST", [("content-length", "5")])
        bench.come(ClientFrames().headers(1, fields, endsStream: false).data(1, Array("hell".utf8)))
        app.send()
        let end = hasTrailers ? ClientFrames().headers(1, [("a", "b")]) : ClientFrames().data(1, [], endsStream: true)
        #expect(bench.come(end).reset() == 1 && app.isAbandoned && !app.isComplete)
    }

    @Test("A body of unknown length goes to the app in chunks") func bodyWithoutLength() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, ClientFrames.request("POST"), endsStream: false).data(1, Array("hi".utf8)))
        #expect(app.headText.contains("\r\nTransfer-Encoding: chunked\r\n"))
        app.send()
        bench.come(ClientFrames().data(1, [], endsStream: true))
        #expect(app.sent == "hi" && app.isComplete)
    }

    @Test("Trailers end a body, and none that only the gateway may set is passed on") func trailers() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, ClientFrames.request("POST"), endsStream: false))
        app.send()
        bench.come(ClientFrames().data(1, Array("hi".utf8)).headers(1, [("x-auth-subject", "mallory")]))
        #expect(app.sent == "hi" && app.isComplete && app.trailers.isEmpty && !app.headText.contains("mallory"))
        _ = app.answer(Self.ok)
        #expect(bench.sent().status() == "200")
    }

    @Test(
        "A body that contradicts its length resets the stream, and the app sees an incomplete request (CVE-2021-21295)",
        arguments: [("3", true), ("5", false), ("9", true)]
    )
    func wrongLength(_ length: String, _ endsStream: Bool) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(
            ClientFrames().headers(1, ClientFrames.request("POST", [("content-length", length)]), endsStream: false)
                .data(1, Array("h".utf8))
        )
        app.send()
        let sent = bench.come(ClientFrames().data(1, Array("ello!".utf8), endsStream: endsStream))
        #expect(sent.reset() == 1)
        #expect(!app.isComplete && app.isAbandoned)
    }

    @Test("A body that contradicts its length at once takes no connection to the app", arguments: ["3", "5"])
    func wrongAtOnce(_ length: String) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        let fields = ClientFrames.request("POST", [("content-length", length)])
        let sent = bench.come(
            ClientFrames().headers(1, fields, endsStream: false).data(1, Array("hello!".utf8), endsStream: true)
        )
        #expect(sent.reset() == 1 && app.headText.isEmpty && !app.isComplete)
    }

    @Test("A client that resets its stream takes its request along") func clientResets() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, ClientFrames.request("POST"), endsStream: false).data(1, [1]))
        app.send()
        bench.come(ClientFrames().reset(1))
        #expect(app.isAbandoned && !app.isComplete && !bench.connection.isBusy)
    }

    @Test("An app that breaks off resets the stream, and the others go on") func appBreaksOff() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        app.end { $0.upstreamFailed(.upstreamTruncated) }
        let sent = bench.sent()
        #expect(sent.reset() == 2 && !sent.hasEnded())
        #expect(bench.come(ClientFrames().headers(3, ClientFrames.request(path: "/none"))).status(3) == "404")
    }

    private static let refused = ClientFrames().headers(
        1,
        ClientFrames.request("POST", path: "/none"),
        endsStream: false
    )

    @Test("A refused request with a body is answered; the client has a moment, then the rest is not wanted")
    func refusesWithBody() throws {
        let bench = try HTTP2Bench()
        var sent = bench.come(Self.refused)
        #expect(sent.status() == "404" && sent.hasEnded() && sent.reset() == nil)
        bench.connection.sweep(.now() + .seconds(1))
        #expect(bench.sent().reset() == nil)
        bench.connection.sweep(.now() + .seconds(3))
        sent = bench.sent()
        #expect(sent.reset() == 0 && sent.goAway == nil && !bench.connection.isBusy)
    }

    @Test("What comes behind the answer is dropped, and the client may send the rest of its request")
    func dropsBody() throws {
        let bench = try HTTP2Bench()
        _ = bench.come(Self.refused)
        var window = 65_535
        for _ in 0..<20 {
            window -= 16_000
            for update in bench.come(ClientFrames().data(1, [UInt8](repeating: 0x61, count: 16_000)))
            where update.kind == 8 && update.stream == 1 {
                window += Int(update.payload.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            }
            #expect(window >= 16_000)
        }
        let sent = bench.come(ClientFrames().data(1, [], endsStream: true))
        #expect(sent.reset() == nil && !bench.connection.isBusy)
        bench.connection.sweep(.now() + .seconds(3))
        #expect(bench.sent().isEmpty)
    }

    @Test("A client that resets what was answered has done nothing wrong") func resetsAnswered() throws {
        let bench = try HTTP2Bench()
        let fields = ClientFrames.request("POST", path: "/none")
        for stream in stride(from: 1, to: 261, by: 2) as StrideTo<UInt32> {
            #expect(bench.come(ClientFrames().headers(stream, fields, endsStream: false)).status(stream) == "404")
            #expect(bench.come(ClientFrames().reset(stream)).goAway == nil)
        }
        #expect(!bench.connection.isBusy)
    }

    @Test("A reload is for the next request, also beside a stream that stays open") func reloads() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        try bench.bench.reload { $0.hosts[0].routes = [] }
        _ = bench.app()
        #expect(bench.come(ClientFrames().headers(3, Self.get)).status(3) == "404")
        _ = app.answer(Self.ok)
        #expect(bench.sent().status() == "200")
    }

    /// By the former settings its route could name an app that is gone, or another one.
    @Test(
        "A request that begins before a reload and ends after it is judged by the new settings",
        arguments: [true, false]
    )
    func reloadsMeanwhile(_ isWithinFields: Bool) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        if isWithinFields {
            let block = ClientFrames.block(Self.get)
            bench.come(ClientFrames().frame(.headers, flags: ClientFrames.Flag.endStream, stream: 1, block))
        } else {
            let fields = ClientFrames.request("POST", [("content-length", "0")])
            bench.come(ClientFrames().headers(1, fields, endsStream: false))
        }
        try bench.bench.reload { settings in
            settings.hosts[0].routes = []
            settings.upstreams = []
        }
        let end =
            isWithinFields
            ? ClientFrames().frame(.continuation, flags: ClientFrames.Flag.endHeaders, stream: 1)
            : ClientFrames().data(1, [], endsStream: true)
        #expect(bench.come(end).status() == "404" && app.headText.isEmpty)
    }

    @Test("A client that waits for it is asked for the body") func asksForBody() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        let fields = ClientFrames.request("POST", [("expect", "100-continue")])
        let sent = bench.come(ClientFrames().headers(1, fields, endsStream: false))
        #expect(sent.status() == "100" && !sent.hasEnded())
        app.send()
        bench.come(ClientFrames().data(1, [0x61], endsStream: true))
        _ = app.answer(Self.ok)
        #expect(bench.sent().status() == "200")
    }

    @Test("Another expectation is refused") func otherExpectation() throws {
        let bench = try HTTP2Bench()
        let sent = bench.come(ClientFrames().headers(1, Self.get + [("expect", "wonders")]))
        #expect(sent.status() == "417")
    }

    // MARK: Windows

    @Test("The window opens as the app takes the body") func requestWindow() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, ClientFrames.request("POST"), endsStream: false))
        app.send()
        app.isWritable = false
        let part = [UInt8](repeating: 0x61, count: 16_000)
        var sent = bench.come(ClientFrames().data(1, part))
        sent += bench.come(ClientFrames().data(1, part).data(1, part).data(1, part))
        #expect(app.sent.utf8.count == 16_000 && !sent.contains { $0.kind == 8 && $0.stream == 1 })
        app.takesBytes()
        sent = bench.sent()
        #expect(app.sent.utf8.count == 64_000)
        #expect(sent.contains { $0.kind == 8 && $0.stream == 1 && $0.number >= 32_768 })
    }

    @Test("Uploads that their apps do not read take no window from the other streams of their connection")
    func stalledUploads() throws {
        let bench = try HTTP2Bench()
        var window = 65_535
        var flowing = 65_535
        func come(_ frames: ClientFrames) {
            for frame in bench.come(frames) where frame.kind == 8 {
                if frame.stream == 0 { window += Int(frame.number) }
                if frame.stream == 199 { flowing += Int(frame.number) }
            }
        }
        window = 200 * 65_536 + 8 * 983_040
        let part = [UInt8](repeating: 0x61, count: 13_107)
        for stream in stride(from: 1, to: 199, by: 2) as StrideTo<UInt32> {
            let app = bench.app()
            app.isWritable = false
            come(ClientFrames().headers(stream, ClientFrames.request("POST"), endsStream: false))
            app.send()
            for _ in 0..<5 { come(ClientFrames().data(stream, part)) }
            window -= 65_535
        }
        let app = bench.app()
        come(ClientFrames().headers(199, ClientFrames.request("POST"), endsStream: false))
        app.send()
        for _ in 0..<1000 {
            guard window >= part.count, flowing >= part.count else { break }
            window -= part.count
            flowing -= part.count
            come(ClientFrames().data(199, part))
        }
        #expect(app.sent.utf8.count == 1000 * part.count, "\(window) \(flowing)")
    }

    @Test("A client may send a megabyte ahead of an app that takes a long body, on four streams at a time")
    func wideWindows() throws {
        let bench = try HTTP2Bench()
        let part = [UInt8](repeating: 0x61, count: 16_000)
        /// What the client may send on a stream whose app has taken eight parts.
        func room(_ stream: UInt32) -> Int {
            let app = bench.app()
            bench.come(ClientFrames().headers(stream, ClientFrames.request("POST"), endsStream: false))
            app.send()
            var room = 65_536
            for _ in 0..<8 {
                room -= part.count
                for frame in bench.come(ClientFrames().data(stream, part)) where frame.kind == 8 {
                    if frame.stream == stream { room += Int(frame.number) }
                }
            }
            #expect(app.sent.utf8.count == 8 * part.count)
            return room
        }
        for stream in [1, 3, 5, 7] as [UInt32] { #expect(room(stream) > 1 << 19) }
        #expect(room(9) <= 65_536)
        bench.come(ClientFrames().reset(3))
        #expect(room(11) > 1 << 19)
    }

    @Test("A client cannot send beyond a stream's window") func windowExceeded() throws {
        let bench = try HTTP2Bench()
        bench.come(ClientFrames().headers(1, ClientFrames.request("POST"), endsStream: false))
        var frames = ClientFrames()
        for _ in 0..<5 { frames = frames.data(1, [UInt8](repeating: 0x61, count: 16_000)) }
        #expect(bench.come(frames).reset() == 3)
    }

    @Test("Content is sent as far as the client's window reaches") func answerWindow() throws {
        let bench = try HTTP2Bench(client: [(id: 4, value: 3)])
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer(Self.ok)
        #expect(bench.sent().content() == "hel" && bench.connection.isBusy)
        let sent = bench.come(ClientFrames().windowUpdate(1, 10))
        #expect(sent.content() == "lo" && sent.hasEnded() && !bench.connection.isBusy)
    }

    @Test("An app waits for a client that takes nothing, and other streams flow meanwhile") func stalls() throws {
        let bench = try HTTP2Bench(client: [(id: 4, value: 5)])
        let (slow, quick) = (bench.app(), ScriptedApp())
        bench.come(ClientFrames().headers(1, Self.get))
        slow.send()
        let part = String(repeating: "a", count: 40_000)
        #expect(slow.answer("HTTP/1.1 200 OK\r\nContent-Length: 120000\r\n\r\n" + part) == .more)
        #expect(slow.goOn(part) == .full)
        _ = bench.sent()
        bench.bench.pool.kept = [quick]
        bench.come(ClientFrames().headers(3, Self.get))
        quick.send()
        _ = quick.answer(Self.ok)
        let sent = bench.sent()
        #expect(sent.content(3) == "hello" && sent.hasEnded(3) && sent.content(1).isEmpty)
        slow.pause()
        let rest = bench.come(ClientFrames().windowUpdate(1, 100_000).windowUpdate(0, 100_000))
        #expect(rest.content(1).utf8.count == 79_995 && !slow.isPaused)
    }

    @Test("A stream whose app does not answer holds up no other") func slowApp() throws {
        let bench = try HTTP2Bench()
        let slow = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        slow.send()
        for stream in [3, 5] as [UInt32] {
            let quick = bench.app()
            bench.come(ClientFrames().headers(stream, Self.get))
            quick.send()
            _ = quick.answer(Self.ok)
            let sent = bench.sent()
            #expect(sent.content(stream) == "hello" && sent.hasEnded(stream))
        }
        _ = slow.answer(Self.ok)
        #expect(bench.sent().hasEnded(1))
    }

    @Test("Answers that the client does not take hold up no other, however many they are") func stalledBeside() throws {
        let bench = try HTTP2Bench(client: [(id: 4, value: 0)])
        let (stalled, app) = ((0..<12).map { _ in ScriptedApp() }, ScriptedApp())
        let apps: [ScriptedApp] = [app] + stalled.reversed()
        bench.bench.pool.kept = apps
        func head(_ length: Int) -> String { "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n" }
        for (index, one) in stalled.enumerated() {
            bench.come(ClientFrames().headers(UInt32(2 * index + 1), Self.get))
            one.send()
            #expect(one.answer(head(200_000) + String(repeating: "a", count: 100_000)) == .full)
        }
        _ = bench.sent()
        bench.come(ClientFrames().headers(25, Self.get).windowUpdate(25, 1_000_000).windowUpdate(0, 1_000_000))
        app.send()
        let part = String(repeating: "b", count: 40_000)
        #expect(app.answer(head(80_000) + part) == .full)
        app.pause()
        #expect(bench.sent().content(25) == part && !app.isPaused)
        _ = app.goOn(part)
        #expect(bench.sent().hasEnded(25))
    }

    @Test("Frames of several streams take turns") func takesTurns() throws {
        let bench = try HTTP2Bench()
        let apps = [ScriptedApp(), ScriptedApp()]
        bench.bench.pool.kept = apps.reversed()
        bench.come(ClientFrames().headers(1, Self.get).headers(3, Self.get))
        for app in apps {
            app.send()
            _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + String(repeating: "a", count: 30_000))
        }
        let order = bench.sent().filter { $0.kind == 0 && !$0.payload.isEmpty }.map(\.stream)
        #expect(order == [1, 3, 1, 3])
    }
}
