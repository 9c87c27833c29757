import Providers
import Sessions
import Testing
import Vocabulary

@Suite("Grants of providers")
struct ProviderGrantTests {
    private static let now = UnixTime(seconds: 1_800_000_000)
    private static let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    private static let lineage = authority.newLineage()
    private static let key = authority.newKey(of: .grant, in: lineage)
    private static let sessionKey = authority.make(.session, in: lineage).key

    private static func tokens(life: Duration? = .seconds(300), refresh: String? = "r1") -> ProviderTokenSet {
        ProviderTokenSet(
            accessToken: Secret("a1"),
            tokenType: "DPoP",
            idToken: Secret("i1"),
            refreshToken: refresh.map { Secret($0) },
            expiresAt: life.map { self.now.advanced(by: $0) },
            scopes: ["openid", "email"],
            dpopKey: Secret([0x00, 0xFF, 0x80])
        )
    }

    private static func grant(_ change: (inout ProviderGrant) -> Void = { _ in }) -> ProviderGrant {
        var grant = ProviderGrant(
            provider: "https://idp.example.com",
            owner: RecordOwner(subject: "alice", epoch: 7),
            since: self.now,
            expiresAt: self.now.advanced(by: .seconds(86_400)),
            tokens: self.tokens(),
            session: self.sessionKey
        )
        grant.renewAt = self.now
        change(&grant)
        return grant
    }

    /// A provider that is never asked.
    private struct SilentProvider: RefreshingProvider {
        let name = "https://idp.example.com"
        func canAsk(with tokens: ProviderTokenSet) -> Bool { true }
        func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh {
            .later(after: nil, detail: "silent")
        }
        func revoke(_ tokens: ProviderTokenSet) async {}
    }

    private static let isTimely: ProviderGrant.TimeCheck = { SilentProvider().isTimely($0, at: $1) }

    @Test("A grant is read as it was written")
    func codec() throws {
        let full = Self.grant { grant in
            grant.generation = 3
            grant.rotates = true
            grant.lease = ProviderGrant.Lease(holder: "h", until: Self.now)
            grant.failures = 2
            grant.restsUntil = Self.now
            grant.tokensEndAt = Self.now
            grant.identity = Identity(id: "alice", traits: ["name": "Älice"])
            grant.add(Self.key)
        }
        let bare = Self.grant { grant in
            grant.tokens = ProviderTokenSet(accessToken: Secret("a"))
            grant.renewAt = nil
        }
        for grant in [full, bare, Self.grant { $0.rotates = false }] {
            #expect(try ProviderGrant.decoded(try grant.encoded()) == grant)
        }
    }

