import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// What operators see of the provider, and what a gateway keeps of it over a reload, through the built binary.
@Suite("Watching an OpenID provider", .blocking) struct ProviderWatchTests {
    private func readiness(_ bench: OpenIDSignInBench) -> (status: Int, text: String) {
        let answer = try? bench.gateway.admin("/readyz?verbose")
        return (answer?.status ?? 0, answer?.text ?? "")
    }

    private func count(_ text: String, in bench: OpenIDSignInBench) -> Int {
        bench.gateway.output.components(separatedBy: text).count - 1
    }

    @Test("A provider that goes away is logged once and again when it is back; the gateway stays ready")
    func outage() throws {
        try OpenIDSignInBench.with(isUp: false) { (bench) throws in
            let missing = "provider: nobody can sign in until its metadata are read"
            #expect(eventually { self.count(missing, in: bench) == 1 })
            let before = self.readiness(bench)
            #expect(before.status == 503 && before.text.contains("provider"), "\(before.text)")
            #expect(before.text.contains("nobody can sign in"))
            try bench.provider.start()
            #expect(eventually { self.readiness(bench).status == 200 })
            #expect(eventually { self.count("provider: its metadata can be read again", in: bench) == 1 })
            bench.provider.stop()
            var browser = OpenIDBrowser(bench)
            #expect(try browser.load("/x").status == 303)
            #expect(self.readiness(bench).status == 200)
            #expect(self.count(missing, in: bench) == 1)
        }
    }

    @Test("A provider that says it is another issuer is named with that reason, and is not used")
    func otherIssuer() throws {
        var script = OpenIDScript()
        script.alterMetadata = { $0["issuer"] = "https://idp.example.com" }
        let provider = try OpenIDProvider(script)
        defer { provider.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let files = ["client-secret": script.clients[0].secret ?? ""]
        try Gateway.with(Self.settings(provider, app), files: files) { (gateway) throws in
            let bench = OpenIDSignInBench(provider: provider, gateway: gateway, app: app)
            #expect(eventually { self.readiness(bench).text.contains("issuer") })
            #expect(self.readiness(bench).status == 503)
            var browser = OpenIDBrowser(bench)
            let page = try browser.open("/x")
            #expect(page.status == 503 && page.pageReason == "provider.unavailable")
            #expect(provider.count(.authorization) == 0)
            provider.change { $0.alterMetadata = nil }
            #expect(eventually { self.readiness(bench).status == 200 })
            #expect(try browser.open("/x").status == 200)
        }
    }

    @Test("Optional endpoints that cannot be used are named once, and users sign in and out without them")
    func unusableEndpoints() throws {
        var script = OpenIDScript()
        script.alterMetadata = { metadata in
            metadata["end_session_endpoint"] = ""
            metadata["revocation_endpoint"] = "revoke"
            metadata["userinfo_endpoint"] = ["https://id.example.com/userinfo"]
            metadata["introspection_endpoint"] = .null
        }
        try OpenIDSignInBench.with(script) { (bench) throws in
            let line = "provider: its metadata contain unusable endpoints, which are ignored"
            #expect(eventually { self.count(line, in: bench) == 1 })
            for name in [
                "userinfo_endpoint is not a text", "end_session_endpoint cannot", "revocation_endpoint cannot",
            ] {
                #expect(self.count(name, in: bench) == 1, "\(name)")
            }
            #expect(self.count("introspection_endpoint", in: bench) == 0)
            #expect(self.readiness(bench).status == 200)
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let fields = ["Origin: \(Request.origin)", "Content-Length: 0", "Accept: text/html"]
            let out = try browser.load("/.sallyport/logout", fields, method: "POST")
            #expect(
                out.status == 303 && out.value("location")?.hasPrefix(bench.provider.issuer) == false,
                "\(out.lines)"
            )
            Thread.sleep(forTimeInterval: 2.5)
            #expect(self.count(line, in: bench) == 1)
        }
    }

