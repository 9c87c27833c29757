import Endpoints
import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// `session.max_per_user.native`
@Suite("The limit of a user's families of refresh tokens")
struct FamilyLimitTests {
    private static func bench(
        _ onLimit: SessionSettings.OnLimit = .endOldest,
        _ change: (inout ClientSettings) -> Void = { _ in }
    ) -> TokenBench {
        var session = SessionSettings()
        session.maxPerUser.native = 2
        session.onLimit = onLimit
        return TokenBench(session: session, change)
    }

    /// The first tokens of a family that begins a second after everything before.
    private func family(_ bench: TokenBench, scope: String = "offline_access orders:read") async throws -> Answer {
        let code = try await bench.code(["scope": scope])
        bench.clock.advance(by: .seconds(1))
        return await bench.redeem(code)
    }

    @Test("The first refresh token of a third family ends the oldest family with its access tokens")
    func oldest() async throws {
        let bench = Self.bench()
        let first = try await self.family(bench)
        let second = try await self.family(bench)
        let rotated = await bench.refresh(first.text("refresh_token"))
        #expect(rotated.status == 200, "a refresh is no sign-in")
        let third = try await self.family(bench)
        #expect(third.status == 200)
        let refused = await bench.refresh(rotated.text("refresh_token"))
        #expect(refused.error == "invalid_grant" && refused.reason == .refreshUnknown)
        for answer in [first, rotated] { #expect(try await !bench.lives(answer.text("access_token"))) }
        for answer in [second, third] { #expect(await bench.refresh(answer.text("refresh_token")).status == 200) }
    }

    @Test("A family begins when its code is redeemed, so that a kept code does not make it an old one")
    func keptCode() async throws {
        let bench = Self.bench()
        let kept = try await bench.code()
        let first = try await self.family(bench)
        let second = try await self.family(bench)
        bench.clock.advance(by: .seconds(1))
        let last = await bench.redeem(kept)
        #expect(last.status == 200)
        #expect(await bench.refresh(first.text("refresh_token")).reason == .refreshUnknown)
        for answer in [second, last] { #expect(await bench.refresh(answer.text("refresh_token")).status == 200) }
    }

    @Test("With on_limit: refuse, the client gets 403 and no tokens, and the other families stay")
    func refused() async throws {
        let bench = Self.bench(.refuse)
        let families = [try await self.family(bench), try await self.family(bench)]
        let code = try await bench.code()
        let count = bench.store.sessionCount
        bench.clock.advance(by: .seconds(1))
        let refused = await bench.redeem(code)
        #expect(refused.status == 403 && refused.error == "access_denied" && refused.reason == .sessionLimit)
        #expect(refused.description == "The user is signed in on too many devices.")
        #expect(bench.records.all.last?.act == .token(.redeemed, refusal: .sessionLimit))
        #expect(bench.store.sessionCount == count, "neither a session nor an access token is left")
        for answer in families { #expect(await bench.refresh(answer.text("refresh_token")).status == 200) }
        #expect(await bench.redeem(code).error == "invalid_grant")
    }

    @Test("Tokens without a refresh token, and those that end with a browser, are not counted")
    func uncounted() async throws {
        let bench = Self.bench()
        let families = [try await self.family(bench), try await self.family(bench)]
        for _ in 0..<2 { #expect(try await self.family(bench, scope: "orders:read").status == 200) }
        for answer in families { #expect(await bench.refresh(answer.text("refresh_token")).status == 200) }
        let online = Self.bench(.refuse) { $0.refreshToken.isOnline = true }
        for _ in 0..<3 { #expect(try await self.family(online).status == 200) }
    }

    @Test("An app's session tokens and its families are counted together")
    func sessionTokens() async throws {
        let bench = Self.bench()
        let token = try await bench.signIn()
        let first = try await self.family(bench)
        let second = try await self.family(bench)
        #expect(try await !bench.lives(token))
        for answer in [first, second] { #expect(await bench.refresh(answer.text("refresh_token")).status == 200) }
    }

    @Test("If the oldest family cannot be ended, the answer is an outage without tokens")
    func outage() async throws {
        let bench = Self.bench()
        for _ in 0..<2 { _ = try await self.family(bench) }
        let code = try await bench.code()
        bench.clock.advance(by: .seconds(1))
        bench.store.change { $0.failsEnds = true }
        let answer = await bench.redeem(code)
        #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
        #expect(answer.text("access_token").isEmpty && answer.text("refresh_token").isEmpty)
    }
}
