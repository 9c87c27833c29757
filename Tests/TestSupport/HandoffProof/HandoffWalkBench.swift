package import AddressIntelligence
package import NIOCore
package import Sessions
import Settings
import SignOn
package import StoreBench
import Vocabulary

/// What a test can do to a store besides calling it.
package struct StoreTricks: Sendable {
    /// Lets time pass for a store with a clock of its own, after the bench's clock has moved.
    package var pass: @Sendable (Duration) async throws -> Void
    /// The next use answers that its record is of a former reign, or does not any more; nil: not possible.
    package var quarantine: (@Sendable (Bool) -> Void)?
    /// The next use's answer is lost, or none any more; nil: not possible.
    package var loseAnswer: (@Sendable (Bool) -> Void)?

    package init(
        pass: @escaping @Sendable (Duration) async throws -> Void = { _ in },
        quarantine: (@Sendable (Bool) -> Void)? = nil,
        loseAnswer: (@Sendable (Bool) -> Void)? = nil
    ) {
        self.pass = pass
        self.quarantine = quarantine
        self.loseAnswer = loseAnswer
    }
}

/// Two gateways' handoff over one store.
package struct HandoffWalkBench: Sendable {
    package static let host = "app.example.com"

    package let clock: MovableClock
    package let tricks: StoreTricks
    let store: any RecordStore
    let authority = TokenAuthority(secret: Secret("a secret of the tests, 32 bytes or more"))
    private let loops: [any EventLoop]
    private let mint: HandoffMint
    private let consumers: [HandoffConsumer]

    /// - Parameter stores: Those of the gateways: the same one twice, or two over the same data.
    package init(
        _ stores: [any RecordStore],
        clock: MovableClock,
        networks: ASNDirectory,
        loops: any EventLoopGroup,
        tricks: StoreTricks = StoreTricks()
    ) {
        self.clock = clock
        self.tricks = tricks
        self.store = stores[0]
        self.loops = (0..<2).map { _ in loops.next() }
        let journal = AuditJournal { _ in true }
        let accesses = stores.map { [authority] store in
            RecordAccess(store: store, authority: authority, loops: loops, clock: clock.clock)
        }
        self.mint = HandoffMint(
            records: accesses[0],
            limiter: ScriptedLimiter.open,
            settings: HandoffSettings(),
            asn: networks,
            journal: journal
        )
        self.consumers = accesses.map { access in
            HandoffConsumer(
                records: access,
                sessions: SessionSettings(),
                asn: networks,
                journal: journal
            )
        }
    }

    /// A session with its token.
    struct Kept: Sendable {
        var token: Secret
        var key: RecordKey
        var session: Session
    }

    private var loop: any EventLoop { self.loops[0] }

    func signIn(_ user: String, kind: Session.Kind = .native, life: Duration = .seconds(86_400)) async throws -> Kept {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let now = self.clock.now
        let session = Session(
            id: self.authority.newSessionID(),
            kind: kind,
            origin: kind == .web ? .browser : .native,
            lineage: lineage,
            identity: Identity(id: user, traits: [:]),
            host: kind == .web ? Self.host : nil,
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: life),
            idleLifetime: .seconds(86_400)
        )
        try await self.store.create(NewSession(key: key, session: session), on: self.loop).get()
        guard let stored = try await self.store.session(key, on: self.loop).get() else {
            throw Difference("a session was written and is not there")
        }
        return Kept(token: token, key: key, session: stored.record)
    }

    /// Asks for a token with the token of a session.
    func mint(
        _ parent: Kept,
        at place: Place,
        for host: String? = nil
    ) async throws -> Result<MintedToken, NotDone> {
        var client = ClientSettings(clientID: "native-app")
        client.canCreateTransferToken = true
        var requester = TokenRequester(
            client: client,
            sender: Requester(
                address: try place.device("").address,
                userAgent: "App/1.0",
                authority: "auth.example.com",
                requestID: "mint"
            )
        )
        requester.audience = "urn:auth.example.com:session_transfer"
        do throws(NotDone) {
            return .success(try await self.mint.mint(.token(parent.token.bytes), host: host, for: requester))
        } catch {
            return .failure(error)
        }
    }

    /// A browser's request with a token, and with a session that may have ended.
    func request(
        _ token: Secret,
        by existing: Kept?,
        at place: Place,
        to host: String,
        _ policy: HandoffPolicy,
        by transport: HandoffTransport = .cookie,
        suffices: Bool = true,
        attempt: AttemptSecret = AttemptSecret()
    ) async throws -> HandoffRequest {
        let live = try await self.presented(existing)
        var request = HandoffRequest(
            token: token.bytes,
            transport: transport,
            authority: host,
            client: policy.client,
            device: try place.device("Browser/1.0"),
            existing: live.map { ($0.kept.key, $0.kept.session) },
            attempt: attempt,
            requestID: "present"
        )
        request.existingToken = live?.token
        request.mayKeepSession = suffices
        return request
    }

    /// Presents a token at one of the gateways.
    func present(_ request: HandoffRequest, gateway: Int) async throws -> HandoffOutcome {
        let consumer = self.consumers[gateway % self.consumers.count]
        let loop = self.loops[gateway % self.loops.count]
        return try await loop.flatSubmit { consumer.consume(request, on: loop) }.get().outcome
    }

    /// What one of the gateways asks the user before the token is used.
    func preview(_ request: HandoffRequest, gateway: Int) async throws -> HandoffPreview {
        let consumer = self.consumers[gateway % self.consumers.count]
        let loop = self.loops[gateway % self.loops.count]
        return try await loop.flatSubmit { consumer.preview(request, on: loop) }.get()
    }

    /// The session that the browser presents with the token that it has; nil if that is not good any more.
    private func presented(_ kept: Kept?) async throws -> (kept: Kept, token: PresentedToken)? {
        guard var kept else { return nil }
        let key = try self.key(of: kept.token)
        let presented = try await SuccessorToken.presentation(by: key, in: self.store, on: self.loop).get()
        guard let session = presented.accepted(at: self.clock.now) else { return nil }
        guard presented.key == kept.key else { throw Difference("the token presents another session") }
        kept.session = session.record
        return (kept, presented.token)
    }

    /// Whether the token is good for the session under `key`.
    func isPresented(_ key: RecordKey, by token: Secret) async throws -> Bool {
        let named = try self.key(of: token)
        let presented = try await SuccessorToken.presentation(by: named, in: self.store, on: self.loop).get()
        return presented.key == key && presented.accepted(at: self.clock.now) != nil
    }

    func lives(_ key: RecordKey) async throws -> Bool {
        try await self.store.session(key, on: self.loop).get() != nil
    }

    func end(_ kept: Kept) async throws {
        try await kept.session.end(kept.key, in: self.store, on: self.loop).get()
    }

    func end(everywhere user: String) async throws {
        try await self.store.end(subject: user, on: self.loop).get()
    }

    func key(of token: Secret) throws -> RecordKey {
        guard let key = self.authority.key(.session, of: token.bytes) else { throw Difference("no session's token") }
        return key
    }
}
