import EndpointBench
import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// `session.max_per_user` and `session.on_limit`
@Suite("The limit of a user's sessions")
struct SessionLimitTests {
    /// Sign-ins over a store that the test scripts, each a second after the last.
    private struct Bench {
        let base = SignInBench()
        let store: ScriptedStore
        let sessions: SessionService

        init(
            browser: Int? = nil,
            native: Int? = nil,
            _ onLimit: SessionSettings.OnLimit = .endOldest,
            accounts: AccountLinks? = nil,
            clients: (any ClientDirectory)? = nil
        ) {
            let base = self.base
            let store = ScriptedStore(base.store)
            let records = RecordAccess(
                store: store,
                authority: base.authority,
                loops: MultiThreadedEventLoopGroup.singleton,
                clock: base.time.clock
            )
            var settings = SessionSettings()
            settings.maxPerUser.browser = browser
            settings.maxPerUser.native = native
            settings.onLimit = onLimit
            self.store = store
            self.sessions = SessionService(
                records: records,
                settings: settings,
                devices: DeviceObserver(directory: nil),
                providerSessions: ProviderSessions(records: records),
                users: RealmUsers(.default, clients: clients),
                accounts: accounts,
                journal: base.audit.journal
            )
        }

        private var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

        @discardableResult
        func signIn(
            _ kind: Session.Kind = .web,
            as user: Authentication = SwitchedProvider.alice,
            replacing former: [FoundSession] = [],
            evidence: ProviderEvidence? = nil
        ) async throws -> FoundSession {
            self.base.time.advance(by: .seconds(1))
            let (token, session) = try await self.sessions.replace(
                former,
                with: user,
                SessionTerms(kind),
                evidence: evidence,
                for: try self.base.requester()
            )
            return FoundSession(
                key: try #require(self.base.authority.key(.session, of: token.bytes)),
                session: session
            )
        }

        /// Why alice cannot sign in; nil if she can.
        func refusal(_ kind: Session.Kind = .web) async throws -> Reason? {
            self.base.time.advance(by: .seconds(1))
            let requester = try self.base.requester()
            return await Result(
                try await self.sessions.begin(SwitchedProvider.alice, SessionTerms(kind), for: requester)
            ).error?.reason
        }

        /// Writes another session like this one, with a new id.
        func add(
            like session: Session,
            _ change: (inout Session) -> Void = { _ in }
        ) async throws -> FoundSession {
            var other = session
            other.id = self.base.authority.newSessionID()
            other.issuedAt = self.base.time.now
            change(&other)
            let key = self.base.authority.make(.session, in: other.lineage).key
            try await self.store.create(NewSession(key: key, session: other), on: self.loop).get()
            return FoundSession(key: key, session: other)
        }

        /// Which of the sessions are live.
        func live(_ sessions: FoundSession...) async throws -> [Bool] {
            var live: [Bool] = []
            for found in sessions {
                live.append(try await self.base.store.session(found.key, on: self.loop).get() != nil)
            }
            return live
        }

        /// The records of sessions that the limit has ended.
        var ended: [AuditRecord] {
            self.base.audit.records.filter { record in
                if case .session(.signedOut, _) = record.act { record.reason == .sessionLimit } else { false }
            }
        }
    }

    @Test("The sixth browser ends the first, and the audit stream names both")
    func sixthBrowser() async throws {
        let bench = Bench(browser: 5)
        let bob = try await bench.signIn(
            as: Authentication(identity: Identity(id: "b0b", traits: [:]), aal: .aal1, methods: ["password"])
        )
        let first = try await bench.signIn()
        let second = try await bench.signIn()
        for _ in 0..<3 { try await bench.signIn() }
        #expect(bench.ended.isEmpty)
        let sixth = try await bench.signIn()
        #expect(try await bench.live(first, second, sixth, bob) == [false, true, true, true])
        #expect(bench.ended.count == 1)
        let record = try #require(bench.ended.first)
        #expect(record.sessionID == first.session.id && record.subject == first.session.subject)
        #expect(record.detail == "sign-in \(sixth.session.id)")
        #expect(record.auditEvent?.kind == .sessionEnded && record.auditEvent?.reason == .sessionLimit)
        #expect(bench.base.audit.records.last?.sessionID == sixth.session.id)
    }

