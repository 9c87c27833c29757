import Foundation
import GatewayBench
import TestSupport
import Testing

/// What one client may take of an app, from addresses of this machine's own network.
@Suite("A client's share of an app", .blocking) struct ClientShareTests {
    private static let active = #"sallyport_upstream_connections{state="active"}"#
    private static let waiting = #"sallyport_upstream_requests_waiting{upstream="app"}"#
    private static let stalled = #"sallyport_upstream_stalled_total{upstream="app"}"#
    private static let shareReached = #"sallyport_upstream_share_reached_total{upstream="app",by="address"}"#

    private static func settings(_ app: FakeUpstream, _ keys: String, more: String = "") -> String {
        Config.file(
            upstream: app.port,
            routes: "  - {path: /**, auth: public, upstream: app}",
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]",
            more: "upstreams:\n  app: {url: \"http://127.0.0.1:\(app.port)\", \(keys)}\n" + more
        )
    }

    /// An app with a large file, WebSockets, an endless answer, and answers to everything else when the request is whole.
    private static let serve: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            switch request.target {
            case "/big": link.answer(body: String(repeating: "a", count: 300_000))
            case "/endless":
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
                let block = [UInt8](repeating: 0x61, count: 65_536)
                for _ in 0..<16_384 where !link.wire.send(block) { return }
            case "/socket": return SocketApp.answer(link, request)
            default: link.answer(body: request.target)
            }
        }
    }

    /// How a client takes connections of the app and keeps them.
    enum Hold: String, CaseIterable, CustomStringConvertible {
        /// HTTP/2: the window of each stream is 0.
        case window
        /// HTTP/2: bodies with a length that do not come.
        case bodies
        /// HTTP/2: WebSockets in which nobody says anything.
        case sockets
        /// HTTP/1.1: answers that are not read.
        case unread

        var description: String { self.rawValue }

        /// Begins so many requests from this address.
        func begin(_ count: Int, at gateway: Gateway, from source: String) throws -> [Holder] {
            switch self {
            case .unread:
                return try (0..<count).map { _ in
                    let wire = try Wire(to: gateway.port, from: source, receiveBuffer: 4096)
                    wire.send(Request.get("/endless"))
                    return Holder(wire: wire)
                }
            case .window, .bodies, .sockets:
                // A connection carries 100.
                return try stride(from: 0, to: count, by: 100).map { start in
                    let streams = (start..<min(start + 100, count)).map { UInt32(2 * ($0 - start) + 1) }
                    let client = try HTTP2Wire(to: gateway, from: source, [(id: 4, value: 0)])
                    for stream in streams { client.send(self.request(stream)) }
                    return Holder(client: client, streams: streams)
                }
            }
        }

        private func request(_ stream: UInt32) -> ClientFrames {
            let path = ["window": "/big", "sockets": "/socket"][self.rawValue] ?? "/body"
            let fields = ClientFrames.request(
                self == .bodies ? "POST" : "GET",
                authority: Request.host,
                path: path
            )
            switch self {
            case .window, .unread: return ClientFrames().headers(stream, fields)
            case .bodies:
                return ClientFrames().headers(stream, fields + [("content-length", "1000")], endsStream: false)
            case .sockets:
                let socket =
                    [(":method", "CONNECT"), (":protocol", "websocket")] + fields.dropFirst()
                    + [("sec-websocket-version", "13"), ("origin", Request.origin)]
                return ClientFrames().headers(stream, socket, endsStream: false)
            }
        }
    }

    /// A client's connection that takes connections of the app.
    struct Holder {
        var wire: Wire?
        var client: HTTP2Wire?
        var streams: [UInt32] = []

        /// Takes one byte of each answer, or sends one of each body.
        func trickle(_ hold: Hold) {
            var frames = ClientFrames()
            for stream in self.streams {
                frames = hold == .bodies ? frames.data(stream, [0x61]) : frames.windowUpdate(stream, 1)
            }
            self.client?.send(frames)
        }
    }

    /// Sends a request from this address and keeps something up until its answer has come.
    private static func get(
        _ gateway: Gateway,
        from source: String,
        while act: () -> Void = {}
    ) throws -> Answer {
        let wire = try Wire(to: gateway.port, from: source)
        wire.send(Request.get("/ok"))
        var bytes: [UInt8] = []
        let end = Date(timeIntervalSinceNow: 60)
        while bytes.isEmpty, Date() < end {
            act()
            if case .bytes(let some) = wire.receive(seconds: 1) { bytes = some }
        }
        wire.keep(bytes)
        return try wire.answer()
    }

    @Test("One address has half of an app at most, and others are served at once", arguments: Hold.allCases)
    func one(hold: Hold) throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "max_connections: 24", more: "timeouts: {queue: 60s}\n")) {
            gateway throws in
            let holders = try hold.begin(60, at: gateway, from: "127.0.0.1")
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 48 })
            #expect(try gateway.metric(Self.active) == 12)
            for _ in 0..<18 {
                let answer = try Self.get(gateway, from: "127.0.0.2")
                #expect(answer.status == 200 && answer.text == "/ok")
            }
            // Stalled ones may have ended meanwhile, for those of the same address that wait.
            #expect(try gateway.metric(Self.active) <= 12)
            #expect(try gateway.metric(Self.shareReached) >= 48)
            #expect(gateway.output.contains("127.0.0.1 has 12 of 24 connections in use, its share"))
            for holder in holders { holder.trickle(hold) }
        }
    }

    @Test(
        "When the app is full, those end whose clients neither read nor send, and others are served",
        // Without a byte nothing is said in a WebSocket, and nothing is read of HTTP/1.1.
        arguments: Hold.allCases.map { ($0, false) } + [(.window, true), (.bodies, true)]
    )
    func full(hold: Hold, trickles: Bool) throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        let more = "timeouts: {queue: 60s}\nlog: {access: true}\n"
        try Gateway.with(Self.settings(app, "max_connections: 24", more: more)) { gateway throws in
            let holders = try (1...4).flatMap { try hold.begin(20, at: gateway, from: "127.0.0.\($0)") }
            #expect(eventually { (try? gateway.metric(Self.active)) == 24 })
            for number in 9...11 {
                let answer = try Self.get(gateway, from: "127.0.0.\(number)") {
                    if trickles { for holder in holders { holder.trickle(hold) } }
                }
                #expect(answer.status == 200 && answer.text == "/ok", "\(answer.lines)")
            }
            #expect(try gateway.metric(Self.stalled) >= 1)
            #expect(gateway.output.contains(" has neither read nor sent for "))
            #expect(eventually { gateway.output.contains(#""reason":"client.stalled""#) })
        }
    }

    @Test(
        "A stranger who has an address' share takes the app from neither a signed-in user nor an anonymous one behind it",
        arguments: [Hold.window, .bodies, .unread]
    )
    func behindOneAddress(hold: Hold) throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        let settings = Self.settings(app, "max_connections: 24", more: "timeouts: {queue: 60s}\n")
            .replacing("routes:\n", with: "routes:\n  - {path: /private, upstream: app}\n")
        try Gateway.with(settings) { gateway throws in
            let token = try gateway.native(.ada, from: "127.0.0.1")
            let holders = try hold.begin(30, at: gateway, from: "127.0.0.1")
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 18 })
            for _ in 0..<3 {
                let wire = try Wire(to: gateway.port, from: "127.0.0.1")
                let answer = try wire.request(Request.get("/private", ["Authorization: Bearer \(token)"]))
                #expect(answer.status == 200 && answer.text == "/private", "\(answer.lines)")
            }
            let answer = try Self.get(gateway, from: "127.0.0.1") { for holder in holders { holder.trickle(hold) } }
            #expect(answer.status == 200 && answer.text == "/ok", "\(answer.lines)")
            #expect(try gateway.metric(Self.stalled) >= 1)
        }
    }

    @Test("A WebSocket that is ended so gets a close frame that says to try again later, and an answer is reset")
    func ends() throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "max_connections: 8, client_share: 100", more: "timeouts: {queue: 60s}\n"))
        {
            gateway throws in
            let client = try HTTP2Wire(to: gateway, from: "127.0.0.1")
            let fields = ClientFrames.request(authority: Request.host, path: "/socket").dropFirst()
            let socket =
                [(":method", "CONNECT"), (":protocol", "websocket")] + fields + [("sec-websocket-version", "13")]
            for stream in 0..<8 {
                client.send(ClientFrames().headers(UInt32(2 * stream + 1), socket, endsStream: false))
            }
            #expect(eventually { (try? gateway.metric(Self.active)) == 8 })
            #expect(try Self.get(gateway, from: "127.0.0.2").status == 200)
            var ended: HTTP2Wire.Frame?
            while ended == nil, let frame = client.next() {
                if frame.kind == .data, frame.payload.first == 0x88 { ended = frame }
            }
            // 1013, after the opcode and the length.
            #expect(ended?.payload == [0x88, 2, 0x03, 0xF5])
        }
    }

    @Test("A browser with many tabs, idle connections and slow answers is never cut, and gets all of them")
    func browser() throws {
        let go = Flag()
        let app = try FakeUpstream { link in
            while let request = link.next() {
                if request.target == "/slow" { _ = go.isRaised(within: 30) }
                if request.target == "/big" {
                    link.answer(body: String(repeating: "a", count: 300_000))
                } else {
                    link.answer(body: request.target)
                }
            }
        }
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "max_connections: 24", more: "timeouts: {queue: 60s}\n")) {
            gateway throws in
            // 40 connections that have had an answer and stay open.
            let idle = try (0..<40).map { _ in try Wire(to: gateway.port, from: "127.0.0.1") }
            for wire in idle { #expect(try wire.request(Request.get("/ok")).status == 200) }
            let tabs = try (0..<4).map { _ in try Wire(to: gateway.port, from: "127.0.0.1") }
            for tab in tabs { tab.send(Request.get("/slow")) }
            #expect(eventually { (try? gateway.metric(Self.active)) == 4 })
            // Others take the rest, and do not read it.
            let holders = try (2...4).flatMap { try Hold.window.begin(20, at: gateway, from: "127.0.0.\($0)") }
            #expect(eventually { (try? gateway.metric(Self.active)) == 24 })
            for _ in 0..<3 { #expect(try Self.get(gateway, from: "127.0.0.1").text == "/ok") }
            go.raise()
            for tab in tabs { #expect(try tab.answer(seconds: 30).text == "/slow") }
            for wire in idle { #expect(try wire.request(Request.get("/again")).text == "/again") }
            #expect(holders.count == 3 && !gateway.output.contains("127.0.0.1 has "))
        }
    }

    @Test(
        "One session has a share, whatever addresses it comes from, and other sessions of these addresses have theirs"
    )
    func session() throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        let settings = Self.settings(app, "max_connections: 16", more: "timeouts: {queue: 60s}\n")
            .replacing("auth: public, ", with: "")
        try Gateway.with(settings) { gateway throws in
            let (token, other) = (try gateway.native(User.ada), try gateway.native(User.grace))
            let wires = try (0..<12).map { number in
                let source = "127.0.0.\(number % 4 + 1)"
                let wire = try Wire(to: gateway.port, from: source, receiveBuffer: 4096)
                wire.send(Request.get("/endless", ["Authorization: Bearer \(token)"]))
                return wire
            }
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 4 })
            #expect(try gateway.metric(Self.active) == 8)
            let reached = #"sallyport_upstream_share_reached_total{upstream="app",by="session"}"#
            #expect(try gateway.metric(reached) == 4)
            for number in 1...4 {
                let wire = try Wire(to: gateway.port, from: "127.0.0.\(number)")
                let answer = try wire.request(Request.get("/ok", ["Authorization: Bearer \(other)"]))
                #expect(answer.status == 200 && answer.text == "/ok")
            }
            #expect(wires.count == 12)
        }
    }

    @Test("Behind a trusted proxy the client that it names has the share, and the proxy itself has none")
    func proxy() throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        let more = "timeouts: {queue: 60s}\ntrusted_proxies: [127.0.0.1/32]\n"
        try Gateway.with(Self.settings(app, "max_connections: 8", more: more)) { gateway throws in
            func hold(_ client: String?) throws -> Wire {
                let wire = try Wire(to: gateway.port, receiveBuffer: 4096)
                wire.send(Request.get("/endless", client.map { ["X-Forwarded-For: \($0)"] } ?? []))
                return wire
            }
            var wires = try (0..<6).map { _ in try hold("198.51.100.7") }
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 2 })
            #expect(try gateway.metric(Self.active) == 4)
            // The proxy's own, which names nobody.
            wires += try (0..<3).map { _ in try hold(nil) }
            #expect(eventually { (try? gateway.metric(Self.active)) == 7 })
            #expect(try gateway.get("/ok", ["X-Forwarded-For: 198.51.100.8"]).text == "/ok")
            #expect(wires.count == 9)
        }
    }

    @Test("Servers of an app have one share together, and a reload leaves nothing behind")
    func servers() throws {
        let apps = try (0..<2).map { _ in try FakeUpstream(serve: Self.serve) }
        defer { for app in apps { app.stop() } }
        func settings(_ count: Int, _ keys: String) -> String {
            let urls = apps.prefix(count).map { "\"http://127.0.0.1:\($0.port)\"" }.joined(separator: ", ")
            return Config.file(
                upstream: apps[0].port,
                routes: "  - {path: /**, auth: public, upstream: app}",
                listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]",
                more: "upstreams:\n  app: {servers: [\(urls)], \(keys)}\ntimeouts: {queue: 60s}\n"
            )
        }
        try Gateway.with(settings(2, "max_connections: 16")) { gateway throws in
            for round in 0..<3 {
                var holders = try Hold.window.begin(40, at: gateway, from: "127.0.0.1")
                #expect(eventually { (try? gateway.metric(Self.waiting)) == 32 }, "\(round)")
                #expect(try gateway.metric(Self.active) == 8)
                for _ in 0..<6 { #expect(try Self.get(gateway, from: "127.0.0.2").text == "/ok") }
                if round == 1 { try gateway.reload(settings(1, "max_connections: 16")) }
                holders = []
                #expect(eventually { (try? gateway.metric(Self.active)) == 0 && holders.isEmpty })
                if round == 1 { try gateway.reload(settings(2, "max_connections: 16")) }
            }
        }
    }

    @Test("With default settings, 24 connections of one address with 100 requests each leave others their answers")
    func defaults() throws {
        DescriptorLimit.raise()
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "")) { gateway throws in
            let holders = try (0..<24).flatMap { _ in try Hold.window.begin(100, at: gateway, from: "127.0.0.1") }
            #expect(eventually { (try? gateway.metric(Self.active)) == 512 })
            for _ in 0..<18 {
                #expect(try Self.get(gateway, from: "127.0.0.2").text == "/ok")
                for holder in holders { holder.trickle(.window) }
            }
        }
    }
}
