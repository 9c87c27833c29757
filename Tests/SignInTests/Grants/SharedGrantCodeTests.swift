import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// Codes whose provider is due to be asked: one gateway asks it, and the client redeems the code at another gateway.
@Suite("A code waits for the provider's word")
struct SharedGrantCodeTests {
    private let bench = GrantBench(isShared: true)

    /// Two gateways; the second one looks again when the first one has its answer.
    private func nodes() -> (asking: GrantBench.Node, other: GrantBench.Node) {
        let asking = self.bench.node()
        let other = self.bench.node(pause: { try? await waitUntil("the answer") { !asking.grants.isBusy } })
        return (asking, other)
    }

    /// A client of a browser that was idle for 25 minutes redeems its code while `asking` waits for the provider.
    private func redeemed(
        isOnline: Bool,
        at other: GrantBench.Node,
        while asking: GrantBench.Node
    ) async throws -> Task<IssuedTokens, any Error> {
        let holder = try await self.bench.signIn(asking)
        let client = SharedGrantTests.client { $0.refreshToken.isOnline = isOnline }
        self.bench.time.advance(by: .seconds(1500))
        self.bench.provider.hold()
        let wish = CodeWish(
            client: client,
            api: nil,
            scopes: ["openid", "offline_access"],
            redirectURI: nil,
            challenge: nil,
            nonce: nil,
            keyThumbprint: nil
        )
        let user = NewSession(key: holder.key, session: holder.session)
        let code = try await asking.tokens.issueCode(wish, to: user, isOfBrowser: true)
        try await waitUntil("the provider is asked") { self.bench.provider.heldCount == 1 }
        let requester = try SharedGrantTests.requester(client)
        return Task {
            let redemption = CodeRedemption(code: code, redirectURI: nil, verifier: nil)
            return try await other.tokens.redeem(redemption, for: requester)
        }
    }

    @Test("The tokens have the claims that the provider gives", arguments: [false, true])
    func claims(isOnline: Bool) async throws {
        let (asking, other) = self.nodes()
        self.bench.provider.set(["name": "Ada"])
        let redeemed = try await self.redeemed(isOnline: isOnline, at: other, while: asking)
        try await waitUntil("the client waits") { !self.bench.waits.isEmpty }
        self.bench.provider.release()
        let tokens = try await redeemed.value
        #expect(tokens.session.session.identity.traits["name"]?.string == "Ada")
        #expect(self.bench.provider.presented.count == 1)
    }

    @Test("There are no tokens if the provider says no", arguments: [false, true])
    func ended(isOnline: Bool) async throws {
        let (asking, other) = self.nodes()
        self.bench.provider.script(.ended)
        let redeemed = try await self.redeemed(isOnline: isOnline, at: other, while: asking)
        try await waitUntil("the client waits") { !self.bench.waits.isEmpty }
        self.bench.provider.release()
        await #expect(throws: NotDone(.codeUnknown)) { try await redeemed.value }
    }

    @Test("A provider that does not answer delays the tokens only briefly", arguments: [false, true])
    func silent(isOnline: Bool) async throws {
        let (asking, other) = (self.bench.node(), self.bench.node(longestWait: .milliseconds(5)))
        let tokens = try await self.redeemed(isOnline: isOnline, at: other, while: asking).value
        #expect(tokens.refresh != nil && tokens.session.session.identity.traits["name"]?.string == "Alice")
        self.bench.provider.release()
        try await self.bench.settled(asking)
        try await self.bench.settled(other)
    }
}