    @Test("A lowered limit ends all that are too many at the next sign-in")
    func lowered() async throws {
        let bench = Bench(browser: 1)
        let first = try await bench.signIn()
        let second = try await bench.add(like: first.session) { $0.lineage = bench.base.authority.newLineage() }
        let last = try await bench.signIn()
        #expect(try await bench.live(first, second, last) == [false, false, true])
        #expect(Set(bench.ended.map(\.sessionID)) == [first.session.id, second.session.id])
    }

    @Test("A repeated sign-in on the same browser is no second session")
    func repeated() async throws {
        let bench = Bench(browser: 2)
        let other = try await bench.signIn()
        var browser = try await bench.signIn()
        for _ in 0..<3 { browser = try await bench.signIn(replacing: [browser]) }
        #expect(try await bench.live(other, browser) == [true, true])
        #expect(bench.ended.isEmpty)
    }

    @Test("Browsers and apps are limited apart, and what a handoff made is not counted but ends with its app")
    func kinds() async throws {
        let bench = Bench(browser: 1, native: 1)
        let app = try await bench.signIn(.native)
        let browser = try await bench.signIn()
        let transferred = try await bench.add(like: app.session) { ($0.kind, $0.origin) = (.web, .transfer) }
        let online = try await bench.add(like: browser.session) { ($0.kind, $0.clientID) = (.native, "spa") }
        #expect(online.session.isOnline && bench.ended.isEmpty)
        let second = try await bench.signIn()
        #expect(try await bench.live(app, browser, transferred, online, second) == [true, false, true, false, true])
        let next = try await bench.signIn(.native)
        #expect(try await bench.live(app, transferred, second, next) == [false, false, true, true])
        #expect(bench.ended.map(\.sessionID) == [browser.session.id, app.session.id])
    }

    @Test("A browser's sessions on several hosts are one sign-in and end together")
    func hosts() async throws {
        let bench = Bench(browser: 2)
        let first = try await bench.signIn()
        let elsewhere = try await bench.add(like: first.session) { $0.host = "other.example.com" }
        let second = try await bench.signIn()
        #expect(try await bench.live(first, elsewhere, second) == [true, true, true])
        try await bench.sessions.endOne(first.key)
        let third = try await bench.signIn()
        #expect(try await bench.live(elsewhere, second, third) == [false, true, true])
        #expect(bench.ended.map(\.sessionID) == [elsewhere.session.id])
    }

    @Test("A sign-in beyond the limit is refused and leaves the other sessions")
    func refused() async throws {
        let bench = Bench(browser: 1, native: 1, .refuse)
        let browser = try await bench.signIn()
        let app = try await bench.signIn(.native)
        for kind in [Session.Kind.web, .native] {
            #expect(try await bench.refusal(kind) == .sessionLimit)
            #expect(bench.base.audit.records.last?.act == .session(.refused(.sessionLimit), kind))
        }
        #expect(try await bench.live(browser, app) == [true, true])
        #expect(bench.base.store.sessionCount == 2 && bench.ended.isEmpty)
        let again = try await bench.signIn(replacing: [browser])
        #expect(try await bench.live(again) == [true])
        try await bench.sessions.endWithDependents(again)
        #expect(try await bench.refusal() == nil)
    }

