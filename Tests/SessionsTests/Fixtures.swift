import AddressIntelligence
import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import Synchronization
import Vocabulary

let testAuthority = TokenAuthority(secret: Secret("a secret of the tests"))

/// A session of `subject` that begins at `now`.
func makeSession(
    subject: String = "alice",
    kind: Session.Kind = .native,
    lineage: Lineage,
    now: UnixTime,
    life: Duration = .seconds(86_400),
    idle: Duration = .seconds(3600)
) -> Session {
    Session(
        id: testAuthority.newSessionID(),
        kind: kind,
        origin: kind == .native ? .native : .browser,
        lineage: lineage,
        identity: Identity(id: subject, traits: [:]),
        aal: .aal1,
        methods: ["password"],
        authenticatedAt: now,
        issuedAt: now,
        expiresAt: now.advanced(by: life),
        idleLifetime: idle
    )
}

/// Ends a slice of long work after five steps.
final class SliceSteps: Sendable {
    private let looks = Mutex<UInt64>(0)

    /// A tenth of a millisecond later with every call.
    @Sendable func now() -> NIODeadline {
        self.looks.withLock { looks in
            looks += 1
            return .uptimeNanoseconds(looks * 100_000)
        }
    }
}

/// A memory store that the test calls from its own thread.
struct MemoryBench {
    let loop = EmbeddedEventLoop()
    let clock = MovableClock()
    let caches = SessionCaches(sliceClock: SliceSteps().now)
    let store: MemoryStore
    let authority = testAuthority

    init(maxSessions: Int = 100_000, maxMarkers: Int = 100_000) {
        self.store = MemoryStore(
            maxSessions: maxSessions,
            maxMarkers: maxMarkers,
            clock: self.clock.clock,
            caches: self.caches
        )
    }

    @discardableResult
    func signIn(subject: String, lineage: Lineage? = nil, life: Duration = .seconds(86_400)) throws -> RecordKey {
        let lineage = lineage ?? self.authority.newLineage()
        let key = self.authority.make(.session, in: lineage).key
        let session = makeSession(subject: subject, lineage: lineage, now: self.clock.now, life: life)
        try self.store.create(NewSession(key: key, session: session), on: self.loop).wait()
        return key
    }

    func session(_ key: RecordKey) throws -> Stored<Session>? {
        try self.store.session(key, on: self.loop).wait()
    }

    func mint(from parent: Session, key parentKey: RecordKey) throws -> RecordKey {
        let key = self.authority.make(.transfer, in: parentKey.lineage).key
        let token = TransferToken(
            parent: parent,
            parentKey: parentKey,
            clientID: "app",
            device: DeviceFacts(address: IPAddress(v4: 0xC000_0201), asn: nil, userAgent: nil),
            scopes: [],
            issuedAt: self.clock.now,
            expiresAt: self.clock.now.advanced(by: .seconds(60))
        )
        try self.store.create(token, key: key, on: self.loop).wait()
        return key
    }
}

/// A resolver whose store reads are answered by the test, on the test's own thread.
final class ResolverBench {
    /// The result of a resolution.
    enum Outcome: Equatable {
        case hit(String)
        case found(String)
        case noSession
        case failed(StoreError)
        case waiting
        case otherKey
        case malformed
    }

    /// A resolution that may still be waiting for its read.
    final class Pending {
        var outcome = Outcome.waiting
        var entry: CachedSession?
    }

    struct Holder {
        let token: Secret
        let key: RecordKey
        let session: Session
    }

    let loop = EmbeddedEventLoop()
    let clock = MovableClock()
    let store: ScriptedStore
    let caches: SessionCaches
    let cache: SessionCache
    let resolver: SessionResolver

    init(capacity: Int = 64, aliases: [String] = [""], isDoubting: Bool = false) {
        self.store = ScriptedStore(clock: self.clock.clock)
        self.store.change { ($0.holdsReads, $0.aliases) = (true, aliases) }
        self.caches = SessionCaches(isDoubting: isDoubting, sliceClock: SliceSteps().now)
        self.cache = SessionCache(capacity: capacity)
        self.caches.register(self.cache, on: self.loop)
        self.resolver = SessionResolver(
            loop: self.loop,
            cache: self.cache,
            store: self.store,
            authority: testAuthority,
            clock: self.clock.clock
        )
    }

    func holder(
        subject: String = "alice",
        kind: Session.Kind = .native,
        lineage: Lineage? = nil,
        life: Duration = .seconds(86_400),
        idle: Duration = .seconds(3600)
    ) -> Holder {
        let lineage = lineage ?? testAuthority.newLineage()
        let made = testAuthority.make(.session, in: lineage)
        let session = makeSession(
            subject: subject,
            kind: kind,
            lineage: lineage,
            now: self.clock.now,
            life: life,
            idle: idle
        )
        return Holder(token: made.token, key: made.key, session: session)
    }

    func resolve(_ token: Secret, as kind: Session.Kind = .native) -> Pending {
        self.resolve(token.bytes, as: kind)
    }

    func resolve(_ token: [UInt8], as kind: Session.Kind = .native) -> Pending {
        let pending = Pending()
        let now = self.clock.now
        switch token.withUnsafeBytes({ self.resolver.resolve(kind, token: $0, now: now) }) {
        case .hit(let entry):
            pending.entry = entry
            pending.outcome = .hit(entry.session.subject)
        case .otherKey:
            pending.outcome = .otherKey
        case .malformed:
            pending.outcome = .malformed
        case .otherKind:
            pending.outcome = .noSession
        case .miss(let read):
            read.whenFound { result in
                switch result {
                case .success(.some(let entry)):
                    pending.entry = entry
                    pending.outcome = .found(entry.session.subject)
                case .success(.none): pending.outcome = .noSession
                case .failure(let error): pending.outcome = .failed(error)
                }
            }
        }
        return pending
    }

    /// Answers the oldest read.
    func answer(_ session: Session?, version: UInt64 = 1, usedAt: UnixTime? = nil) {
        let stored = session.map { Stored(record: $0, version: RecordVersion(value: version), usedAt: usedAt) }
        self.store.takeRead()?.answer.succeed(stored)
        self.loop.run()
    }

    /// Fails the oldest read: the store is unavailable.
    func fail() {
        self.fail(StoreError.unavailable)
    }

    /// Fails the oldest read with this error.
    func fail(_ error: any Error) {
        self.store.takeRead()?.answer.fail(error)
        self.loop.run()
    }

    /// Whether the loop serves the session without asking the store.
    func serves(_ holder: Holder) -> Bool {
        holder.token.bytes.withUnsafeBytes { self.cache.lookup($0, now: self.clock.now) != nil }
    }

    /// Puts the session into the loop's cache.
    func warm(_ holder: Holder) {
        _ = self.resolve(holder.token, as: holder.session.kind)
        self.answer(holder.session)
    }
}
