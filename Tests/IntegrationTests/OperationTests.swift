import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Stopping, reloading, and outputs without a reader.
@Suite("Operation", .blocking) struct OperationTests {
    @Test("F22: SIGTERM fails no request: readiness ends first, answers say Connection: close, and the exit code is 0")
    func drain() throws {
        let go = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                if request.target == "/long" { _ = go.isRaised(within: 30) }
                link.answer(body: "ok")
            }
        )
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, drainTimeout: "5s").replacing("delay: 0s", with: "delay: 2s")
        try Gateway.with(settings) { gateway throws in
            #expect(try gateway.admin("/readyz").status == 200)
            let failed = Flag()
            let told = Flag()
            let stopped = Flag()
            let done = Flag()
            for _ in 0..<4 {
                Thread.detachNewThread {
                    defer { done.raise() }
                    var wire: Wire?
                    while stopped.count == 0 {
                        // During the delay new connections are served, and open ones are not cut off.
                        guard let current = wire ?? (try? gateway.connect()) else { return failed.raise() }
                        wire = current
                        guard let answer = try? current.request(Request.get("/short")), answer.text == "ok" else {
                            return failed.raise()
                        }
                        if answer.value("connection") == "close" {
                            told.raise()
                            wire = nil
                        }
                        usleep(20_000)
                    }
                }
            }
            let long = try gateway.connect()
            #expect(eventually { app.requests.count >= 4 })
            long.send(Request.get("/long"))
            #expect(eventually { app.requests.contains { $0.target == "/long" } && gateway.trapsStop })
            gateway.signal(SIGTERM)
            #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })
            #expect(try gateway.admin("/healthz").status == 200)
            #expect(eventually { told.count > 0 })
            stopped.raise()
            #expect(eventually { done.count == 4 } && failed.count == 0, "\(failed.count) failed")
            go.raise()
            #expect(try long.answer().text == "ok", "what is in flight ends")
            #expect(gateway.exitStatus() == 0)
        }
    }

    /// The line that a process leaves which a signal ends.
    private struct LastLine: Decodable {
        struct Fields: Decodable { let signal: String }

        let stream: String
        let time: String
        let level: String
        let logger: String
        let message: String
        let fields: Fields
    }

    @Test(
        "A fault leaves a last line in the log that names the signal, and the signal ends the process as it always does",
        arguments: [
            (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGSEGV, "SIGSEGV"), (SIGBUS, "SIGBUS"), (SIGFPE, "SIGFPE"),
            (SIGABRT, "SIGABRT"),
        ]
    )
    func fault(signal: Int32, name: String) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            #expect(try gateway.get().status == 200)
            let before = Date.now.addingTimeInterval(-1)
            gateway.signal(signal)
            #expect(gateway.fatalSignal() == signal)
            let text = try #require(gateway.output.split(separator: "\n").last)
            let line = try JSONDecoder().decode(LastLine.self, from: Data(text.utf8))
            #expect(line.fields.signal == name && line.message == "a fatal signal ends the process")
            #expect(line.stream == "log" && line.level == "critical" && line.logger == "sallyport")
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            let time = try Date(line.time, strategy: style)
            #expect((before...Date.now).contains(time))
        }
    }

    @Test("F22: a request that does not end in time is cut off, and the exit code is still 0")
    func drainTimeout() throws {
        let app = try FakeUpstream { link in
            _ = link.next()
            _ = link.wire.receiveAll(seconds: 20)
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get())
            #expect(eventually { !app.requests.isEmpty })
            gateway.signal(SIGTERM)
            #expect(wire.endsNow(within: 8) && gateway.exitStatus() == 0)
        }
    }

    @Test("F22: a second SIGTERM ends the process at once, with status 1", arguments: ["1h", "0s"])
    func secondSignal(delay: String) throws {
        let app = try FakeUpstream { link in
            _ = link.next()
            _ = link.wire.receiveAll(seconds: 20)
        }
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, drainTimeout: "1h")
            .replacing("delay: 0s", with: "delay: \(delay)")
        try Gateway.with(settings) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get())
            #expect(eventually { !app.requests.isEmpty })
            gateway.signal(SIGTERM)
            #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })
            #expect(gateway.exitStatus(within: 0.5) == nil)
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus(within: 5) == 1)
        }
    }

    @Test("F24: a reload applies good settings completely and keeps the old ones if the new ones are bad")
    func reload() throws {
        let first = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "first") })
        let second = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "second") })
        defer {
            first.stop()
            second.stop()
        }
        try Gateway.with(Config.file(upstream: first.port)) { gateway throws in
            let token = try gateway.native()
            let cookie = try gateway.browser()
            let kept = try gateway.connect()
            #expect(try kept.request(Request.get("/public/")).text == "first")
            let good = Config.file(upstream: second.port)
            let bad = [
                "", "nonsense", "public_url: [", good + "\nunknown_key: 1\n",
                good.replacing("path: /**", with: "path: nowhere"),
                good.replacing("client: web", with: "client: nobody"),
                good.replacing("delay: 0s", with: "delay: sideways"),
                good.replacing("upstream: http", with: "upstream: gopher"),
                good.replacing("auth: public", with: "auth: maybe"),
                good + "\ntrusted_proxies: [0.0.0.0/0]\n", good + "\nasn:\n  csv: missing.csv\n",
            ]
            for (index, settings) in bad.enumerated() {
                try gateway.reload(settings)
                #expect(try kept.request(Request.get("/public/")).text == "first", "\(index)")
                #expect(gateway.output.contains("configuration not reloaded"), "\(index)")
                #expect(try gateway.admin("/readyz").status == 200)
            }
            #expect(!gateway.output.contains("configuration reloaded"))
            try gateway.reload(good)
            #expect(try kept.request(Request.get("/public/")).text == "second")
            // Sessions live on.
            #expect(try gateway.get("/", ["Authorization: Bearer \(token)"]).text == "second")
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).text == "second")
            try gateway.reload("again: nonsense")
            #expect(try kept.request(Request.get("/public/")).text == "second")
            try gateway.reload(Config.open(upstream: first.port))
            #expect(try kept.request(Request.get("/was-private")).text == "first")
        }
    }

    @Test("Each reload names the settings that wait for the next start, until they are as before")
    func settingsOfTheStart() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port)
        let changed = Config.file(upstream: app.port, loops: 2)
        try Gateway.with(settings) { gateway throws in
            func warnings() -> Int {
                gateway.output.ranges(of: "event_loops: takes effect at the next start").count
            }
            for count in 1...2 {
                try gateway.reload(changed)
                #expect(warnings() == count)
            }
            try gateway.reload(settings)
            #expect(warnings() == 2)
        }
    }

    @Test("F24: a request that is running during a reload ends with the settings it began with")
    func reloadInFlight() throws {
        let hasReloaded = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                if request.target.hasPrefix("/second/") {
                    _ = hasReloaded.isRaised(within: 30)
                    link.answer("302 Found", "Location: http://127.0.0.1:1/x\r\n", body: "slow")
                } else {
                    link.answer(body: "ok")
                }
            }
        )
        defer { app.stop() }
        let route = "  - path: /**\n    auth: public\n"
        let two = route + "  - path: /second/**\n    auth: public\n    upstream: http://localhost:\(app.port)\n"
        let before = Config.file(upstream: app.port, routes: two)
        let after = Config.file(upstream: app.port, routes: route)
        try Gateway.with(before) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/second/slow"))
            #expect(eventually { app.requests.count == 1 })
            try gateway.reload(after)
            hasReloaded.raise()
            let answer = try slow.answer()
            #expect(answer.status == 302 && answer.text == "slow")
            #expect(try slow.request(Request.get("/next")).text == "ok")
        }
    }

    @Test("An address that cannot be bound is named with its key, the reason and a way out")
    func addressInUse() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let taken = "127.0.0.1:\(app.port)"
        for (settings, key, variable) in [
            (Config.file(upstream: app.port, listen: taken), "listen", "SALLYPORT_LISTEN"),
            (Config.file(upstream: app.port, admin: taken), "admin.listen", "SALLYPORT_ADMIN_LISTEN"),
        ] {
            let failure = #expect(throws: BenchFailure.self) { try Gateway(settings) }
            let sentence =
                "\n\(key): \(taken) cannot be bound: another process listens there, or has just used the port; stop it, or write another port in \(key) or \(variable)\n"
            #expect(failure?.description.contains(sentence) == true, "\(failure?.description ?? "-")")
        }
    }

    @Test("A connection to the app that was in use during a reload is not kept forever")
    func reloadConnections() throws {
        let (hasReloaded, closed) = (Flag(), Flag())
        let app = try FakeUpstream { link in
            while let request = link.next() {
                if request.target == "/slow" { _ = hasReloaded.isRaised(within: 30) }
                link.answer(body: "ok")
            }
            closed.raise()
        }
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, more: "timeouts:\n  upstream_keep_alive: 100ms\n")
        try Gateway.with(settings) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            #expect(eventually { app.requests.count == 1 })
            try gateway.reload(settings)
            hasReloaded.raise()
            #expect(try slow.answer().text == "ok")
            #expect(closed.isRaised(within: 3))
        }
    }

    @Test("F24: with bad settings the gateway does not start, and the message names the place")
    func badStart() throws {
        let error = #expect(throws: BenchFailure.self) {
            try Gateway(Config.open(upstream: 1) + "\nroutess: []\n").stop()
        }
        #expect(error?.description.contains("settings.yaml:") == true && error?.description.contains("routess") == true)
    }

    @Test("F26: an output without a reader does not delay requests, and dropped lines are counted")
    func blockedOutput() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-blocked-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let adminPort = try ServerPorts.take()
        let settings = Config.file(
            upstream: app.port,
            listen: "127.0.0.1:\(port)",
            admin: "127.0.0.1:\(adminPort)",
            more: "log:\n  buffer: 4KiB\n"
        )
        let file = folder.appending(path: "settings.yaml")
        try settings.write(to: file, atomically: true, encoding: .utf8)
        let process = Process()
        let pipe = Pipe()
        process.executableURL = Gateway.binary
        process.arguments = ["run", "--config", file.path, "--insecure-http"]
        process.environment = Gateway.environment
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        // The pipe has no reader and holds 64 KiB, and these lines are several times as long.
        #expect(eventually { (try? Wire(to: port)) != nil })
        let wire = try Wire(to: port)
        for index in 0..<1500 {
            let answer = try wire.request(Request.get("/public/\(index)"))
            guard answer.status == 200 else {
                Issue.record("\(index): \(answer.lines)")
                break
            }
        }
        let metrics = try Wire(to: adminPort).request("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .text
        let dropped = metrics.split(separator: "\n").filter { $0.contains("dropped") && !$0.hasPrefix("#") }
        #expect(dropped.contains { ($0.split(separator: " ").last.flatMap { Double($0) } ?? 0) > 0 }, "\(dropped)")
        process.terminate()
        #expect(eventually { !process.isRunning } && process.terminationStatus == 0)
    }

    @Test("F26: if the reader of the log closes it, the gateway keeps running")
    func closedOutput() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-closed-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let file = folder.appending(path: "settings.yaml")
        try Config.file(upstream: app.port, listen: "127.0.0.1:\(port)").write(
            to: file,
            atomically: true,
            encoding: .utf8
        )
        let process = Process()
        let pipe = Pipe()
        process.executableURL = Gateway.binary
        process.arguments = ["run", "--config", file.path, "--insecure-http"]
        process.environment = Gateway.environment
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        #expect(eventually { (try? Wire(to: port)) != nil })
        try pipe.fileHandleForReading.close()
        let wire = try Wire(to: port)
        for index in 0..<50 { #expect(try wire.request(Request.get("/public/\(index)")).status == 200) }
        process.terminate()
        #expect(eventually { !process.isRunning } && process.terminationStatus == 0)
    }

    @Test("The access log has path, status and reason of each request, and never a query or a token")
    func accessLog() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = try gateway.native()
            #expect(try gateway.get("/public/a?secret=query-canary#", []).status == 400)
            #expect(try gateway.get("/public/a?secret=query-canary").status == 200)
            #expect(try gateway.get("/b", ["Authorization: Bearer \(token)"]).status == 200)
            #expect(
                try gateway.get("/c", ["Authorization: Bearer canary-\(token)", "Referer: http://a/?t=ref-canary"])
                    .status == 401
            )
            #expect(eventually { gateway.output.contains(#""path":"/c""#) })
            let output = gateway.output
            #expect(output.contains(#""path":"/public/a""#) && output.contains(#""status":200"#))
            #expect(output.contains(#""reason":"credential.malformed""#))
            for canary in ["query-canary", "ref-canary", "canary-"] { #expect(!output.contains(canary), "\(canary)") }
        }
    }

    @Test("The gateway's own endpoints are counted by their paths, and what is neither route nor endpoint as none")
    func endpointsByName() throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, _ in
            _ = try gateway.browser()
            #expect(try gateway.get("/sessions/whoami").status == 401)
            #expect(try gateway.get("/%zz").status == 400)
            let metrics = try gateway.admin("/metrics").text
            for line in [
                #"sallyport_http_requests_total{route="/.sallyport/login",code_class="3xx",outcome="ok"} 1"#,
                #"sallyport_http_requests_total{route="/sessions/whoami",code_class="4xx",outcome="refused"} 1"#,
                #"sallyport_http_requests_total{route="none",code_class="4xx",outcome="refused"} 1"#,
                #"sallyport_http_request_duration_seconds_count{route="/sessions/whoami"} 1"#,
                #"sallyport_sign_ins_total{kind="web",result="ok"} 1"#,
            ] {
                #expect(metrics.contains(line), "\(line)")
            }
            #expect(eventually { gateway.output.contains(#""route":"/sessions/whoami""#) })
        }
    }

    @Test("promtool accepts the metrics of a gateway that has served, refused and failed")
    func metrics() throws {
        let promtool = "/usr/bin/promtool"
        guard FileManager.default.isExecutableFile(atPath: promtool) else { try Servers.missing("promtool") }
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "ok") })
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = try gateway.transferToken()
            _ = try gateway.get("/?session_transfer_token=\(token)")
            _ = try gateway.get("/", ["Cookie: sallyport=\(try gateway.browser())"])
            _ = try gateway.get("/a/../b")
            let text = try gateway.admin("/metrics")
            #expect(text.status == 200 && text.text.contains("sallyport_"))
            let result = try Servers.run(promtool, ["check", "metrics"], input: text.body)
            #expect(result.status == 0, "\(result.output)")
        }
    }
}
