import Cryptography
import EndpointBench
import NIOCore
import NIOPosix
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// Users with browsers, and the client `shop`, which is notified when what it got from them ends.
private struct NoticeBench {
    static let provider = "https://idp.example.com"

    /// A browser of a user.
    struct Browser: Sendable {
        let token: Secret
        let user: NewSession

        var found: FoundSession { FoundSession(key: self.user.key, session: self.user.session) }
    }

    let bench = SignInBench()
    let log: NoticeLog
    let store: ScriptedStore
    let records: RecordAccess
    let sessions: SessionService
    let tokens: TokenService
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    var ends: ProviderSessions { ProviderSessions(records: self.records) }
    var users: UserSessions { UserSessions(sessions: self.sessions) }

    init(_ log: NoticeLog = NoticeLog()) {
        self.log = log
        self.store = ScriptedStore(self.bench.store)
        self.records = RecordAccess(
            store: self.store,
            authority: self.bench.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: self.bench.time.clock,
            notifier: log
        )
        self.sessions = SessionService(
            records: self.records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            providerSessions: ProviderSessions(records: self.records),
            journal: self.bench.audit.journal
        )
        self.tokens = Self.tokens(self.records, self.bench)
    }

    static func tokens(_ records: RecordAccess, _ bench: SignInBench) -> TokenService {
        TokenService(
            records: records,
            refreshTokens: RefreshTokenAuthority(current: Secret("a secret of the tests")),
            apis: APIDirectory([]),
            lifetimes: SessionSettings().native,
            devices: DeviceObserver(directory: nil),
            limiter: LocalRateLimiter(clock: bench.time.clock),
            journal: bench.audit.journal
        )
    }

    static func user(_ id: String) -> Authentication {
        Authentication(identity: Identity(id: id, traits: [:]), aal: .aal1, methods: ["oidc"])
    }

    func requester(_ browser: Browser? = nil) throws -> Requester {
        try self.bench.requester(cookies: browser.map { [$0.token] } ?? [])
    }

    func signIn(_ id: String = "ada", at sid: String? = nil, replacing former: [Browser] = []) async throws -> Browser {
        let begun = try await self.sessions.replace(
            former.map(\.found),
            with: Self.user(id),
            SessionTerms(.web),
            evidence: ProviderEvidence(provider: Self.provider, sessionID: sid),
            for: try self.requester()
        )
        let key = try #require(self.bench.authority.key(.session, of: begun.token.bytes))
        return Browser(token: begun.token, user: NewSession(key: key, session: begun.session))
    }

    /// Notes that a client gets tokens whose id_token has this `sid`, in a lineage of their own.
    func grant(_ sid: String, to client: String = "shop", in user: NewSession) async throws {
        var settings = ClientSettings(clientID: client)
        settings.backchannelLogoutURI = "https://\(client).example.com/logout"
        var own = user.session
        own.id = sid
        own.lineage = self.bench.authority.newLineage()
        try await self.tokens.note(settings, gets: own, in: user)
    }

    func signOut(_ browser: Browser) async throws {
        _ = try await self.sessions.signOutBrowser(of: try self.requester(browser))
    }

    /// What is noted of a lineage.
    func noted(_ lineage: Lineage) async throws -> [ClientSessions.Entry] {
        let key = try #require(self.bench.authority.clientSessionKeys(in: lineage).first)
        return try await self.store.replaceable(key, as: ClientSessions.self, on: self.loop).get()?.record.entries ?? []
    }

    /// A browser's session on a host that a transfer token of this lineage made.
    func transferred(in lineage: Lineage, on host: String = SignInBench.host) async throws -> Browser {
        let (token, key) = self.bench.authority.make(.session, in: lineage)
        let session = Session(
            id: self.bench.authority.newSessionID(),
            kind: .web,
            origin: .transfer,
            lineage: lineage,
            identity: Identity(id: "ada", traits: [:]),
            host: host,
            aal: .aal1,
            methods: [],
            authenticatedAt: self.bench.time.now,
            issuedAt: self.bench.time.now,
            expiresAt: self.bench.time.now.advanced(by: .seconds(600)),
            idleLifetime: .seconds(600)
        )
        let user = NewSession(key: key, session: session)
        try await self.store.create(user, on: self.loop).get()
        return Browser(token: token, user: user)
    }

