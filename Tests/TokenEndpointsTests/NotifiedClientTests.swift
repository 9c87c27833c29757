import AddressIntelligence
import EndpointBench
import Endpoints
import JOSE
import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// `backchannel_logout_uri`, from the code to the end. `ClientNoticeTests` has the other ends.
@Suite("Clients that are notified when what they got ends")
struct NotifiedClientTests {
    /// A browser in which the client `native-app` got tokens, and what it got.
    private struct Bench {
        let log = NoticeLog()
        let endpoints: TokenBench
        let cookie: String
        let code: String
        let tokens: Answer

        init(scope: String = "openid offline_access", isOnline: Bool = false) async throws {
            self.endpoints = TokenBench(notifier: self.log) { client in
                client.backchannelLogoutURI = "https://\(client.clientID).example.com/logout"
                client.grantTypes.insert(.implicit)
                client.refreshToken.isOnline = isOnline
            }
            self.cookie = try await self.endpoints.signIn(kind: .web, origin: .browser, host: "auth.example.com")
            let answer = await self.endpoints.authorize(["scope": scope], cookie: self.cookie)
            self.code = try #require(answer.redirect["code"])
            self.tokens = await self.endpoints.redeem(self.code)
        }

        /// The session by the name that the client knows, as the log has it.
        var session: String {
            get throws { "native-app \(try NotifiedClientTests.sessionID(self.tokens.text("id_token")))" }
        }

        func signOut() async throws {
            let requester = Requester(
                address: IPAddress(v4: 0xC000_0201),
                userAgent: nil,
                authority: "auth.example.com",
                requestID: "r1",
                cookies: [Secret(self.cookie)]
            )
            #expect(try await self.endpoints.sessions.signOutBrowser(of: requester).count == 1)
        }
    }

    private static func sessionID(_ token: String) throws -> String {
        try #require(try JWS.unverifiedClaims(of: Array(token.utf8)).sessionID)
    }

    @Test("A sign-out names the sid of the id_token, and a refresh token with offline_access outlives it")
    func signOut() async throws {
        let bench = try await Bench()
        #expect(bench.log.notices.isEmpty)
        try await bench.signOut()
        #expect(bench.log.sessions == [try bench.session])
        #expect(bench.log.notices[0].ended.map(\.userID) == ["alice"])
        #expect(await bench.endpoints.refresh(bench.tokens.text("refresh_token")).status == 200)
    }

    @Test("Online tokens end with the browser's session, which is one notice")
    func online() async throws {
        let bench = try await Bench(isOnline: true)
        try await bench.signOut()
        #expect(bench.log.sessions == [try bench.session])
        #expect(await bench.endpoints.refresh(bench.tokens.text("refresh_token")).status == 400)
        #expect(bench.log.sessions == [try bench.session])
    }

    @Test("A replayed refresh token ends the family, and the client is notified even after the browser's sign-out")
    func refreshReplay() async throws {
        let bench = try await Bench()
        try await bench.signOut()
        #expect(await bench.endpoints.refresh(bench.tokens.text("refresh_token")).status == 200)
        bench.endpoints.clock.advance(by: .seconds(61))
        #expect(await bench.endpoints.refresh(bench.tokens.text("refresh_token")).reason == .refreshReplayed)
        let session = try bench.session
        try await waitUntil("the notice of the replay") { bench.log.sessions == [session, session] }
    }

    @Test(
        "A replayed code ends what it gave, and the client is notified",
        arguments: ["openid", "openid offline_access"]
    )
    func codeReplay(scope: String) async throws {
        let bench = try await Bench(scope: scope)
        let session = try bench.session
        #expect(await bench.endpoints.redeem(bench.code).reason == .codeReplayed)
        try await waitUntil("the notice") { bench.log.sessions == [session] }
    }

    @Test("Without a refresh token, the note of what a code gave lives no longer than its access token")
    func noteOfAccessToken() async throws {
        for (scope, isShort) in [("openid", true), ("openid offline_access", false)] {
            let bench = try await Bench(scope: scope)
            let authority = bench.endpoints.authority
            let code = try #require(authority.key(.code, of: Array(bench.code.utf8)))
            let key = try #require(authority.clientSessionKeys(in: code.lineage).first)
            let stored = try await bench.endpoints.store.replaceable(
                key,
                as: ClientSessions.self,
                on: bench.endpoints.loop
            ).get()
            let record = try #require(stored?.record)
            #expect(record.entries.map(\.clientID) == ["native-app"])
            let life = record.expiresAt.since(bench.endpoints.clock.now)
            // A code lives for a minute, and an access token of the API for an hour.
            #expect(isShort ? life == .seconds(3660) : life > .seconds(80 * 86_400), "\(scope): \(life)")
        }
    }

    @Test("A client that revokes its own token is not notified of that")
    func revocation() async throws {
        let bench = try await Bench()
        let form = ["client_id": "native-app", "token": bench.tokens.text("refresh_token")]
        #expect(await bench.endpoints.form(form, to: bench.endpoints.revocation.endpoint).status == 200)
        try await bench.signOut()
        #expect(bench.log.sessions == [try bench.session])
    }

    @Test("Online tokens whose session has idled out are refused, and nobody is notified")
    func idled() async throws {
        let bench = try await Bench(isOnline: true)
        let key = try #require(bench.endpoints.authority.key(.session, of: Array(bench.cookie.utf8)))
        _ = try await bench.endpoints.store.end(key, on: bench.endpoints.loop).get()
        #expect(await bench.endpoints.refresh(bench.tokens.text("refresh_token")).reason == .refreshUnknown)
        #expect(bench.log.notices.isEmpty)
    }

    @Test("An id_token directly from /authorize has the browser's session as sid, which ends once")
    func implicit() async throws {
        let bench = try await Bench()
        let wish: [String: String?] = [
            "response_type": "id_token", "response_mode": "form_post", "nonce": "abc", "scope": "openid",
            "code_challenge": nil, "code_challenge_method": nil,
        ]
        var sid = ""
        for _ in 0..<2 {
            let answer = await bench.endpoints.authorize(wish, cookie: bench.cookie)
            let page = String(decoding: answer.response.body, as: UTF8.self)
            let token = try #require(page.firstMatch(of: /name="id_token" value="([^"]+)"/)).1
            sid = try Self.sessionID(String(token))
        }
        try await bench.signOut()
        #expect(bench.log.sessions == ["native-app \(sid)", try bench.session].sorted())
    }
}
