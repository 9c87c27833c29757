import EndpointBench
import Endpoints
import JOSE
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// What an access token may do at `/sessions/whoami`, `/sessions` and `/sessions/{id}`.
@Suite("Access tokens at /sessions")
struct AccessTokenSessionTests {
    private static let scope = "openid offline_access sessions"
    private let maker = DPoPProofMaker(.generated(.es256))

    /// The tokens of a client that was granted the scope, from one browser.
    private func tokens(_ bench: TokenBench, _ cookie: String, scope: String = Self.scope) async throws -> Answer {
        await bench.redeem(try #require(await bench.authorize(["scope": scope], cookie: cookie).redirect["code"]))
    }

    private func browser(_ bench: TokenBench) async throws -> String {
        try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
    }

    private func ids(_ list: Answer) -> [String] {
        guard case .array(let sessions) = list.body else { return [] }
        return sessions.compactMap { $0["id"]?.string }
    }

    private func id(_ bench: TokenBench, _ tokens: Answer) async throws -> String {
        try await bench.sessions("GET", "/sessions/whoami", tokens).text("id")
    }

    @Test("whoami shows the session from which a token with the scope openid comes, the same one after a refresh")
    func whoami() async throws {
        let bench = TokenBench()
        let cookie = try await self.browser(bench)
        let first = try await self.tokens(bench, cookie, scope: "openid offline_access")
        let shown = try await bench.sessions("GET", "/sessions/whoami", first)
        #expect(shown.status == 200 && shown.body["identity"]?["external_id"] == "alice", "\(shown.body)")
        let next = await bench.refresh(first.text("refresh_token"))
        #expect(try await self.id(bench, next) == shown.text("id"))
        let byField = try await bench.sessions(
            "GET",
            "/sessions/whoami",
            fields: [("x-session-token", first.text("access_token"))]
        )
        #expect(byField.text("id") == shown.text("id"))
        // A token without a refresh token beside it has a session of its own.
        let lone = try await bench.sessions(
            "GET",
            "/sessions/whoami",
            try await self.tokens(bench, cookie, scope: "openid")
        )
        #expect(lone.status == 200 && lone.text("id") != shown.text("id"), "\(lone.body)")

        let poor = try await self.tokens(bench, cookie, scope: "offline_access orders:read")
        let refused = try await bench.sessions("GET", "/sessions/whoami", poor)
        #expect(refused.status == 403 && refused.reason == .requireScopes)
        #expect(refused.body["error"]?["id"] == "insufficient_scope")
        #expect(refused.field("www-authenticate") == #"Bearer error="insufficient_scope", scope="openid""#)
    }

    @Test("A token with the scope sessions lists and ends the user's other sessions, and its own family stays")
    func manages() async throws {
        let bench = TokenBench { $0.managesSessions = true }
        let cookie = try await self.browser(bench)
        let own = try await self.tokens(bench, cookie)
        let other = try await self.tokens(bench, cookie)
        let (ownID, otherID) = (try await self.id(bench, own), try await self.id(bench, other))
        let list = try await bench.sessions("GET", "/sessions", own)
        #expect(list.status == 200 && list.field("x-total-count") == "2", "\(list.body)")
        #expect(self.ids(list).contains(otherID) && !self.ids(list).contains(ownID))

        let current = try await bench.sessions("DELETE", "/sessions/\(ownID)", own)
        #expect(current.status == 400 && current.body["error"]?["message"] == "cannot revoke current session")
        #expect(try await bench.sessions("PATCH", "/sessions/\(otherID)/extend", own).status == 200)
        #expect(try await bench.sessions("DELETE", "/sessions/\(otherID)", own).status == 204)
        #expect(try await !bench.lives(other.text("access_token")))
        #expect(await bench.refresh(other.text("refresh_token")).reason == .refreshUnknown)

        #expect(try await bench.lives(cookie))
        let all = try await bench.sessions("DELETE", "/sessions", own)
        #expect(all.status == 200 && all.body == ["count": 1], "\(all.body)")
        #expect(try await !bench.lives(cookie))
        #expect(try await bench.lives(own.text("access_token")))
        #expect(await bench.refresh(own.text("refresh_token")).status == 200)
    }

    @Test("To a token, an id that is none of its user's is 404 and ends nothing; a session token gets Kratos's 204")
    func unknownID() async throws {
        let bench = TokenBench { $0.managesSessions = true }
        let own = try await self.tokens(bench, try await self.browser(bench))
        let stranger = try await bench.signIn(subject: "bob")
        let field = [(name: "x-session-token", value: stranger)]
        let id = try await bench.sessions("GET", "/sessions/whoami", fields: field).text("id")
        for id in [id, "00000000-0000-4000-8000-000000000000"] {
            let refused = try await bench.sessions("DELETE", "/sessions/\(id)", own)
            #expect(refused.status == 404 && refused.reason == .sessionUnknown)
        }
        #expect(try await bench.lives(stranger))
        let alice = [(name: "x-session-token", value: try await bench.signIn())]
        #expect(try await bench.sessions("DELETE", "/sessions/\(id)", fields: alice).status == 204)
        #expect(try await bench.lives(stranger))
    }

    /// What the client may ask for, and asks for.
    enum Lack: String, CaseIterable, CustomTestStringConvertible {
        case permission, request, ofAnAPI
        var testDescription: String { self.rawValue }
    }

    @Test("Without the scope, or without manage_sessions, every call is 403 and nothing ends", arguments: Lack.allCases)
    func insufficient(_ lack: Lack) async throws {
        let scopes = lack == .ofAnAPI ? ["sessions"] : ["orders:read"]
        let bench = TokenBench(apis: [APISettings(audience: TokenBench.api, scopes: scopes)]) {
            $0.managesSessions = lack == .request
        }
        let cookie = try await self.browser(bench)
        let asked = lack == .request ? "openid offline_access" : Self.scope
        let tokens = try await self.tokens(bench, cookie, scope: asked)
        // An API may have a scope of this name: that one is granted, and allows nothing here.
        #expect(tokens.text("scope").split(separator: " ").contains("sessions") == (lack == .ofAnAPI))
        let own = try await self.id(bench, tokens)
        for (method, path) in [
            ("GET", "/sessions"), ("DELETE", "/sessions"), ("DELETE", "/sessions/\(own)"),
            ("PATCH", "/sessions/\(own)/extend"),
        ] {
            let refused = try await bench.sessions(method, path, tokens)
            #expect(refused.status == 403 && refused.reason == .requireScopes, "\(method) \(path): \(refused.body)")
            #expect(refused.body["error"]?["id"] == "insufficient_scope")
            let challenge = #"Bearer error="insufficient_scope", scope="sessions""#
            #expect(refused.field("www-authenticate") == challenge)
        }
        #expect(try await bench.lives(cookie))
    }

    @Test("A token that is unknown, expired, of an ended family or of a client that was deleted is 401")
    func unauthorized() async throws {
        func expectRefused(_ bench: TokenBench, _ tokens: Answer, at place: SourceLocation = #_sourceLocation)
            async throws
        {
            for path in ["/sessions/whoami", "/sessions"] {
                let answer = try await bench.sessions("GET", path, tokens)
                #expect(answer.status == 401 && answer.reason == .sessionUnknown, sourceLocation: place)
                #expect(answer.field("www-authenticate")?.hasPrefix("Bearer ") == true, sourceLocation: place)
            }
        }
        for act in 0..<3 {
            let bench = TokenBench { $0.managesSessions = true }
            let tokens = try await self.tokens(bench, try await self.browser(bench))
            #expect(try await bench.sessions("GET", "/sessions", tokens).status == 200)
            switch act {
            case 0: bench.clock.advance(by: .seconds(86_401))
            case 1:
                let form = ["client_id": "native-app", "token": tokens.text("refresh_token")]
                #expect(await bench.form(form, to: bench.revocation.endpoint).status == 200)
            default:
                bench.clock.advance(by: .seconds(1))
                bench.registry.adopt([:], departures: ["native-app": bench.clock.now])
            }
            try await expectRefused(bench, tokens)
        }
        let bench = TokenBench { $0.managesSessions = true }
        for token in ["spa_x", "x", ""] {
            let field = [(name: "authorization", value: "Bearer \(token)")]
            #expect(try await bench.sessions("DELETE", "/sessions", fields: field).status == 401)
        }
    }

    @Test("A client whose tokens end with the browser's session does not end that session with the others")
    func online() async throws {
        let bench = TokenBench {
            $0.managesSessions = true
            $0.refreshToken.isOnline = true
        }
        let cookie = try await self.browser(bench)
        let own = try await self.tokens(bench, cookie)
        let other = try await self.tokens(bench, try await self.browser(bench))
        #expect(try await bench.sessions("DELETE", "/sessions", own).body == ["count": 2])
        #expect(try await bench.lives(cookie))
        #expect(await bench.refresh(own.text("refresh_token")).status == 200)
        #expect(await bench.refresh(other.text("refresh_token")).status == 400)
    }

    @Test("A token that is bound to a key needs its proof, of this request, once; otherwise nothing ends")
    func proofs() async throws {
        let bench = TokenBench { $0.managesSessions = true }
        let cookie = try await self.browser(bench)
        let code = try #require(await bench.authorize(["scope": Self.scope], cookie: cookie).redirect["code"])
        let url = "https://auth.example.com/sessions"
        let tokenURL = "https://auth.example.com/oauth/token"
        let ofKey = self.maker.proof(method: "POST", url: tokenURL, at: bench.clock.now)
        let bound = await bench.redeem(code, proof: ofKey)
        #expect(bound.text("token_type") == "DPoP")
        let token = bound.text("access_token")
        func proof(_ method: String, _ url: String, by maker: DPoPProofMaker? = nil) -> String {
            (maker ?? self.maker).proof(method: method, url: url, accessToken: Secret(token), at: bench.clock.now)
        }
        func send(_ method: String, _ proof: String?, scheme: String = "DPoP") async throws -> Answer {
            let fields = [(name: "authorization", value: "\(scheme) \(token)")] + TokenBench.fields(proof)
            return try await bench.sessions(method, "/sessions", fields: fields)
        }
        let used = proof("GET", url)
        let listed = try await send("GET", used)
        #expect(listed.status == 200 && listed.field("dpop-nonce") != nil, "\(listed.body)")
        let thief = DPoPProofMaker(.generated(.edDSA))
        for (answer, reason) in [
            (try await send("GET", used), Reason.proofReplayed), (try await send("DELETE", nil), .proofMissing),
            (try await send("DELETE", proof("DELETE", url, by: thief)), .proofOtherKey),
            (try await send("DELETE", proof("GET", url)), .proofInvalid),
            (try await send("DELETE", proof("DELETE", url + "/whoami")), .proofInvalid),
            (try await send("DELETE", proof("DELETE", url), scheme: "Bearer"), .credentialBoundToKey),
        ] {
            #expect(answer.status == 401 && answer.reason == reason, "\(reason): \(answer.body)")
            #expect(answer.field("www-authenticate")?.hasPrefix("DPoP error=\"") == true)
            #expect(answer.response.fields.count { $0.name == "www-authenticate" } == 1)
        }
        #expect(try await bench.lives(cookie))
        let ended = try await send("DELETE", proof("DELETE", url))
        #expect(ended.status == 200 && ended.body == ["count": 1], "\(ended.body)")
        #expect(try await !bench.lives(cookie))
    }
}

extension TokenBench {
    /// Sends a request to an endpoint below `/sessions`.
    fileprivate func sessions(
        _ method: String,
        _ path: String,
        fields: [(name: String, value: String)]
    ) async throws -> Answer {
        let endpoint = try #require(
            self.sessionEndpoints.first { $0.path == path }
                ?? self.sessionEndpoints.first { endpoint in
                    Array(path.utf8).withUnsafeBufferPointer { endpoint.pattern.matches($0) }
                }
        )
        try #require(endpoint.methods.contains(method))
        return Answer(response: await Self.request(method, path, fields: fields).answer(of: endpoint))
    }

    /// Sends a request with the access token of an answer.
    fileprivate func sessions(_ method: String, _ path: String, _ tokens: Answer) async throws -> Answer {
        let field = (name: "authorization", value: "Bearer \(tokens.text("access_token"))")
        return try await self.sessions(method, path, fields: [field])
    }
}
