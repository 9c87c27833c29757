import Endpoints
import JOSE
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("Delegated access at the token endpoint and at /authorize")
struct DelegatedAccessTests {
    /// The client `server app`, in its body.
    private static let serverApp = ["client_id": "server app", "client_secret": "s3cr%t+:ü"]

    private static func bench() -> TokenBench {
        TokenBench { client in
            guard client.clientID == "web" else { return }
            client.delegation = .ip
            client.allowsRefreshAfterTransfer = true
        }
    }

    private static func parameters(
        _ bench: TokenBench,
        _ change: (inout [String: String]) -> Void = { _ in }
    ) async throws -> [String: String] {
        var parameters = bench.parameters(try await bench.signIn())
        parameters.merge(self.serverApp) { $1 }
        parameters["actor_token"] = try await bench.signIn(subject: "bob")
        parameters["actor_token_type"] = TokenBench.sessionTokenType
        change(&parameters)
        return parameters
    }

    private static func mint(_ bench: TokenBench) async throws -> String {
        let answer = await bench.form(try await self.parameters(bench))
        #expect(answer.status == 200, "\(answer.body)")
        return answer.text("access_token")
    }

    private static let web: [String: String?] = ["client_id": "web", "redirect_uri": "https://web.example.com/cb"]

    @Test("the tokens of a delegated sign-in name the actor everywhere, and there is no refresh token")
    func tokens() async throws {
        let bench = Self.bench()
        var wish = Self.web
        wish["session_transfer_token"] = try await Self.mint(bench)
        wish["scope"] = "openid offline_access orders:read"
        let code = try #require(await bench.authorize(wish).redirect["code"])
        let answer = await bench.form([
            "grant_type": "authorization_code", "client_id": "web", "code": code,
            "redirect_uri": "https://web.example.com/cb", "code_verifier": TokenBench.verifier,
        ])
        #expect(answer.status == 200 && answer.body["refresh_token"] == nil, "\(answer.body)")
        #expect(bench.records.all.last?.actor == "bob")
        #expect(bench.records.all.last?.auditEvent?.code == .delegatedCodeRedeemed)
        let idToken = Array(answer.text("id_token").utf8)
        let claims = try JWTClaims(
            JWS.verify(idToken, with: TokenBench.idTokenKeys.published, allowing: [.rs256]).payload
        ).value
        #expect(claims["act"] == ["sub": "bob"] && claims["sub"] == "alice")
        let token = answer.text("access_token")
        let bearer = [(name: "authorization", value: "Bearer \(token)")]
        let info = await bench.post([], fields: bearer, to: bench.userInfo.endpoint)
        #expect(info.body["act"] == ["sub": "bob"] && info.body["sub"] == "alice", "\(info.body)")
        // The client is public and may not ask: the record is what introspection shows.
        guard case .record(let key) = bench.authority.readSession(Array(token.utf8)) else {
            Issue.record("no session token: \(answer.body)")
            return
        }
        #expect(try await bench.store.session(key, on: bench.loop).get()?.record.actor == "bob")
    }

    @Test(
        "an actor must be one, of a known type, for a transfer token, and of a client with a secret",
        arguments: [
            (["actor_token_type": "urn:ietf:params:oauth:token-type:id_token"], "invalid_request"),
            (["actor_token_type": ""], "invalid_request"), (["actor_token": ""], "invalid_request"),
            (["actor_token": "sps_no"], "invalid_grant"), (["audience": TokenBench.api], "invalid_request"),
        ]
    )
    func malformed(change: [String: String], error: String) async throws {
        let bench = Self.bench()
        let parameters = try await Self.parameters(bench) { $0.merge(change) { $1 } }
        let answer = await bench.form(parameters)
        #expect(answer.status == 400 && answer.error == error, "\(answer.body)")
        let open = try await Self.parameters(bench) {
            $0["client_id"] = "native-app"
            $0["client_secret"] = nil
        }
        let refused = await bench.form(open)
        #expect(refused.error == "unauthorized_client" && refused.reason == .handoffNotPermitted)
    }

    @Test("where no delegation is made an actor is refused, not forgotten, and costs no token")
    func elsewhere() async throws {
        let bench = Self.bench()
        let token = try await bench.tokens().text("refresh_token")
        for audience in [TokenBench.api, "urn:auth.example.com:session_transfer"] {
            for name in ["actor_token", "actor_token_type"] {
                let answer = await bench.refresh(token, ["audience": audience, name: TokenBench.sessionTokenType])
                #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
            }
        }
        #expect(await bench.refresh(token).status == 200)
    }

    @Test("a browser that is signed in is not asked for anything: the client gets interaction_required")
    func signedIn() async throws {
        let bench = Self.bench()
        let own = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        var wish = Self.web
        wish["session_transfer_token"] = try await Self.mint(bench)
        let answer = await bench.authorize(wish, cookie: own)
        #expect(answer.redirect["error"] == "interaction_required")
        #expect(try await bench.lives(own))
    }

    @Test(
        "the silent answers to a client are recorded with Auth0's codes, those of a delegated session with codes of their own"
    )
    func silentAnswers() async throws {
        let bench = Self.bench()
        func last() -> (AuditEvent.Kind?, AuditEvent.Code?, Reason?, String?)? {
            bench.records.all.last { $0.tokenAct == .authorized }.map {
                ($0.auditEvent?.kind, $0.auditEvent?.code, $0.reason, $0.actor)
            }
        }
        let own = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        #expect(await bench.authorize(Self.web, cookie: own).redirect["code"] != nil)
        #expect(try #require(last()) == (.authorizationGranted, .silentlySignedIn, nil, nil))
        var silent = Self.web
        silent["prompt"] = "none"
        #expect(await bench.authorize(silent).redirect["error"] == "login_required")
        #expect(try #require(last()) == (.authorizationRefused, .silentSignInFailed, .credentialMissing, nil))

        let acting = try await bench.signIn(
            kind: .web,
            origin: .transfer,
            host: "auth.example.com",
            actor: "bob"
        )
        #expect(await bench.authorize(Self.web, cookie: acting).redirect["code"] != nil)
        #expect(try #require(last()) == (.authorizationGranted, .delegatedSilentlySignedIn, nil, "bob"))
        let other = await bench.authorize(cookie: acting)
        #expect(other.redirect["error"] == "interaction_required")
        #expect(
            try #require(last())
                == (.authorizationRefused, .delegatedSilentSignInFailed, .handoffDelegationNotPermitted, "bob")
        )
        // What cannot be recorded is not answered.
        bench.records.hasRoom.store(false, ordering: .relaxed)
        #expect(await bench.authorize(Self.web, cookie: own).redirect["error"] == "temporarily_unavailable")
    }
}
