import AddressIntelligence
import NIOCore
import NIOPosix
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// The records that the journal received.
final class Records: Sendable {
    private let records = Mutex<[AuditRecord]>([])
    private let full = Mutex(false)

    var all: [AuditRecord] { self.records.withLock { $0 } }
    var last: AuditRecord? { self.all.last }

    /// True if no more records fit; then nothing may happen that needs one.
    var isFull: Bool {
        get { self.full.withLock { $0 } }
        set { self.full.withLock { $0 = newValue } }
    }

    var journal: AuditJournal {
        AuditJournal { record in
            guard !self.isFull else { return false }
            self.records.withLock { $0.append(record) }
            return true
        }
    }
}

extension AuditRecord {
    /// What happened to the transfer token.
    var outcome: HandoffAct? {
        if case .handoff(let act) = self.act { act } else { nil }
    }
}

/// A signed-in native app: its session token, the key of its session in the store, and the session.
struct NativeApp: Sendable {
    var token: Secret
    var key: RecordKey
    var session: Session
}

/// A gateway's handoff with its environment: a memory store, a clock that stands still, known networks.
final class HandoffBench: Sendable {
    let clock = MovableClock()
    let records = Records()
    let authority = TokenAuthority(secret: Secret("a secret of the tests, 32 bytes or more"))
    let store: ScriptedStore
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let networks: ASNDirectory
    let limiter: LocalRateLimiter
    let rules: RuleBook
    let directory: (any UserDirectory)?

    init(rules: RuleBook = RuleBook(), directory: (any UserDirectory)? = nil) throws {
        self.rules = rules
        self.directory = directory
        self.limiter = LocalRateLimiter(clock: self.clock.clock)
        self.store = ScriptedStore(clock: self.clock.clock)
        self.networks = try Self.directory(
            "1.128.0.0/11,1221\n2001:8000::/19,1221\n12.0.0.0/8,7018\n2600:300::/24,7018\n"
        )
    }

    /// A network directory from these `prefix,asn` lines.
    static func directory(_ lines: String) throws -> ASNDirectory {
        let file = try TemporaryFile(lines)
        defer { file.remove() }
        return try ASNDirectory.open(csv: file.path)
    }

    private var access: RecordAccess {
        RecordAccess(store: self.store, authority: self.authority, loops: self.loop, clock: self.clock.clock)
    }

    func mint(settings: HandoffSettings = HandoffSettings(), limiter: (any RateLimiter)? = nil) -> HandoffMint {
        HandoffMint(
            records: self.access,
            limiter: limiter ?? self.limiter,
            settings: settings,
            asn: self.networks,
            rules: self.rules,
            journal: self.records.journal
        )
    }

    func consumer(
        sessions: SessionSettings = SessionSettings(),
        clients: (any ClientDirectory)? = nil
    ) -> HandoffConsumer {
        HandoffConsumer(
            records: self.access,
            sessions: sessions,
            asn: self.networks,
            directory: self.directory,
            clients: clients,
            rules: self.rules,
            journal: self.records.journal
        )
    }

    /// Signs `subject` in; with a browser's session if `kind` is `web`.
    func signIn(
        _ subject: String = "alice",
        kind: Session.Kind = .native,
        origin: Session.Origin = .native,
        client: String? = nil,
        lifetime: Duration = .seconds(86_400),
        aal: AssuranceLevel = .aal2
    ) async throws -> NativeApp {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let session = Session(
            id: self.authority.newSessionID(),
            kind: kind,
            origin: origin,
            lineage: lineage,
            identity: Identity(id: subject, traits: ["email": .string("\(subject)@example.com")]),
            clientID: client,
            host: kind == .web ? "app.example.com" : nil,
            aal: aal,
            methods: ["password", "totp"],
            scopes: ["orders:write"],
            authenticatedAt: self.clock.now.advanced(by: .seconds(-600)),
            issuedAt: self.clock.now,
            expiresAt: self.clock.now.advanced(by: lifetime),
            idleLifetime: .seconds(86_400)
        )
        try await self.store.create(NewSession(key: key, session: session), on: self.loop).get()
        return NativeApp(token: token, key: key, session: session)
    }

    /// Mints for the app from `address`. Fails the test if minting is refused.
    func minted(
        _ app: NativeApp,
        from address: String = "1.128.0.1",
        for host: String? = nil
    ) async throws -> Secret {
        try await self.mint(for: app, from: address, to: host).token
    }

    /// Asks for a token.
    func mint(
        for app: NativeApp,
        actor: NativeApp? = nil,
        from address: String = "1.128.0.1",
        to host: String? = nil,
        client: ClientSettings = .native,
        by mint: HandoffMint? = nil
    ) async throws -> MintedToken {
        var requester = TokenRequester(
            client: client,
            sender: Requester(
                address: try #require(IPAddress(address)),
                userAgent: "App/1.0",
                authority: "auth.example.com",
                requestID: "req-mint"
            )
        )
        requester.audience = "urn:auth.example.com:session_transfer"
        return try await (mint ?? self.mint())
            .mint(.token(app.token.bytes), actor: actor?.token.bytes, host: host, for: requester)
    }

