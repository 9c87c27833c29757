import GatewayBench
import ProofBench
import RedisServers
import Testing

/// What the built binary does with tokens that are bound to a key, while its Redis cannot remember their proofs.
@Suite("Proofs without Redis", .blocking) struct ProofOutageTests {
    private static let orders = Request.origin + "/orders/1"
    private static let endpoint = Request.origin + "/oauth/token"

    /// A gateway with an API whose client needs a proof of its key.
    private func with(_ body: (Gateway, FakeUpstream, FaultProxy, RedisServer) async throws -> Void) async throws {
        try await RedisServer.with { server in
            try await FaultProxy.with(to: server.port) { proxy in
                let app = try FakeUpstream()
                defer { app.stop() }
                let settings = Config.file(
                    upstream: app.port,
                    routes: "      - {path: /**}\n      - {path: /orders/**, name: orders}",
                    clients:
                        "  - {client_id: app, callbacks: [\"myapp://auth/callback\"], require_proof_of_possession: true}",
                    more: """
                        secret_file: secret
                        store: {redis: {url: "\(RedisURLs.standalone(proxy.port))"}}
                        apis: [{audience: "https://api.example.com", scopes: [read], routes: [orders]}]
                        """
                )
                let gateway = try Gateway(settings, files: ["secret": Fleet.newSecret() + "\n"])
                defer { gateway.stop() }
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                try await body(gateway, app, proxy, server)
            }
        }
    }

    /// Sends a request to the token endpoint with a new proof.
    private func grant(_ gateway: Gateway, _ key: ProofKey, _ parameters: String) throws -> Answer {
        try key.send {
            let fields = ["Content-Type: application/x-www-form-urlencoded", key.field("POST", Self.endpoint)]
            return try gateway.request(Request.post("/oauth/token", fields, body: parameters + "&client_id=app"))
        }
    }

    /// Signs in, and redeems the code with a proof.
    private func tokens(_ gateway: Gateway, _ key: ProofKey) throws -> (access: String, refresh: String) {
        let query =
            "client_id=app&response_type=code&audience=https://api.example.com&scope=read%20offline_access"
            + "&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let sent = try gateway.get("/authorize?" + query, ["Cookie: sallyport=\(try gateway.browser())"])
        guard let code = sent.value("location")?.firstMatch(of: /spc_[A-Za-z0-9_-]+/) else {
            throw BenchFailure("no code: \(sent.lines) \(sent.text.prefix(500))")
        }
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let answer = try self.grant(
            gateway,
            key,
            "grant_type=authorization_code&code=\(code.0)&code_verifier=\(verifier)"
        )
        guard let access = answer.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/),
            let refresh = answer.text.firstMatch(of: /spr_[A-Za-z0-9_-]+/)
        else { throw BenchFailure("no tokens: \(answer.lines) \(answer.text)") }
        return (String(access.0), String(refresh.0))
    }

    @Test(
        "F30: while Redis is stopped or refuses, a new proof gets 503 though its session is known, and none is taken twice",
        arguments: [Outage.stopped, .fault(.refused)]
    )
    func outage(_ outage: Outage) async throws {
        try await self.with { gateway, app, proxy, server in
            let key = ProofKey()
            let tokens = try patiently { try self.tokens(gateway, key) }
            let cookie = ["Cookie: sallyport=\(try patiently { try gateway.browser(.grace) })"]
            let refresh = "grant_type=refresh_token&refresh_token=\(tokens.refresh)"
            var accepted = 0
            func proof() -> String { key.field("GET", Self.orders, token: tokens.access) }
            func call(_ proof: String) throws -> Answer {
                let answer = try gateway.get("/orders/1", ["Authorization: DPoP \(tokens.access)", proof])
                if let nonce = answer.value("dpop-nonce") { key.nonce = nonce }
                if answer.status == 200 { accepted += 1 }
                return answer
            }
            /// How often a proof is still taken until it is refused.
            func uses(_ proof: String) -> Int {
                let before = accepted
                #expect(eventually { (try? call(proof).status) == 401 })
                return accepted - before
            }

            // Where a busy machine has taken most of the five seconds for which a session that was read is served, the
            // cookie's answer proves nothing.
            let began = ContinuousClock.now
            #expect(eventually { (try? gateway.get("/", cookie).status) == 200 })
            var taken = proof()
            #expect(
                eventually {
                    taken = proof()
                    return (try? call(taken).status) == 200
                }
            )
            try await outage.begin(proxy, server)
            let status = try gateway.get("/", cookie).status
            if ContinuousClock.now - began < .seconds(4) { #expect(status == 200) }
            let unheard = proof()
            expectUnavailable(try call(unheard), "a new proof")
            expectUnavailable(try call(taken), "a used proof")
            expectUnavailable(try self.grant(gateway, key, refresh), "a refresh")

            try await outage.end(proxy, server)
            #expect(eventually { (try? call(proof()).status) == 200 })
            #expect(uses(taken) == 0)
            // A Redis that was stopped may have got it and remember it.
            #expect(uses(unheard) <= 1)
            #expect(app.requests.count { $0.target == "/orders/1" } == accepted)
            #expect(eventually { (try? self.grant(gateway, key, refresh).status) == 200 })
        }
    }
}
