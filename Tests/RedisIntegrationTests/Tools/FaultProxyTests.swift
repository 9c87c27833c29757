import GatewayBench
import NIOCore
import RedisServers
import Testing

/// The proxy causes exactly the fault that is set.
@Suite("The fault proxy", .blocking) struct FaultProxyTests {
    /// Runs `body` with a proxy in front of a real server, which also accepts inline commands.
    private func with(_ body: (FaultProxy, RedisServer) async throws -> Void) async throws {
        try await RedisServer.with { server in
            try await FaultProxy.with(to: server.port) { proxy in try await body(proxy, server) }
        }
    }

    private func ping(_ wire: Wire, seconds: Double = 10) -> String {
        wire.send("PING\r\n")
        return String(latin1: wire.receive(count: 7, seconds: seconds) ?? [])
    }

    @Test("Passes everything, and counts connections")
    func passes() async throws {
        try await self.with { proxy, server in
            let wires = try (0..<3).map { _ in try Wire(to: proxy.port) }
            for wire in wires { #expect(self.ping(wire) == "+PONG\r\n") }
            let value = String(repeating: "a", count: 300_000)
            wires[0].send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$\(value.utf8.count)\r\n\(value)\r\n")
            #expect(wires[0].receive(count: 5) == Array("+OK\r\n".utf8))
            #expect(try server.command("STRLEN", "k") == "300000")
            #expect(proxy.acceptedCount == 3 && proxy.openCount == 3)
            wires[0].finish()
            // Naming the wires keeps the other two open until then.
            #expect(eventually { proxy.openCount == 2 && wires.count == 3 })
        }
    }

    @Test("Refuses, cuts open connections, and listens again")
    func refuses() async throws {
        try await self.with { proxy, _ in
            let wire = try Wire(to: proxy.port)
            #expect(self.ping(wire) == "+PONG\r\n")
            try await proxy.set(.refused)
            #expect(wire.endsNow())
            #expect(throws: (any Error).self) { try Wire(to: proxy.port) }
            try await proxy.set(.none)
            #expect(self.ping(try Wire(to: proxy.port)) == "+PONG\r\n")
            try await proxy.set(.closedAtOnce)
            #expect(try Wire(to: proxy.port).endsNow())
        }
    }

    @Test("Hangs without losing a byte")
    func hangs() async throws {
        try await self.with { proxy, _ in
            let old = try Wire(to: proxy.port)
            #expect(self.ping(old) == "+PONG\r\n")
            try await proxy.set(.hanging)
            let new = try Wire(to: proxy.port)
            for wire in [old, new] {
                wire.send("PING\r\n")
                #expect(wire.receive(seconds: 0.2) == .silence)
            }
            try await proxy.set(.none)
            for wire in [old, new] { #expect(wire.receive(count: 7) == Array("+PONG\r\n".utf8)) }
        }
    }

    @Test("Delays each direction, in order")
    func delays() async throws {
        try await self.with { proxy, _ in
            try await proxy.set(.delayed(toServer: .milliseconds(100), toClient: .milliseconds(150)))
            let wire = try Wire(to: proxy.port)
            let began = ContinuousClock.now
            wire.send("ECHO a\r\n")
            wire.send("ECHO b\r\n")
            #expect(wire.receive(count: 14) == Array("$1\r\na\r\n$1\r\nb\r\n".utf8))
            #expect(ContinuousClock.now - began >= .milliseconds(250))
        }
    }

    @Test("Slices into single bytes")
    func slices() async throws {
        try await self.with { proxy, _ in
            try await proxy.set(.sliced)
            let wire = try Wire(to: proxy.port)
            var count = 0
            for _ in 0..<20 {
                wire.send("ECHO abcdefghijklmnopqrstuvwxyz\r\n")
                var pieces: [[UInt8]] = []
                while pieces.joined().count < 33, case .bytes(let bytes) = wire.receive() { pieces.append(bytes) }
                #expect(Array(pieces.joined()) == Array("$26\r\nabcdefghijklmnopqrstuvwxyz\r\n".utf8))
                count += pieces.count
            }
            // The kernel may join some of them again.
            #expect(count > 20)
        }
    }

    @Test("Cuts a reply after some bytes", arguments: [0, 3, 7])
    func cuts(count: Int) async throws {
        try await self.with { proxy, _ in
            let old = try Wire(to: proxy.port)
            #expect(self.ping(old) == "+PONG\r\n")
            try await proxy.set(.cut(after: count))
            for wire in [old, try Wire(to: proxy.port)] {
                wire.send("ECHO abcdefgh\r\n")
                let (bytes, last) = wire.receiveAll()
                #expect(bytes == Array("$8\r\nabcdefgh\r\n".utf8.prefix(count)) && last != .silence)
            }
        }
    }

    @Test("Answers each command in the server's place")
    func answers() async throws {
        try await self.with { proxy, server in
            let wire = try Wire(to: proxy.port)
            #expect(self.ping(wire) == "+PONG\r\n")
            try await proxy.set(.answered("-LOADING soon"))
            let set = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n"
            wire.send(set + set.dropLast(3))
            #expect(wire.receive(count: 15) == Array("-LOADING soon\r\n".utf8))
            #expect(wire.receive(seconds: 0.1) == .silence)
            wire.send(String(set.suffix(3)))
            #expect(wire.receive(count: 15) == Array("-LOADING soon\r\n".utf8))
            #expect(try server.command("EXISTS", "k") == "0")
            try await proxy.set(.none)
            #expect(self.ping(wire) == "+PONG\r\n")
        }
    }

    @Test("Treats addresses separately")
    func addresses() async throws {
        try await self.with { proxy, _ in
            let other = "127.0.0.2"
            let (near, far) = (try Wire(to: proxy.port), try Wire(to: proxy.port, from: other))
            for wire in [near, far] { #expect(self.ping(wire) == "+PONG\r\n") }
            try await proxy.set(.refused, from: other)
            #expect(self.ping(near) == "+PONG\r\n")
            #expect(far.endsNow())
            #expect(try Wire(to: proxy.port, from: other).endsNow())
            try await proxy.set(.none)
            #expect(self.ping(try Wire(to: proxy.port, from: other)) == "+PONG\r\n")
        }
    }
}
