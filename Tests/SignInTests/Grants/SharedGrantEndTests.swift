import AddressIntelligence
import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// Something that happens once.
private final class Flag: Sendable {
    private let value = Atomic(false)
    var isRaised: Bool { self.value.load(ordering: .sequentiallyConsistent) }
    func raise() { self.value.store(true, ordering: .sequentiallyConsistent) }
}

/// The ends of holders and grants.
extension SharedGrantTests {
    @Test("The browser signs out and the app goes on; the last holder revokes the tokens")
    func signOut() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        let requester = try SignInBench().requester(cookies: [holder.token])
        let ended = try await node.sessions.signOutBrowser(of: requester)
        #expect(ended.map(\.tokens?.idToken) == [Secret("id-1")])
        try await bench.settled(node)
        #expect(bench.provider.revoked.isEmpty && bench.provider.presented.isEmpty)
        bench.time.advance(by: .seconds(900))
        _ = try await Self.refresh(&app, node)
        #expect(bench.provider.presented.count == 1)
        try await node.tokens.revoke(app.refreshToken, for: try Self.requester(app.client))
        try await bench.settled(node)
        #expect(bench.provider.revoked.map(\.refreshToken) == [Secret("refresh-2")])
    }

    @Test("A holder that has ended without a word does not keep the tokens alive")
    func deadHolder() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let app = try await Self.join(holder, node)
        try await node.sessions.endLineage(app.root.lineage)
        _ = try await node.sessions.signOutBrowser(of: try SignInBench().requester(cookies: [holder.token]))
        try await bench.settled(node)
        #expect(bench.provider.revoked.count == 1)
    }

    @Test("A handed-off session that a new sign-in replaces takes no app with it", arguments: [true, false])
    func replacedHandoff(withBrowser: Bool) async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        let token = try await Self.web(of: app, node)
        try await bench.settled(node)
        if !withBrowser {
            _ = try await node.sessions.signOutBrowser(of: try SignInBench().requester(cookies: [holder.token]))
            try await bench.settled(node)
        }
        let key = try #require(bench.authority.key(.session, of: token.bytes))
        let former = FoundSession(key: key, session: try #require(try await bench.session(key)))
        _ = try await node.sessions.replace(
            [former],
            with: SwitchedProvider.alice,
            SessionTerms(.web),
            evidence: ProviderEvidence(provider: bench.provider.name, tokens: bench.provider.tokens(1)),
            for: try SignInBench().requester()
        )
        try await bench.settled(node)
        #expect(try await bench.grant(holder, node)?.holders.contains(app.root.lineage) == true)
        bench.time.advance(by: .seconds(900))
        _ = try await Self.refresh(&app, node)
        #expect(bench.provider.revoked.isEmpty)
    }

    @Test("A page that signs in at each load, and an app with many WebViews, sign nobody out")
    func manyHolders() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        for _ in 0..<ProviderGrant.sessionLimit {
            bench.time.advance(by: .seconds(6))
            _ = try await Self.web(of: app, node)
            try await bench.settled(node)
        }
        let grant = try #require(try await bench.grant(holder, node))
        #expect(Array(grant.sessions.prefix(2)) == [holder.key, app.root])
        var pages: [App] = []
        for _ in 0..<ProviderGrant.sessionLimit { pages.append(try await Self.join(holder, node)) }
        #expect(try await bench.session(holder) != nil)
        _ = try await Self.refresh(&app, node)
        for index in pages.indices { _ = try await Self.refresh(&pages[index], node) }
        // Room is made by those who have ended.
        for page in pages.prefix(8) { try await node.sessions.endLineage(page.root.lineage) }
        let last = try await Self.join(holder, node)
        #expect(try await bench.grant(holder, node)?.holders.contains(last.root.lineage) == true)
        _ = try await node.sessions.signOutBrowser(of: try SignInBench().requester(cookies: [holder.token]))
        try await bench.settled(node)
        #expect(try await bench.grant(holder, node) != nil && bench.provider.revoked.isEmpty)
    }

    @Test("A lineage that the grant does not list gets new claims and ends, too")
    func unlisted() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var pages: [App] = []
        for _ in 0..<(ProviderGrant.sessionLimit + 2) { pages.append(try await Self.join(holder, node)) }
        let last = try #require(pages.last).root.lineage
        #expect(try await bench.grant(holder, node)?.holders.contains(last) == false)
        bench.provider.set(["name": "Alice", "group": "interns"])
        bench.time.advance(by: .seconds(900))
        for index in pages.indices {
            let session = try await Self.refresh(&pages[index], node)
            #expect(session.identity.traits["group"] == "interns")
        }
        #expect(bench.provider.presented.count == 1)
        bench.provider.script(.ended)
        bench.time.advance(by: .seconds(900))
        for page in pages { #expect(try await Self.refusal(page, node) != nil) }
        #expect(try await bench.session(try #require(pages.last).root) == nil)
        #expect(bench.events.last == .ended(detail: "invalid_grant"))
    }

    @Test("A client that gets tokens while the browser signs out is a holder, or gets none", arguments: [true, false])
    func joiningMeanwhile(withOther: Bool) async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        if withOther { _ = try await Self.join(holder, node) }
        let requester = try SignInBench().requester(cookies: [holder.token])
        bench.store.change {
            $0.beforeConsume = {
                _ = try await node.sessions.signOutBrowser(of: requester)
                try await bench.settled(node)
            }
        }
        guard withOther else {
            await #expect(throws: NotDone(.codeUnknown)) { try await Self.join(holder, node) }
            #expect(bench.provider.revoked.count == 1)
            return
        }
        let app = try await Self.join(holder, node)
        #expect(try await bench.grant(holder, node)?.holders.contains(app.root.lineage) == true)
        #expect(bench.provider.revoked.isEmpty)
    }

    @Test("A browser that signs out while an app gets its tokens, and has missed them, takes the app with it no more")
    func missedMeanwhile() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let requester = try SignInBench().requester(cookies: [holder.token])
        let (isLeaving, hasJoined) = (Flag(), Flag())
        bench.store.change {
            $0.beforeConsume = {
                // The browser has found no other holder, and is about to remove itself.
                bench.store.change {
                    $0.beforeReplace = {
                        isLeaving.raise()
                        try await waitUntil("the app has tokens") { hasJoined.isRaised }
                    }
                }
                _ = try await node.sessions.signOutBrowser(of: requester)
                try await waitUntil("the browser leaves") { isLeaving.isRaised }
            }
        }
        let client = Self.client()
        let code = try await node.tokens.issueCode(
            CodeWish(
                client: client,
                api: nil,
                scopes: ["openid", "offline_access"],
                redirectURI: nil,
                challenge: nil,
                nonce: nil,
                keyThumbprint: nil
            ),
            to: NewSession(key: holder.key, session: holder.session),
            isOfBrowser: true
        )
        let tokens = try await node.tokens.redeem(
            CodeRedemption(code: code, redirectURI: nil, verifier: nil),
            for: try Self.requester(client)
        )
        hasJoined.raise()
        try await bench.settled(node)
        let root = tokens.session.key
        #expect(try await bench.grant(holder, node)?.holders == [root.lineage])
        #expect(bench.provider.revoked.isEmpty)
    }

    @Test("An app that ends alone is the last holder as soon as nothing of its lineage is live")
    func endsAlone() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let app = try await Self.join(holder, node, Self.client { $0.cascades = false })
        #expect(try await bench.session(app.root)?.endsAlone == true)
        _ = try await node.sessions.signOutBrowser(of: try SignInBench().requester(cookies: [holder.token]))
        try await bench.settled(node)
        #expect(bench.provider.revoked.isEmpty)
        try await node.tokens.revoke(app.refreshToken, for: try Self.requester(app.client))
        try await bench.settled(node)
        #expect(bench.provider.revoked.count == 1)
        #expect(try await bench.grant(holder, node) == nil)
    }

    @Test("A gateway that dies right after the provider's no leaves nobody signed in")
    func deathAfterNo() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let (one, other) = (bench.node(), bench.node())
        let holder = try await bench.signIn(one)
        let app = try await Self.join(holder, one)
        bench.provider.script(.ended)
        bench.provider.hold()
        bench.time.advance(by: .seconds(900))
        one.grants.renew(holder.session, holder.key)
        try await waitUntil { bench.provider.heldCount == 1 }
        // It reads the grant and ends it, and then does not reach the store any more.
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
        bench.provider.release()
        try await bench.settled(one)
        bench.store.fail(with: nil)
        #expect(try await Self.refusal(app, other) == .refreshUserGone)
        bench.time.advance(by: .seconds(100))
        other.grants.renew(holder.session, holder.key)
        try await bench.settled(other)
        #expect(try await bench.session(holder) == nil)
    }

    @Test("An app whose grant no longer exists ends at the next question")
    func lostGrant() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let app = try await Self.join(holder, node)
        let grant = try #require(holder.session.sharedGrant)
        try await node.sessions.endLineage(grant.lineage)
        bench.time.advance(by: .seconds(900))
        #expect(try await Self.refusal(app, node) == .refreshUserGone)
        #expect(try await bench.session(app.root) == nil)
    }

    @Test("Whatever the provider answers, only its no ends a session", arguments: 0..<40)
    func onlyNoEnds(seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let bench = GrantBench(isShared: true)
        let nodes = [bench.node(), bench.node()]
        let holder = try await bench.signIn(nodes[0])
        var app = try await Self.join(holder, nodes[0])
        for _ in 0..<12 {
            let harmless: [RotatingProvider.Fate] = [.answered, .later(nil), .later(.seconds(20))]
            bench.provider.script(harmless.randomElement(using: &random) ?? .answered)
            bench.time.advance(by: .seconds(Int64.random(in: 1...1800, using: &random)))
            _ = try await Self.refresh(&app, nodes[Int.random(in: 0...1, using: &random)])
        }
        #expect(try await bench.session(holder) != nil)
        for node in nodes { try await bench.settled(node) }
        bench.provider.clearScript()
        bench.provider.script(.ended)
        bench.time.advance(by: .seconds(4000))
        #expect(try await Self.refusal(app, nodes[0]) == .refreshUserGone)
        #expect(try await bench.session(holder) == nil)
    }
}
