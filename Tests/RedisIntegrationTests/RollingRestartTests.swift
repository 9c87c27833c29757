import Foundation
import GatewayBench
import RedisServers
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Two gateways with one Redis behind the fronts of `deploy/front`.
@Suite("Rolling restart", .blocking) struct RollingRestartTests {
    /// With the times in the delivered configuration of the fronts, or with a fifth of each.
    private static let delay = isSoak ? "5s" : "1s"

    /// An app that answers `/slow` after a delay.
    private static func app() throws -> FakeUpstream {
        try FakeUpstream { link in
            while let request = link.nextHead() {
                if let length = request.values("content-length").first.flatMap({ Int($0) }), length > 0,
                    link.wire.receive(count: length, seconds: 5) == nil
                {
                    return
                }
                if request.target == "/slow" { usleep(400_000) }
                link.answer(body: "ok")
            }
        }
    }

    private static func settings(app: Int, port: Int, admin: Int) -> String {
        Config.file(
            upstream: app,
            clients: Config.clients(binding: "none"),
            listen: "127.0.0.1:\(port)",
            admin: "127.0.0.1:\(admin)",
            drain: Self.delay,
            drainTimeout: "5s",
            more: """
                secret_file: secret
                trusted_proxies: [127.0.0.1/32]
                log:
                  access: false
                """
        )
    }

    /// Both gateways, and how to restart one of them on the same port.
    private final class Pair: Sendable {
        let ports: [(port: Int, admin: Int)]
        private let app: Int
        private let url: String
        private let gateways: Mutex<[Gateway]>
        private static let secret = "the-secret-of-both-gateways-that-is-long-enough"

        init(app: Int, redis: RedisServer) throws {
            let ports = try (0..<2).map { _ in (port: try ServerPorts.take(), admin: try ServerPorts.take()) }
            let url = RedisURLs.standalone(redis.port)
            self.app = app
            self.url = url
            self.ports = ports
            self.gateways = Mutex([])
            for index in ports.indices {
                let gateway = try self.start(index)
                self.gateways.withLock { $0.append(gateway) }
            }
        }

        private func start(_ index: Int) throws -> Gateway {
            let (port, admin) = self.ports[index]
            return try Gateway(
                RollingRestartTests.settings(app: self.app, port: port, admin: admin),
                files: ["secret": Self.secret + "\n"],
                environment: ["SALLYPORT_REDIS_URL": self.url]
            )
        }

        subscript(_ index: Int) -> Gateway { self.gateways.withLock { $0[index] } }

        func waitUntilReady(_ index: Int) throws {
            let isReady = eventually { (try? self[index].admin("/readyz").status) == 200 }
            guard isReady else {
                throw BenchFailure("gateway \(index) is not ready: \(self[index].output.suffix(500))")
            }
        }

        /// Stops a gateway as an orchestrator does, and starts another in its place.
        func restart(_ index: Int) throws {
            let old = self[index]
            old.signal(SIGTERM)
            let status = old.exitStatus(within: 30)
            #expect(status == 0, "\(old.output.suffix(500))")
            old.stop()
            let new = try self.start(index)
            self.gateways.withLock { $0[index] = new }
            try self.waitUntilReady(index)
        }

        func stop() {
            for gateway in self.gateways.withLock({ $0 }) { gateway.stop() }
        }
    }

    /// Sends requests over one kept connection until it is stopped, and collects a text for each failure.
    private final class Load: Sendable {
        private struct State {
            var sent = 0
            var failures: [String] = []
            var isStopped = false
        }

        private let state = Mutex(State())
        private let done = Flag()
        private let threads: Int

        init(_ port: Int, front: Front, requests: [String]) {
            self.threads = requests.count
            for request in requests {
                Thread.detachNewThread { [self] in
                    self.run(port, front, request)
                    self.done.raise()
                }
            }
        }

        private func run(_ port: Int, _ front: Front, _ request: String) {
            var kept: Wire?
            while !self.state.withLock({ $0.isStopped }) {
                do {
                    let wire = try kept ?? Wire(to: port)
                    kept = wire
                    let answer = try wire.request(request, seconds: 10)
                    if answer.value("connection")?.lowercased() == "close" { kept = nil }
                    guard answer.status == 200, answer.text == "ok" else {
                        throw BenchFailure("\(answer.lines.first ?? "")")
                    }
                } catch {
                    kept = nil
                    self.state.withLock { $0.failures.append("\(front): \(request.prefix(12)): \(error)") }
                }
                self.state.withLock { $0.sent += 1 }
                usleep(2000)
            }
        }

        func stop() -> (sent: Int, failures: [String]) {
            self.state.withLock { $0.isStopped = true }
            _ = eventually { self.done.count == self.threads }
            return self.state.withLock { ($0.sent, $0.failures) }
        }
    }