    /// Waits until exactly these sessions have been notified.
    func expectNotified(_ sessions: [String]) async throws {
        try await waitUntil("\(sessions), not \(self.log.sessions)") { self.log.sessions == sessions }
    }
}

@Suite("Which clients are notified of which ends")
struct ClientNoticeTests {
    @Test("A sign-out notifies the clients of this browser's session, once, and no other")
    func signOut() async throws {
        let bench = NoticeBench()
        let (one, other) = (try await bench.signIn(), try await bench.signIn())
        try await bench.grant("a", in: one.user)
        try await bench.grant("b", to: "bank", in: one.user)
        try await bench.grant("c", in: other.user)
        try await bench.signOut(one)
        #expect(bench.log.sessions == ["bank b", "shop a"])
        let ended = try #require(bench.log.notices.first)
        #expect(ended.ended.allSatisfy { $0.userID == "ada" && $0.realm == Realm.default.name } && !ended.isWholeUser)
        try await bench.signOut(one)
        try await bench.signOut(other)
        #expect(bench.log.sessions == ["bank b", "shop a", "shop c"])
    }

    @Test("Nothing is noted of a client without a URL")
    func unnoted() async throws {
        let bench = NoticeBench()
        let browser = try await bench.signIn()
        let before = bench.store.replacements.count
        try await bench.tokens.note(ClientSettings(clientID: "plain"), gets: browser.user.session, in: browser.user)
        #expect(bench.store.replacements.count == before)
        try await bench.signOut(browser)
        #expect(bench.log.notices.isEmpty)
    }

    private final class Answer: Sendable {
        let hasCome = Mutex(false)
    }

    @Test("A sign-out waits until each client was tried")
    func waits() async throws {
        let bench = NoticeBench()
        let browser = try await bench.signIn()
        try await bench.grant("a", in: browser.user)
        bench.log.hold()
        let answer = Answer()
        async let signedOut: Void = {
            try await bench.signOut(browser)
            answer.hasCome.withLock { $0 = true }
        }()
        try await waitUntil("the notice") { bench.log.heldCount == 1 }
        #expect(!answer.hasCome.withLock { $0 })
        bench.log.release()
        try await signedOut
    }

    @Test("A sign-out waits no longer than for the first tries of a client that does not answer")
    func bound() async throws {
        let bench = NoticeBench(NoticeLog(longestWait: .milliseconds(10)))
        let browser = try await bench.signIn()
        try await bench.grant("a", in: browser.user)
        bench.log.hold()
        // Without the bound it would never return.
        try await bench.signOut(browser)
        try await waitUntil("the notice") { bench.log.heldCount == 1 }
        bench.log.release()
    }

    @Test("An operator's end does not wait for clients")
    func operatorEnd() async throws {
        let bench = NoticeBench()
        let browser = try await bench.signIn()
        try await bench.grant("a", in: browser.user)
        bench.log.hold()
        try await bench.users.end(browser.found, by: "ops", for: try bench.requester())
        try await bench.expectNotified(["shop a"])
        bench.log.release()
    }

    @Test("A user who ends other sessions keeps the clients of the present one")
    func others() async throws {
        let bench = NoticeBench()
        let (here, there) = (try await bench.signIn(), try await bench.signIn())
        try await bench.grant("a", in: here.user)
        try await bench.grant("b", in: there.user)
        #expect(try await bench.users.endOthers(than: here.found, for: try bench.requester()) == 1)
        #expect(bench.log.sessions == ["shop b"])
    }

