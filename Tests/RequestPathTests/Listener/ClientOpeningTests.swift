import AddressIntelligence
import NIOCore
import NIOEmbedded
import RequestPath
import Settings
import Testing

/// A client between its acceptance and its first request, without a socket.
@Suite("The opening of a connection") struct ClientOpeningTests {
    /// A listener whose peer 192.0.2.1 names clients.
    private final class Bench {
        let exchange: ExchangeBench
        let gate: ConnectionGate
        let stream = ScriptedStream()
        private(set) var notices: [ProxyNotice] = []

        init(
            others: ProxyProtocolSettings.Others = .refuse,
            perAddress: Int? = nil,
            trusted: [CIDRBlock] = []
        ) throws {
            var rule = ProxyProtocolSettings(from: [try #require(CIDRBlock("192.0.2.1/32"))])
            rule.others = others
            self.exchange = try ExchangeBench { $0.listen[0].proxyProtocol = rule }
            var limits = LimitSettings()
            limits.connections = 4
            limits.connectionsPerAddress = perAddress
            self.gate = ConnectionGate(limits, trusted: trusted, files: 264)
            self.exchange.loop.onProxyNotice = { [unowned self] notice, _ in self.notices.append(notice) }
        }

        /// Accepts a client; false: it is refused.
        func accept(
            _ peer: String = "192.0.2.1",
            _ stream: ScriptedStream? = nil,
            at time: NIODeadline = .now()
        ) throws -> Bool {
            self.gate.reserve()
            let client = AcceptedClient(
                from: try #require(IPAddress(peer)),
                at: time,
                as: .clients(0),
                on: self.exchange.loop,
                by: self.gate
            )
            client?.open(stream ?? self.stream, on: self.exchange.loop)
            return client != nil
        }

        /// Whether every place is free again.
        var isEmpty: Bool {
            for _ in 0..<3 { self.gate.reserve() }
            let hasOne = self.gate.hasRoom(orWake: nil)
            self.gate.reserve()
            let hasMore = self.gate.hasRoom(orWake: nil)
            for _ in 0..<4 { self.gate.release() }
            return hasOne && !hasMore
        }

        /// Lets the loop look at the deadlines.
        func sweep() {
            self.exchange.loop.start()
            self.exchange.eventLoop.advanceTime(by: .milliseconds(250))
        }

        func come(_ text: String) { self.stream.come(text) }
        var statuses: [Substring] { self.stream.sent().split(separator: "HTTP/1.1 ").map { $0.prefix(3) } }
    }

    private static let header = "PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n"
    private static let unknown = ExchangeBench.request(path: "/none")

    @Test("A request behind the header is answered, however the bytes are cut", arguments: [1, 2, 7, 46, 1000])
    func cuts(step: Int) throws {
        let bench = try Bench()
        #expect(try bench.accept())
        let text = Array((Self.header + Self.unknown + Self.unknown).utf8)
        for start in stride(from: 0, to: text.count, by: step) {
            bench.come(String(decoding: text[start..<min(start + step, text.count)], as: UTF8.self))
        }
        #expect(bench.statuses == ["404", "404"])
        bench.stream.end()
        #expect(bench.isEmpty)
    }

    @Test("What is no header ends the connection without an answer, and its place is free")
    func malformed() throws {
        for text in [
            Self.unknown, "PROXY TCP4 1\r\n", "\u{16}\u{3}\u{1}", "PROXY " + String(repeating: "x", count: 101),
        ] {
            let bench = try Bench()
            #expect(try bench.accept())
            bench.come(text)
            #expect(!bench.stream.isOpen && bench.stream.sent().isEmpty && bench.isEmpty, "\(text)")
            #expect(bench.notices == [.malformed])
        }
    }

    @Test("A header that is not whole after five seconds ends the connection", arguments: ["", "PROXY TCP4 203"])
    func late(text: String) throws {
        let early = try Bench()
        #expect(try early.accept())
        if !text.isEmpty { early.come(text) }
        early.sweep()
        #expect(early.stream.isOpen && early.notices.isEmpty)
        let bench = try Bench()
        #expect(try bench.accept(at: .now() - .seconds(5)))
        if !text.isEmpty { bench.come(text) }
        bench.sweep()
        #expect(!bench.stream.isOpen && bench.isEmpty)
        #expect(bench.notices == [.late])
    }

    @Test("A named client has the time of a first request, from when it was accepted")
    func headerTime() throws {
        let bench = try Bench()
        #expect(try bench.accept(at: .now() - .seconds(9)))
        bench.come(Self.header)
        bench.sweep()
        #expect(bench.stream.isOpen && bench.notices.isEmpty)
        let late = try Bench()
        #expect(try late.accept(at: .now() - .seconds(10)))
        late.come(Self.header)
        late.sweep()
        #expect(late.stream.hasOutputEnded || !late.stream.isOpen)
    }

    @Test("A client that leaves before it is named gives its place back")
    func leaves() throws {
        let bench = try Bench()
        #expect(try bench.accept())
        bench.come("PROXY ")
        #expect(!bench.stream.endInput())
        #expect(bench.isEmpty && bench.notices.isEmpty)
    }

    @Test("Another peer is refused, or speaks without a header; its header is no request then")
    func others() throws {
        let strict = try Bench()
        #expect(try !strict.accept("192.0.2.2"))
        #expect(strict.isEmpty && strict.notices == [.refused])
        let open = try Bench(others: .plain)
        #expect(try open.accept("192.0.2.2"))
        open.come(Self.unknown)
        #expect(open.statuses == ["404"])
        let spoof = ScriptedStream()
        #expect(try open.accept("192.0.2.2", spoof))
        spoof.come(Self.header + Self.unknown)
        #expect(spoof.sent().hasPrefix("HTTP/1.1 400 ") && spoof.hasOutputEnded)
        #expect(open.notices == [.unexpected])
    }

    @Test("The limit per address is that of the named client, and the proxy has none")
    func limits() throws {
        let bench = try Bench(perAddress: 1)
        let streams = (0..<3).map { _ in ScriptedStream() }
        for stream in streams { #expect(try bench.accept("192.0.2.1", stream)) }
        streams[0].come(Self.header)
        streams[1].come(Self.header)
        streams[2].come(Self.header.replacing("203.0.113.7", with: "203.0.113.8"))
        #expect(streams.map(\.isOpen) == [true, false, true])
        #expect(bench.gate.refusedCount(.perAddress) == 1)
        streams[0].end()
        #expect(try bench.accept("192.0.2.1", bench.stream))
        bench.come(Self.header + Self.unknown)
        #expect(bench.statuses == ["404"])
    }

    @Test(
        "A proxy that connects for itself is the client, and counts towards no limit",
        arguments: ["PROXY UNKNOWN\r\n", "PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n"]
    )
    func local(header: String) throws {
        let bench = try Bench(perAddress: 1)
        for _ in 0..<2 {
            let stream = ScriptedStream()
            #expect(try bench.accept("192.0.2.1", stream))
            stream.come(header + Self.unknown)
            #expect(stream.sent().hasPrefix("HTTP/1.1 404 "))
        }
    }
}
