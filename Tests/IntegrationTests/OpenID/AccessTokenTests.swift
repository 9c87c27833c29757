import GatewayBench
import OpenIDBench
import ProofBench
import Testing
import Vocabulary

/// Programs present access tokens of the provider, through the built binary.
@Suite("Access tokens of an OpenID provider", .blocking) struct AccessTokenTests {
    private static let audience = "audiences: [api]"
    private static let introspection = "audiences: [api]\nintrospection: {}"
    private static let routes = """
        routes:
          - path: /**
          - path: /orders/**
            require: {scopes: [orders]}
          - path: /native/**
            require: {origin: [native]}
          - path: /raw/**
            bearer: app
            auth: public
          - path: /optional/**
            auth: optional
        """

    private func bearer(_ token: String) -> [String] { ["Authorization: Bearer \(token)"] }

    @Test("A signed token becomes headers, and only what its scopes allow")
    func signed() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience, routes: Self.routes) { (bench) throws in
            let token = bench.provider.accessToken(scopes: ["orders"]) {
                $0["email"] = "ada@example.com"
                $0["sid"] = "sid-1"
            }
            let answer = try bench.gateway.get("/orders/1", self.bearer(token))
            #expect(answer.status == 200, "\(answer.lines)")
            let received = try #require(bench.app.requests.last).lines
            #expect(received.contains("X-Auth-Subject: user-1") && received.contains("X-Auth-Email: ada@example.com"))
            #expect(received.contains("X-Auth-Origin: native"))
            #expect(received.contains { $0.hasPrefix("X-Auth-Session-Id: ses_") })
            #expect(!received.contains { $0.lowercased().hasPrefix("authorization") }, "\(received)")
            #expect(try bench.gateway.get("/native/", self.bearer(token)).status == 200)

            let poor = try bench.gateway.get("/orders/1", self.bearer(bench.provider.accessToken()))
            #expect(poor.status == 403 && poor.reason == "require.scopes")
            let needed = #"Bearer error="insufficient_scope", scope="orders""#
            #expect(poor.values("www-authenticate") == [needed], "\(poor.lines)")

            // As it came, for the app to judge.
            let raw = try bench.gateway.get("/raw/", self.bearer("eyJ.of.the-app"))
            #expect(raw.status == 200)
            #expect(bench.app.requests.last?.lines.contains("Authorization: Bearer eyJ.of.the-app") == true)
        }
    }

    @Test("A token that is not accepted is 401 with a challenge, also where none is needed and beside a good cookie")
    func refused() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience, routes: Self.routes) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let cookie = ["Cookie: sallyport=\(browser.session ?? "")"]
            let challenge = #"Bearer error="invalid_token""#
            for (token, reason) in [
                (bench.provider.accessToken { $0["aud"] = "other" }, "credential.other_audience"),
                (bench.provider.accessToken { $0["exp"] = 1_000_000_000 }, "credential.expired"),
                (bench.provider.accessToken { $0["iss"] = "https://idp.example.com" }, "credential.invalid_token"),
                (bench.provider.accessToken { $0["cnf"] = ["jkt": "x"] }, "credential.invalid_token"),
                (
                    bench.provider.accessToken { $0["cnf"] = ["x5t#S256": .string(String(repeating: "A", count: 43))] },
                    "credential.bound_to_certificate"
                ),
                (bench.provider.accessToken(type: "logout+jwt"), "credential.invalid_token"),
                (bench.provider.accessToken(type: "JWT") { $0["nonce"] = "n" }, "credential.invalid_token"),
                (bench.provider.accessToken() + "A", "credential.invalid_token"),
                ("eyJhbGciOiJub25lIn0.e30.AA", "credential.invalid_token"),
                ("x", "credential.malformed"), (bench.provider.opaqueAccessToken(), "credential.malformed"),
            ] {
                for (target, fields) in [("/", []), ("/optional/", []), ("/", cookie)] {
                    let answer = try bench.gateway.get(target, self.bearer(token) + fields)
                    #expect(answer.status == 401 && answer.reason == reason, "\(reason): \(answer.lines)")
                    #expect(answer.value("www-authenticate") == challenge)
                }
            }
            let metrics = try bench.gateway.admin("/metrics").text
            // A signature by no known key may be by a new one.
            let fetches = bench.provider.count(.keys)
            #expect((2...5).contains(fetches))
            #expect(metrics.contains("sallyport_provider_calls_total{purpose=\"keys\",result=\"ok\"} \(fetches)"))
        }
    }

    @Test(
        "Where client_id is the audience, a token without aud is accepted for the clients that are listed, and no id_token"
    )
    func clientIDAsAudience() throws {
        let keys = "audiences: [native-app, gateway]\naudience_claim: client_id\nintrospection: {}"
        try OpenIDSignInBench.with(OpenIDScript(), keys) { (bench) throws in
            func judge(_ type: String = "JWT", _ alter: @escaping (inout [String: JSONValue]) -> Void) throws -> Answer
            {
                let token = bench.provider.accessToken(type: type) { claims in
                    claims["aud"] = nil
                    claims["token_use"] = "access"
                    alter(&claims)
                }
                return try bench.gateway.get("/", self.bearer(token))
            }
            #expect(try judge { _ in }.status == 200)
            #expect(try judge("at+jwt") { $0["token_use"] = nil }.status == 200)
            #expect(try judge { $0["client_id"] = "other" }.reason == "credential.other_audience")
            #expect(try judge { $0["client_id"] = nil }.reason == "credential.other_audience")
            #expect(try judge { $0["aud"] = "api" }.reason == "credential.other_audience")
            #expect(try judge { ($0["token_use"], $0["aud"]) = ("id", "gateway") }.reason == "credential.invalid_token")
            bench.provider.change { $0.alterIntrospection = { $0["aud"] = nil } }
            #expect(try bench.gateway.get("/", self.bearer(bench.provider.opaqueAccessToken())).status == 200)
            // And no access token signs a user in.
            bench.provider.change { $0.alterIDToken = { $0["token_use"] = "access" } }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 502 && browser.session == nil)
            bench.provider.change { $0.alterIDToken = { $0["token_use"] = "id" } }
            #expect(try browser.open("/x").status == 200)
        }
    }

    /// The public keys of RFC 7517, appendix A.1.
    private static let strangers: [JSONValue] = [
        [
            "kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
        ],
        [
            "kty": "RSA", "e": "AQAB", "alg": "RS256",
            "n": .string(
                "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjB"
                    + "ZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8"
                    + "KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_"
                    + "xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
            ),
        ],
    ]

    @Test("Where keys of several kinds and for several algorithms have one kid, each verifies what it signed")
    func sharedKeyID() throws {
        var script = OpenIDScript()
        script.alterIDTokenHeader = { $0["kid"] = "one" }
        script.alterKeySet = { document in
            guard case .array(let own)? = document["keys"] else { return }
            let keys = [Self.strangers[0]] + own + own.map { $0.merged(with: ["alg": .null]) } + Self.strangers
            document["keys"] = .array(keys.map { $0.merged(with: ["kid": "one", "use": .null]) })
        }
        try OpenIDSignInBench.with(script, Self.audience) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
        }
        // A token that names no key is tried against those that fit.
        script.alterIDTokenHeader = { $0["kid"] = nil }
        try OpenIDSignInBench.with(script, Self.audience) { (bench) throws in
            for _ in 0..<6 { bench.provider.rotateKey() }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
        }
    }

    @Test("A token of nearly 8 KiB is accepted, a longer one is no token")
    func long() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience) { (bench) throws in
            func token(_ length: Int) -> String {
                bench.provider.accessToken { $0["padding"] = .string(String(repeating: "a", count: length)) }
            }
            let longest = token(5500)
            #expect((7500...8192).contains(longest.utf8.count), "\(longest.utf8.count)")
            for _ in 0..<2 { #expect(try bench.gateway.get("/", self.bearer(longest)).status == 200) }
            let tooLong = try bench.gateway.get("/", self.bearer(token(6500)))
            #expect(tooLong.status == 401 && tooLong.reason == "credential.malformed")
        }
    }

    @Test("Without audiences no access token is accepted")
    func noAudience() throws {
        try OpenIDSignInBench.with(OpenIDScript(), "scopes: [openid]") { (bench) throws in
            let answer = try bench.gateway.get("/", self.bearer(bench.provider.accessToken()))
            #expect(answer.status == 401 && answer.reason == "credential.malformed")
            #expect(bench.provider.count(.keys) == 0)
        }
    }

    @Test("F16: The rotation of the provider's key fails no request; a withdrawn key is not accepted for new tokens")
    func rotation() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience) { (bench) throws in
            let old = bench.provider.accessToken()
            #expect(try bench.gateway.get("/", self.bearer(old)).status == 200)
            bench.provider.rotateKey()
            for _ in 0..<3 {
                #expect(try bench.gateway.get("/", self.bearer(bench.provider.accessToken())).status == 200)
                #expect(try bench.gateway.get("/", self.bearer(old)).status == 200)
            }
            #expect(bench.provider.count(.keys) <= 3)
        }
    }

    @Test("F15: Signed tokens are accepted during an outage of the provider, once its keys are known")
    func outage() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience) { (bench) throws in
            let first = bench.provider.accessToken()
            #expect(try bench.gateway.get("/", self.bearer(first)).status == 200)
            bench.provider.stop()
            #expect(try bench.gateway.get("/", self.bearer(first)).status == 200)
            #expect(try bench.gateway.get("/", self.bearer(bench.provider.accessToken())).status == 200)
        }
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience, isUp: false) { (bench) throws in
            let token = bench.provider.accessToken()
            let answer = try bench.gateway.get("/", self.bearer(token))
            #expect(answer.status == 503 && answer.reason == "provider.unavailable", "\(answer.lines)")
            #expect(answer.value("retry-after") != nil)
            try bench.provider.start()
            #expect(eventually { (try? bench.gateway.get("/", self.bearer(token)).status) == 200 })
        }
    }

    @Test("An opaque token is introspected once, and refused soon after the provider revoked it")
    func opaque() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection) { (bench) throws in
            let token = bench.provider.opaqueAccessToken()
            for _ in 0..<5 { #expect(try bench.gateway.get("/", self.bearer(token)).status == 200) }
            #expect(bench.provider.count(.introspection) == 1)
            let received = try #require(bench.app.requests.last).lines
            #expect(received.contains("X-Auth-Subject: user-1") && received.contains("X-Auth-Email: ada@example.com"))
            let unknown = try bench.gateway.get("/", self.bearer("never-issued"))
            #expect(unknown.status == 401 && unknown.reason == "credential.invalid_token")
            bench.provider.change { $0.alterIntrospection = { $0["aud"] = nil } }
            let other = try bench.gateway.get("/", self.bearer(bench.provider.opaqueAccessToken()))
            #expect(other.status == 401 && other.reason == "credential.other_audience")
        }
    }

    @Test("F15: While introspection fails, a new token is 503, and a known one is served; afterwards all is well")
    func introspectionFails() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection) { (bench) throws in
            let known = bench.provider.opaqueAccessToken()
            #expect(try bench.gateway.get("/", self.bearer(known)).status == 200)
            let token = bench.provider.opaqueAccessToken()
            for fault in [
                OpenIDFault.answer(status: 500), .answer(status: 429, fields: [(name: "Retry-After", value: "1")]),
                .answer(status: 401), .answer(status: 200, body: "<html>"), .closes,
                .answer(status: 200, body: #"{"active":true,"sub":""# + String(repeating: "a", count: 70_000)),
            ] {
                bench.provider.fail(.introspection, with: fault, fault)
                let answer = try bench.gateway.get("/", self.bearer(token))
                #expect(answer.status == 503 && answer.reason == "provider.unavailable", "\(answer.lines)")
                #expect(answer.value("retry-after") != nil)
                #expect(try bench.gateway.get("/", self.bearer(known)).status == 200)
                bench.provider.heal(.introspection)
            }
            #expect(try bench.gateway.get("/", self.bearer(token)).status == 200)
        }
    }

    @Test("Requests that present one unknown token at the same time ask the provider once")
    func singleFlight() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection) { (bench) throws in
            let request = Request.get("/", self.bearer(bench.provider.opaqueAccessToken()))
            bench.provider.hold(.introspection)
            let wires = try (0..<16).map { _ in try bench.gateway.connect() }
            for wire in wires { wire.send(request) }
            #expect(eventually { bench.provider.waiting(at: .introspection) == 1 })
            bench.provider.heal(.introspection)
            for wire in wires { #expect(try wire.answer().status == 200) }
            #expect(bench.provider.count(.introspection) == 1)
        }
    }

    @Test("A token that was signed out here stays out, though the provider accepts it; the user's next one is accepted")
    func signOut() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection) { (bench) throws in
            for (token, next) in [
                (bench.provider.accessToken(), bench.provider.accessToken { $0["jti"] = "next" }),
                (bench.provider.opaqueAccessToken(), bench.provider.opaqueAccessToken()),
            ] {
                #expect(try bench.gateway.get("/", self.bearer(token)).status == 200)
                let logout = Request.post("/.sallyport/logout", self.bearer(token), body: "")
                for _ in 0..<2 { #expect(try bench.gateway.request(logout).status == 204) }
                let answer = try bench.gateway.get("/", self.bearer(token))
                #expect(answer.status == 401 && answer.reason == "session.unknown", "\(answer.lines)")
                #expect(try bench.gateway.get("/", self.bearer(next)).status == 200)
            }
            let invalid = Request.post("/.sallyport/logout", self.bearer("never-issued"), body: "")
            #expect(try bench.gateway.request(invalid).status == 401)
        }
    }

    @Test(
        "A provider's token that is exchanged with a proof is bound to its key, and useless without it",
        arguments: [true, false]
    )
    func boundToKey(isOpaque: Bool) throws {
        let apis = """
            clients: [{client_id: app, session_transfer: {can_create_session_transfer_token: true}}]
            apis: [{audience: "https://api.example.com", scopes: [read], routes: [orders]}]
            \(Self.routes.replacing("- path: /orders/**\n    require: {scopes: [orders]}", with: "- {path: /orders/**, name: orders}"))
            """
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection, routes: apis) { (bench) throws in
            let token = isOpaque ? bench.provider.opaqueAccessToken() : bench.provider.accessToken()
            let url = Request.origin + "/oauth/token"
            func exchange(_ fields: [String], _ more: String = "") throws -> Answer {
                let body =
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=app&subject_token=\(token)"
                    + "&subject_token_type=urn:ietf:params:oauth:token-type:access_token&audience=https://api.example.com"
                let type = "Content-Type: application/x-www-form-urlencoded"
                return try bench.gateway.request(Request.post("/oauth/token", [type] + fields, body: body))
            }
            #expect(try bench.gateway.get("/", self.bearer(token)).status == 200)
            // Without a proof nothing is bound.
            let unbound = try exchange([])
            #expect(unbound.status == 200 && unbound.text.contains(#""token_type":"Bearer""#), "\(unbound.text)")
            let key = ProofKey()
            let answer = try key.send { try exchange([key.field("POST", url)]) }
            #expect(answer.status == 200 && answer.text.contains(#""token_type":"DPoP""#), "\(answer.text)")
            let access = String(try #require(answer.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/)).0)
            #expect(
                eventually {
                    (try? bench.gateway.get("/", self.bearer(token)))?.reason == "credential.bound_to_key"
                }
            )
            #expect(try bench.gateway.get("/sessions/whoami", ["X-Session-Token: \(token)"]).status == 401)
            #expect(try exchange([]).text.contains("invalid_dpop_proof"))
            let thief = ProofKey()
            #expect(try thief.send { try exchange([thief.field("POST", url)]) }.text.contains("invalid_dpop_proof"))
            func call(_ path: String, _ token: String) throws -> Int {
                let proof = key.field("GET", Request.origin + path, token: token)
                return try bench.gateway.get(path, ["Authorization: DPoP \(token)", proof]).status
            }
            #expect(try call("/", token) == 200)
            #expect(try call("/orders/1", access) == 200)
            #expect(try call("/", access) == 401)
            // The end of the provider's token ends what came of it.
            let out = try bench.gateway.request(Request.post("/.sallyport/logout", self.bearer(token), body: ""))
            #expect([200, 204].contains(out.status), "\(out.lines)")
            #expect(eventually { (try? call("/orders/1", access)) == 401 })
        }
    }

    @Test("A token of the provider lists and ends sessions only with the scope sessions, and only for its audience")
    func sessions() throws {
        let routes = "clients: [{client_id: app}]\n" + Self.routes
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience, routes: routes) { (bench) throws in
            func ask(_ method: String, _ token: String) throws -> Answer {
                try bench.gateway.request(Request.get("/sessions", self.bearer(token), method: method))
            }
            let poor = bench.provider.accessToken(scopes: ["orders"])
            let rich = bench.provider.accessToken(scopes: ["orders", "sessions"])
            for method in ["GET", "DELETE"] {
                let refused = try ask(method, poor)
                #expect(refused.status == 403 && refused.text.contains("insufficient_scope"), "\(refused.lines)")
                #expect(try ask(method, rich).status == 200)
                let other = bench.provider.accessToken(scopes: ["sessions"]) { $0["aud"] = "other" }
                let expired = bench.provider.accessToken(scopes: ["sessions"]) { $0["exp"] = 1_000_000_000 }
                for token in [other, expired] { #expect(try ask(method, token).status == 401) }
            }
            #expect(try bench.gateway.get("/sessions/whoami", self.bearer(poor)).status == 200)
        }
    }

    @Test("The provider's logout ends what came of its token as well")
    func providerLogout() throws {
        let apis = """
            clients: [{client_id: app}]
            apis: [{audience: "https://api.example.com", scopes: [read], routes: [orders]}]
            routes: [{path: /**}, {path: /orders/**, name: orders}]
            """
        try OpenIDSignInBench.with(OpenIDScript(), Self.audience, routes: apis) { (bench) throws in
            let type = "Content-Type: application/x-www-form-urlencoded"
            let token = bench.provider.accessToken { $0["sid"] = "sid-1" }
            let body =
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=app&subject_token=\(token)"
                + "&subject_token_type=urn:ietf:params:oauth:token-type:access_token"
            let answer = try bench.gateway.request(Request.post("/oauth/token", [type], body: body))
            let access = String(try #require(answer.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/), "\(answer.text)").0)
            #expect(try bench.gateway.get("/orders/1", self.bearer(access)).status == 200)
            let logout = "logout_token=" + bench.provider.logoutToken(sessionID: "sid-1", subject: nil)
            let ended = try bench.gateway.request(Request.post("/.sallyport/backchannel-logout", [type], body: logout))
            #expect(ended.status == 200, "\(ended.lines)")
            #expect(try bench.gateway.get("/orders/1", self.bearer(access)).status == 401)
        }
    }

    @Test("With introspection alone nobody can sign in: a page without a token is 401, and no redirect")
    func introspectionAlone() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            routes:
              - path: /**
            provider:
              introspection:
                url: \(provider.issuer)/introspect
                client_id: gateway
                client_secret_file: client-secret
                audiences: [api]
                issuer: \(provider.issuer)
            drain: {delay: 0s, timeout: 100ms}

            """
        try Gateway.with(settings, files: ["client-secret": OpenIDScript().clients[0].secret ?? ""]) {
            (gateway) throws in
            let token = provider.opaqueAccessToken()
            #expect(try gateway.get("/", self.bearer(token)).status == 200)
            // It looks like a signed one, and only the provider can say.
            #expect(try gateway.get("/", self.bearer(provider.accessToken())).status == 401)
            #expect(provider.count(.introspection) == 2)
            let page = try gateway.get("/", OpenIDBrowser.navigation)
            #expect(page.status == 401 && page.value("location") == nil, "\(page.lines)")
            #expect(page.value("www-authenticate") == #"Bearer realm="sallyport""#)
        }
    }
}