    /// Why no token is minted; nil if one is.
    func objection(_ mint: () async throws -> MintedToken) async throws -> NotDone? {
        do {
            _ = try await mint()
            return nil
        } catch let error as NotDone {
            return error
        }
    }

    /// The proof that the user of this try has confirmed a token.
    func confirmation(of token: Secret, _ attempt: AttemptSecret, on host: String = "app.example.com") -> [UInt8] {
        self.authority.confirmationMark(of: token.bytes, attempt: attempt.value, on: host)
    }

    func consume(
        _ token: Secret,
        from address: String = "1.128.0.1",
        by transport: HandoffTransport = .cookie,
        host: String = "app.example.com",
        client: ClientSettings = .web,
        existing: (key: RecordKey, session: Session)? = nil,
        existingToken: PresentedToken? = nil,
        mayKeepSession: Bool = true,
        lastAccount: Secret? = nil,
        confirmation: [UInt8]? = nil,
        attempt: AttemptSecret = AttemptSecret(),
        isFirstAttempt: Bool = false
    ) async throws -> HandoffOutcome {
        try await self.judged(
            token,
            from: address,
            by: transport,
            host: host,
            client: client,
            existing: existing,
            existingToken: existingToken,
            mayKeepSession: mayKeepSession,
            lastAccount: lastAccount,
            confirmation: confirmation,
            attempt: attempt,
            isFirstAttempt: isFirstAttempt
        ).outcome
    }

    /// Presents a token, and returns the outcome with the binding that was checked.
    func judged(
        _ token: Secret,
        from address: String = "1.128.0.1",
        by transport: HandoffTransport = .cookie,
        host: String = "app.example.com",
        client: ClientSettings = .web,
        existing: (key: RecordKey, session: Session)? = nil,
        existingToken: PresentedToken? = nil,
        mayKeepSession: Bool = true,
        lastAccount: Secret? = nil,
        confirmation: [UInt8]? = nil,
        attempt: AttemptSecret = AttemptSecret(),
        isFirstAttempt: Bool = false
    ) async throws -> JudgedHandoff {
        var request = HandoffRequest(
            token: token.bytes,
            transport: transport,
            authority: host,
            client: client,
            device: DeviceFacts(address: try #require(IPAddress(address)), asn: nil, userAgent: "Browser/1.0"),
            existing: existing,
            attempt: attempt,
            requestID: "req-consume"
        )
        request.existingToken = existingToken ?? existing.map { .first($0.key) }
        request.mayKeepSession = mayKeepSession
        request.isFirstAttempt = isFirstAttempt
        request.lastAccount = lastAccount
        request.confirmationMark = confirmation
        return try await self.consumer().consume(request, on: self.loop).get()
    }

    /// The live session under `key`, read from the store.
    func session(_ key: RecordKey) async throws -> Session? {
        try await self.store.session(key, on: self.loop).get()?.record
    }

    /// The live session that `token` presents, its key and which of its tokens it is.
    func presented(_ token: Secret) async throws -> (
        existing: (key: RecordKey, session: Session), token: PresentedToken
    )? {
        let presented = try await SuccessorToken.presentation(by: self.key(token), in: self.store, on: self.loop).get()
        guard let session = presented.accepted(at: self.clock.now)?.record else { return nil }
        return ((presented.key, session), presented.token)
    }

    /// The key of a session token.
    func key(_ token: Secret) throws -> RecordKey {
        try #require(self.authority.key(.session, of: token.bytes))
    }
}

struct Unexpected: Error {
    var what: String
}

extension ClientSettings {
    static var native: ClientSettings {
        var client = ClientSettings(clientID: "native-app")
        client.canCreateTransferToken = true
        return client
    }

    static var web: ClientSettings {
        var client = ClientSettings(clientID: "web-app")
        client.allowsCookie = true
        client.allowsQuery = true
        return client
    }

    static func web(_ change: (inout ClientSettings) -> Void) -> ClientSettings {
        var client = ClientSettings.web
        change(&client)
        return client
    }
}

extension HandoffOutcome {
    /// The new session and its token; nil for every other outcome.
    var signedIn: (token: Secret, session: Session, replaces: RecordKey?)? {
        guard case .signedIn(let token, let session, let replaces) = self else { return nil }
        return (token, session, replaces)
    }

    var refusal: Reason? {
        guard case .refused(let reason, _) = self else { return nil }
        return reason
    }

    /// The text of a denial; nil for every other outcome.
    var denial: String?? {
        guard case .denied(_, let text) = self else { return nil }
        return .some(text)
    }

    var endsExisting: Bool {
        guard case .refused(_, let ends) = self else { return false }
        return ends
    }

    var storeError: StoreError? {
        guard case .unavailable(let error) = self else { return nil }
        return error
    }

    var isUnconfirmed: Bool {
        guard case .unconfirmed = self else { return false }
        return true
    }

    /// The session that stays and its new token; nil for every other outcome.
    var renewed: (token: Secret, session: Session)? {
        guard case .renewed(let token, let session, _) = self else { return nil }
        return (token, session)
    }

    var isAlreadySignedIn: Bool {
        guard case .alreadySignedIn = self else { return false }
        return true
    }
}
