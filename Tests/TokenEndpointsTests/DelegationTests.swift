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
    private static let desk = ["client_id": "server app", "client_secret": "s3cr%t+:ü"]

    private static func world() -> TokenWorld {
        TokenWorld { client in
            guard client.clientID == "web" else { return }
            client.delegation = .ip
            client.allowsRefreshAfterTransfer = true
        }
    }

    private static func parameters(
        _ world: TokenWorld,
        _ change: (inout [String: String]) -> Void = { _ in }
    ) async throws -> [String: String] {
        var parameters = world.parameters(try await world.signIn())
        parameters.merge(self.desk) { $1 }
        parameters["actor_token"] = try await world.signIn(subject: "bob")
        parameters["actor_token_type"] = TokenWorld.sessionTokenType
        change(&parameters)
        return parameters
    }

    private static func mint(_ world: TokenWorld) async throws -> String {
        let answer = await world.form(try await self.parameters(world))
        #expect(answer.status == 200, "\(answer.body)")
        return answer.text("access_token")
    }

    private static let web: [String: String?] = ["client_id": "web", "redirect_uri": "https://web.example.com/cb"]

    @Test("the tokens of a delegated sign-in name the actor everywhere, and there is no refresh token")
    func tokens() async throws {
        let world = Self.world()
        var wish = Self.web
        wish["session_transfer_token"] = try await Self.mint(world)
        wish["scope"] = "openid offline_access orders:read"
        let code = try #require(await world.authorize(wish).redirect["code"])
        let answer = await world.form([
            "grant_type": "authorization_code", "client_id": "web", "code": code,
            "redirect_uri": "https://web.example.com/cb", "code_verifier": TokenWorld.verifier,
        ])
        #expect(answer.status == 200 && answer.body["refresh_token"] == nil, "\(answer.body)")
        #expect(world.records.all.last?.actor == "bob")
        #expect(world.records.all.last?.auditEvent?.code == .delegatedCodeRedeemed)
        let idToken = Array(answer.text("id_token").utf8)
        let claims = try JWTClaims(
            JWS.verify(idToken, with: TokenWorld.idTokenKeys.published, allowing: [.rs256]).payload
        ).value
        #expect(claims["act"] == ["sub": "bob"] && claims["sub"] == "alice")
        let token = answer.text("access_token")
        let bearer = [(name: "authorization", value: "Bearer \(token)")]
        let info = await world.post([], fields: bearer, to: world.userInfo.endpoint)
        #expect(info.body["act"] == ["sub": "bob"] && info.body["sub"] == "alice", "\(info.body)")
        // The client is public and may not ask: the record is what introspection shows.
        guard case .record(let key) = world.authority.readSession(Array(token.utf8)) else {
            Issue.record("no session token: \(answer.body)")
            return
        }
        #expect(try await world.store.session(key, on: world.loop).get()?.record.actor == "bob")
    }

    @Test(
        "an actor must be one, of a known type, for a transfer token, and of a client with a secret",
        arguments: [
            (["actor_token_type": "urn:ietf:params:oauth:token-type:id_token"], "invalid_request"),
            (["actor_token_type": ""], "invalid_request"), (["actor_token": ""], "invalid_request"),
            (["actor_token": "sps_no"], "invalid_grant"), (["audience": TokenWorld.api], "invalid_request"),
        ]
    )
    func malformed(change: [String: String], error: String) async throws {
        let world = Self.world()
        let parameters = try await Self.parameters(world) { $0.merge(change) { $1 } }
        let answer = await world.form(parameters)
        #expect(answer.status == 400 && answer.error == error, "\(answer.body)")
        let open = try await Self.parameters(world) {
            $0["client_id"] = "native-app"
            $0["client_secret"] = nil
        }
        let refused = await world.form(open)
        #expect(refused.error == "unauthorized_client" && refused.reason == .handoffNotPermitted)
    }

    @Test("where no delegation is made an actor is refused, not forgotten, and costs no token")
    func elsewhere() async throws {
        let world = Self.world()
        let token = try await world.tokens().text("refresh_token")
        for audience in [TokenWorld.api, "urn:auth.example.com:session_transfer"] {
            for name in ["actor_token", "actor_token_type"] {
                let answer = await world.refresh(token, ["audience": audience, name: TokenWorld.sessionTokenType])
                #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
            }
        }
        #expect(await world.refresh(token).status == 200)
    }

    @Test("a browser that is signed in is not asked for anything: the client gets interaction_required")
    func signedIn() async throws {
        let world = Self.world()
        let own = try await world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        var wish = Self.web
        wish["session_transfer_token"] = try await Self.mint(world)
        let answer = await world.authorize(wish, cookie: own)
        #expect(answer.redirect["error"] == "interaction_required")
        #expect(try await world.lives(own))
    }

    @Test(
        "the silent answers to a client are recorded with Auth0's codes, those of a delegated session with codes of their own"
    )
    func silentAnswers() async throws {
        let world = Self.world()
        func last() -> (AuditEvent.Kind?, AuditEvent.Code?, Reason?, String?)? {
            world.records.all.last { $0.tokenAct == .authorized }.map {
                ($0.auditEvent?.kind, $0.auditEvent?.code, $0.reason, $0.actor)
            }
        }
        let own = try await world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        #expect(await world.authorize(Self.web, cookie: own).redirect["code"] != nil)
        #expect(try #require(last()) == (.authorizationGranted, .silentlySignedIn, nil, nil))
        var silent = Self.web
        silent["prompt"] = "none"
        #expect(await world.authorize(silent).redirect["error"] == "login_required")
        #expect(try #require(last()) == (.authorizationRefused, .silentSignInFailed, .credentialMissing, nil))

        let acting = try await world.signIn(
            kind: .web,
            origin: .transfer,
            host: "auth.example.com",
            actor: "bob"
        )
        #expect(await world.authorize(Self.web, cookie: acting).redirect["code"] != nil)
        #expect(try #require(last()) == (.authorizationGranted, .delegatedSilentlySignedIn, nil, "bob"))
        let other = await world.authorize(cookie: acting)
        #expect(other.redirect["error"] == "interaction_required")
        #expect(
            try #require(last())
                == (.authorizationRefused, .delegatedSilentSignInFailed, .handoffDelegationNotPermitted, "bob")
        )
        // What cannot be recorded is not answered.
        world.records.hasRoom.store(false, ordering: .relaxed)
        #expect(await world.authorize(Self.web, cookie: own).redirect["error"] == "temporarily_unavailable")
    }
}