    @Test("A browser that signs in again is never refused, also above a limit that was lowered")
    func again() async throws {
        let bench = Bench(browser: 1, .refuse)
        let first = try await bench.signIn()
        let other = try await bench.add(like: first.session) { $0.lineage = bench.base.authority.newLineage() }
        let again = try await bench.signIn(replacing: [first])
        #expect(try await bench.live(first, other, again) == [false, true, true])
        #expect(try await bench.refusal() == .sessionLimit)
        let bob = Authentication(identity: Identity(id: "b0b", traits: [:]), aal: .aal1, methods: ["password"])
        let bobs = try await bench.signIn(as: bob)
        await #expect(throws: NotDone(.sessionLimit), "the browser was another user's") {
            try await bench.signIn(replacing: [bobs])
        }
    }

    @Test("A sign-in that failed in an outage does not count once the store answers again")
    func ghosts() async throws {
        for calls in 0..<20 {
            let bench = Bench(browser: 1, .refuse)
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            guard try await bench.refusal() == .storeUnavailable else { break }
            bench.store.fail(with: nil)
            try await waitUntil("the session ends") { bench.base.store.sessionCount == 0 }
            #expect(try await bench.refusal() == nil, "\(calls)")
        }
    }

    /// Every client has been deleted.
    private struct NoClients: ClientDirectory {
        func hasExisted(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool { false }
        func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool { false }
    }

    @Test("What a deleted client has does not count")
    func deletedClient() async throws {
        let bench = Bench(native: 1, .refuse, clients: NoClients())
        let first = try await bench.signIn(.native)
        try await bench.sessions.endWithDependents(first)
        _ = try await bench.add(like: first.session) { session in
            session.lineage = bench.base.authority.newLineage()
            session.clientID = "gone"
        }
        #expect(try await bench.refusal(.native) == nil)
        #expect(try await bench.refusal(.native) == .sessionLimit)
    }

    @Test("A session whose creation was not confirmed does not count")
    func unconfirmed() async throws {
        let bench = Bench(browser: 1, .refuse)
        bench.store.change { $0.lostCreations = 1 }
        #expect(try await bench.refusal() == .storeUnavailable)
        #expect(bench.base.store.sessionCount == 0)
        #expect(try await bench.refusal() == nil)
    }

    @Test(
        "Of two sign-ins at once only the later one ends the other; the next sign-in corrects what is too many",
        arguments: [SessionSettings.OnLimit.endOldest, .refuse]
    )
    func simultaneous(_ onLimit: SessionSettings.OnLimit) async throws {
        let bench = Bench(browser: 1, onLimit)
        let former = try await bench.signIn()
        // It has begun when the earlier one is judged.
        let later = try await bench.add(like: former.session) { session in
            session.lineage = bench.base.authority.newLineage()
            session.issuedAt = session.issuedAt.advanced(by: .seconds(10))
        }
        try await bench.sessions.endWithDependents(former)
        let earlier = try await bench.signIn()
        #expect(try await bench.live(earlier, later) == [true, true])
        #expect(bench.ended.isEmpty)
        bench.base.time.advance(by: .seconds(20))
        guard onLimit == .endOldest else {
            #expect(try await bench.refusal() == .sessionLimit)
            return
        }
        let next = try await bench.signIn()
        #expect(try await bench.live(earlier, later, next) == [false, false, true])
    }

    @Test("All names of a user are one user: sessions from before the account was linked count")
    func names() async throws {
        let links = AccountLinks(Secret("a key of accounts in the tests, 32 bytes"), trusted: [.default])
        let bench = Bench(browser: 1, accounts: links)
        func signIn(_ subject: String, isVerified: Bool) async throws -> FoundSession {
            let traits: JSONValue = ["email": "ada@example.com", "email_verified": .bool(isVerified)]
            return try await bench.signIn(
                as: Authentication(identity: Identity(id: subject, traits: traits), aal: .aal1, methods: ["oidc"]),
                evidence: ProviderEvidence(provider: "https://idp.example.com", sessionID: nil)
            )
        }
        let other = try await signIn("u2", isVerified: false)
        let own = try await signIn("u1", isVerified: false)
        let account = try await signIn("u1", isVerified: true)
        #expect(!own.session.identity.isAccount && account.session.identity.isAccount)
        #expect(try await bench.live(other, own, account) == [true, false, true])
    }

    @Test("Wherever the store fails, the answer is an outage and nothing is handed out beyond the limit")
    func outage() async throws {
        var outages = 0
        for calls in 0..<20 {
            let bench = Bench(browser: 1)
            let first = try await bench.signIn()
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            guard let reason = try await bench.refusal() else {
                #expect(try await bench.live(first) == [false])
                break
            }
            #expect(reason == .storeUnavailable)
            outages += 1
        }
        #expect((4..<20).contains(outages), "each call of the store was one")
        let bench = Bench(browser: 1)
        try await bench.signIn()
        bench.store.change { $0.failsEnds = true }
        #expect(try await bench.refusal() == .storeUnavailable)
    }
}
