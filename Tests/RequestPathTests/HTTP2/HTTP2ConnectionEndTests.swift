import NIOCore
import RequestPath
import Settings
import TestSupport
import Testing
import Vocabulary

/// How a connection of HTTP/2 and its streams end.
@Suite("The end of a connection of HTTP/2") struct HTTP2ConnectionEndTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let get = ClientFrames.request()

    @Test("More than the streams that it offers are refused, before they are judged") func tooManyStreams() throws {
        let bench = try HTTP2Bench { $0.limits.http2.streams = 2 }
        for stream in [1, 3] as [UInt32] {
            _ = bench.app()
            bench.come(ClientFrames().headers(stream, Self.get))
        }
        // Before the client has acknowledged the settings it may not know of the limit.
        let sent = bench.come(ClientFrames().headers(5, Self.get))
        #expect(sent.reset(5) == 7 || sent.goAway == 1)
    }

    @Test("A stopping gateway tells its clients, serves what they have sent, and then ends") func drains() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        bench.bench.loop.drain()
        bench.connection.sweep(.now())
        var sent = bench.sent()
        #expect(sent.last { $0.kind == 7 }?.number == 0x7FFF_FFFF)
        #expect(bench.come(ClientFrames().headers(3, ClientFrames.request(path: "/none"))).status(3) == "404")
        bench.connection.sweep(.now() + .seconds(2))
        sent = bench.sent()
        #expect(sent.last { $0.kind == 7 }?.number == 3 && sent.goAway == 0)
        #expect(bench.come(ClientFrames().headers(5, Self.get)).isEmpty)
        app.send()
        _ = app.answer(Self.ok)
        sent = bench.sent()
        #expect(sent.content() == "hello" && sent.hasEnded())
        #expect(bench.stream.hasOutputEnded)
    }

    @Test("What comes too late for the last GOAWAY reaches no app, so the client can send it again") func comesTooLate()
        throws
    {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.bench.loop.drain()
        bench.connection.sweep(.now())
        #expect(bench.sent().last { $0.kind == 7 }?.number == 0x7FFF_FFFF)
        bench.connection.sweep(.now() + .seconds(2))
        // In the same turn, and also while the client takes nothing.
        bench.stream.isWritable = false
        #expect(bench.come(ClientFrames().headers(1, Self.get)).isEmpty)
        #expect(bench.come(ClientFrames().headers(3, Self.get)).isEmpty)
        app.send()
        #expect(app.headText.isEmpty && !bench.stream.hasOutputEnded)
        bench.stream.takesBytes()
        let sent = bench.sent()
        #expect(sent.last { $0.kind == 7 }?.number == 0 && sent.goAway == 0)
        #expect(app.headText.isEmpty && bench.stream.hasOutputEnded)
    }

    @Test("A stopping gateway waits for a client that it has not told yet, and closes nothing that is busy")
    func isToldFirst() throws {
        let bench = try HTTP2Bench()
        let loop = bench.bench.loop
        #expect(loop.busyCount == 0)
        loop.drain()
        // Between two requests: the next one may be on its way.
        #expect(loop.busyCount == 1 && loop.closeUnlessBusy() == 1 && bench.stream.isOpen)
        bench.connection.sweep(.now())
        bench.connection.sweep(.now() + .seconds(2))
        #expect(loop.closeUnlessBusy() == 1)
        _ = bench.sent()
        #expect(bench.stream.hasOutputEnded && loop.closeUnlessBusy() == 1 && bench.stream.isOpen)
        bench.connection.sweep(.now() + .seconds(5))
        #expect(!bench.stream.isOpen && loop.closeUnlessBusy() == 0)
    }

    @Test("A connection ends after its requests, and none that was sent is lost") func requestLimit() throws {
        let bench = try HTTP2Bench { $0.limits.requestsPerConnection = 2 }
        let none = ClientFrames.request(path: "/none")
        #expect(bench.come(ClientFrames().headers(1, none)).goAway == nil)
        let sent = bench.come(ClientFrames().headers(3, none).headers(5, none))
        #expect(sent.status(5) == "404" && sent.last { $0.kind == 7 }?.number == 0x7FFF_FFFF)
        bench.connection.sweep(.now() + .seconds(2))
        _ = bench.sent()
        #expect(bench.stream.hasOutputEnded)
    }

    @Test("A connection without requests ends after the idle time") func idle() throws {
        let bench = try HTTP2Bench()
        bench.connection.sweep(.now() + .seconds(60))
        #expect(bench.sent().goAway == nil)
        bench.connection.sweep(.now() + .seconds(80))
        #expect(bench.sent().goAway == 0 && bench.stream.hasOutputEnded)
        bench.connection.sweep(.now() + .seconds(90))
        #expect(!bench.stream.isOpen)
    }

    @Test("A client that does not begin is closed") func neverBegins() throws {
        let bench = try HTTP2Bench(opens: false)
        bench.connection.sweep(.now() + .seconds(9))
        #expect(!bench.stream.isOpen)
    }

    @Test("Fields that do not come to their end close the connection") func slowFields() throws {
        let bench = try HTTP2Bench()
        bench.come(ClientFrames().frame(.headers, stream: 1, ClientFrames.block(Self.get)))
        bench.connection.sweep(.now() + .seconds(3))
        #expect(bench.sent().goAway == nil)
        bench.connection.sweep(.now() + .seconds(6))
        #expect(bench.sent().goAway == 11)
    }

    @Test("A refused block of fields does not count as one that does not end") func refusedFields() throws {
        let bench = try HTTP2Bench()
        bench.come(ClientFrames().headers(1, Self.get + [("A", "x")]))
        bench.connection.sweep(.now() + .seconds(6))
        #expect(bench.sent().goAway == nil && bench.stream.isOpen)
    }

    @Test("A client that takes nothing of an answer loses its stream") func stuckStream() throws {
        let bench = try HTTP2Bench(client: [(id: 4, value: 0)])
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer(Self.ok)
        bench.connection.sweep(.now())
        #expect(bench.sent().reset() == nil)
        bench.connection.sweep(.now() + .seconds(61))
        #expect(bench.sent().reset() == 2 && bench.stream.isOpen)
    }

    @Test("A client that leaves takes its requests along") func clientLeaves() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        bench.stream.end(isClean: false)
        #expect(app.isAbandoned && bench.bench.loop.busyCount == 0)
    }

    @Test("What is cut off at the end of the drain time is reset") func closesNow() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.get))
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        _ = bench.sent()
        bench.connection.closeNow()
        #expect(!bench.stream.isOpen && app.isAbandoned && bench.bench.loop.busyCount == 0)
    }
}