    @Test("Each call is counted under its purpose and result")
    func metrics() throws {
        try OpenIDSignInBench.with { (bench) throws in
            func calls(_ purpose: String, _ result: String) -> Int {
                let series = #"sallyport_provider_calls_total{purpose="\#(purpose)",result="\#(result)"}"#
                return Int((try? bench.gateway.metric(series)) ?? -1)
            }
            #expect(calls("metadata", "ok") >= 1 && calls("token", "ok") == 0)
            for (fault, result) in [
                (OpenIDFault.answer(status: 400, body: #"{"error":"invalid_grant"}"#), "refused"),
                (.answer(status: 302, fields: [(name: "location", value: "http://127.0.0.1:1/")]), "refused"),
                (.answer(status: 500), "failed"), (.answer(status: 503), "failed"), (.closes, "error"),
            ] {
                let before = calls("token", result)
                bench.provider.breakDown(.token, with: fault)
                var browser = OpenIDBrowser(bench)
                #expect(try browser.load(try browser.callback()).status >= 400)
                bench.provider.heal(.token)
                #expect(calls("token", result) > before, "\(result)")
            }
            #expect(calls("token", "ok") == 0)
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            #expect(calls("token", "ok") == 1 && calls("keys", "ok") == 1)
            let durations = #"sallyport_provider_call_duration_seconds_count{purpose="token"}"#
            #expect(Int(try bench.gateway.metric(durations)) == bench.provider.count(.token))
        }
    }

    // MARK: Reload

    private static func settings(_ provider: OpenIDProvider, _ app: FakeUpstream, _ more: String = "") -> String {
        """
        public_url: \(Request.origin)
        listen: 127.0.0.1:0
        event_loops: 1
        admin: {listen: 127.0.0.1:0}
        upstream: http://127.0.0.1:\(app.port)
        session: {cookie: sallyport}
        routes:
          - path: /**
        provider:
          oidc:
            issuer: \(provider.issuer)
            client_id: gateway
            client_secret_file: client-secret
            \(more)
        drain: {delay: 0s, timeout: 100ms}

        """
    }

    @Test("A reload keeps what is known of the issuer: it is asked for nothing again, and sign-ins that began go on")
    func reload() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let files = ["client-secret": OpenIDScript().clients[0].secret ?? ""]
        try Gateway.with(Self.settings(provider, app), files: files) { (gateway) throws in
            let bench = OpenIDSignInBench(provider: provider, gateway: gateway, app: app)
            #expect(eventually { self.readiness(bench).status == 200 })
            var (browser, other) = (OpenIDBrowser(bench), OpenIDBrowser(bench))
            #expect(try browser.open("/x").status == 200)
            let callback = try other.callback("return_to=/y")
            let asked = [provider.count(.discovery), provider.count(.keys)]
            for number in 0..<5 {
                // Another client setting changes the provider, and not its issuer.
                try gateway.reload(Self.settings(provider, app, "scopes: [openid, email, s\(number)]"))
                #expect(self.readiness(bench).status == 200 && gateway.output.contains("configuration reloaded"))
                #expect(try browser.open("/x").status == 200)
            }
            #expect(try other.follow(try other.load(callback)).status == 200, "it began before the reloads")
            #expect([provider.count(.discovery), provider.count(.keys)] == asked)
            var third = OpenIDBrowser(bench)
            #expect(try third.open("/z").status == 200)
            #expect(provider.calls(of: .authorization).last?["scope"] == "openid email s4")
            #expect([provider.count(.discovery), provider.count(.keys)] == asked)
            // Its tokens are judged in another way from now on, so it is read anew, once.
            try gateway.reload(Self.settings(provider, app, "algorithms: [ES256]"))
            #expect(eventually { provider.count(.discovery) == asked[0] + 1 })
            #expect(eventually { (try? OpenIDBrowser(bench).signedIn("/z")) == true })
            #expect(provider.count(.discovery) == asked[0] + 1)
        }
    }

    @Test("A reload to an issuer that is away leaves the gateway ready and its sessions alive; nobody can sign in")
    func reloadToOutage() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let next = try OpenIDProvider(isUp: false)
        defer { next.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let files = ["client-secret": OpenIDScript().clients[0].secret ?? ""]
        try Gateway.with(Self.settings(provider, app), files: files) { (gateway) throws in
            let bench = OpenIDSignInBench(provider: provider, gateway: gateway, app: app)
            #expect(eventually { self.readiness(bench).status == 200 })
            var (browser, other) = (OpenIDBrowser(bench), OpenIDBrowser(bench))
            #expect(try browser.open("/x").status == 200)
            let callback = try other.callback()
            try gateway.reload(Self.settings(next, app))
            let readiness = self.readiness(bench)
            #expect(readiness.status == 200 && readiness.text.contains("nobody can sign in"), "\(readiness.text)")
            #expect(try browser.open("/x").status == 200)
            var third = OpenIDBrowser(bench)
            #expect(try third.open("/x").pageReason == "provider.unavailable")
            // The code of the former issuer is not sent to the new one, nor used at the old one.
            let page = try other.load(callback)
            #expect(page.status >= 400 && page.value("location") == nil)
            #expect(provider.count(.token) == 1 && next.count(.token) == 0)
            try next.start()
            let worldOfNext = OpenIDSignInBench(provider: next, gateway: gateway, app: app)
            #expect(eventually { (try? OpenIDBrowser(worldOfNext).signedIn("/x")) == true })
        }
    }
}

extension OpenIDBrowser {
    /// Whether a copy of this browser arrives at a page of the app.
    fileprivate func signedIn(_ target: String) throws -> Bool {
        var copy = self
        return try copy.open(target).status == 200
    }
}
