import EndpointBench
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

    init() {
        let bench = self.bench
        let ends = ProviderSessions(records: bench.records)
        self.sessions = SessionService(
            records: bench.records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            providerSessions: ends,
            cascade: SessionCascade(store: bench.store),
            journal: bench.audit.journal
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
}
