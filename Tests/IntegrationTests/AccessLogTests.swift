import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// The access log's lines about requests to the built binary.
@Suite("The access log", .blocking) struct AccessLogTests {
    /// The lines of the log, by path.
    private static func lines(_ output: String) -> [String: [[String: Any]]] {
        var lines: [String: [[String: Any]]] = [:]
        for line in output.split(separator: "\n") where line.hasPrefix(#"{"stream":"access""#) {
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let path = object["path"] as? String
            else { continue }
            lines[path, default: []].append(object)
        }
        return lines
    }

    private static func line(_ path: String, of gateway: Gateway) throws -> [String: Any] {
        #expect(eventually { Self.lines(gateway.output)[path] != nil }, "no line of \(path)")
        return try #require(Self.lines(gateway.output)[path]?.first)
    }

    @Test("Durations are in microseconds, for the whole request and for the app's part")
    func durations() throws {
        let hasHead = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                usleep(200_000)
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
                _ = hasHead.isRaised()
                usleep(200_000)
                link.send("ok")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/public/slow"))
            wire.keep(try #require(wire.receive(through: "\r\n\r\n")))
            hasHead.raise()
            #expect(try wire.answer().text == "ok")
            let line = try Self.line("/public/slow", of: gateway)
            let whole = try #require(line["duration_us"] as? Int)
            let share = try #require(line["upstream_us"] as? Int)
            #expect(whole >= 400_000, "\(whole)")
            #expect(share >= 200_000 && share < whole - 150_000, "\(share) of \(whole)")
            #expect(line["upstream"] as? String == "http://127.0.0.1:\(app.port)")
            #expect(line["upstream_reused"] as? Bool == false)
            #expect(try gateway.get("/private").status == 401)
            let refused = try Self.line("/private", of: gateway)
            for member in ["upstream", "upstream_reused", "upstream_us", "handoff", "binding"] {
                #expect(refused[member] == nil, "\(member)")
            }
            let time = try #require(refused["duration_us"] as? Int)
            #expect((0..<1_000_000).contains(time))
        }
    }

    @Test("A request's line has the outcome of its transfer token and of the binding that was judged")
    func handoff() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = Config.routes + "\n  - path: /bound/**\n    binding: ip\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let page = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
            func hand(_ path: String, _ token: String, from source: String? = nil) throws -> Answer {
                try gateway.get("\(path)?session_transfer_token=\(token)", page, from: source)
            }
            let token = try gateway.transferToken()
            let cookie = try #require(try hand("/first", token).sessionCookie)
            #expect(try hand("/replay", token).status == 303)
            _ = try hand("/thief", try gateway.transferToken(), from: "127.0.0.2")
            _ = try hand("/unknown", "spt_nothing")
            for (path, handoff, binding) in [
                ("/first", "consumed", "ip/match"), ("/replay", "replayed", nil),
                ("/thief", "binding_mismatch", "ip/mismatch"), ("/unknown", "invalid", nil),
            ] {
                let line = try Self.line(path, of: gateway)
                #expect(line["handoff"] as? String == handoff, "\(path): \(line)")
                #expect(line["binding"] as? String == binding, "\(path): \(line)")
            }
            #expect(try gateway.get("/bound/here", ["Cookie: sallyport=\(cookie)"]).status == 200)
            _ = try gateway.get("/bound/there", ["Cookie: sallyport=\(cookie)"], from: "127.0.0.2")
            #expect(try Self.line("/bound/here", of: gateway)["binding"] as? String == "ip/match")
            #expect(try Self.line("/bound/there", of: gateway)["binding"] as? String == "ip/mismatch")
        }
    }

    @Test("Every answered request has its line, up to the last one of a drain under load")
    func drain() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "ok") })
        defer { app.stop() }
        for attempt in 0..<8 {
            let settings = Config.file(upstream: app.port, loops: 2)
            let gateway = try Gateway(settings)
            defer { gateway.stop() }
            let answered = Paths()
            let done = Flag()
            for client in 0..<4 {
                Thread.detachNewThread {
                    defer { done.raise() }
                    var index = 0
                    while let wire = try? gateway.connect() {
                        repeat {
                            index += 1
                            let path = "/public/\(attempt)-\(client)-\(index)"
                            guard let answer = try? wire.request(Request.get(path)) else { break }
                            answered.add(path)
                            if answer.value("connection") == "close" { break }
                        } while true
                    }
                }
            }
            #expect(eventually { answered.all.count > 100 && gateway.trapsStop })
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus() == 0)
            #expect(eventually { done.count == 4 })
            let lines = Self.lines(gateway.output)
            let missing = answered.all.filter { lines[$0]?.count != 1 }
            #expect(answered.all.count > 20 && missing.isEmpty, "\(missing.count) of \(answered.all.count)")
        }
    }
}

/// The paths that were answered, collected from several threads.
private final class Paths: @unchecked Sendable {
    private let lock = NSLock()
    private var paths: [String] = []

    func add(_ path: String) { self.lock.withLock { self.paths.append(path) } }
    var all: [String] { self.lock.withLock { self.paths } }
}
