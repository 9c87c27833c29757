import Endpoints
import NIOCore
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// `enforce_cascade_revocation` and `enforce_online_refresh_tokens` of Auth0's `session_transfer`.
@Suite("What ends with a native app, and with the browser that it signed in")
struct TransferRevocationTests {
    private static let web: [String: String?] = [
        "client_id": "web", "redirect_uri": "https://web.example.com/cb", "scope": "offline_access",
    ]
    private static let redemption: [String: String?] = [
        "client_id": "web", "redirect_uri": "https://web.example.com/cb",
    ]

    /// A native app with a refresh token, a web client that it has signed in, and a transfer token that nobody has used.
    private struct Bench {
        let endpoints: TokenBench
        let native: Answer
        let web: Answer
        let unused: String

        init(cascades: Bool) async throws {
            self.endpoints = TokenBench { client in
                client.cascades = cascades
                client.allowsRefreshAfterTransfer = true
            }
            let first = await self.endpoints.redeem(try await self.endpoints.code())
            let audience = ["audience": "urn:auth.example.com:session_transfer"]
            let minted = await self.endpoints.refresh(first.text("refresh_token"), audience)
            self.native = await self.endpoints.refresh(minted.text("refresh_token"), audience)
            self.unused = self.native.text("access_token")
            let code = try #require(await Self.open(minted.text("access_token"), self.endpoints).redirect["code"])
            self.web = await self.endpoints.redeem(code, TransferRevocationTests.redemption)
        }

        /// Opens the web client with a transfer token.
        static func open(_ token: String, _ bench: TokenBench) async -> Answer {
            await bench.authorize(TransferRevocationTests.web.merging(["session_transfer_token": token]) { $1 })
        }

        /// Whether the web client's tokens are good.
        func webLives() async throws -> Bool {
            let lives = try await self.endpoints.lives(self.web.text("access_token"))
            let again = await self.endpoints.refresh(self.web.text("refresh_token"), ["client_id": "web"])
            #expect(lives == (again.status == 200), "\(again.body)")
            return lives
        }

        func revoke() async {
            let form = ["client_id": "native-app", "token": self.native.text("refresh_token")]
            #expect(await self.endpoints.form(form, to: self.endpoints.revocation.endpoint).status == 200)
        }
    }

    @Test(
        "revoking the refresh token ends what came of its transfer tokens, unless the client says otherwise",
        arguments: [
            true, false,
        ]
    )
    func cascade(cascades: Bool) async throws {
        let bench = try await Bench(cascades: cascades)
        #expect(try await bench.webLives())
        await bench.revoke()
        #expect(try await bench.webLives() == !cascades)
        #expect(await bench.endpoints.refresh(bench.native.text("refresh_token")).status == 400)
        // A transfer token needs the refresh token that it comes from, whatever the client says.
        #expect(await Bench.open(bench.unused, bench.endpoints).redirect["code"] == nil)
    }

    @Test("without cascade the app's access tokens still end with its refresh token")
    func ownTokens() async throws {
        let bench = TokenBench { $0.cascades = false }
        let first = await bench.redeem(try await bench.code())
        let second = await bench.refresh(first.text("refresh_token"))
        for answer in [first, second] { #expect(try await bench.lives(answer.text("access_token"))) }
        let form = ["client_id": "native-app", "token": second.text("refresh_token")]
        #expect(await bench.form(form, to: bench.revocation.endpoint).status == 200)
        for answer in [first, second] { #expect(try await !bench.lives(answer.text("access_token"))) }
    }

    @Test("without cascade a replayed refresh token ends the app's tokens, and logging out everywhere ends all")
    func otherEnds() async throws {
        let bench = try await Bench(cascades: false)
        let later = await bench.endpoints.refresh(bench.native.text("refresh_token"))
        bench.endpoints.clock.advance(by: .seconds(61))
        #expect(await bench.endpoints.refresh(bench.native.text("refresh_token")).reason == .refreshReplayed)
        #expect(try await !bench.endpoints.lives(later.text("access_token")))
        #expect(try await bench.webLives())
        try await bench.endpoints.store.end(subject: "alice", on: bench.endpoints.loop).get()
        #expect(try await !bench.webLives())
    }

    @Test(
        "a refresh token that was granted in a browser that a handoff signed in ends with that session, unless the client says otherwise",
        arguments: [true, false]
    )
    func online(isOnline: Bool) async throws {
        let bench = TokenBench { client in
            client.allowsRefreshAfterTransfer = true
            client.endsRefreshAfterTransfer = isOnline
        }
        let cookie = try await bench.signIn(kind: .web, origin: .transfer, host: "auth.example.com")
        let code = try #require(await bench.authorize(Self.web, cookie: cookie).redirect["code"])
        let first = await bench.redeem(code, Self.redemption)
        let second = await bench.refresh(first.text("refresh_token"), ["client_id": "web"])
        #expect(second.status == 200)
        let key = try #require(bench.authority.key(.session, of: Array(cookie.utf8)))
        let session = try #require(try await bench.store.session(key, on: bench.loop).get())
        try await session.record.end(key, in: bench.store, on: bench.loop).get()
        let third = await bench.refresh(second.text("refresh_token"), ["client_id": "web"])
        #expect(third.status == (isOnline ? 400 : 200))
        if isOnline { #expect(third.reason == .refreshUnknown) }
        #expect(try await bench.lives(second.text("access_token")) == !isOnline)
    }

    @Test("a refresh token of a token that signs in one request needs no browser's session, and ends with the app")
    func oneRequest() async throws {
        let bench = try await Bench(cascades: true)
        // The browser has no session that could idle out.
        bench.endpoints.clock.advance(by: .seconds(1200))
        #expect(await bench.endpoints.refresh(bench.web.text("refresh_token"), ["client_id": "web"]).status == 200)
        await bench.revoke()
        #expect(await bench.endpoints.refresh(bench.web.text("refresh_token"), ["client_id": "web"]).status == 400)
    }
}
