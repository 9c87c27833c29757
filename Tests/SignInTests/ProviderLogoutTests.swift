import EndpointBench
import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// A provider whose logout tokens are texts: `jti sub sid`, with `-` for what is not there, and `all` behind them if it
/// names every session.
private struct TextualLogout: LogoutProvider {
    static let issuer = "https://idp.example.com"
    let name = Self.issuer
    let expiresAt: UnixTime

    func logoutToken(_ token: Secret) async throws(NotDone) -> LogoutToken {
        let parts = String(decoding: token.bytes, as: UTF8.self).split(separator: " ").map(String.init)
        guard (3...4).contains(parts.count) else {
            throw parts == ["away"]
                ? NotDone(.providerUnavailable) : NotDone(.logoutInvalidToken, detail: "syntax")
        }
        func value(_ text: String) -> String? { text == "-" ? nil : text }
        return LogoutToken(
            id: parts[0],
            subject: value(parts[1]),
            sessionID: value(parts[2]),
            namesEverySession: parts.last == "all",
            expiresAt: self.expiresAt
        )
    }
}

@Suite("Sign-outs that the provider asks for")
struct ProviderLogoutTests {
    private let bench = SignInBench()
    private let sessions: SessionService
    private let logout: ProviderLogout
    private let store: ScriptedStore
    private let ends: ProviderSessions
    /// The same as `sessions`, of a provider whose users are accounts.
    private let linked: SessionService
    private let tokens: TokenService

    init() {
        let bench = self.bench
        self.store = ScriptedStore(bench.store)
        let records = RecordAccess(
            store: self.store,
            authority: bench.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: bench.time.clock
        )
        let ends = ProviderSessions(records: records)
        func sessions(_ accounts: AccountLinks?) -> SessionService {
            SessionService(
                records: records,
                settings: SessionSettings(),
                devices: DeviceObserver(directory: nil),
                providerSessions: ends,
                accounts: accounts,
                cascade: SessionCascade(store: bench.store),
                journal: bench.audit.journal
            )
        }
        self.ends = ends
        self.sessions = sessions(nil)
        let links = AccountLinks(Secret("a key of accounts in the tests, 32 bytes"), trusted: [.default])
        self.linked = sessions(links)
        self.tokens = TokenService(
            records: records,
            refreshTokens: RefreshTokenAuthority(current: Secret("a secret of the tests")),
            apis: APIDirectory([]),
            lifetimes: SessionSettings().native,
            devices: DeviceObserver(directory: nil),
            limiter: LocalRateLimiter(clock: bench.time.clock),
            journal: bench.audit.journal,
            accounts: links,
            ends: ends
        )
        self.logout = ProviderLogout(
            provider: TextualLogout(expiresAt: bench.time.now.advanced(by: .seconds(360))),
            ends: ends,
            users: UserSessions(sessions: self.sessions)
        )
    }

    private func signIn(_ subject: String, at sid: String?) async throws -> Secret {
        try await self.sessions.begin(
            Authentication(identity: Identity(id: subject, traits: [:]), aal: .aal1, methods: ["oidc"]),
            SessionTerms(.web),
            evidence: ProviderEvidence(provider: TextualLogout.issuer, sessionID: sid),
            for: try self.bench.requester()
        ).token
    }

    /// A user of the provider who is the account with this address.
    private static func account(_ subject: String, _ email: String = "ada@example.com") -> Authentication {
        let traits: JSONValue = ["email": .string(email), "email_verified": true]
        return Authentication(identity: Identity(id: subject, traits: traits), aal: .aal1, methods: ["oidc"])
    }

    private func lives(_ token: Secret) async throws -> Bool {
        let requester = try self.bench.requester(cookies: [token])
        return try await SessionService.ifAny(try await self.sessions.web(requester)) != nil
    }

    /// Why the token is not obeyed; nil: it is.
    private func obey(_ token: String) async throws -> Reason? {
        let requester = try self.bench.requester()
        return await Result(try await self.logout.obey(Secret(token), for: requester)).error?.reason
    }

    /// The same for a frame of the provider.
    private func end(_ sessionID: String, of issuer: String, for requester: Requester) async -> Reason? {
        await Result(try await self.logout.end(sessionID, of: issuer, for: requester)).error?.reason
    }