    @Test("The end of all sessions of a user is one notice that says so, and nobody else's client is in it")
    func everywhere() async throws {
        let bench = NoticeBench()
        let (one, two, brian) = (try await bench.signIn(), try await bench.signIn(), try await bench.signIn("brian"))
        for (sid, browser) in [("a", one), ("b", two), ("c", brian)] { try await bench.grant(sid, in: browser.user) }
        let names = UserNames(own: ["ada"], accounts: [])
        #expect(try await bench.users.endAll(of: names, by: "ops", for: try bench.requester()))
        try await bench.expectNotified(["shop a", "shop b"])
        #expect(bench.log.notices.map(\.isWholeUser) == [true])
    }

    @Test("The clients of a user who was removed from the settings are notified, although the sessions stay")
    func removed() async throws {
        let bench = NoticeBench()
        let (one, brian) = (try await bench.signIn(), try await bench.signIn("brian"))
        for (sid, browser) in [("a", one), ("b", brian)] { try await bench.grant(sid, in: browser.user) }
        await bench.ends.noteRemoval(of: "ada")
        try await bench.expectNotified(["shop a"])
        #expect(bench.log.notices.map(\.isWholeUser) == [true])
        #expect(try await bench.sessions.living(one.user.key) != nil)
    }

    @Test("A user of the provider's own cookie is found at the end of all sessions, although no list has the cookie")
    func foreign() async throws {
        let bench = NoticeBench()
        var session = try await bench.signIn().user.session
        session.lineage = bench.bench.authority.newLineage()
        let key = RecordKey(kind: .foreignSession, lineage: session.lineage, digest: SHA256.digest([1]))
        try await bench.grant("a", in: NewSession(key: key, session: session))
        try await bench.ends.end(subject: "ada")
        try await bench.expectNotified(["shop a"])
        #expect(bench.log.notices.map(\.isWholeUser) == [true])
    }

    @Test("The provider ends a session by its sid, or all by the subject")
    func provider() async throws {
        let bench = NoticeBench()
        let (one, two) = (try await bench.signIn(at: "s-1"), try await bench.signIn(at: "s-2"))
        try await bench.grant("a", in: one.user)
        try await bench.grant("b", in: two.user)
        try await bench.ends.end(session: "s-1", at: NoticeBench.provider)
        try await bench.expectNotified(["shop a"])
        try await bench.ends.end(subject: "ada")
        try await bench.expectNotified(["shop a", "shop b"])
        #expect(bench.log.notices.map(\.isWholeUser) == [false, true])
    }

    @Test("A provider that refuses to renew its tokens ends the session, and its clients are notified")
    func invalidGrant() async throws {
        let (bench, log) = (GrantBench(), NoticeLog())
        let node = bench.node(notifier: log)
        let holder = try await bench.signIn(node)
        let records = RecordAccess(
            store: bench.store,
            authority: bench.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: bench.time.clock
        )
        var shop = ClientSettings(clientID: "shop")
        shop.backchannelLogoutURI = "https://shop.example.com/logout"
        let user = NewSession(key: holder.key, session: holder.session)
        try await NoticeBench.tokens(records, SignInBench()).note(shop, gets: holder.session, in: user)
        bench.provider.script(.later(nil), .ended)
        bench.time.advance(by: .seconds(240))
        try await bench.use(holder, at: node)
        #expect(log.notices.isEmpty, "an outage ends nothing")
        bench.time.advance(by: .seconds(60))
        try await bench.use(holder, at: node)
        #expect(try await bench.session(holder) == nil)
        try await waitUntil("the notice") { log.sessions == ["shop \(holder.session.id)"] }
    }

    @Test("After a session that another device presented has ended, its clients are notified and its tokens revoked")
    func otherDevice() async throws {
        let (bench, log) = (GrantBench(isShared: true), NoticeLog())
        let node = bench.node(notifier: log)
        let holder = try await bench.signIn(node)
        let ended = NewSession(key: holder.key, session: holder.session)
        var shop = ClientSettings(clientID: "shop")
        shop.backchannelLogoutURI = "https://shop.example.com/logout"
        try await node.tokens.note(shop, gets: holder.session, in: ended)
        try await bench.store.end(holder.session.lineage, on: MultiThreadedEventLoopGroup.singleton.next()).get()
        node.grants.noteEnd(of: ended)
        try await waitUntil("the notice") { log.sessions == ["shop \(holder.session.id)"] }
        try await bench.settled(node)
        #expect(bench.provider.revoked.count == 1)
    }

