import Endpoints
import NIOCore
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// `refresh_token.enforce_online_refresh_tokens`
@Suite("Refresh tokens that end with the browser's session")
struct OnlineRefreshTests {
    /// A signed-in browser, and the tokens of a client whose user it is.
    private struct Bench {
        let endpoints: TokenBench
        let cookie: String
        let tokens: Answer

        init(isOnline: Bool = true, scope: String = "offline_access orders:read") async throws {
            self.endpoints = TokenBench { $0.refreshToken.isOnline = isOnline }
            self.cookie = try await self.endpoints.signIn(kind: .web, origin: .browser, host: "auth.example.com")
            let code = try #require(
                await self.endpoints.authorize(["scope": scope], cookie: self.cookie).redirect["code"]
            )
            self.tokens = await self.endpoints.redeem(code)
        }

        var browser: RecordKey {
            get throws { try #require(self.endpoints.authority.key(.session, of: Array(self.cookie.utf8))) }
        }

        func refresh(_ answer: Answer) async -> Answer { await self.endpoints.refresh(answer.text("refresh_token")) }

        /// Ends the browser's session as a sign-out, or the provider, does.
        func signOut() async throws {
            let session = try #require(
                try await self.endpoints.store.session(self.browser, on: self.endpoints.loop).get()
            )
            try await session.record.end(self.browser, in: self.endpoints.store, on: self.endpoints.loop).get()
        }
    }

    @Test("they work while the session lives, and end with a sign-out, the access tokens at once")
    func signOut() async throws {
        let bench = try await Bench()
        let second = await bench.refresh(bench.tokens)
        #expect(second.status == 200 && second.text("refresh_token") != bench.tokens.text("refresh_token"))
        try await bench.signOut()
        for answer in [bench.tokens, second] {
            #expect(try await !bench.endpoints.lives(answer.text("access_token")))
            let refused = await bench.refresh(answer)
            #expect(refused.status == 400 && refused.reason == .refreshUnknown)
        }
    }

    @Test("without the option they outlive the sign-out")
    func offline() async throws {
        let bench = try await Bench(isOnline: false)
        try await bench.signOut()
        #expect(try await bench.endpoints.lives(bench.tokens.text("access_token")))
        #expect(await bench.refresh(bench.tokens).status == 200)
    }

    @Test("they end when the session alone has ended, e.g. by idling, and take their access tokens along")
    func ended() async throws {
        let bench = try await Bench()
        _ = try await bench.endpoints.store.end(bench.browser, on: bench.endpoints.loop).get()
        #expect(try await bench.endpoints.lives(bench.tokens.text("access_token")))
        #expect(await bench.refresh(bench.tokens).reason == .refreshUnknown)
        #expect(try await !bench.endpoints.lives(bench.tokens.text("access_token")))
    }

    @Test("they do not live longer than the session")
    func expiry() async throws {
        let bench = try await Bench()
        bench.endpoints.clock.advance(by: .seconds(3599))
        let last = await bench.refresh(bench.tokens)
        #expect(last.status == 200 && last.body["expires_in"] == .integer(1))
        bench.endpoints.clock.advance(by: .seconds(1))
        #expect(await bench.refresh(last).reason == .refreshUnknown)
    }

    @Test("a revocation and a replay end the family, and leave the browser signed in")
    func revocation() async throws {
        for isReplayed in [false, true] {
            let bench = try await Bench()
            let second = await bench.refresh(bench.tokens)
            if isReplayed {
                bench.endpoints.clock.advance(by: .seconds(61))
                #expect(await bench.refresh(bench.tokens).reason == .refreshReplayed)
            } else {
                let form = ["client_id": "native-app", "token": second.text("refresh_token")]
                #expect(await bench.endpoints.form(form, to: bench.endpoints.revocation.endpoint).status == 200)
            }
            for answer in [bench.tokens, second] {
                #expect(try await !bench.endpoints.lives(answer.text("access_token")))
            }
            #expect(await bench.refresh(second).status == 400)
            #expect(try await bench.endpoints.lives(bench.cookie))
            let again = await bench.endpoints.authorize([:], cookie: bench.cookie)
            #expect(again.redirect["code"] != nil)
        }
    }

    @Test("a second use of the code ends what the first one gave, and leaves the browser signed in")
    func codeReplay() async throws {
        let bench = TokenBench { $0.refreshToken.isOnline = true }
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let code = try #require(await bench.authorize([:], cookie: cookie).redirect["code"])
        let tokens = await bench.redeem(code)
        #expect(await bench.redeem(code).reason == .codeReplayed)
        #expect(try await !bench.lives(tokens.text("access_token")))
        #expect(await bench.refresh(tokens.text("refresh_token")).status == 400)
        #expect(try await bench.lives(cookie))
    }

    @Test("a code gives nothing once the session has ended")
    func code() async throws {
        let bench = TokenBench { $0.refreshToken.isOnline = true }
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let code = try #require(await bench.authorize([:], cookie: cookie).redirect["code"])
        let key = try #require(bench.authority.key(.session, of: Array(cookie.utf8)))
        _ = try await bench.store.end(key, on: bench.loop).get()
        #expect(await bench.redeem(code).reason == .codeUnknown)
    }

    @Test("what they give cannot be handed to another browser, which the sign-out would not reach")
    func mint() async throws {
        let bench = try await Bench()
        let audience = ["audience": "urn:auth.example.com:session_transfer"]
        let answer = await bench.endpoints.refresh(bench.tokens.text("refresh_token"), audience)
        #expect(answer.error == "unauthorized_client" && answer.reason == .handoffNested)
    }

    @Test("a store that cannot say whether the session lives is 503, and ends nothing")
    func outage() async throws {
        let bench = try await Bench()
        for calls in 0..<6 {
            bench.endpoints.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let answer = await bench.refresh(bench.tokens)
            #expect(answer.status == 503 || answer.status == 200, "\(calls)")
            bench.endpoints.store.fail(with: nil)
        }
        #expect(await bench.refresh(bench.tokens).status == 200)
    }
}
