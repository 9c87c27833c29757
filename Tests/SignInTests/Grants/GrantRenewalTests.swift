import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Renewal of providers' tokens")
struct GrantRenewalTests {
    @Test("A sign-in keeps the tokens, and the session contains none of them")
    func keep() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        let side = try #require(holder.session.provider)
        #expect(side.name == desk.provider.name && side.sessionID == "sid-1")
        #expect(side.renewAt == desk.time.now.advanced(by: .seconds(240)))
        let grant = try #require(try await desk.grant(holder, node))
        #expect(grant.tokens == desk.provider.tokens(1) && grant.sessions == [holder.key])
        #expect(grant.expiresAt == holder.session.expiresAt && grant.owner.subject == "alice")
        let bytes = String(decoding: holder.session.encoded, as: UTF8.self)
        #expect(!bytes.contains("access-1") && !bytes.contains("refresh-1"))
    }

    @Test("Nothing is kept for a sign-in without tokens, and tokens without refresh token are never renewed")
    func partial() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        var tokens = desk.provider.tokens(1)
        tokens.refreshToken = nil
        let holder = try await desk.signIn(node, tokens: tokens)
        #expect(holder.session.provider?.grant != nil && holder.session.provider?.renewAt == nil)
        tokens.accessToken = Secret([UInt8](repeating: 0x41, count: ProviderGrant.sizeLimit))
        let large = try await desk.signIn(node, tokens: tokens)
        #expect(large.session.provider?.name == desk.provider.name && large.session.provider?.grant == nil)
        #expect(desk.events == [.tooLarge])
    }

    @Test("A user who is known in part keeps the traits that are not known, over several renewals")
    func knownInPart() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        var expected = holder.session.identity.traits
        for claims in [["name": "Alice Cooper"], ["team": "blue"], ["name": "A. C."]] {
            desk.provider.set(claims, inPart: true)
            desk.time.advance(by: .seconds(240))
            node.grants.renew(try #require(try await desk.session(holder)), holder.key)
            try await desk.settled(node)
            try await desk.use(holder, at: node)
            expected = expected.merged(with: .object(claims.mapValues { .string($0) }))
            #expect(try await desk.session(holder)?.identity.traits == expected)
        }
        desk.provider.script(.otherUser)
        desk.time.advance(by: .seconds(240))
        node.grants.renew(try #require(try await desk.session(holder)), holder.key)
        try await desk.settled(node)
        #expect(try await desk.session(holder) == nil, "of another user")
    }

    @Test("64 uses at the moment of renewal on two gateways cause one refresh, and all sessions show the new claims")
    func stampede() async throws {
        let desk = GrantDesk()
        let (one, other) = (desk.node(), desk.node())
        let holder = try await desk.signIn(one)
        desk.provider.set(["name": "Alice Cooper"])
        desk.provider.hold()
        desk.time.advance(by: .seconds(240))
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<64 {
                group.addTask { (index % 2 == 0 ? one : other).grants.renew(holder.session, holder.key) }
            }
        }
        try await waitUntil { desk.provider.heldCount == 1 }
        // The session goes on meanwhile.
        for node in [one, other] { node.grants.renew(holder.session, holder.key) }
        #expect(try await desk.session(holder) == holder.session)
        desk.provider.release()
        for node in [one, other] { try await desk.settled(node) }
        for node in [one, other] { try await desk.use(holder, at: node) }
        let session = try #require(try await desk.session(holder))
        #expect(session.identity.traits == ["name": "Alice Cooper"])
        #expect(session.provider?.renewAt == desk.time.now.advanced(by: .seconds(240)))
        #expect(session.aal == .aal2 && session.methods == ["pwd"])
        #expect(session.authenticatedAt == holder.session.authenticatedAt)
        #expect(session.expiresAt == holder.session.expiresAt)
        #expect(desk.provider.presented.count == 1 && desk.events == [.renewed])
        let grant = try #require(try await desk.grant(holder, one))
        #expect(grant.tokens.refreshToken == Secret("refresh-2") && grant.lease == nil && grant.generation == 1)
        #expect(grant.tokens.dpopKey == desk.provider.tokens(1).dpopKey)
    }

    @Test("Over hours of use no refresh token is presented twice", arguments: [1, 3])
    func rotation(nodes: Int) async throws {
        let desk = GrantDesk()
        let nodes = (0..<nodes).map { _ in desk.node() }
        let holder = try await desk.signIn(nodes[0])
        for round in 0..<48 {
            desk.time.advance(by: .seconds(100))
            for node in nodes { try await desk.use(holder, at: node) }
            if round % 5 == 0 { desk.store.change { $0.lostReplacements = 1 } }
        }
        #expect(!desk.provider.isPunished)
        let presented = desk.provider.presented
        #expect(presented.count >= 10 && presented == (1...presented.count).map { Secret("refresh-\($0)") })
        #expect(try await desk.session(holder) != nil)
    }

    @Test("All sessions of the lineage follow a renewal, also those that joined it later")
    func family() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var keys: [RecordKey] = []
        for index in 0..<40 {
            let key = desk.authority.make(.session, in: holder.session.lineage).key
            var session = holder.session
            session.id = "ses_\(index)"
            session.expiresAt = session.expiresAt.advanced(by: .seconds(1))
            try await desk.store.create(NewSession(key: key, session: session), on: loop).get()
            let grant = try #require(session.provider?.grant)
            try await node.grants.add(key, expiresAt: session.expiresAt, to: grant)
            keys.append(key)
        }
        let kept = try #require(try await desk.grant(holder, node))
        #expect(kept.sessions == Array(keys.suffix(ProviderGrant.sessionLimit)))
        #expect(kept.expiresAt == holder.session.expiresAt.advanced(by: .seconds(1)))
        desk.provider.set(["name": "Alice Cooper"])
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        for key in keys.suffix(ProviderGrant.sessionLimit) + [holder.key] {
            let session = try #require(try await desk.store.session(key, on: loop).get()).record
            #expect(session.identity.traits["name"] == "Alice Cooper")
        }
        // One that is not in the list follows at its next use, without another refresh.
        let late = GrantDesk.Holder(token: holder.token, key: keys[0], session: holder.session)
        #expect(try await desk.session(late)?.identity.traits["name"] == "Alice")
        try await desk.use(late, at: node)
        #expect(try await desk.session(late)?.identity.traits["name"] == "Alice Cooper")
        #expect(desk.provider.presented.count == 1)
    }

    @Test("A refusal of the provider ends the lineage and deletes its tokens", arguments: [false, true])
    func ended(isOtherUser: Bool) async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.provider.script(isOtherUser ? .otherUser : .ended)
        desk.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await desk.settled(node)
        #expect(try await desk.session(holder) == nil)
        #expect(try await desk.grant(holder, node) == nil)
        let detail = isOtherUser ? "the answer is for another user" : "invalid_grant"
        #expect(desk.events == [.ended(detail: detail)])
        let event = try #require(desk.events[0].auditEvent(of: holder.session))
        #expect(event.kind == .sessionEnded && event.reason == .sessionProviderEnded && event.subject == "alice")
        node.grants.renew(holder.session, holder.key)
        try await desk.settled(node)
        #expect(desk.events.count == 1)
    }

    @Test("The user is not signed out when another sign-in of the same user is ended by the provider")
    func onlyOne() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let (holder, other) = (try await desk.signIn(node), try await desk.signIn(node))
        desk.provider.script(.ended)
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        #expect(try await desk.session(holder) == nil)
        #expect(try await desk.session(other) != nil)
    }

    @Test("An outage signs nobody out: pauses grow up to a minute, and the provider is asked again until it answers")
    func outage() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.time.advance(by: .seconds(240))
        var rests: [Duration] = []
        for _ in 0..<12 {
            desk.provider.script(.later(nil))
            try await desk.use(holder, at: node)
            let rest = try #require(try await desk.grant(holder, node)?.restsUntil).since(desk.time.now)
            rests.append(rest)
            // Neither this gateway nor another asks before.
            desk.time.advance(by: rest - .milliseconds(1))
            for node in [node, desk.node()] { try await desk.use(holder, at: node) }
            desk.time.advance(by: .milliseconds(1))
        }
        #expect(desk.events.count == 12)
        for (index, rest) in rests.enumerated() {
            let least = min(Duration.seconds(1 << index), .seconds(60))
            #expect(rest >= least && rest <= least * 1.5, "\(index): \(rest)")
        }
        #expect(try await desk.session(holder)?.provider == holder.session.provider, "the access token has expired")
        try await desk.use(holder, at: node)
        #expect(desk.events.last == .renewed)
        #expect(try await desk.grant(holder, node)?.failures == 0)
    }

    @Test("The pause that the provider names holds, for all grants of the gateway")
    func retryAfter() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let (holder, other) = (try await desk.signIn(node), try await desk.signIn(node))
        desk.provider.script(.later(.seconds(30)))
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        desk.time.advance(by: .milliseconds(29_999))
        for holder in [holder, other] { try await desk.use(holder, at: node) }
        #expect(desk.events == [.later(detail: "temporarily_unavailable")])
        desk.time.advance(by: .seconds(16))
        try await desk.use(holder, at: node)
        #expect(desk.events.last == .renewed)
    }

    @Test("A lost answer is repeated once, and then the tokens are lost")
    func ambiguous() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        // The request did not arrive: the repetition renews.
        let lucky = try await desk.signIn(node)
        desk.provider.script(.requestLost, .answered)
        desk.time.advance(by: .seconds(240))
        try await desk.use(lucky, at: node)
        #expect(desk.events == [.renewed])

        // The answer is lost twice, or the repetition shows that the first request was carried out.
        for fates in [[.requestLost, .requestLost], [.answerLost]] as [[RotatingProvider.Fate]] {
            let desk = GrantDesk()
            let node = desk.node()
            let holder = try await desk.signIn(node)
            for fate in fates { desk.provider.script(fate) }
            desk.time.advance(by: .seconds(240))
            try await desk.use(holder, at: node)
            guard case .lost? = desk.events.first, desk.events.count == 1 else {
                Issue.record("\(desk.events)")
                continue
            }
            let event = try #require(desk.events[0].auditEvent(of: holder.session))
            #expect(event.kind.rawValue == "session.renewal_failed" && event.reason == .sessionRenewalAmbiguous)
            // The session goes on, and nothing is asked any more.
            let session = try #require(try await desk.session(holder))
            #expect(session.provider?.renewAt == nil)
            #expect(session.provider?.tokensEndAt == desk.time.now.advanced(by: .seconds(60)))
            node.grants.renew(session, holder.key)
            try await desk.settled(node)
            #expect(desk.events.count == 1)
        }
    }

    @Test("Between a lost answer and its repetition a provider that is away is waited for, for a few seconds")
    func ambiguousOutage() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.provider.script(.requestLost, .later(nil), .later(.seconds(2)), .answered)
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        #expect(desk.events == [.renewed] && desk.waits == [.seconds(1), .seconds(2)])
        desk.provider.script(.requestLost, .later(.seconds(6)))
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        #expect(desk.events.last == .lost(detail: "temporarily_unavailable"))
    }

    @Test("Where refresh tokens stay valid, a lost answer loses nothing")
    func ambiguousWithoutRotation() async throws {
        let desk = GrantDesk(rotates: false)
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        desk.provider.script(.answerLost, .answerLost)
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        #expect(desk.events == [.renewed, .later(detail: "timeout")])
        desk.time.advance(by: .seconds(2))
        try await desk.use(holder, at: node)
        #expect(desk.events.last == .renewed)
    }

    @Test("New tokens are kept while the store fails, and written when it answers again")
    func failingStore() async throws {
        let desk = GrantDesk()
        let (node, other) = (desk.node(), desk.node())
        let holder = try await desk.signIn(node)
        desk.provider.hold()
        desk.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { desk.provider.heldCount == 1 }
        desk.store.fail(with: .unavailable)
        desk.provider.release()
        try await waitUntil { desk.waits.count > 100 }
        desk.store.fail(with: nil)
        try await desk.settled(node)
        #expect(desk.events == [.renewed])
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: other)
        #expect(desk.provider.presented == [Secret("refresh-1"), Secret("refresh-2")])
    }

    @Test("An answer of the store that is lost after the swap does not lose the tokens", arguments: 1...3)
    func lostSwap(_ count: Int) async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.provider.hold()
        desk.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { desk.provider.heldCount == 1 }
        desk.store.change { $0.lostReplacements = count }
        desk.provider.release()
        try await desk.settled(node)
        desk.store.change { $0.lostReplacements = 0 }
        #expect(try await desk.grant(holder, node)?.tokens.refreshToken == Secret("refresh-2"))
        desk.time.advance(by: .seconds(240))
        try await desk.use(holder, at: node)
        #expect(desk.provider.presented == [Secret("refresh-1"), Secret("refresh-2")])
    }

    @Test("A lease whose writing was not confirmed is this gateway's own: it goes on")
    func lostLease() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.time.advance(by: .seconds(240))
        desk.store.change { $0.lostReplacements = 1 }
        try await desk.use(holder, at: node)
        #expect(desk.provider.presented.isEmpty)
        desk.time.advance(by: .seconds(20))
        try await desk.use(holder, at: node)
        #expect(desk.events == [.renewed])
    }

    @Test("A gateway that dies while it refreshes costs one lease; a token that it may have sent is not sent again")
    func crash() async throws {
        for rotates in [true, false] {
            let desk = GrantDesk(rotates: rotates)
            let (dying, other) = (desk.node(), desk.node())
            let holder = try await desk.signIn(dying)
            desk.time.advance(by: .seconds(240))
            try await desk.use(holder, at: dying)
            #expect(desk.events == [.renewed])
            desk.time.advance(by: .seconds(240))
            desk.provider.hold()
            dying.grants.renew(try #require(try await desk.session(holder)), holder.key)
            try await waitUntil { desk.provider.heldCount == 1 }
            // It never writes again.
            desk.time.advance(by: ProviderGrant.leaseTime - .milliseconds(1))
            try await desk.use(holder, at: other)
            #expect(desk.events == [.renewed], "the lease is respected")
            desk.time.advance(by: .milliseconds(1))
            other.grants.renew(try #require(try await desk.session(holder)), holder.key)
            if rotates {
                try await desk.settled(other)
                #expect(desk.provider.heldCount == 1)
                #expect(desk.events.last == .lost(detail: "the gateway that was refreshing has died"))
                let session = try #require(try await desk.session(holder), "nobody is signed out")
                #expect(session.provider?.renewAt == nil && session.provider?.tokensEndAt != nil)
                // It was only slow: what it got is taken.
                desk.provider.release()
                try await desk.settled(dying)
                let again = try #require(try await desk.session(holder))
                #expect(again.provider?.renewAt != nil && again.provider?.tokensEndAt == nil)
                #expect(!desk.provider.isPunished)
            } else {
                try await waitUntil { desk.provider.heldCount == 2 }
                desk.provider.release()
                for node in [dying, other] { try await desk.settled(node) }
                #expect(try await desk.grant(holder, other)?.lease == nil)
                #expect(try await desk.session(holder)?.provider?.renewAt ?? desk.time.now > desk.time.now)
            }
        }
    }

    @Test("A request waits for a renewal no longer than it may, and the renewal goes on")
    func limitedWait() async throws {
        let desk = GrantDesk()
        let node = desk.node(longestWait: .milliseconds(5))
        let holder = try await desk.signIn(node)
        desk.time.advance(by: .seconds(400))
        desk.provider.hold()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        try await node.grants.renewed(holder.session, holder.key, on: loop).get()
        #expect(desk.events.isEmpty)
        try await waitUntil { desk.provider.heldCount == 1 }
        desk.provider.release()
        try await desk.settled(node)
        #expect(desk.events == [.renewed])
    }

    @Test("A request that needs tokens waits for the renewal, also for another gateway's")
    func waiting() async throws {
        let desk = GrantDesk()
        let (one, other) = (desk.node(), desk.node())
        let holder = try await desk.signIn(one)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        desk.time.advance(by: .seconds(400))
        desk.provider.hold()
        let waits = [one, one, other].map { $0.grants.renewed(holder.session, holder.key, on: loop) }
        try await waitUntil { desk.provider.heldCount == 1 }
        desk.provider.release()
        for wait in waits { try await wait.get() }
        #expect(desk.events == [.renewed])
        for node in [one, other] { try await desk.settled(node) }
        let grant = try #require(holder.session.provider?.grant)
        #expect(try await one.grants.tokens(grant, on: loop).get()?.access == Secret("access-2"))
        // Nothing can be renewed now: there is nothing to wait for.
        desk.provider.script(.later(.seconds(60)))
        desk.time.advance(by: .seconds(400))
        try await desk.use(holder, at: one)
        try await one.grants.renewed(holder.session, holder.key, on: loop).get()
        #expect(desk.events.count == 2)
    }

    @Test("A sign-out during a renewal wins, and the new tokens are revoked")
    func signOutMeanwhile() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        desk.provider.hold()
        desk.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { desk.provider.heldCount == 1 }
        try await node.sessions.endLineage(holder.session.lineage)
        desk.provider.release()
        try await desk.settled(node)
        #expect(try await desk.session(holder) == nil)
        #expect(desk.provider.revoked.map(\.accessToken) == [Secret("access-2")])
        #expect(desk.events.isEmpty)
    }

    @Test("A sign-out returns the id_token, deletes the tokens and revokes them")
    func signOut() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        let requester = try SignInDesk().requester(cookies: [holder.token])
        let ended = try await node.sessions.signOutBrowser(of: requester)
        #expect(ended.map(\.tokens?.idToken) == [Secret("id-1")])
        try await desk.settled(node)
        #expect(desk.provider.revoked.map(\.refreshToken) == [Secret("refresh-1")])
        #expect(try await desk.grant(holder, node) == nil)
        #expect(try await node.sessions.signOutBrowser(of: requester).isEmpty)
        try await desk.settled(node)
        #expect(desk.provider.revoked.count == 1)
    }

    @Test("Signing in again ends the former session and revokes nothing: the provider may count both as one grant")
    func signInAgain() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        let former = FoundSession(key: holder.key, session: holder.session)
        _ = try await node.sessions.replace(
            [former],
            with: SwitchedProvider.alice,
            SessionTerms(.web),
            evidence: ProviderEvidence(provider: desk.provider.name, tokens: desk.provider.tokens(1)),
            for: try SignInDesk().requester()
        )
        #expect(try await desk.session(holder) == nil)
        try await desk.settled(node)
        #expect(desk.provider.revoked.isEmpty)
    }

    @Test("A provider that is no longer configured is not asked, and its sessions go on")
    func otherProvider() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let holder = try await desk.signIn(node)
        node.grants.adopt([])
        desk.time.advance(by: .seconds(300))
        try await desk.use(holder, at: node)
        #expect(try await desk.session(holder) == holder.session)
        node.grants.adopt([desk.provider])
        try await desk.use(holder, at: node)
        #expect(desk.events == [.renewed])
    }

    @Test("A gateway that stops finishes its renewals and begins no other")
    func drain() async throws {
        let desk = GrantDesk()
        let node = desk.node()
        let (holder, other) = (try await desk.signIn(node), try await desk.signIn(node))
        desk.provider.hold()
        desk.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { desk.provider.heldCount == 1 }
        async let drained: Void = node.grants.drain(until: .now + .seconds(30))
        desk.provider.release()
        await drained
        #expect(desk.events.contains(.renewed) && !node.grants.isBusy)
        let count = desk.provider.presented.count
        node.grants.renew(other.session, other.key)
        #expect(!node.grants.isBusy && desk.provider.presented.count == count)
    }
}
