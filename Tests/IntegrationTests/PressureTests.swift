import Foundation
import GatewayBench
import Testing

/// Clients that do not read, clients that leave, and more clients than the gateway can serve.
@Suite("Pressure", .blocking, .serialized) struct PressureTests {
    static let soak = ProcessInfo.processInfo.environment["SOAK"] == "1"

    /// An app that sends an endless answer and counts the answers that were sent completely.
    private static func fountain(_ sent: Flag) -> @Sendable (Link) -> Void {
        { link in
            while let request = link.next() {
                guard request.target.hasPrefix("/endless") else {
                    link.answer(body: "ok")
                    continue
                }
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
                let block = [UInt8](repeating: 0x61, count: 65_536)
                for _ in 0..<16_384 where !link.wire.send(block) { return }
                sent.raise()
            }
        }
    }

    @Test("F14: readers that stall do not stop other clients, and cost little memory")
    func stalledReaders() throws {
        let count = Self.soak ? 1000 : 40
        // The test holds both ends of every stream.
        DescriptorLimit.raise()
        let sent = Flag()
        let app = try FakeUpstream(serve: Self.fountain(sent))
        defer { app.stop() }
        // A thousand connections at once would overrun the listen queue of an app that starts a thread for each.
        let more = "limits:\n  connections: 5000\ntimeouts:\n  connect: 30s\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            #expect(try gateway.get("/warm").status == 200)
            let before = gateway.residentBytes
            let stalled = try (0..<count).map { _ in try Wire(to: gateway.port, receiveBuffer: 4096) }
            for wire in stalled { wire.send(Request.get("/endless")) }
            #expect(
                eventually { app.requests.count == count + 1 },
                "\(app.requests.count) of \(count + 1) requests arrived"
            )
            usleep(500_000)
            let good = try gateway.connect()
            for _ in 0..<100 { #expect(try good.request(Request.get("/good")).text == "ok") }
            let grown = gateway.residentBytes - before
            #expect(
                grown < Gateway.memoryBound(count * 300_000 + 8_000_000),
                "\(count) stalled streams cost \(grown) bytes"
            )
            #expect(sent.count == 0)
            // Keeps the connections until here: a connection closes with its last use.
            for wire in stalled { wire.close() }
        }
    }

    @Test("F14: a stream that is read slowly arrives completely and is not held in memory")
    func slowReader() throws {
        let total = Self.soak ? 1 << 30 : 64 << 20
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let block = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<(total >> 20) where !link.wire.send(block) { return }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            let before = gateway.residentBytes
            wire.send(Request.get())
            #expect(wire.receive(through: "\r\n\r\n") != nil)
            usleep(300_000)
            var count = 0
            var peak = 0
            while count < total, case .bytes(let bytes) = wire.receive() {
                count += bytes.count
                if count % 97 == 0 { peak = max(peak, gateway.residentBytes) }
            }
            peak = max(peak, gateway.residentBytes)
            #expect(count == total && peak - before < Gateway.memoryBound(64 << 20), "\(count), \(peak - before)")
        }
    }

    @Test("F14: if an app does not read, its uploader has to wait, and the gateway's memory does not grow")
    func slowApp() throws {
        let total = Self.soak ? 1 << 30 : 64 << 20
        let app = try FakeUpstream { link in
            guard link.nextHead() != nil else { return }
            usleep(500_000)
            var count = 0
            while count < total, case .bytes(let bytes) = link.wire.receive() { count += bytes.count }
            link.answer(body: "\(count)")
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            let before = gateway.residentBytes
            wire.send(Request.get("/", ["Content-Length: \(total)"], method: "PUT"))
            let block = [UInt8](repeating: 0x61, count: 1 << 20)
            var peak = 0
            for _ in 0..<(total >> 20) {
                #expect(wire.send(block))
                peak = max(peak, gateway.residentBytes)
            }
            #expect(try wire.answer(seconds: 20).text == "\(total)")
            #expect(peak - before < Gateway.memoryBound(64 << 20), "\(peak - before)")
        }
    }

    @Test(
        "F21: when the client leaves, the exchange with the app is cancelled in any state",
        arguments: ["GET", "POST"]
    )
    func abort(method: String) throws {
        let (asked, cancelled) = (Flag(), Flag())
        let app = try FakeUpstream { link in
            guard let request = link.nextHead() else { return }
            asked.raise()
            if request.target == "/streaming" { link.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello") }
            if case .silence = link.wire.receiveAll(seconds: 5).last { return }
            cancelled.raise()
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for (index, target) in ["/waiting", "/streaming"].enumerated() {
                let wire = try gateway.connect()
                wire.send(
                    Request.get(target, method == "POST" ? ["Content-Length: 100"] : [], method: method)
                        + (method == "POST" ? "abc" : "")
                )
                #expect(eventually { asked.count == index + 1 })
                if target == "/streaming" { #expect(wire.receive(through: "\r\n\r\nhello") != nil) }
                wire.reset()
                #expect(eventually { cancelled.count == index + 1 }, "\(target)")
            }
            // The gateway has closed the connections of the clients that left.
            #expect(eventually { gateway.descriptorCount < 40 })
        }
    }

    @Test("F19: with few descriptors the gateway accepts as many clients as it can serve, does not spin, and recovers")
    func descriptors() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port), descriptors: 128) { gateway throws in
            #expect(eventually { gateway.output.contains("LimitNOFILE (systemd)") && gateway.output.contains("11088") })
            #expect(gateway.output.contains("1024 for apps"), "as many as its limit, for one event loop")
            #expect(try gateway.get().status == 200)
            var crowd: [Wire] = []
            for _ in 0..<200 { if let wire = try? gateway.connect() { crowd.append(wire) } }
            #expect(crowd.count > 100)
            usleep(200_000)
            // Accepted clients are served, including the connections to the app.
            var served = 0
            for wire in crowd.prefix(10) where (try? wire.request(Request.get()).status) == 200 { served += 1 }
            #expect(served == 10)
            #expect(gateway.descriptorCount < 128, "some are kept back")
            // The admin listener still answers.
            #expect(try gateway.admin("/healthz").status == 200)
            let start = try self.processorSeconds(gateway)
            sleep(1)
            #expect(try self.processorSeconds(gateway) - start < 0.3, "a full house is no busy loop")
            for wire in crowd { wire.close() }
            #expect(eventually { (try? gateway.request(Request.get(), seconds: 3).status) == 200 })
        }
    }

    @Test("F20: heads that never end cost no more than their limit for each connection, and what runs goes on")
    func largeHeads() throws {
        DescriptorLimit.raise()
        let app = try FakeUpstream()
        defer { app.stop() }
        // So many that none has to make room.
        let more = "limits: {connections: 500, connections_per_address: 0}\ntimeouts: {header: 30s}\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            let good = try gateway.connect()
            #expect(try good.request(Request.get()).status == 200)
            let before = gateway.residentBytes
            // 60 KiB each: below the limit of all fields, which is 64 KiB. In a crowd the oldest of them would be closed.
            let field = "X-More: " + String(repeating: "x", count: 12_000) + "\r\n"
            let head = "GET / HTTP/1.1\r\nHost: \(Request.host)\r\n" + String(repeating: field, count: 5)
            let crowd = try (0..<240).map { _ in try gateway.connect() }
            for wire in crowd { wire.send(head) }
            usleep(500_000)
            for _ in 0..<100 { #expect(try good.request(Request.get()).status == 200) }
            let grown = gateway.residentBytes - before
            #expect(grown < Gateway.memoryBound(240 * 160_000 + 8_000_000), "\(crowd.count) heads cost \(grown) bytes")
            // One that goes beyond its limit is refused, and its memory is free.
            let last = crowd[crowd.count - 1]
            last.send(field)
            #expect(try last.answer().status == 431)
            for wire in crowd { wire.close() }
            #expect(eventually { gateway.descriptorCount < 60 })
            #expect(try good.request(Request.get()).status == 200)
        }
    }

    @Test("F19: where connections to apps have taken all descriptors, idle ones give theirs to new clients")
    func idleDescriptors() throws {
        let app = try FakeUpstream { link in
            while link.next() != nil {
                usleep(300_000)
                link.answer(body: "ok")
            }
        }
        defer { app.stop() }
        let names = ["a", "b", "c", "d", "e"]
        let routes = names.map { "  - {path: /\($0), auth: public, upstream: \($0)}" }
        let upstreams = names.map { "  \($0): {url: \"http://127.0.0.1:\(app.port)\"}\n" }
        let settings = Config.file(
            upstream: app.port,
            routes: (routes + ["  - {path: /**, auth: public}"]).joined(separator: "\n"),
            more: "limits: {connections_per_address: 0}\nupstreams:\n" + upstreams.joined()
        )
        try Gateway.with(settings, descriptors: 128) { gateway throws in
            let wires = try (0..<20).map { _ in try gateway.connect() }
            // Each app is asked by all clients at a time, and has as many connections from then on.
            let answers = try names.map { name in
                for wire in wires { wire.send(Request.get("/\(name)")) }
                return try wires.filter { try $0.answer(seconds: 10).status == 200 }.count
            }
            // There are descriptors for 105 connections at the most: the last requests wait until idle ones are closed.
            #expect(answers == [20, 20, 20, 20, 20])
            #expect(try gateway.metric("process_max_fds") == 128)
            #expect(eventually { (try? gateway.request(Request.get(), seconds: 3).status) == 200 })
            #expect(try gateway.admin("/healthz").status == 200)
            #expect(eventually { gateway.descriptorCount < 64 })
        }
    }

    private func processorSeconds(_ gateway: Gateway) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(gateway.processID)/stat", encoding: .utf8)
        let parts = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard parts.count > 12, let user = Double(parts[11]), let system = Double(parts[12]) else { return 0 }
        return (user + system) / 100
    }

    @Test("At the connection limit clients wait in the backlog, and at the limit per address they are refused")
    func connectionLimits() throws {
        let go = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                _ = go.isRaised(within: 20)
                link.answer(body: "ok")
            }
        )
        defer { app.stop() }
        let more = "limits:\n  connections: 6\n  connections_per_address: 4\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            let first = try (0..<4).map { _ in try gateway.connect() }
            for wire in first { wire.send(Request.get()) }
            #expect(eventually { app.requests.count == 4 })
            let fifth = try gateway.connect()
            fifth.send(Request.get())
            #expect(fifth.endsNow())
            // All accepted clients are busy, so the third of these waits until one of them is done.
            // They connect one after the other, because in a crowd connections without a request are closed.
            let others = try (5...7).map { count in
                let wire = try gateway.connect(from: "127.0.0.2")
                wire.send(Request.get())
                #expect(eventually { app.requests.count == min(count, 6) })
                return wire
            }
            usleep(400_000)
            #expect(app.requests.count == 6)
            go.raise()
            for wire in first + others { #expect(try wire.answer().text == "ok") }
        }
    }

    @Test("Many clients at once, some of which abort, get their own answers and never another's")
    func noMixUp() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                if request.target.hasSuffix("7") { usleep(2000) }
                link.answer(body: request.target + "|" + request.values("x-auth-subject").joined())
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, loops: 2)) { gateway throws in
            let tokens = try [User.ada, .grace, .mary].map { ($0.id, try gateway.native($0)) }
            let wrong = Flag()
            let done = Flag()
            let threads = 8
            for thread in 0..<threads {
                Thread.detachNewThread {
                    defer { done.raise() }
                    guard var wire = try? gateway.connect() else { return wrong.raise() }
                    for index in 0..<150 {
                        let (id, token) = tokens[(thread + index) % tokens.count]
                        let target = "/\(thread)-\(index)"
                        wire.send(Request.get(target, ["Authorization: Bearer \(token)"]))
                        if index % 13 == 5 {
                            wire.close()
                            guard let next = try? gateway.connect() else { return wrong.raise() }
                            wire = next
                            continue
                        }
                        guard let answer = try? wire.answer(), answer.text == "\(target)|\(id)" else {
                            return wrong.raise()
                        }
                    }
                }
            }
            #expect(eventually { done.count == threads } && wrong.count == 0)
        }
    }
}