    @Test("F22: When gateways are restarted one after the other, no request fails, whichever front is used")
    func restarts() async throws {
        let fronts = try Front.allCases.map { ($0, try $0.program) }
        let app = try Self.app()
        defer { app.stop() }
        try await RedisServer.with { redis in
            let pair = try Pair(app: app.port, redis: redis)
            defer { pair.stop() }
            for index in 0..<2 { try pair.waitUntilReady(index) }
            let cookie = "Cookie: sallyport=\(try patiently { try pair[0].browser() })"
            var running: [(server: Servers.Running, load: Load, front: Front)] = []
            defer { for (server, _, _) in running { server.stop() } }
            for (front, program) in fronts {
                let folder = try Servers.folder()
                let port = try ServerPorts.take()
                let server = try front.start(program, before: pair.ports, port: port, isHasty: !isSoak, in: folder)
                let load = Load(
                    port,
                    front: front,
                    requests: [
                        Request.get("/private", [cookie]), Request.get("/public/"), Request.get("/slow", [cookie]),
                        Request.post("/form", [cookie, "Origin: \(Request.origin)"], body: "a=1"),
                    ]
                )
                running.append((server, load, front))
            }
            for round in 0..<(isSoak ? 100 : 6) { try pair.restart(round % 2) }
            for (_, load, front) in running {
                let (sent, failures) = load.stop()
                #expect(sent > 100 && failures.isEmpty, "\(front): \(failures.count) of \(sent): \(failures.prefix(5))")
                print("report: rolling restart behind \(front): \(failures.count) of \(sent) requests failed")
            }
        }
    }

    private static func start(
        _ front: Front,
        _ program: String,
        before pair: Pair
    ) throws -> (Servers.Running, port: Int) {
        let port = try ServerPorts.take()
        let folder = try Servers.folder()
        return (try front.start(program, before: pair.ports, port: port, isHasty: true, in: folder), port)
    }

    @Test(
        "Without Redis both fronts still serve public pages, and other requests get the reason of the failure",
        arguments: Front.allCases
    )
    func unready(_ front: Front) async throws {
        let program = try front.program
        let app = try Self.app()
        defer { app.stop() }
        try await RedisServer.with { redis in
            let pair = try Pair(app: app.port, redis: redis)
            defer { pair.stop() }
            for index in 0..<2 { try pair.waitUntilReady(index) }
            let cookie = "Cookie: sallyport=\(try patiently { try pair[0].browser() })"
            let (server, port) = try Self.start(front, program, before: pair)
            defer { server.stop() }
            func get(_ target: String) throws -> Answer { try Wire(to: port).request(Request.get(target, [cookie])) }
            #expect(eventually { (try? get("/private").status) == 200 })
            redis.kill()
            #expect(eventually { (try? get("/private").reason) == "store.unavailable" })
            for index in 0..<2 { #expect(eventually { (try? pair[index].admin("/readyz").status) == 503 }) }
            // By now the health checks of the front have noticed.
            try await Task.sleep(for: .seconds(1))
            for _ in 0..<6 { #expect(try get("/public/").status == 200) }
            // For five seconds a session may be served from memory.
            #expect(eventually { (try? get("/private").reason) == "store.unavailable" })
            try await redis.start()
            #expect(eventually { (try? get("/public/").status) == 200 })
        }
    }

    @Test("The fronts let WebSockets, event streams and large bodies through", arguments: Front.allCases)
    func streams(_ front: Front) async throws {
        let program = try front.program
        let app = try FakeUpstream { link in
            guard let request = link.next() else { return }
            switch request.target {
            case "/public/socket":
                link.send(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
                )
                if case .bytes(let bytes) = link.wire.receive() { link.wire.send(bytes) }
            case "/public/events":
                link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 0\n\n")
                // The stream stays open: a front that waits for the end of the answer passes nothing on.
                _ = link.wire.receive(seconds: 20)
            default: link.answer(body: "\(request.body.count) \(request.values("x-forwarded-for"))")
            }
        }
        defer { app.stop() }
        try await RedisServer.with { redis in
            let pair = try Pair(app: app.port, redis: redis)
            defer { pair.stop() }
            for index in 0..<2 { try pair.waitUntilReady(index) }
            let (server, port) = try Self.start(front, program, before: pair)
            defer { server.stop() }
            let socket = try Wire(to: port)
            let fields = [
                "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Origin: \(Request.origin)",
            ]
            #expect(try socket.request(Request.get("/public/socket", fields)).status == 101)
            socket.send("frame")
            #expect(socket.receive(count: 5, seconds: 5) == Array("frame".utf8))
            let events = try Wire(to: port)
            events.send(Request.get("/public/events"))
            #expect(events.receive(through: "data: 0\n\n", seconds: 5) != nil)
            let body = String(repeating: "x", count: 3 << 20)
            let answer = try Wire(to: port).request(
                Request.post("/public/", ["X-Forwarded-For: 203.0.113.9"], body: body)
            )
            // The address that the client claims is not used.
            #expect(answer.text == #"\#(3 << 20) ["127.0.0.1"]"#, "\(answer.lines) \(answer.text)")
        }
    }
}