    @Test("Nothing about a grant shows its tokens")
    func redacted() {
        let text = "\(Self.grant()) \(String(reflecting: Self.grant()))"
        for secret in ["a1", "i1", "r1"] { #expect(!text.contains("\"\(secret)\"") && !text.contains("(\(secret))")) }
    }

    @Test("Tokens are renewed a fifth of their life before they expire, at most a minute, and never at once again")
    func renewalTimes() {
        let rows: [(Duration?, Duration)] = [
            (.seconds(300), .seconds(240)), (.seconds(10), .seconds(8)), (.seconds(86_400), .seconds(86_340)),
            (.seconds(1), .seconds(1)), (.zero, .seconds(1)), (.seconds(-5), .seconds(1)), (nil, .seconds(3600)),
        ]
        for (life, wait) in rows {
            #expect(Self.tokens(life: life).renewAt(from: Self.now) == Self.now.advanced(by: wait), "\(wait)")
        }
        #expect(Self.tokens(refresh: nil).renewAt(from: Self.now) == nil)
    }

    @Test("What a gateway does with a grant that one of its users uses")
    func steps() {
        let later = Self.now.advanced(by: .milliseconds(1))
        let earlier = Self.now.advanced(by: .milliseconds(-1))
        func leased(by holder: String, until: UnixTime, rotates: Bool? = nil) -> ProviderGrant {
            Self.grant {
                $0.lease = ProviderGrant.Lease(holder: holder, until: until)
                $0.rotates = rotates
            }
        }
        func step(_ grant: ProviderGrant) -> ProviderGrant.RenewalStep {
            grant.renewalStep(of: "me", at: Self.now, isTimely: Self.isTimely)
        }
        func refreshes(_ grant: ProviderGrant) -> Bool {
            var expected = grant
            expected.lease = ProviderGrant.Lease(
                holder: "me",
                until: Self.now.advanced(by: ProviderGrant.leaseTime)
            )
            return step(grant) == .refresh(expected)
        }
        #expect(refreshes(Self.grant()))
        #expect(step(Self.grant { $0.renewAt = later }) == .follow)
        #expect(step(Self.grant { $0.renewAt = nil }) == .follow)
        #expect(step(Self.grant { $0.restsUntil = later }) == .rest(until: later))
        #expect(refreshes(Self.grant { $0.restsUntil = Self.now }))
        #expect(step(leased(by: "you", until: later)) == .rest(until: later))
        #expect(refreshes(leased(by: "me", until: later)), "its own lease, whose writing was not confirmed")
        #expect(refreshes(leased(by: "you", until: earlier, rotates: false)))
        for rotates in [true, nil] {
            guard case .lose(let lost) = step(leased(by: "you", until: Self.now, rotates: rotates)) else {
                Issue.record("not lost")
                continue
            }
            #expect(lost.renewAt == nil && lost.lease == nil)
            #expect(lost.tokensEndAt == Self.now.advanced(by: .seconds(300)))
        }
    }

    @Test("A provider without refresh token is asked only while the access token is valid for long enough")
    func asking() {
        let grant = Self.grant {
            $0.tokens = Self.tokens(life: .seconds(1800), refresh: nil)
            $0.renewAt = nil
        }
        var asked = grant
        asked.askWithinInterval(from: Self.now, isTimely: Self.isTimely)
        #expect(asked.renewAt == Self.now.advanced(by: .seconds(900)))
        func isAsked(after wait: Int64) -> Bool {
            let time = Self.now.advanced(by: .seconds(wait))
            let step = asked.renewalStep(of: "me", at: time, isTimely: Self.isTimely)
            return if case .refresh = step { true } else { false }
        }
        #expect(!isAsked(after: 899) && isAsked(after: 900) && isAsked(after: 1769))
        #expect(!isAsked(after: 1770) && !isAsked(after: 1800) && !isAsked(after: 86_000))
        asked.renewAt = nil
        asked.askWithinInterval(from: Self.now.advanced(by: .seconds(900)), isTimely: Self.isTimely)
        #expect(asked.renewAt == nil)
        var endless = grant
        endless.tokens.expiresAt = nil
        #expect(Self.isTimely(endless.tokens, Self.now.advanced(by: .seconds(86_000))))
    }

    @Test("A renewal keeps what the provider's answer leaves out, and notes whether the refresh token changed")
    func renewed() {
        let before = Self.grant {
            $0.lease = ProviderGrant.Lease(holder: "me", until: Self.now)
            $0.failures = 3
            $0.tokensEndAt = Self.now
            $0.identity = Identity(id: "alice", traits: ["name": "A"])
        }
        let bare = ProviderTokenSet(accessToken: Secret("a2"), expiresAt: Self.now.advanced(by: .seconds(100)))
        let kept = before.renewed(bare, identity: nil, at: Self.now)
        #expect(kept.tokens.accessToken == Secret("a2") && kept.tokens.refreshToken == Secret("r1"))
        #expect(kept.tokens.idToken == Secret("i1") && kept.tokens.dpopKey == before.tokens.dpopKey)
        #expect(kept.rotates == false && kept.generation == 1 && kept.identity == before.identity)
        #expect(kept.renewAt == Self.now.advanced(by: .seconds(80)))
        #expect(kept.lease == nil && kept.failures == 0 && kept.tokensEndAt == nil)
        let next = Identity(id: "alice", traits: ["name": "B"])
        let rotated = kept.renewed(Self.tokens(refresh: "r2"), identity: next, at: Self.now)
        #expect(rotated.rotates == true && rotated.generation == 2 && rotated.identity == next)
    }

    @Test("Pauses double up to a minute; the provider's own holds up to an hour; both are spread")
    func pauses() throws {
        func pause(_ failures: UInt64, _ named: Duration?, jitter: Double = 0) throws -> Duration {
            let grant = Self.grant { $0.failures = failures }.resting(for: named, jitter: jitter, at: Self.now)
            #expect(grant.failures == failures &+ 1 && grant.renewAt == Self.now)
            return try #require(grant.restsUntil).since(Self.now)
        }
        let rows: [(UInt64, Int)] = [(0, 1), (1, 2), (5, 32), (6, 60), (1000, 60), (.max, 60)]
        for (failures, seconds) in rows { #expect(try pause(failures, nil) == .seconds(seconds)) }
        #expect(try pause(9, .seconds(5)) == .seconds(5))
        #expect(try pause(0, .seconds(86_400)) == .seconds(3600))
        #expect(try pause(0, .seconds(10), jitter: 1) == .seconds(15))
    }

    @Test("A session takes over the claims and the times of its own grant, and nothing else")
    func update() {
        let session = Session(
            id: "ses_1",
            kind: .web,
            origin: .browser,
            lineage: Self.lineage,
            identity: Identity(id: "alice", traits: ["name": "A"]),
            host: "app.example.com",
            aal: .aal2,
            methods: ["pwd"],
            authenticatedAt: Self.now,
            issuedAt: Self.now,
            expiresAt: Self.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(600),
            provider: ProviderSession(name: "https://idp.example.com", grant: Self.key, renewAt: Self.now)
        )
        #expect(Self.grant().update(of: session, Self.key) == nil, "it is so already")
        let changed = Self.grant {
            $0.identity = Identity(id: "alice", traits: ["name": "B"])
            $0.renewAt = nil
            $0.tokensEndAt = Self.now
        }
        var expected = session
        expected.identity.traits = ["name": "B"]
        expected.provider?.renewAt = nil
        expected.provider?.tokensEndAt = Self.now
        #expect(changed.update(of: session, Self.key) == expected)
        #expect(changed.update(of: expected, Self.key) == nil)
        #expect(changed.update(of: session, Self.authority.newKey(of: .grant, in: Self.lineage)) == nil)
        var bob = session
        bob.identity = Identity(id: "bob", traits: [:])
        #expect(changed.update(of: bob, Self.key) == nil)
    }

    @Test("The oldest session gives way when there are too many, but never the first of a lineage")
    func bounded() {
        var grant = Self.grant()
        let keys = (0..<ProviderGrant.sessionLimit).map { _ in Self.authority.make(.session, in: Self.lineage).key }
        for key in keys { grant.add(key) }
        #expect(grant.sessions == [Self.sessionKey] + keys.dropFirst())
        let app = Self.authority.make(.session, in: Self.authority.newLineage()).key
        for key in [app, app] { grant.add(key) }
        #expect(grant.sessions == [Self.sessionKey] + keys.dropFirst(2) + [app])
        let other = Self.authority.make(.session, in: app.lineage).key
        for key in [other] + keys { grant.add(key) }
        #expect(grant.holders == [Self.lineage, app.lineage] && grant.sessions.contains(app))
        #expect(grant.sessions.count == ProviderGrant.sessionLimit)
    }

    @Test("When all sessions are of different lineages, no one gives way to another")
    func boundedHolders() {
        var grant = Self.grant()
        func app() -> RecordKey { Self.authority.make(.session, in: Self.authority.newLineage()).key }
        let apps = (1..<ProviderGrant.sessionLimit).map { _ in app() }
        for key in apps + [app(), Self.authority.make(.session, in: apps[3].lineage).key] { grant.add(key) }
        #expect(grant.sessions == [Self.sessionKey] + apps)
    }
}
