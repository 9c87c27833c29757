import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// Reasons that need their own gateway or store.
struct ReasonAlone {
    let reason: Reason

    /// Expects the reason in the gateway's output and its status in the answer.
    private func expect(_ gateway: Gateway, _ answer: Answer?) {
        #expect(eventually { gateway.output.contains("\"reason\":\"\(self.reason.rawValue)\"") })
        if let answer, let status = self.reason.refusal?.status {
            #expect(answer.status == status, "\(answer.lines) \(answer.text)")
        }
    }

    /// Posts the sign-in form.
    private func signIn(_ gateway: Gateway) throws -> Answer {
        try gateway.request(
            Request.post(
                "/.sallyport/login",
                ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
                body: "identifier=\(User.ada.identifier)&password=\(User.ada.password)&return_to=/"
            )
        )
    }

    func storeFull() throws {
        let more = "store: {memory: {max_sessions: 1}}\n"
        try Gateway.withApp({ Config.file(upstream: $0, more: more) }) { gateway, _ throws in
            _ = try gateway.native()
            self.expect(gateway, try self.signIn(gateway))
        }
    }

    func storeUnavailable() throws {
        let more = "store: {redis: {url: \"redis://127.0.0.1:\(try ServerPorts.take())\"}}\n"
        try self.withSecret(more) { gateway throws in
            self.expect(gateway, try self.signIn(gateway))
        }
    }

    /// Changes a signed-in user in the settings.
    func user(replacing text: String, with other: String) throws {
        try Gateway.withApp({ Config.file(upstream: $0) }) { gateway, app throws in
            let cookie = ["Cookie: sallyport=\(try gateway.browser())"]
            try gateway.reload(Config.file(upstream: app.port).replacing(text, with: other))
            self.expect(gateway, try gateway.get("/", cookie))
        }
    }

    /// Presents a token to a browser that used another account last, where nobody is asked.
    func otherAccount() throws {
        try Gateway.withApp({ Config.file(upstream: $0, more: "handoff: {confirm: never}\n") }) { gateway, _ throws in
            let account = try self.signIn(gateway).values("set-cookie").first { $0.hasPrefix("sallyport-account=") }
            let cookie = try #require(account).prefix { $0 != ";" }
            let token = try gateway.transferToken(.grace)
            let answer = try gateway.get("/?session_transfer_token=\(token)", ["Cookie: \(cookie)"])
            #expect(answer.status == 303 && answer.sessionCookie == nil, "\(answer.lines)")
            self.expect(gateway, nil)
        }
    }

    /// Leaves a stream open until the drain timeout ends it.
    func draining() throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            _ = link.wire.receive(seconds: 20)
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, drainTimeout: "100ms")) { gateway throws in
            let stream = try gateway.connect()
            stream.send(Request.get("/stream"))
            _ = stream.receive(through: "data: 1")
            gateway.signal(SIGTERM)
            self.expect(gateway, nil)
        }
    }

    /// Comes back from a provider that does what the script says.
    func signIn(
        asking query: String = "return_to=/",
        settings: String = OpenIDSignInBench.levels,
        _ change: (inout OpenIDScript) -> Void = { _ in }
    ) throws {
        var script = OpenIDScript()
        change(&script)
        try OpenIDSignInBench.with(script, settings) { bench in
            var browser = OpenIDBrowser(bench)
            self.expect(bench.gateway, try browser.load(try browser.callback(query)))
        }
    }

    /// Comes back from the provider with the cookies of another browser.
    func strangeSignIn() throws {
        try OpenIDSignInBench.with { bench in
            var browser = OpenIDBrowser(bench)
            var other = OpenIDBrowser(bench)
            self.expect(bench.gateway, try other.load(try browser.callback()))
        }
    }

    /// Comes back from the provider after it has ended its session, with an id_token from before.
    func endedSignIn() throws {
        try OpenIDSignInBench.with { bench in
            var browser = OpenIDBrowser(bench)
            let callback = try browser.callback()
            let logout = bench.provider.logoutToken(sessionID: bench.provider.sessionID, subject: nil)
            self.expect(bench.gateway, try bench.comeBack(browser, callback, beside: logout))
        }
    }

    func speculativeSignIn() throws {
        try OpenIDSignInBench.with { bench in
            var browser = OpenIDBrowser(bench)
            self.expect(bench.gateway, try browser.load("/.sallyport/login", ["Sec-Purpose: prefetch"]))
        }
    }

    /// Loses each session before the next page.
    func repeatedSignIn() throws {
        try OpenIDSignInBench.with { bench in
            var browser = OpenIDBrowser(bench)
            for _ in 0..<3 {
                _ = try browser.load(try browser.callback())
                browser.loseSession()
            }
            self.expect(bench.gateway, try browser.load("/.sallyport/login"))
        }
    }

    /// Uses a token that was minted before its Redis was restarted with all its data.
    func quarantined() throws {
        guard Servers.find(["/usr/bin/redis-server"]) != nil else { try Servers.missing("redis-server") }
        let redis = try RedisProcess(["--appendonly", "yes", "--appendfsync", "always"])
        defer { redis.stop() }
        try self.withSecret("store: {redis: {url: \"redis://127.0.0.1:\(redis.port)\"}}\n") { gateway throws in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            let token = try gateway.transferToken()
            redis.stop()
            #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })
            try redis.start()
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            _ = try gateway.get("/?session_transfer_token=\(token)")
            self.expect(gateway, nil)
        }
    }

    /// A gateway with a secret file, which Redis requires.
    private func withSecret(_ more: String, _ body: (Gateway) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(
            Config.file(upstream: app.port, more: "secret_file: secret\n" + more),
            files: ["secret": String(repeating: "s", count: 48) + "\n"],
            body
        )
    }
}
