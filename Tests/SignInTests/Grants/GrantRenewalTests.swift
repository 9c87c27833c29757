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
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let side = try #require(holder.session.provider)
        #expect(side.name == bench.provider.name && side.sessionID == "sid-1")
        #expect(side.renewAt == bench.time.now.advanced(by: .seconds(240)))
        let grant = try #require(try await bench.grant(holder, node))
        #expect(grant.tokens == bench.provider.tokens(1) && grant.sessions == [holder.key])
        #expect(grant.expiresAt == holder.session.expiresAt && grant.owner.subject == "alice")
        let bytes = String(decoding: holder.session.encoded, as: UTF8.self)
        #expect(!bytes.contains("access-1") && !bytes.contains("refresh-1"))
    }

    @Test("Nothing is kept for a sign-in without tokens, and tokens without refresh token are never renewed")
    func partial() async throws {
        let bench = GrantBench()
        let node = bench.node()
        var tokens = bench.provider.tokens(1)
        tokens.refreshToken = nil
        let holder = try await bench.signIn(node, tokens: tokens)
        #expect(holder.session.provider?.grant != nil && holder.session.provider?.renewAt == nil)
        tokens.accessToken = Secret([UInt8](repeating: 0x41, count: ProviderGrant.sizeLimit))
        let large = try await bench.signIn(node, tokens: tokens)
        #expect(large.session.provider?.name == bench.provider.name && large.session.provider?.grant == nil)
        #expect(bench.events == [.tooLarge])
    }

    @Test("A user who is known in part keeps the traits that are not known, over several renewals")
    func knownInPart() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var expected = holder.session.identity.traits
        for claims in [["name": "Alice Cooper"], ["team": "blue"], ["name": "A. C."]] {
            bench.provider.set(claims, inPart: true)
            bench.time.advance(by: .seconds(240))
            node.grants.renew(try #require(try await bench.session(holder)), holder.key)
            try await bench.settled(node)
            try await bench.use(holder, at: node)
            expected = expected.merged(with: .object(claims.mapValues { .string($0) }))
            #expect(try await bench.session(holder)?.identity.traits == expected)
        }
        bench.provider.script(.otherUser)
        bench.time.advance(by: .seconds(240))
        node.grants.renew(try #require(try await bench.session(holder)), holder.key)
        try await bench.settled(node)
        #expect(try await bench.session(holder) == nil, "of another user")
    }

    @Test("64 uses at the moment of renewal on two gateways cause one refresh, and all sessions show the new claims")
    func stampede() async throws {
        let bench = GrantBench()
        let (one, other) = (bench.node(), bench.node())
        let holder = try await bench.signIn(one)
        bench.provider.set(["name": "Alice Cooper"])
        bench.provider.hold()
        bench.time.advance(by: .seconds(240))
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<64 {
                group.addTask { (index % 2 == 0 ? one : other).grants.renew(holder.session, holder.key) }
            }
        }
        try await waitUntil { bench.provider.heldCount == 1 }
        // The session goes on meanwhile.
        for node in [one, other] { node.grants.renew(holder.session, holder.key) }
        #expect(try await bench.session(holder) == holder.session)
        bench.provider.release()
        for node in [one, other] { try await bench.settled(node) }
        for node in [one, other] { try await bench.use(holder, at: node) }
        let session = try #require(try await bench.session(holder))
        #expect(session.identity.traits == ["name": "Alice Cooper"])
        #expect(session.provider?.renewAt == bench.time.now.advanced(by: .seconds(240)))
        #expect(session.aal == .aal2 && session.methods == ["pwd"])
        #expect(session.authenticatedAt == holder.session.authenticatedAt)
        #expect(session.expiresAt == holder.session.expiresAt)
        #expect(bench.provider.presented.count == 1 && bench.events == [.renewed, .changed(traits: ["name"])])
        let grant = try #require(try await bench.grant(holder, one))
        #expect(grant.tokens.refreshToken == Secret("refresh-2") && grant.lease == nil && grant.generation == 1)
        #expect(grant.tokens.dpopKey == bench.provider.tokens(1).dpopKey)
    }

    @Test("Over hours of use no refresh token is presented twice", arguments: [1, 3])
    func rotation(nodes: Int) async throws {
        let bench = GrantBench()
        let nodes = (0..<nodes).map { _ in bench.node() }
        let holder = try await bench.signIn(nodes[0])
        for round in 0..<48 {
            bench.time.advance(by: .seconds(100))
            for node in nodes { try await bench.use(holder, at: node) }
            if round % 5 == 0 { bench.store.change { $0.lostReplacements = 1 } }
        }
        #expect(!bench.provider.isPunished)
        let presented = bench.provider.presented
        #expect(presented.count >= 10 && presented == (1...presented.count).map { Secret("refresh-\($0)") })
        #expect(try await bench.session(holder) != nil)
    }

    @Test("All sessions of the lineage follow a renewal, also those that joined it later")
    func family() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var keys: [RecordKey] = []
        for index in 0..<40 {
            let key = bench.authority.make(.session, in: holder.session.lineage).key
            var session = holder.session
            session.id = "ses_\(index)"
            session.expiresAt = session.expiresAt.advanced(by: .seconds(1))
            try await bench.store.create(NewSession(key: key, session: session), on: loop).get()
            let grant = try #require(session.provider?.grant)
            try await node.grants.add(key, expiresAt: session.expiresAt, to: grant)
            keys.append(key)
        }
        let kept = try #require(try await bench.grant(holder, node))
        // The first session of the lineage is never dropped.
        let listed = [holder.key] + keys.suffix(ProviderGrant.sessionLimit - 1)
        #expect(kept.sessions == listed)
        #expect(kept.expiresAt == holder.session.expiresAt.advanced(by: .seconds(1)))
        bench.provider.set(["name": "Alice Cooper"])
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        for key in listed {
            let session = try #require(try await bench.store.session(key, on: loop).get()).record
            #expect(session.identity.traits["name"] == "Alice Cooper")
        }
        // One that is not in the list follows at its next use, without another refresh.
        let late = GrantBench.Holder(token: holder.token, key: keys[0], session: holder.session)
        #expect(try await bench.session(late)?.identity.traits["name"] == "Alice")
        try await bench.use(late, at: node)
        #expect(try await bench.session(late)?.identity.traits["name"] == "Alice Cooper")
        #expect(bench.provider.presented.count == 1)
    }

    @Test("A refusal of the provider ends the lineage and deletes its tokens", arguments: [false, true])
    func ended(isOtherUser: Bool) async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.provider.script(isOtherUser ? .otherUser : .ended)
        bench.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await bench.settled(node)
        #expect(try await bench.session(holder) == nil)
        #expect(try await bench.grant(holder, node) == nil)
        let detail = isOtherUser ? "the answer is for another user" : "invalid_grant"
        #expect(bench.events == [.ended(detail: detail)])
        let event = try #require(bench.events[0].auditEvent(of: holder.session))
        #expect(event.kind == .sessionEnded && event.reason == .sessionProviderEnded && event.subject == "alice")
        node.grants.renew(holder.session, holder.key)
        try await bench.settled(node)
        #expect(bench.events.count == 1)
    }

    @Test("The user is not signed out when another sign-in of the same user is ended by the provider")
    func onlyOne() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let (holder, other) = (try await bench.signIn(node), try await bench.signIn(node))
        bench.provider.script(.ended)
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        #expect(try await bench.session(holder) == nil)
        #expect(try await bench.session(other) != nil)
    }

    @Test("An outage signs nobody out: pauses grow up to a minute, and the provider is asked again until it answers")
    func outage() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.time.advance(by: .seconds(240))
        var rests: [Duration] = []
        for _ in 0..<12 {
            bench.provider.script(.later(nil))
            try await bench.use(holder, at: node)
            let rest = try #require(try await bench.grant(holder, node)?.restsUntil).since(bench.time.now)
            rests.append(rest)
            // Neither this gateway nor another asks before.
            bench.time.advance(by: rest - .milliseconds(1))
            for node in [node, bench.node()] { try await bench.use(holder, at: node) }
            bench.time.advance(by: .milliseconds(1))
        }
        #expect(bench.events.count == 12)
        for (index, rest) in rests.enumerated() {
            let least = min(Duration.seconds(1 << index), .seconds(60))
            #expect(rest >= least && rest <= least * 1.5, "\(index): \(rest)")
        }
        #expect(try await bench.session(holder)?.provider == holder.session.provider, "the access token has expired")
        try await bench.use(holder, at: node)
        #expect(bench.events.last == .renewed)
        #expect(try await bench.grant(holder, node)?.failures == 0)
    }

    @Test("The pause that the provider names holds, for all grants of the gateway")
    func retryAfter() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let (holder, other) = (try await bench.signIn(node), try await bench.signIn(node))
        bench.provider.script(.later(.seconds(30)))
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        bench.time.advance(by: .milliseconds(29_999))
        for holder in [holder, other] { try await bench.use(holder, at: node) }
        #expect(bench.events == [.later(detail: "temporarily_unavailable")])
        bench.time.advance(by: .seconds(16))
        try await bench.use(holder, at: node)
        #expect(bench.events.last == .renewed)
    }

    @Test("A lost answer is repeated once, and then the tokens are lost")
    func ambiguous() async throws {
        let bench = GrantBench()
        let node = bench.node()
        // The request did not arrive: the repetition renews.
        let lucky = try await bench.signIn(node)
        bench.provider.script(.requestLost, .answered)
        bench.time.advance(by: .seconds(240))
        try await bench.use(lucky, at: node)
        #expect(bench.events == [.renewed])

        // The answer is lost twice, or the repetition shows that the first request was carried out.
        for fates in [[.requestLost, .requestLost], [.answerLost]] as [[RotatingProvider.Fate]] {
            let bench = GrantBench()
            let node = bench.node()
            let holder = try await bench.signIn(node)
            for fate in fates { bench.provider.script(fate) }
            bench.time.advance(by: .seconds(240))
            try await bench.use(holder, at: node)
            guard case .lost? = bench.events.first, bench.events.count == 1 else {
                Issue.record("\(bench.events)")
                continue
            }
            let event = try #require(bench.events[0].auditEvent(of: holder.session))
            #expect(event.kind.rawValue == "session.renewal_failed" && event.reason == .sessionRenewalAmbiguous)
            // The session goes on, and nothing is asked any more.
            let session = try #require(try await bench.session(holder))
            #expect(session.provider?.renewAt == nil)
            #expect(session.provider?.tokensEndAt == bench.time.now.advanced(by: .seconds(60)))
            node.grants.renew(session, holder.key)
            try await bench.settled(node)
            #expect(bench.events.count == 1)
        }
    }

    @Test("Between a lost answer and its repetition a provider that is away is waited for, for a few seconds")
    func ambiguousOutage() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.provider.script(.requestLost, .later(nil), .later(.seconds(2)), .answered)
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        #expect(bench.events == [.renewed] && bench.waits == [.seconds(1), .seconds(2)])
        bench.provider.script(.requestLost, .later(.seconds(6)))
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        #expect(bench.events.last == .lost(detail: "temporarily_unavailable"))
    }

    @Test("A gateway that notes late that the provider was away leaves another gateway's question alone")
    func lateRest() async throws {
        let bench = GrantBench()
        let (one, other, third) = (bench.node(), bench.node(), bench.node())
        let holder = try await bench.signIn(one)
        bench.time.advance(by: .seconds(240))
        bench.provider.hold()
        one.grants.renew(holder.session, holder.key)
        try await waitUntil { bench.provider.heldCount == 1 }
        bench.provider.script(.later(nil))
        bench.store.change { script in
            // The store has the note, and its answer is lost. Before it is repeated, another gateway asks.
            script.lostReplacements = 1
            script.beforeReplace = {
                bench.store.change {
                    $0.beforeReplace = {
                        bench.time.advance(by: .seconds(5))
                        bench.provider.hold()
                        other.grants.renew(holder.session, holder.key)
                        try await waitUntil { bench.provider.heldCount == 1 }
                    }
                }
            }
        }
        bench.provider.release()
        try await bench.settled(one)
        third.grants.renew(holder.session, holder.key)
        try await bench.settled(third)
        #expect(bench.provider.heldCount == 1)
        bench.provider.release()
        try await bench.settled(other)
        #expect(bench.provider.presented == [Secret("refresh-1")] && !bench.provider.isPunished)
        #expect(try await bench.session(holder) != nil)
    }

    @Test("Where refresh tokens stay valid, a lost answer loses nothing")
    func ambiguousWithoutRotation() async throws {
        let bench = GrantBench(rotates: false)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        bench.provider.script(.answerLost, .answerLost)
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        #expect(bench.events == [.renewed, .later(detail: "timeout")])
        bench.time.advance(by: .seconds(2))
        try await bench.use(holder, at: node)
        #expect(bench.events.last == .renewed)
    }

    @Test("New tokens are kept while the store fails, and written when it answers again")
    func failingStore() async throws {
        let bench = GrantBench()
        let (node, other) = (bench.node(), bench.node())
        let holder = try await bench.signIn(node)
        bench.provider.hold()
        bench.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { bench.provider.heldCount == 1 }
        bench.store.fail(with: .unavailable)
        bench.provider.release()
        try await waitUntil { bench.waits.count > 100 }
        bench.store.fail(with: nil)
        try await bench.settled(node)
        #expect(bench.events == [.renewed])
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: other)
        #expect(bench.provider.presented == [Secret("refresh-1"), Secret("refresh-2")])
    }

    @Test("A swap whose answer is lost is repeated as the same attempt, which the store confirms", arguments: 1...3)
    func lostSwap(_ count: Int) async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.provider.hold()
        bench.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { bench.provider.heldCount == 1 }
        let before = bench.store.replacements.count
        bench.store.change { $0.lostReplacements = count }
        bench.provider.release()
        try await bench.settled(node)
        bench.store.change { $0.lostReplacements = 0 }
        // Another attempt would find its own record, and take it for stored although no replica has it.
        let attempts = bench.store.replacements[before...]
        #expect(attempts.count == count + 1)
        #expect(Set(attempts).count == 1)
        #expect(try await bench.grant(holder, node)?.tokens.refreshToken == Secret("refresh-2"))
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        #expect(bench.provider.presented == [Secret("refresh-1"), Secret("refresh-2")])
    }

    @Test("A lease whose writing was not confirmed is this gateway's own: it goes on")
    func lostLease() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.time.advance(by: .seconds(240))
        bench.store.change { $0.lostReplacements = 1 }
        try await bench.use(holder, at: node)
        #expect(bench.provider.presented.isEmpty)
        bench.time.advance(by: .seconds(20))
        try await bench.use(holder, at: node)
        #expect(bench.events == [.renewed])
    }

    @Test("A gateway that dies while it refreshes costs one lease; a token that it may have sent is not sent again")
    func crash() async throws {
        for rotates in [true, false] {
            let bench = GrantBench(rotates: rotates)
            let (dying, other) = (bench.node(), bench.node())
            let holder = try await bench.signIn(dying)
            bench.time.advance(by: .seconds(240))
            try await bench.use(holder, at: dying)
            #expect(bench.events == [.renewed])
            bench.time.advance(by: .seconds(240))
            bench.provider.hold()
            dying.grants.renew(try #require(try await bench.session(holder)), holder.key)
            try await waitUntil { bench.provider.heldCount == 1 }
            // It never writes again.
            bench.time.advance(by: ProviderGrant.leaseTime - .milliseconds(1))
            try await bench.use(holder, at: other)
            #expect(bench.events == [.renewed], "the lease is respected")
            bench.time.advance(by: .milliseconds(1))
            other.grants.renew(try #require(try await bench.session(holder)), holder.key)
            if rotates {
                try await bench.settled(other)
                #expect(bench.provider.heldCount == 1)
                #expect(bench.events.last == .lost(detail: "the gateway that was refreshing has died"))
                let session = try #require(try await bench.session(holder), "nobody is signed out")
                #expect(session.provider?.renewAt == nil && session.provider?.tokensEndAt != nil)
                // It was only slow: what it got is taken.
                bench.provider.release()
                try await bench.settled(dying)
                let again = try #require(try await bench.session(holder))
                #expect(again.provider?.renewAt != nil && again.provider?.tokensEndAt == nil)
                #expect(!bench.provider.isPunished)
            } else {
                try await waitUntil { bench.provider.heldCount == 2 }
                bench.provider.release()
                for node in [dying, other] { try await bench.settled(node) }
                #expect(try await bench.grant(holder, other)?.lease == nil)
                #expect(try await bench.session(holder)?.provider?.renewAt ?? bench.time.now > bench.time.now)
            }
        }
    }

    @Test("A request waits for a renewal no longer than it may, and the renewal goes on")
    func limitedWait() async throws {
        let bench = GrantBench()
        let node = bench.node(longestWait: .milliseconds(5))
        let holder = try await bench.signIn(node)
        bench.time.advance(by: .seconds(400))
        bench.provider.hold()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        try await node.grants.renewed(holder.session, holder.key, on: loop).get()
        #expect(bench.events.isEmpty)
        try await waitUntil { bench.provider.heldCount == 1 }
        bench.provider.release()
        try await bench.settled(node)
        #expect(bench.events == [.renewed])
    }

    @Test("A request that needs tokens waits for the renewal, also for another gateway's")
    func waiting() async throws {
        let bench = GrantBench()
        let (one, other) = (bench.node(), bench.node())
        let holder = try await bench.signIn(one)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        bench.time.advance(by: .seconds(400))
        bench.provider.hold()
        let waits = [one, one, other].map { $0.grants.renewed(holder.session, holder.key, on: loop) }
        try await waitUntil { bench.provider.heldCount == 1 }
        bench.provider.release()
        for wait in waits { try await wait.get() }
        #expect(bench.events == [.renewed])
        for node in [one, other] { try await bench.settled(node) }
        let grant = try #require(holder.session.provider?.grant)
        #expect(try await one.grants.tokens(grant, on: loop).get()?.access == Secret("access-2"))
        // Nothing can be renewed now: there is nothing to wait for.
        bench.provider.script(.later(.seconds(60)))
        bench.time.advance(by: .seconds(400))
        try await bench.use(holder, at: one)
        try await one.grants.renewed(holder.session, holder.key, on: loop).get()
        #expect(bench.events.count == 2)
    }

    @Test("A sign-out during a renewal wins, and the new tokens are revoked")
    func signOutMeanwhile() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.provider.hold()
        bench.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { bench.provider.heldCount == 1 }
        try await node.sessions.endLineage(holder.session.lineage)
        bench.provider.release()
        try await bench.settled(node)
        #expect(try await bench.session(holder) == nil)
        #expect(bench.provider.revoked.map(\.accessToken) == [Secret("access-2")])
        #expect(bench.events.isEmpty)
    }

    @Test("A sign-out returns the id_token, deletes the tokens and revokes them")
    func signOut() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let requester = try SignInBench().requester(cookies: [holder.token])
        let ended = try await node.sessions.signOutBrowser(of: requester)
        #expect(ended.map(\.tokens?.idToken) == [Secret("id-1")])
        try await bench.settled(node)
        #expect(bench.provider.revoked.map(\.refreshToken) == [Secret("refresh-1")])
        #expect(try await bench.grant(holder, node) == nil)
        #expect(try await node.sessions.signOutBrowser(of: requester).isEmpty)
        try await bench.settled(node)
        #expect(bench.provider.revoked.count == 1)
    }

    @Test("Signing in again ends the former session and revokes nothing: the provider may count both as one grant")
    func signInAgain() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let former = FoundSession(key: holder.key, session: holder.session)
        _ = try await node.sessions.replace(
            [former],
            with: SwitchedProvider.alice,
            SessionTerms(.web),
            evidence: ProviderEvidence(provider: bench.provider.name, tokens: bench.provider.tokens(1)),
            for: try SignInBench().requester()
        )
        #expect(try await bench.session(holder) == nil)
        try await bench.settled(node)
        #expect(bench.provider.revoked.isEmpty)
    }

    @Test("A provider that is no longer configured is not asked, and its sessions go on")
    func otherProvider() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        node.grants.adopt([])
        bench.time.advance(by: .seconds(300))
        try await bench.use(holder, at: node)
        #expect(try await bench.session(holder) == holder.session)
        node.grants.adopt([bench.provider])
        try await bench.use(holder, at: node)
        #expect(bench.events == [.renewed])
    }

    @Test("A gateway that stops finishes its renewals and begins no other")
    func drain() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let (holder, other) = (try await bench.signIn(node), try await bench.signIn(node))
        bench.provider.hold()
        bench.time.advance(by: .seconds(240))
        node.grants.renew(holder.session, holder.key)
        try await waitUntil { bench.provider.heldCount == 1 }
        async let drained: Void = node.grants.drain(until: .now + .seconds(30))
        bench.provider.release()
        await drained
        #expect(bench.events.contains(.renewed) && !node.grants.isBusy)
        let count = bench.provider.presented.count
        node.grants.renew(other.session, other.key)
        #expect(!node.grants.isBusy && bench.provider.presented.count == count)
    }
}
