package import AddressIntelligence
package import NIOCore
package import Vocabulary

/// The result of looking up a presented session token.
package enum Resolution {
    /// A live session that this loop knows.
    case hit(CachedSession)
    /// The store, or the provider of a foreign token, is being asked.
    case miss(SessionRead)
    /// A live session, but of the other kind.
    case otherKind
    /// Made under a secret that this gateway does not accept; the store was not asked.
    case otherKey
    /// By its syntax neither a token of this gateway nor one of a provider; neither store nor provider was asked.
    case malformed
}

/// Finds the session of a token for one event loop: in the loop's cache, else in the store, with one read at a time for
/// each token. Confined to its loop.
///
/// For the gateway's own tokens, only sessions are cached. Decisions are not (CVE-2026-33496), nor is the absence of a
/// session: a session that is made a moment later is found.
///
/// A token that is not of our syntax may be a provider's (`ForeignTokens`). Then store and provider are asked. The answer
/// is cached like the store's, for no longer than the provider's verdict may be used; the answer that the token is not
/// accepted is cached for `UnknownTokens.lifetime`.
///
/// A doubted entry is read again before it is used. It serves without that only when the store is unavailable, and
/// never when it was unconfirmed for `SessionCache.hardAge`.
package final class SessionResolver {
    /// How many reads are made when ends arrive during each, before the store counts as unavailable.
    private static let maxReads = 4
    /// The wait before the renewer is told again of a session that is still to be renewed.
    private static let renewalPause = Duration.seconds(1)

    package let cache: SessionCache
    let loop: any EventLoop
    let store: any SessionStore & ReplaceableStore
    private let authority: TokenAuthority
    let clock: Clock
    var flights: [RecordKey: SessionFlight] = [:]
    /// Whom the resolver asks besides the store. A reload replaces it as a whole: what was found of foreign tokens under the
    /// former configuration is forgotten (CVE-2026-33496).
    package var parties = SessionParties() {
        didSet {
            self.foreignGeneration += 1
            self.unknownTokens = UnknownTokens()
            self.cache.removeForeign()
            // Entries without tokens are read again when tokens are needed, and the reverse.
            if (oldValue.tokenReader == nil) != (self.parties.tokenReader == nil) { self.cache.invalidate(.all) }
        }
    }
    var foreignGeneration: UInt64 = 0
    var unknownTokens = UnknownTokens()
    /// The last version given to a foreign session; providers do not number theirs.
    var foreignVersion: UInt64 = 0
    /// The answers of the store in this tick.
    private let arrivals = Batch<(flight: SessionFlight, result: Result<SessionFinding, StoreError>)>()

    /// The request that asks now, if it is recorded: what its token needs is written as its calls. Set while it asks,
    /// and kept by whoever sets it: every request that is recorded does.
    package unowned(unsafe) var asker: (any TracedRequest)?

    /// A resolver for `loop`, whose cache has been registered with the `SessionCaches` that the store tells of ends.
    ///
    /// - Parameter clock: Tells how old an entry is when the store turns out to be unavailable.
    package init(
        loop: any EventLoop,
        cache: SessionCache,
        store: any SessionStore & ReplaceableStore,
        authority: TokenAuthority,
        clock: Clock
    ) {
        self.loop = loop
        self.cache = cache
        self.store = store
        self.authority = authority
        self.clock = clock
    }

    /// The session that `token` names, if it is of this kind: a cookie's token does not pass as a bearer token, nor the
    /// reverse. A hit allocates nothing, except every few seconds to refresh the entry and to note the use.
    ///
    /// - Parameters:
    ///   - realms: Whose providers may be asked about a token that is not the gateway's own. Whether a session that is found
    ///     counts there is for the caller to judge.
    ///   - client: The address of the client that presents it. `nil` if it is known of no client.
    package func resolve(
        _ kind: Session.Kind,
        token: UnsafeRawBufferPointer,
        of realms: @autoclosure () -> Realms = .default,
        for client: @autoclosure () -> AddressKey? = nil,
        now: UnixTime
    ) -> Resolution {
        self.loop.assertInEventLoop()
        guard token.count == TokenAuthority.tokenLength else {
            // None is in our own cookie.
            return kind == .native
                ? self.foreign(kind, token: token, of: realms(), for: client(), now: now) : .malformed
        }
        if let entry = self.cache.lookup(token, now: now) {
            guard entry.session.kind == kind else { return .otherKind }
            self.cache.counts.hits += 1
            if now >= entry.dueAt { self.maintain(entry, now: now) }
            return .hit(entry)
        }
        return self.miss(kind, token: token, of: realms(), for: client(), now: now)
    }

    // MARK: Misses

    private func miss(
        _ kind: Session.Kind,
        token: UnsafeRawBufferPointer,
        of realms: Realms,
        for client: @autoclosure () -> AddressKey?,
        now: UnixTime
    ) -> Resolution {
        let key: RecordKey
        switch self.authority.readSession(token) {
        case .record(let named): key = named
        case .otherKey: return .otherKey
        case .malformed:
            return kind == .native
                ? self.foreign(kind, token: token, of: realms, for: client(), now: now) : .malformed
        }
        self.cache.counts.misses += 1
        let flight = self.flights[key] ?? self.read(Secret(Array(token)), key: key, now: now)
        return .miss(SessionRead(resolver: self, flight: flight, kind: kind, now: now))
    }

    /// What a request that waited gets, which counts as a use of the session.
    func use(_ outcome: SessionFlight.Outcome, for read: SessionRead) -> SessionFlight.Outcome {
        let answer = self.answer(outcome, of: read.flight, read.kind)
        // Not if the store could not answer: it cannot note this use either; the next one is noted.
        if case .success = outcome, case .success(.some(let found)) = answer {
            // It has just been read.
            if found.isUseDue(at: read.now) { self.touch(found, now: read.now) }
            if read.now >= found.renewAt { self.renew(found, now: read.now) }
        }
        return answer
    }

    /// What a read found, if it is of this kind; when the store could not answer, the loop's own entry while it is young
    /// enough to serve.
    ///
    /// - Parameter kind: nil: either.
    private func answer(
        _ outcome: SessionFlight.Outcome,
        of flight: SessionFlight,
        _ kind: Session.Kind?
    ) -> SessionFlight.Outcome {
        switch outcome {
        case .success(let found):
            guard let found, kind == nil || found.session.kind == kind else { return .success(nil) }
            // By a request that waited for the same read.
            return self.cache.hasEnded(found) ? .success(nil) : outcome
        case .failure:
            guard let known = flight.token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }),
                known.mayServe(at: self.clock.now())
            else { return outcome }
            guard kind == nil || known.session.kind == kind, self.parties.directory?.loss(of: known.session) == nil
            else {
                return .success(nil)
            }
            known.isReferenced = true
            self.cache.counts.doubtedUses += 1
            return .success(known)
        }
    }

    /// - Parameters:
    ///   - key: The key of the session.
    ///   - successor: The token, if it is known not to be the one with which the session began.
    ///   - foreign: How a foreign token is judged; nil for the gateway's own tokens.
    func read(
        _ token: Secret,
        key: RecordKey,
        successor: PresentedToken? = nil,
        foreign: ForeignFlight? = nil,
        now: UnixTime
    ) -> SessionFlight {
        let flight = SessionFlight(
            token: token,
            successor: successor,
            begunAt: now,
            reading: self.cache.beginReading(key),
            foreign: foreign
        )
        self.flights[flight.key] = flight
        self.send(flight)
        return flight
    }

    /// Reads the session behind an entry again; shares a read under way. nil if no configured provider knows its token
    /// any more.
    private func readAgain(_ entry: CachedSession, now: UnixTime) -> SessionFlight? {
        var (key, foreign) = (entry.key, ForeignFlight?.none)
        if let known = entry.foreign {
            guard let question = self.question(for: entry, known) else { return nil }
            (key, foreign) = question
        }
        if let underWay = self.flights[entry.successor?.key ?? key] { return underWay }
        self.cache.counts.refreshes += 1
        return self.read(entry.token, key: key, successor: entry.successor, foreign: foreign, now: now)
    }

    func send(_ flight: SessionFlight) {
        if let foreign = flight.foreign { return self.ask(foreign, flight) }
        self.store.session(flight.sessionKey, on: self.loop) { result in
            if self.arrivals.isEmpty {
                let resolver = NIOLoopBound(self, eventLoop: self.loop)
                self.loop.execute { resolver.value.takeArrivals() }
            }
            self.arrivals.append((flight, result))
        }
    }

    /// Reads all answers that arrived together first, then lets each request continue: reading records and judging
    /// requests would otherwise evict each other from the core's instruction cache. A read stays open until then, so
    /// that no end is missed in between.
    private func takeArrivals() {
        self.arrivals.drain { self.arrived($0.result, for: $0.flight) }
    }

    private func arrived(_ result: Result<SessionFinding, StoreError>, for flight: SessionFlight) {
        switch result {
        case .success(.live(let stored)):
            // A copy of a cookie, for example, which somebody has taken.
            if stored.record.succession != nil,
                !stored.record.accepts(tokenNumber: flight.successor?.number ?? 0, at: self.clock.now())
            {
                flight.isSucceeded = true
                flight.refusal = .sessionTokenReplaced
                return self.forget(flight)
            }
            if let loss = self.parties.directory?.loss(of: stored.record) {
                flight.refusal = loss
                return self.forget(flight)
            }
            guard let reader = self.parties.tokenReader else { return self.keep(stored, .notNeeded, for: flight) }
            guard let grant = stored.record.provider?.grant else {
                return self.keep(stored, .needed(nil), for: flight)
            }
            let known = flight.token.bytes.withUnsafeBytes { self.cache.entry(for: $0) }
            if let known, known.version == stored.version {
                return self.keepFresh(stored, known.tokens, for: flight)
            }
            reader.tokens(grant, on: self.loop).assumeIsolated().whenComplete { result in
                switch result {
                case .success(let tokens): self.keepFresh(stored, tokens, for: flight)
                case .failure: self.arrived(.failure(.unavailable), for: flight)
                }
            }
        case .success(.absent(let reason)):
            flight.refusal = reason
            if reason.told == .sessionUnknown, Self.mayBeSuccessor(flight) {
                self.findSession(flight)
            } else {
                self.forget(flight)
            }
        case .failure(let error):
            self.cache.endReading(flight.reading)
            self.finish(flight, .failure(error))
        }
    }

    /// Whether the token may be one that another session has by now, instead of its first one.
    private static func mayBeSuccessor(_ flight: SessionFlight) -> Bool {
        flight.successor == nil && TokenAuthority.isWellFormed(.session, flight.token.bytes)
    }

    /// Reads the session whose later token this may be.
    private func findSession(_ flight: SessionFlight) {
        SuccessorToken.find(flight.key, in: self.store, on: self.loop).assumeIsolated().whenComplete { result in
            switch result {
            case .success(nil): self.forget(flight)
            case .success(let found?):
                self.cache.endReading(flight.reading)
                flight.successor = PresentedToken(key: flight.key, number: found.number)
                flight.reading = self.cache.beginReading(found.session)
                self.send(flight)
            case .failure(let error): self.arrived(.failure(error as? StoreError ?? .unavailable), for: flight)
            }
        }
    }

    /// Ends a read that found no session.
    func forget(_ flight: SessionFlight) {
        self.cache.endReading(flight.reading)
        self.cache.remove(token: flight.token)
        self.finish(flight, .success(nil))
    }

    /// Keeps the session with the provider's tokens. If they have expired while the session was not in use, the request
    /// waits once for their renewal.
    private func keepFresh(_ stored: Stored<Session>, _ tokens: SessionTokens?, for flight: SessionFlight) {
        if let expiresAt = tokens?.expiresAt, self.clock.now() >= expiresAt, !flight.hasAwaitedRenewal,
            stored.record.provider?.renewAt != nil
        {
            return self.awaitRenewal(stored.record, flight)
        }
        self.keep(stored, .needed(tokens), for: flight)
    }

    /// Keeps the session that was read, unless something ended meanwhile.
    private func keep(_ stored: Stored<Session>, _ tokens: KnownTokens, for flight: SessionFlight) {
        guard self.cache.endReading(flight.reading, of: stored.record, names: self.store.names) else {
            return self.readAgain(flight)
        }
        let entry = self.cache.insert(
            token: flight.token,
            stored: stored,
            successor: flight.successor,
            reading: flight.reading,
            readAt: flight.begunAt,
            tokens: tokens,
            names: self.store.names
        )
        self.finish(flight, .success(entry))
    }

    /// Reads the session again when the provider's tokens, which have expired while it was not in use, are renewed.
    private func awaitRenewal(_ session: Session, _ flight: SessionFlight) {
        flight.hasAwaitedRenewal = true
        self.cache.endReading(flight.reading)
        let renewed =
            self.parties.renewer?.renewed(session, flight.sessionKey, on: self.loop)
            ?? self.loop.makeSucceededVoidFuture()
        renewed.assumeIsolated().whenComplete { _ in
            flight.reading = self.cache.beginReading(flight.sessionKey)
            self.send(flight)
        }
    }

    /// Repeats a read for the cache and the waiting requests, because something ended meanwhile that may concern it.
    func readAgain(_ flight: SessionFlight) {
        guard flight.reads < Self.maxReads else { return self.finish(flight, .failure(.unavailable)) }
        flight.reads += 1
        flight.reading = self.cache.beginReading(flight.sessionKey)
        self.cache.counts.rereads += 1
        self.send(flight)
    }

    func finish(_ flight: SessionFlight, _ outcome: SessionFlight.Outcome) {
        self.flights[flight.key] = nil
        flight.end(outcome)
    }

    // MARK: Endpoints that show sessions

    /// Whether a read may be made for an endpoint that shows a session. Not where a read also renews the tokens of the
    /// session's provider: that is a use of them.
    var readsShown: Bool { self.parties.tokenReader == nil }

    /// The live session of this token if the loop knows it, for an endpoint that shows it: no use of the session. Only the
    /// gateway's own session tokens are found.
    func shown(_ token: UnsafeRawBufferPointer, now: UnixTime) -> SessionPresentation? {
        guard self.readsShown else { return nil }
        guard let entry = self.cache.lookup(token, now: now), entry.verdict == nil, entry.session.access == nil else {
            return nil
        }
        self.cache.counts.hits += 1
        if now >= entry.refreshAt { self.refresh(entry, now: now) }
        return SessionPresentation(entry)
    }

    /// The same for one that the loop does not know: it is read, and kept like a request's.
    func readShown(_ token: Secret, key: RecordKey, now: UnixTime) -> EventLoopFuture<SessionPresentation?> {
        self.cache.counts.misses += 1
        let flight = self.flights[key] ?? self.read(token, key: key, now: now)
        let promise = self.loop.makePromise(of: SessionPresentation?.self)
        flight.whenOver { outcome in
            let answer = self.answer(outcome, of: flight, nil)
            promise.completeWith(answer.map { $0.map(SessionPresentation.init) }.mapError { $0 })
        }
        return promise.futureResult
    }

    // MARK: Streams

    /// Reads the session behind an entry that was handed out for a stream again. True when it lives, and the entry is
    /// then confirmed; false when it has ended; a `StoreError` when the store cannot answer, however young the entry
    /// is.
    ///
    /// A stream goes on when another token has taken the place of the one that opened it: that is the same session.
    ///
    /// This does not count as a use of the session. It shares reads with requests, and makes no read when this loop
    /// knows newer state already.
    func confirm(_ entry: CachedSession, now: UnixTime) -> EventLoopFuture<Bool> {
        if let known = entry.token.bytes.withUnsafeBytes({ self.cache.lookup($0, now: now) }) {
            if known !== entry { entry.confirm(readAt: known.readAt, turn: known.turn, verdict: known.verdict) }
            return self.loop.makeSucceededFuture(true)
        }
        guard let flight = self.readAgain(entry, now: now) else { return self.loop.makeSucceededFuture(false) }
        let promise = self.loop.makePromise(of: Bool.self)
        flight.whenOver { outcome in
            switch outcome {
            case .success(.some(let found)):
                if found !== entry { entry.confirm(readAt: found.readAt, turn: found.turn, verdict: found.verdict) }
                promise.succeed(true)
            case .success(.none):
                if flight.isSucceeded {
                    entry.confirm(readAt: flight.begunAt, turn: flight.reading.turn, verdict: nil)
                }
                promise.succeed(flight.isSucceeded)
            case .failure(let error): promise.fail(error)
            }
        }
        return promise.futureResult
    }

    /// Notes that the session behind an entry is used, which was handed out for a request that lasts, unless a use was
    /// noted a moment ago. The store extends no session that has ended.
    package func noteUse(of entry: CachedSession, now: UnixTime) {
        guard entry.isUseDue(at: now), !self.cache.hasEnded(entry) else { return }
        // Requests may have noted uses at a newer entry.
        guard let known = entry.token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }), known !== entry else {
            return self.touch(entry, now: now)
        }
        if known.isUseDue(at: now) { self.touch(known, now: now) }
        entry.touchAt = known.touchAt
    }

    // MARK: In the background

    /// Does what is due when the entry is used.
    func maintain(_ entry: CachedSession, now: UnixTime) {
        if now >= entry.refreshAt { self.refresh(entry, now: now) }
        if entry.isUseDue(at: now) { self.touch(entry, now: now) }
        if now >= entry.renewAt { self.renew(entry, now: now) }
    }

    private func renew(_ entry: CachedSession, now: UnixTime) {
        entry.renewAt = now.advanced(by: Self.renewalPause)
        self.parties.renewer?.renew(entry.session, entry.key)
    }

    private func refresh(_ entry: CachedSession, now: UnixTime) {
        guard self.flights[entry.presentedToken.key] == nil else { return }
        // Until the answer replaces it. Without this, a failing store would be asked with every request.
        entry.refreshAt = now.advanced(by: SessionCache.refreshPause)
        _ = self.readAgain(entry, now: now)
    }

    private func touch(_ entry: CachedSession, now: UnixTime) {
        entry.noteUse(now: now)
        // The result is ignored: losing a note only ends the session early.
        _ = self.store.touch(entry.key, on: self.loop)
    }
}

extension SessionPresentation {
    /// A session as the cache has it.
    fileprivate init(_ entry: CachedSession) {
        self.init(key: entry.key, token: entry.presentedToken, session: entry.stored)
    }
}