    @Test("A new sign-in of the user in the browser keeps its clients; one of another person notifies them")
    func replaced() async throws {
        let bench = NoticeBench()
        let first = try await bench.signIn()
        try await bench.grant("a", in: first.user)
        let second = try await bench.signIn(replacing: [first])
        try await waitUntil("the move") { try await bench.noted(second.user.session.lineage).count == 1 }
        #expect(bench.log.notices.isEmpty)
        #expect(try await bench.noted(first.user.session.lineage).isEmpty)
        _ = try await bench.signIn("brian", replacing: [second])
        try await bench.expectNotified(["shop a"])
    }

    @Test("A new sign-in of the user under another name notifies the clients, which know the former name")
    func renamed() async throws {
        let bench = NoticeBench()
        let first = try await bench.signIn()
        try await bench.grant("a", in: first.user)
        var user = NoticeBench.user("ada")
        user.identity = user.identity.linked(to: "account-1")
        let next = try await bench.sessions.replace(
            [first.found],
            with: user,
            SessionTerms(.web),
            for: try bench.requester()
        )
        #expect(next.session.identity.isSamePerson(as: first.user.session.identity))
        try await bench.expectNotified(["shop a"])
        #expect(bench.log.notices.first?.ended.map(\.userID) == ["ada"])
    }

    @Test("Of two browsers with one handoff's lineage, a sign-out notifies the clients of its own")
    func handedOff() async throws {
        let bench = NoticeBench()
        let lineage = bench.bench.authority.newLineage()
        let (one, two) = (try await bench.transferred(in: lineage), try await bench.transferred(in: lineage))
        try await bench.grant("a", in: one.user)
        try await bench.grant("b", in: two.user)
        try await bench.signOut(one)
        #expect(bench.log.sessions == ["shop a"])
        try await bench.sessions.endLineage(lineage)
        try await bench.expectNotified(["shop a", "shop b"])
    }

    @Test("A session that has expired notifies nobody, not even when its browser signs out")
    func expiry() async throws {
        let bench = NoticeBench()
        let browser = try await bench.signIn()
        try await bench.grant("a", in: browser.user)
        bench.bench.time.advance(by: .seconds(400 * 86_400))
        try await bench.signOut(browser)
        #expect(bench.log.notices.isEmpty)
    }

    @Test("An end that fails notifies nobody, and its repetition does")
    func outage() async throws {
        let bench = NoticeBench()
        let browser = try await bench.signIn()
        try await bench.grant("a", in: browser.user)
        bench.store.fail(with: .unavailable)
        await #expect(throws: NotDone.self) { try await bench.signOut(browser) }
        #expect(bench.log.notices.isEmpty)
        bench.store.fail(with: nil)
        try await bench.signOut(browser)
        #expect(bench.log.sessions == ["shop a"])
    }

    @Test("A client with many sessions displaces no other from a full record, and the record is read as it was written")
    func capacity() async throws {
        let bench = NoticeBench()
        let user = try await bench.signIn().user
        func entry(_ client: String, _ number: Int) -> ClientSessions.Entry {
            ClientSessions.Entry(clientID: client, sessionID: "\(client)-\(number)", root: user.key)
        }
        var record = ClientSessions(of: user.session, since: bench.bench.time.now)
        record.add(entry("bank", 0), until: user.session.expiresAt)
        for number in 0..<70 { record.add(entry("shop", number), until: user.session.expiresAt) }
        #expect(record.entries == [entry("bank", 0)] + (7..<70).map { entry("shop", $0) })
        record.add(entry("shop", 69), until: user.session.expiresAt)
        #expect(record.entries.count == 64)
        #expect(try ClientSessions.decoded(try record.encoded()) == record)
    }
}
