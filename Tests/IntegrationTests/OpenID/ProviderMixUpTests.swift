import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// One of the listed providers takes part in an attack on another one (RFC 9700 4.4): what it says of itself leads browsers,
/// codes or tokens of the honest one to it, or the other way round.
@Suite("A listed provider that attacks another", .blocking)
struct ProviderMixUpTests {
    private static let app = "http://app.example.com"

    private struct Bench {
        let honest: OpenIDProvider
        let attacker: OpenIDProvider
        let gateway: Gateway

        /// Where a sign-in at the attacker's button ends, and what the browser has then.
        func arrive() throws -> (answer: Answer, user: WebUser) {
            var user = WebUser(self.gateway)
            let login = "\(ProviderMixUpTests.app)/.sallyport/login?return_to=/x&provider=attacker"
            return (try user.open(login).answer, user)
        }
    }

    /// - Parameters:
    ///   - honest: Changes what the honest provider does.
    ///   - metadata: What the attacker says of itself, given the honest provider's issuer.
    private static func with(
        honest change: (inout OpenIDScript) -> Void = { _ in },
        metadata: @escaping @Sendable (inout [String: JSONValue], String) -> Void,
        _ body: (Bench) throws -> Void
    ) throws {
        var script = OpenIDScript(user: OpenIDScript.User("victim", claims: ["email": "ada@example.com"]))
        change(&script)
        let honest = try OpenIDProvider(script)
        defer { honest.stop() }
        let issuer = honest.issuer
        var evil = OpenIDScript(user: OpenIDScript.User("mallory"))
        evil.alterMetadata = { metadata(&$0, issuer) }
        let attacker = try OpenIDProvider(evil)
        defer { attacker.stop() }
        let upstream = try FakeUpstream()
        defer { upstream.stop() }
        func element(_ name: String, _ provider: OpenIDProvider) -> String {
            "  - {name: \(name), essential: false, oidc: {issuer: \"\(provider.issuer)\", client_id: gateway, "
                + "client_secret_file: client-secret}}\n"
        }
        let settings = """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(upstream.port)
            session: {cookie: sallyport}
            identity: {headers: {X-User: subject}}
            hosts:
              - public_url: \(Self.app)
                endpoints: true
                providers: [honest, attacker]
                routes: [{path: /**}]
            providers:
            \(element("honest", honest))\(element("attacker", attacker))\
            drain: {delay: 0s, timeout: 100ms}

            """
        // The worst case: the gateway has the same id and secret at both.
        let files = ["client-secret": script.clients[0].secret ?? ""]
        try Gateway.with(settings, files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(Bench(honest: honest, attacker: attacker, gateway: gateway))
        }
    }

    private static func expectNobody(_ arrival: (answer: Answer, user: WebUser), _ reason: String) {
        #expect(arrival.answer.text.contains(reason), "\(arrival.user.trail) \(arrival.answer.text)")
        #expect(arrival.user.jars["app.example.com"]?["sallyport"] == nil)
    }

    @Test(
        "It sends browsers on to the honest one: no code goes to the attacker, and the honest one knows no such callback"
    )
    func authorizationEndpoint() throws {
        let lead: @Sendable (inout [String: JSONValue], String) -> Void = {
            $0["authorization_endpoint"] = .string("\($1)/authorize")
        }
        // `iss` of the answer is the honest provider's.
        try Self.with(metadata: lead) { bench throws in
            Self.expectNobody(try bench.arrive(), "signin.state_mismatch")
            #expect(bench.attacker.count(.token) == 0 && bench.honest.count(.token) == 0)
        }
        // Each provider has a place of its own, so that the honest one has not registered the attacker's.
        let registered: (inout OpenIDScript) -> Void = {
            $0.clients[0].redirectURIs = ["\(Self.app)/.sallyport/callback/honest"]
            $0.namesIssuer = false
        }
        try Self.with(honest: registered, metadata: lead) { bench throws in
            let (answer, user) = try bench.arrive()
            #expect(
                answer.status == 400 && !user.trail.contains { $0.contains("/.sallyport/callback") },
                "\(user.trail)"
            )
            #expect(bench.attacker.count(.token) == 0)
        }
    }

    @Test("It claims the honest one's endpoints and keys as its own: the honest one's id_token names another issuer")
    func keys() throws {
        let claim: @Sendable (inout [String: JSONValue], String) -> Void = {
            for (name, path) in [
                ("authorization_endpoint", "/authorize"), ("token_endpoint", "/token"), ("jwks_uri", "/jwks.json"),
                ("userinfo_endpoint", "/userinfo"),
            ] { $0[name] = .string($1 + path) }
            $0["authorization_response_iss_parameter_supported"] = nil
        }
        try Self.with(honest: { $0.namesIssuer = false }, metadata: claim) { bench throws in
            Self.expectNobody(try bench.arrive(), "signin.invalid_token")
            #expect(bench.honest.count(.token) == 1 && bench.attacker.count(.token) == 0)
        }
    }

    @Test("It has the honest one redeem its own codes: they are unknown there")
    func tokenEndpoint() throws {
        try Self.with(metadata: { $0["token_endpoint"] = .string("\($1)/token") }) { bench throws in
            Self.expectNobody(try bench.arrive(), "signin.")
            #expect(bench.honest.count(.token) == 1)
        }
    }

    @Test("It signs with its own keys in the honest one's name, or says it were the honest one: nobody signs in there")
    func name() throws {
        try Self.with(metadata: { _, _ in }) { bench throws in
            let issuer = bench.honest.issuer
            bench.attacker.change { script in
                script.alterIDToken = { claims in
                    claims["iss"] = .string(issuer)
                    claims["sub"] = "victim"
                }
            }
            Self.expectNobody(try bench.arrive(), "signin.invalid_token")
        }
        try Self.with(metadata: { $0["issuer"] = .string($1) }) { bench throws in
            Self.expectNobody(try bench.arrive(), "provider.unavailable")
            var user = WebUser(bench.gateway)
            let good = try user.open("\(Self.app)/.sallyport/login?return_to=/x&provider=honest")
            #expect(good.answer.text.contains("\r\nX-User: victim\r\n"), "\(user.trail)")
        }
    }

    @Test("It asks for the end of the honest one's sessions: a logout token ends those of the provider that signed it")
    func otherLogout() throws {
        try Self.with(metadata: { _, _ in }) { bench throws in
            var user = WebUser(bench.gateway)
            _ = try user.open("\(Self.app)/.sallyport/login?return_to=/x&provider=honest")
            func logout(_ token: String) throws -> Answer {
                var server = WebUser(bench.gateway)
                let type = "Content-Type: application/x-www-form-urlencoded"
                let path = "\(Self.app)/.sallyport/backchannel-logout"
                return try server.send("POST", path, [type], body: "logout_token=\(token)")
            }
            // A logout token for the honest one's user ends that user's sessions only if the honest one has signed it.
            let sid = try #require(bench.honest.sessionID)
            #expect(try logout(bench.attacker.logoutToken(sessionID: sid, subject: "victim")).status == 200)
            let script = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: application/json"]
            #expect(try user.send("GET", "\(Self.app)/x", script).status == 200)
            #expect(try logout(bench.honest.logoutToken(sessionID: sid, subject: "victim")).status == 200)
            #expect(try user.send("GET", "\(Self.app)/x", script).status == 401)
        }
    }
}
