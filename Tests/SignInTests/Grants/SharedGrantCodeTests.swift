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

    /// The redemption of a code that a client gets from `asking` in a browser that was idle for 25 minutes.
    private func code(
        isOnline: Bool,
        from asking: GrantBench.Node
    ) async throws -> (redemption: CodeRedemption, requester: TokenRequester) {
        let holder = try await self.bench.signIn(asking)
        let client = SharedGrantTests.client { $0.refreshToken.isOnline = isOnline }
        self.bench.time.advance(by: .seconds(1500))
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
        let redemption = CodeRedemption(code: code, redirectURI: nil, verifier: nil)
        return (redemption, try SharedGrantTests.requester(client))
    }

    /// The client redeems its code while `asking` waits for the provider.
    private func redeemed(
        isOnline: Bool,
        at other: GrantBench.Node,
        while asking: GrantBench.Node
    ) async throws -> Task<IssuedTokens, any Error> {
        self.bench.provider.hold()
        let (redemption, requester) = try await self.code(isOnline: isOnline, from: asking)
        try await waitUntil("the provider is asked") { self.bench.provider.heldCount == 1 }
        return Task { try await other.tokens.redeem(redemption, for: requester) }
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

    @Test("The tokens have the claims of an answer that arrives before the code is redeemed", arguments: [false, true])
    func answered(isOnline: Bool) async throws {
        let node = self.bench.node()
        self.bench.provider.set(["name": "Ada"])
        let (redemption, requester) = try await self.code(isOnline: isOnline, from: node)
        try await self.bench.settled(node)
        let tokens = try await node.tokens.redeem(redemption, for: requester)
        #expect(tokens.session.session.identity.traits["name"]?.string == "Ada")
        #expect(self.bench.provider.presented.count == 1 && self.bench.waits.isEmpty)
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