    @Test("A sid ends the sessions that began with it, and no others of the subject")
    func bySession() async throws {
        let (phone, laptop, other) = (
            try await self.signIn("ada", at: "s-1"), try await self.signIn("ada", at: "s-1"),
            try await self.signIn("ada", at: "s-2")
        )
        #expect(try await self.obey("l-1 ada s-1") == nil)
        #expect(try await [self.lives(phone), self.lives(laptop), self.lives(other)] == [false, false, true])
        #expect(self.bench.audit.records.last?.reason == .sessionProviderSignedOut)
    }

    @Test("Of more sign-ins with one sid than are kept, the oldest ends, as no logout would find it")
    func manySignIns() async throws {
        var tokens: [Secret] = []
        for _ in 0..<65 { tokens.append(try await self.signIn("ada", at: "sid-1")) }
        #expect(try await !self.lives(tokens[0]))
        for token in tokens.dropFirst() { #expect(try await self.lives(token)) }
        #expect(try await self.obey("jti-1 - sid-1") == nil)
        for token in tokens { #expect(try await !self.lives(token)) }
    }

    @Test("A sub alone ends all sessions of the subject, and nobody else's")
    func bySubject() async throws {
        let (one, two, brian) = (
            try await self.signIn("ada", at: "s-1"), try await self.signIn("ada", at: nil),
            try await self.signIn("brian", at: "s-3")
        )
        #expect(try await self.obey("l-1 ada -") == nil)
        #expect(try await [self.lives(one), self.lives(two), self.lives(brian)] == [false, false, true])
    }

    @Test(
        "A sub ends the sessions of every name: of before a reload that put the provider beside others, and of after it",
        arguments: ["ada -", "ada s-9", "ada s-9 all"]
    )
    func everyName(logout: String) async throws {
        let (plain, marked) = (try await self.signIn("ada", at: nil), try await self.signIn("default|ada", at: nil))
        let other = try await self.signIn("default|adam", at: nil)
        #expect(try await self.obey("l-1 \(logout)") == nil)
        #expect(try await [self.lives(plain), self.lives(marked), self.lives(other)] == [false, false, true])
        #expect(self.cascade.first?.details.map(\.1) == ["back-channel", "2"])
    }

    @Test("A sub ends the account of a user who signed in under another name, and the sign-in that is under way")
    func everyNameOfAccounts() async throws {
        let evidence = ProviderEvidence(provider: TextualLogout.issuer, sessionID: nil)
        for id in ["ada", "default|ada"] {
            let requester = try self.bench.requester()
            let token = try await self.linked.begin(
                Self.account(id),
                SessionTerms(.web),
                evidence: evidence,
                for: requester
            ).token
            #expect(try await self.lives(token))
            #expect(try await self.obey("l-\(id) ada -") == nil)
            #expect(try await !self.lives(token))
        }
        let refused = try await self.refusal("default|ada", at: nil) {
            let refusal = try await self.obey("l-9 ada -")
            #expect(refusal == nil)
        }
        #expect(refused == .signInEnded)
    }

    @Test(
        "What a user ends at the provider itself is found under every name of the user",
        arguments: ["ada", "default|ada"]
    )
    func everyNameOfPassedEnds(user: String) async throws {
        for (id, session) in [("ada", "s-1"), ("default|ada", "s-2"), ("brian", "s-3")] {
            _ = try await self.signIn(id, at: session)
        }
        let ends = ForwardedSignOuts(sessions: self.sessions, provider: TextualLogout.issuer)
        #expect(try await ends.lineages(of: user, besides: "s-9", []).count == 2)
        #expect(try await ends.lineages(of: user, besides: "s-1", []).count == 1)
        for (session, isKnown) in [("s-1", true), ("s-2", true), ("s-3", false)] {
            #expect(try await ends.isKnown(session, of: user) == isKnown, "\(session)")
        }
    }

    @Test("The sessions of a user whose id has the same characters in other bytes are another user's")
    func lookalikes() async throws {
        let token = try await self.signIn("re\u{301}my", at: nil)
        let users = UserSessions(sessions: self.sessions)
        #expect(try await users.all(of: "r\u{E9}my").isEmpty)
        #expect(try await users.all(of: "re\u{301}my").count == 1)
        #expect(try await self.lives(token))
    }

    @Test("Where the id_tokens of the provider had no sid, the sub of its logout token decides")
    func unknownSession() async throws {
        let session = try await self.signIn("ada", at: nil)
        #expect(try await self.obey("l-1 - s-9") == nil)
        #expect(try await self.lives(session))
        #expect(try await self.obey("l-2 ada s-9") == nil)
        #expect(try await !self.lives(session))
    }

    @Test("Where the provider names every session, a sid that is not known ends nothing else of the subject")
    func endedSession() async throws {
        let phone = try await self.signIn("ada", at: "s-1")
        #expect(try await self.obey("l-1 ada s-9 all") == nil)
        #expect(try await self.lives(phone))
        #expect(try await self.obey("l-2 ada s-1 all") == nil)
        #expect(try await !self.lives(phone))
        let laptop = try await self.signIn("ada", at: "s-2")
        #expect(try await self.obey("l-3 ada - all") == nil)
        #expect(try await !self.lives(laptop))
    }

    @Test("A provider that says it names every session has not named this one: a sid that is not known ends it")
    func unnamedSession() async throws {
        let (unnamed, again) = (try await self.signIn("ada", at: nil), try await self.signIn("ada", at: nil))
        let named = try await self.signIn("ada", at: "s-2")
        let brian = try await self.signIn("brian", at: nil)
        #expect(try await self.obey("l-1 - s-9 all") == nil)
        #expect(try await self.lives(unnamed), "the token names no subject")
        #expect(try await self.obey("l-2 ada s-9 all") == nil)
        #expect(try await [self.lives(unnamed), self.lives(again)] == [false, false])
        #expect(try await [self.lives(named), self.lives(brian)] == [true, true])
        #expect(self.cascade.first?.details.map(\.1) == ["back-channel", "2"])
        let later = try await self.signIn("ada", at: nil)
        #expect(try await self.obey("l-3 ada s-2 all") == nil)
        #expect(try await [self.lives(named), self.lives(later)] == [false, true], "s-2 is known")
    }

    @Test("A sid that the provider uses again works for a new sign-in, and an old logout token does not end it")
    func reuse() async throws {
        let first = try await self.signIn("ada", at: "s-1")
        _ = try await self.sessions.signOutBrowser(of: try self.bench.requester(cookies: [first]))
        let second = try await self.signIn("ada", at: "s-1")
        #expect(try await self.lives(second))
        #expect(try await self.obey("l-1 ada s-1") == nil)
        #expect(try await !self.lives(second))
        let third = try await self.signIn("ada", at: "s-1")
        #expect(try await self.obey("l-1 ada s-1") == .logoutReplayed)
        #expect(try await self.lives(third))
        #expect(try await self.obey("l-2 ada s-1") == nil)
        #expect(try await !self.lives(third))
    }

    /// Why a sign-in of this user begins no session; nil: it does. The provider is asked, and `meanwhile` happens.
    ///
    /// - Parameter age: How old the id_token is when the provider is asked.
    private func refusal(
        _ subject: String,
        at sid: String?,
        age: Duration = .zero,
        _ meanwhile: () async throws -> Void = {}
    ) async throws -> Reason? {
        let askedAt = self.bench.time.now
        self.bench.time.advance(by: .milliseconds(600))
        try await meanwhile()
        let evidence = ProviderEvidence(
            provider: TextualLogout.issuer,
            sessionID: sid,
            issuedAt: askedAt.advanced(by: .zero - age),
            askedAt: askedAt
        )
        let requester = try self.bench.requester()
        let user = Authentication(identity: Identity(id: subject, traits: [:]), aal: .aal1, methods: ["oidc"])
        let begun = await Result(
            try await self.sessions.begin(user, SessionTerms(.web), evidence: evidence, for: requester)
        )
        return begun.error?.reason
    }

    @Test(
        "A logout that comes while the provider is asked ends the sign-in, too",
        arguments: [
            ("s-1", "- s-1"), ("s-1", "ada s-1"), ("s-1", "ada s-1 all"), ("s-1", "ada -"), (nil, "ada -"),
            (nil, "ada s-9"), (nil, "ada s-9 all"), ("s-1", "ada s-9"),
        ] as [(String?, String)]
    )
    func underWay(sid: String?, logout: String) async throws {
        let reason = try await self.refusal("ada", at: sid) {
            let refusal = try await self.obey("l-1 \(logout)")
            #expect(refusal == nil)
        }
        #expect(reason == .signInEnded)
        #expect(self.bench.store.sessionCount == 0)
        let record = try #require(self.bench.audit.records.last)
        #expect(record.act == .session(.refused(.signInEnded), .web) && record.subject == "ada")
        #expect(record.provider == TextualLogout.issuer)
        self.bench.time.advance(by: .seconds(1))
        #expect(try await self.refusal("ada", at: sid) == nil, "the next sign-in is good")
    }

    @Test(
        "A logout of others ends no sign-in",
        arguments: [
            ("s-1", "- s-2"), ("s-1", "brian -"), ("s-1", "ada s-2 all"), (nil, "brian s-9 all"), (nil, "- s-9 all"),
        ] as [(String?, String)]
    )
    func others(sid: String?, logout: String) async throws {
        let reason = try await self.refusal("ada", at: sid) {
            let refusal = try await self.obey("l-1 \(logout)")
            #expect(refusal == nil)
        }
        #expect(reason == nil)
    }

    @Test("An id_token from before the logout of its sid begins no session, and one from afterwards does")
    func olderToken() async throws {
        // Known here or not.
        _ = try await self.signIn("ada", at: "s-1")
        for (number, sid) in ["s-1", "s-2"].enumerated() {
            #expect(try await self.obey("l-\(number) - \(sid)") == nil)
            self.bench.time.advance(by: .seconds(10))
            #expect(try await self.refusal("ada", at: sid, age: .seconds(11)) == .signInEnded)
            #expect(try await self.refusal("ada", at: sid, age: .seconds(3600)) == .signInEnded)
            #expect(try await self.refusal("ada", at: sid, age: .seconds(8)) == nil)
            #expect(try await self.refusal("ada", at: "s-3", age: .seconds(3600)) == nil)
        }
    }

    @Test("A sign-in right after a sign-out everywhere is good, wherever the provider's clock is")
    func afterwards() async throws {
        for age in [Duration.seconds(-50), .zero, .seconds(50)] {
            let requester = try self.bench.requester()
            let names = UserNames(own: ["ada"], accounts: [])
            _ = try await UserSessions(sessions: self.sessions).endAll(of: names, for: requester)
            self.bench.time.advance(by: .milliseconds(1))
            #expect(try await self.refusal("ada", at: "s-1", age: age) == nil)
        }
        #expect(try await self.obey("l-1 ada -") == nil)
        self.bench.time.advance(by: .milliseconds(1))
        #expect(try await self.refusal("ada", at: "s-1", age: .seconds(50)) == nil, "the sub alone says when")
    }

    @Test("A logout is known before what it ends is looked for, so that a sign-in which is not found yet finds it")
    func order() async throws {
        for (number, logout) in ["- s-1", "ada s-9 all"].enumerated() {
            // The receipt of the token is read, and for the second the sid's end is written and its lineages are read.
            self.store.change { [calls = 2 + 2 * number] in ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls)
            }
            #expect(try await self.obey("l-\(number) \(logout)") == .storeUnavailable)
            self.store.fail(with: nil)
        }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        for name in [
            ProviderSession.endName(of: "s-1", at: TextualLogout.issuer),
            ProviderSession.endName(of: "s-9", at: TextualLogout.issuer),
            ProviderSession.endName(ofUnnamed: "ada", at: TextualLogout.issuer),
        ] { #expect(try await self.bench.store.epoch(of: name, on: loop).get() > 0, "\(name.debugDescription)") }
    }

    /// What the audit stream says of the sessions that the last logout ended.
    private var cascade: [AuditEvent] {
        self.bench.audit.records.last?.auditEvents.filter { $0.kind == .sessionCascaded } ?? []
    }

    @Test("The audit stream says how many sessions a logout of the provider ended, whatever it names them by")
    func counted() async throws {
        for _ in 0..<2 { _ = try await self.signIn("ada", at: "s-1") }
        _ = try await self.signIn("ada", at: "s-2")
        #expect(try await self.obey("l-1 - s-1") == nil)
        #expect(self.cascade.first?.details.map(\.1) == ["back-channel", "2"] && self.cascade.count == 1)
        #expect(self.cascade.first?.session == nil && self.cascade.first?.reason == .sessionRevoked)
        let requester = try self.bench.requester()
        #expect(await self.end("s-2", of: TextualLogout.issuer, for: requester) == nil)
        #expect(self.cascade.first?.details.map(\.1) == ["front-channel", "1"])
        _ = try await self.signIn("ada", at: nil)
        #expect(try await self.obey("l-2 ada -") == nil)
        #expect(self.cascade.first?.details.map(\.1) == ["back-channel", "1"])
        #expect(try await self.obey("l-3 ada -") == nil)
        #expect(self.cascade.isEmpty, "nothing was left to end")
    }

    @Test("A token that is not valid ends nothing; an outage is no refusal")
    func refused() async throws {
        let session = try await self.signIn("ada", at: "s-1")
        #expect(try await self.obey("nonsense") == .logoutInvalidToken)
        #expect(try await self.obey("away") == .providerUnavailable)
        #expect(try await self.lives(session))
    }

    @Test("A frame ends sessions by iss and sid; an unknown sid and another issuer end nothing")
    func frames() async throws {
        let session = try await self.signIn("ada", at: "s-1")
        let requester = try self.bench.requester()
        #expect(await self.end("s-7", of: TextualLogout.issuer, for: requester) == nil)
        let other = await self.end("s-1", of: "https://other.example.com", for: requester)
        #expect(other == .logoutInvalidToken)
        #expect(try await self.lives(session))
        #expect(await self.end("s-1", of: TextualLogout.issuer, for: requester) == nil)
        #expect(try await !self.lives(session))
    }

    @Test("What a sign-in with one sid began under several names of the user is counted")
    func severalNames() async throws {
        let evidence = ProviderEvidence(provider: TextualLogout.issuer, sessionID: "s-1")
        let plain = try await self.signIn("ada", at: "s-1")
        let account = try await self.linked.begin(
            Self.account("ada"),
            SessionTerms(.web),
            evidence: evidence,
            for: try self.bench.requester()
        )
        #expect(account.session.subject.hasPrefix("acc_"))
        let requester = try self.bench.requester()
        #expect(await self.end("s-1", of: TextualLogout.issuer, for: requester) == nil)
        #expect(try await [self.lives(plain), self.lives(account.token)] == [false, false])
        #expect(self.bench.audit.records.last?.cascaded == 2)
    }

    private var app: ClientSettings {
        var client = ClientSettings(clientID: "app")
        client.refreshToken.lifetime = .seconds(90 * 86_400)
        return client
    }

    @Test("The account of a user is known for as long as what was made of its session, and no longer sign-in is needed")
    func outlived() async throws {
        let evidence = ProviderEvidence(provider: TextualLogout.issuer)
        let begun = try await self.linked.begin(
            Self.account("ada"),
            SessionTerms(.web),
            evidence: evidence,
            for: try self.bench.requester()
        )
        let key = try #require(self.bench.authority.key(.session, of: begun.token.bytes))
        let wish = CodeWish(
            client: self.app,
            api: nil,
            scopes: ["openid", "offline_access"],
            redirectURI: nil,
            challenge: nil,
            nonce: nil,
            keyThumbprint: nil
        )
        let user = NewSession(key: key, session: begun.session)
        _ = try await self.tokens.issueCode(wish, to: user, isOfBrowser: true)
        self.bench.time.advance(by: .seconds(89 * 86_400))
        #expect(begun.session.expiresAt < self.bench.time.now)
        let names = try await self.ends.names(of: "ada", in: .default, at: TextualLogout.issuer)
        #expect(names.accounts == [begun.session.subject])
    }

    @Test("What a kit's sign-in gives ends when the provider ends its user, who is an account")
    func kits() async throws {
        let evidence = ProviderEvidence(provider: TextualLogout.issuer)
        let requester = TokenRequester(client: self.app, sender: try self.bench.requester())
        func begin(isOfProvider: Bool) async throws -> NewSession {
            let user = SocialUser(
                proven: ProvenUser(Self.account("ada"), evidence),
                realm: .default,
                isOfProvider: isOfProvider
            )
            let scopes = ["openid", "offline_access"]
            return try await self.tokens.begin(user, for: nil, scopes: scopes, by: requester).session
        }
        // No provider vouches for the address of whom a kit alone names.
        #expect(try await begin(isOfProvider: false).session.subject == "ada")
        let session = try await begin(isOfProvider: true)
        #expect(session.session.subject.hasPrefix("acc_"))
        let users = UserSessions(sessions: self.sessions)
        #expect(try await users.all(of: session.session.subject).count == 1)
        #expect(try await self.obey("l-1 ada -") == nil)
        #expect(try await users.all(of: session.session.subject).isEmpty)
        #expect(self.bench.audit.records.last?.cascaded == 2)
    }
}
