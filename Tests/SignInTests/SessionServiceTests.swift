import AddressIntelligence
import EndpointBench
import NIOCore
import Observability
import Providers
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Beginning, replacing and ending sessions")
struct SessionServiceTests {
    private let bench = SignInBench()

    private func begin(
        _ terms: SessionTerms,
        _ authentication: Authentication = SwitchedProvider.alice
    ) async throws -> (token: Secret, session: Session) {
        try await self.bench.sessions.begin(authentication, terms, for: try self.bench.requester())
    }

    private func found(_ token: Secret) async throws -> FoundSession { try await self.bench.sessions.native(token) }

    private func isLive(_ token: Secret) async throws -> Bool {
        let requester = try self.bench.requester(cookies: [token])
        let native = try await SessionService.ifAny(try await self.bench.sessions.native(token))
        let web = try await SessionService.ifAny(try await self.bench.sessions.web(requester))
        return native != nil || web != nil
    }

    @Test("A session has the user, the method, the time and the host on which it is valid")
    func begin() async throws {
        let long = self.bench.time.now.advanced(by: .seconds(-300))
        let proof = Authentication(
            identity: Identity(id: "u1", traits: ["email": "u1@example.com"]),
            aal: .aal2,
            methods: ["oidc", "totp"],
            authenticatedAt: long
        )
        let native = try await self.begin(SessionTerms(.native), proof).session
        #expect(native.identity == proof.identity && native.aal == .aal2 && native.methods == ["oidc", "totp"])
        #expect(native.authenticatedAt == long && native.issuedAt == self.bench.time.now)
        #expect(native.kind == .native && native.origin == .native && native.host == nil)
        #expect(native.clientID == nil && native.scopes.isEmpty)
        #expect(native.device?.userAgent == "Agent/1" && native.device?.address.description == "192.0.2.1")
        let web = try await self.begin(SessionTerms(.web)).session
        #expect(web.kind == .web && web.origin == .browser && web.host == SignInBench.host)
        #expect(web.authenticatedAt == self.bench.time.now && web.clientID == nil && web.scopes.isEmpty)
        #expect(web.lineage != native.lineage && web.id != native.id)
        let records = self.bench.audit.records
        #expect(
            records.map(\.act) == [.session(.signedIn, .native), .session(.signedIn, .web)]
                && records.map(\.subject) == ["u1", "9f1c"]
        )
        #expect(records.map(\.sessionID) == [native.id, web.id])
    }

    @Test(
        "A session that is replaced ends, and the record names both sessions",
        arguments: [Session.Kind.web, .native]
    )
    func replace(_ kind: Session.Kind) async throws {
        let old = try await self.begin(SessionTerms(kind))
        let requester = try self.bench.requester(cookies: kind == .web ? [old.token] : [])
        let former =
            kind == .web ? try await self.bench.sessions.presented(by: requester) : [try await self.found(old.token)]
        let stronger = Authentication(
            identity: SwitchedProvider.alice.identity,
            aal: .aal2,
            methods: ["password", "totp"]
        )
        let begun = try await self.bench.sessions.replace(former, with: stronger, SessionTerms(kind), for: requester)
        let (token, session) = (begun.token, begun.session)
        #expect(session.aal == .aal2 && session.id != old.session.id && session.lineage != old.session.lineage)
        #expect(try await self.isLive(token))
        #expect(try await !self.isLive(old.token))
        #expect(self.bench.audit.records.last?.sessionID == session.id)
        #expect(self.bench.audit.records.last?.endedSessionID == old.session.id)
    }

    @Test("A session whose beginning cannot be recorded, or for which there is no room, is not handed out")
    func unavailable() async throws {
        self.bench.audit.fill()
        let requester = try self.bench.requester()
        func refusal(_ sessions: SessionService) async -> Reason? {
            await Result(try await sessions.begin(SwitchedProvider.alice, SessionTerms(.web), for: requester))
                .error?.reason
        }
        #expect(await refusal(self.bench.sessions) == .gatewayOverloaded)
        #expect(self.bench.store.sessionCount == 0)
        let full = SignInBench(room: 1)
        #expect(await refusal(full.sessions) == nil)
        #expect(await refusal(full.sessions) == .storeFull)
        #expect(full.audit.records.count == 1)
    }

    @Test("A session ends by its key, by its lineage, and by its owner's sign-out")
    func ends() async throws {
        let tokens = [
            try await self.begin(SessionTerms(.native)).token, try await self.begin(SessionTerms(.native)).token,
            try await self.begin(SessionTerms(.native)).token,
        ]
        let found = [try await self.found(tokens[0]), try await self.found(tokens[1]), try await self.found(tokens[2])]
        #expect(try await self.bench.sessions.endOne(found[0].key))
        #expect(try await !self.bench.sessions.endOne(found[0].key), "it was there no more")
        try await self.bench.sessions.endLineage(found[1].session.lineage)
        try await self.bench.sessions.endWithDependents(found[2])
        for token in tokens { #expect(try await !self.isLive(token)) }
    }

    @Test("A presented token ends only a session of its own kind on its own host")
    func endsPresented() async throws {
        let (native, web) = (try await self.begin(SessionTerms(.native)), try await self.begin(SessionTerms(.web)))
        let sessions = self.bench.sessions
        let here = try self.bench.requester(cookies: [native.token, web.token])
        let elsewhere = try self.bench.requester(host: "other.example.com", cookies: [web.token])
        #expect(try await sessions.signOutBrowser(of: elsewhere).isEmpty)
        await #expect(throws: NotDone(.sessionUnknown)) { try await sessions.signOutApp(web.token, for: here) }
        await #expect(throws: NotDone(.credentialMalformed)) { try await sessions.signOutApp(Secret("x"), for: here) }
        let foreign = TokenAuthority(secret: Secret("another secret"))
        let other = foreign.make(.session, in: foreign.newLineage()).token
        await #expect(throws: NotDone(.credentialOtherKey)) { try await sessions.signOutApp(other, for: here) }
        for token in [native.token, web.token] { #expect(try await self.isLive(token)) }
        #expect(try await sessions.signOutBrowser(of: here).count == 1)
        #expect(try await self.isLive(native.token), "a cookie ends no app's session")
        #expect(try await !self.isLive(web.token))
        for _ in 0..<2 { try await sessions.signOutApp(native.token, for: here) }
        #expect(try await !self.isLive(native.token))
        let ends = self.bench.audit.records.filter { $0.reason == .sessionSignedOut }
        #expect(ends.map(\.sessionID) == [web.session.id, native.session.id])
    }

    @Test(
        "A browser sign-in replaces every session that its cookies present on this host; a native sign-in replaces none"
    )
    func signIn() async throws {
        let (first, second) = (try await self.begin(SessionTerms(.web)), try await self.begin(SessionTerms(.web)))
        let cookies = [first.token, second.token]
        #expect(try await self.bench.attempt(kind: .native, cookies: cookies) == .signedIn)
        #expect(try await self.isLive(first.token))
        #expect(try await self.bench.attempt(kind: .web, cookies: cookies) == .signedIn)
        for token in cookies { #expect(try await !self.isLive(token)) }
        let record = try #require(self.bench.audit.records.last)
        #expect(record.endedSessionID == first.session.id && record.account?.count == 22)
        #expect(record.auditEvent?.account == record.account)
    }
}
