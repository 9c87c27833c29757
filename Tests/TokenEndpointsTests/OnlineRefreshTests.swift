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
    private struct Desk {
        let world: TokenWorld
        let cookie: String
        let tokens: Answer

        init(isOnline: Bool = true, scope: String = "offline_access orders:read") async throws {
            self.world = TokenWorld { $0.refreshToken.isOnline = isOnline }
            self.cookie = try await self.world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
            let code = try #require(await self.world.authorize(["scope": scope], cookie: self.cookie).redirect["code"])
            self.tokens = await self.world.redeem(code)
        }

        var browser: RecordKey {
            get throws { try #require(self.world.authority.key(.session, of: Array(self.cookie.utf8))) }
        }

        func refresh(_ answer: Answer) async -> Answer { await self.world.refresh(answer.text("refresh_token")) }

        /// Ends the browser's session as a sign-out, or the provider, does.
        func signOut() async throws {
            let session = try #require(try await self.world.store.session(self.browser, on: self.world.loop).get())
            try await session.record.end(self.browser, in: self.world.store, on: self.world.loop).get()
        }
    }

    @Test("they work while the session lives, and end with a sign-out, the access tokens at once")
    func signOut() async throws {
        let desk = try await Desk()
        let second = await desk.refresh(desk.tokens)
        #expect(second.status == 200 && second.text("refresh_token") != desk.tokens.text("refresh_token"))
        try await desk.signOut()
        for answer in [desk.tokens, second] {
            #expect(try await !desk.world.lives(answer.text("access_token")))
            let refused = await desk.refresh(answer)
            #expect(refused.status == 400 && refused.reason == .refreshUnknown)
        }
    }

    @Test("without the option they outlive the sign-out")
    func offline() async throws {
        let desk = try await Desk(isOnline: false)
        try await desk.signOut()
        #expect(try await desk.world.lives(desk.tokens.text("access_token")))
        #expect(await desk.refresh(desk.tokens).status == 200)
    }

    @Test("they end when the session alone has ended, e.g. by idling, and take their access tokens along")
    func ended() async throws {
        let desk = try await Desk()
        _ = try await desk.world.store.end(desk.browser, on: desk.world.loop).get()
        #expect(try await desk.world.lives(desk.tokens.text("access_token")))
        #expect(await desk.refresh(desk.tokens).reason == .refreshUnknown)
        #expect(try await !desk.world.lives(desk.tokens.text("access_token")))
    }

    @Test("they do not live longer than the session")
    func expiry() async throws {
        let desk = try await Desk()
        desk.world.clock.advance(by: .seconds(3599))
        let last = await desk.refresh(desk.tokens)
        #expect(last.status == 200 && last.body["expires_in"] == .integer(1))
        desk.world.clock.advance(by: .seconds(1))
        #expect(await desk.refresh(last).reason == .refreshUnknown)
    }

    @Test("a revocation and a replay end the family, and leave the browser signed in")
    func revocation() async throws {
        for isReplayed in [false, true] {
            let desk = try await Desk()
            let second = await desk.refresh(desk.tokens)
            if isReplayed {
                desk.world.clock.advance(by: .seconds(61))
                #expect(await desk.refresh(desk.tokens).reason == .refreshReplayed)
            } else {
                let form = ["client_id": "native-app", "token": second.text("refresh_token")]
                #expect(await desk.world.form(form, to: desk.world.revocation.endpoint).status == 200)
            }
            for answer in [desk.tokens, second] {
                #expect(try await !desk.world.lives(answer.text("access_token")))
            }
            #expect(await desk.refresh(second).status == 400)
            #expect(try await desk.world.lives(desk.cookie))
            let again = await desk.world.authorize([:], cookie: desk.cookie)
            #expect(again.redirect["code"] != nil)
        }
    }

    @Test("a second use of the code ends what the first one gave, and leaves the browser signed in")
    func codeReplay() async throws {
        let world = TokenWorld { $0.refreshToken.isOnline = true }
        let cookie = try await world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let code = try #require(await world.authorize([:], cookie: cookie).redirect["code"])
        let tokens = await world.redeem(code)
        #expect(await world.redeem(code).reason == .codeReplayed)
        #expect(try await !world.lives(tokens.text("access_token")))
        #expect(await world.refresh(tokens.text("refresh_token")).status == 400)
        #expect(try await world.lives(cookie))
    }

    @Test("a code gives nothing once the session has ended")
    func code() async throws {
        let world = TokenWorld { $0.refreshToken.isOnline = true }
        let cookie = try await world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let code = try #require(await world.authorize([:], cookie: cookie).redirect["code"])
        let key = try #require(world.authority.key(.session, of: Array(cookie.utf8)))
        _ = try await world.store.end(key, on: world.loop).get()
        #expect(await world.redeem(code).reason == .codeUnknown)
    }

    @Test("what they give cannot be handed to another browser, which the sign-out would not reach")
    func mint() async throws {
        let desk = try await Desk()
        let audience = ["audience": "urn:auth.example.com:session_transfer"]
        let answer = await desk.world.refresh(desk.tokens.text("refresh_token"), audience)
        #expect(answer.error == "unauthorized_client" && answer.reason == .handoffNested)
    }

    @Test("a store that cannot say whether the session lives is 503, and ends nothing")
    func outage() async throws {
        let desk = try await Desk()
        for calls in 0..<6 {
            desk.world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let answer = await desk.refresh(desk.tokens)
            #expect(answer.status == 503 || answer.status == 200, "\(calls)")
            desk.world.store.fail(with: nil)
        }
        #expect(await desk.refresh(desk.tokens).status == 200)
    }
}
