import Foundation
import GatewayBench
import Testing

/// Server-sent events pass at once, and end with the session.
@Suite("Event streams", .blocking) struct EventStreamTests {
    /// An app that sends two events and then waits until its reader has left.
    ///
    /// - Parameter read: The second event is sent once this is raised; `nil` if it follows at once.
    private static func stream(_ gone: Flag, after read: Flag? = nil) -> @Sendable (Link) -> Void {
        { link in
            guard let request = link.next() else { return }
            let chunked = request.target == "/chunked"
            link.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    + (chunked ? "Transfer-Encoding: chunked\r\n" : "") + "\r\n"
            )
            for index in 0..<2 {
                let event = "data: \(index)\n\n"
                link.send(chunked ? "\(event.utf8.count)\r\n\(event)\r\n" : event)
                if index == 0, let read, !read.isRaised(within: 30) { return }
            }
            if case .silence = link.wire.receiveAll(seconds: 10).last { return }
            gone.raise()
        }
    }

    @Test("Each event arrives before the next one is sent", arguments: ["/chunked", "/plain"])
    func flow(target: String) throws {
        let (read, gone) = (Flag(), Flag())
        let app = try FakeUpstream(serve: Self.stream(gone, after: read))
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get(target))
            #expect(wire.receive(through: "\r\n\r\n") != nil)
            #expect(wire.receive(through: "data: 0\n\n") != nil)
            read.raise()
            #expect(wire.receive(through: "data: 1\n\n") != nil)
            wire.close()
            #expect(gone.isRaised(), "the app is told that the reader has left")
        }
    }

    @Test("The timeout of other answers does not apply to a silent stream")
    func silence() throws {
        let gone = Flag()
        let app = try FakeUpstream(serve: Self.stream(gone))
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: "timeouts:\n  upstream_idle: 1s\n")) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/chunked"))
            #expect(wire.receive(through: "data: 1\n\n") != nil)
            _ = wire.receive(seconds: 0.2)
            #expect(wire.receive(seconds: 2) == .silence)
        }
    }

    @Test("A stream that begins only after the sign-out also ends")
    func signOutBeforeAnswer() throws {
        let (asked, signedOut, gone) = (Flag(), Flag(), Flag())
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            asked.raise()
            guard signedOut.isRaised() else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 0\n\n")
            if case .silence = link.wire.receiveAll(seconds: 10).last { return }
            gone.raise()
        }
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let cookie = try gateway.browser()
            let wire = try gateway.connect()
            wire.send(Request.get("/events", ["Cookie: sallyport=\(cookie)"]))
            #expect(asked.isRaised())
            #expect(try gateway.signOut(cookie).status == 303)
            signedOut.raise()
            let rest = wire.receiveAll()
            #expect(rest.last == .reset || rest.last == .end)
            #expect(gone.isRaised())
        }
    }

    @Test("Sign-out ends the stream, and the end does not look complete")
    func signOut() throws {
        let gone = Flag()
        let app = try FakeUpstream(serve: Self.stream(gone))
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, loops: 2)) { gateway throws in
            let cookie = try gateway.browser()
            let streams = try (0..<3).map { _ in
                let wire = try gateway.connect()
                wire.send(Request.get("/chunked", ["Cookie: sallyport=\(cookie)"]))
                #expect(wire.receive(through: "data: 1\n\n\r\n") != nil)
                return wire
            }
            #expect(try gateway.signOut(cookie).status == 303)
            for wire in streams {
                let rest = wire.receiveAll()
                #expect(rest.last == .reset || rest.last == .end)
                #expect(!String(latin1: rest.bytes).contains("0\r\n"))
            }
            #expect(eventually { gone.count == 3 })
        }
    }
}
