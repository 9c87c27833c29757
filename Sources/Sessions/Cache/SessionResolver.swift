package import AddressIntelligence
package import NIOCore
package import Vocabulary

/// The result of looking up a presented session token.
package enum Resolution {
    /// A live session in the loop's cache.
    case hit(CachedSession)
    /// The store or a provider is being asked.
    case miss(SessionRead)
    /// A live session of another kind than asked for.
    case otherKind
    /// No accepted secret has the token's key id. The store was not asked.
    case otherKey
    /// Neither a token of this gateway nor of a provider, judging by its syntax. Nobody was asked.
    case malformed
}

/// Finds the session of a token for one event loop, in the loop's cache or in the store. There is at most one read for
/// each token at a time. Used only on this loop.
///
/// Sessions are cached, but never decisions (CVE-2026-33496). The absence of a session is not cached, so that a session
/// that is made a moment later is found.
///
/// A token without the gateway's syntax may belong to a provider (`ForeignTokens`). Its session is cached no longer
/// than the provider's verdict may be used. A rejection is cached for `UnknownTokens.lifetime`.
///
/// A doubted entry is read again before it is used. If the store is unavailable, it is used until it is older than
/// `SessionCache.hardAge`.
package final class SessionResolver {
    /// The maximum number of reads if an end arrives during each. The store is then treated as unavailable.
    private static let maxReads = 4
    /// The pause between two calls of the renewer for a session.
    private static let renewalPause = Duration.seconds(1)

    package let cache: SessionCache
    let loop: any EventLoop
    let store: any SessionStore & ReplaceableStore
    private let authority: TokenAuthority
    let clock: Clock
    var flights: [RecordKey: SessionFlight] = [:]
    /// The services that are asked besides the store. A reload replaces all of them, and drops what the cache knows of
    /// foreign tokens (CVE-2026-33496).
    package var parties = SessionParties() {
        didSet {
            self.foreignGeneration += 1
            self.unknownTokens = UnknownTokens()
            self.cache.removeForeign()
            // Entries must get the provider's tokens, or lose them.
            if (oldValue.tokenReader == nil) != (self.parties.tokenReader == nil) { self.cache.invalidate(.all) }
        }
    }
    var foreignGeneration: UInt64 = 0
    var unknownTokens = UnknownTokens()
    /// The last version given to a foreign session. Providers' sessions have no versions.
    var foreignVersion: UInt64 = 0
    /// The store's answers that have arrived and wait to be processed.
    private let arrivals = Batch<(flight: SessionFlight, result: Result<SessionFinding, StoreError>)>()

    /// The traced request that is asking. Reads for its token are traced as its calls. The code that sets this property
    /// keeps the request alive.
    package unowned(unsafe) var asker: (any TracedRequest)?

    /// Creates a resolver for `loop`. The cache must be registered with the store's `SessionCaches`.
    ///
    /// - Parameter clock: The clock for times after a read has begun. Other times are passed to the methods.
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

    /// Finds the session of `token` if it is of this kind: a cookie is not accepted as a bearer token, nor the reverse.
    /// A hit allocates nothing, except every few seconds when the entry is refreshed or its use is written.
    ///
    /// - Parameters:
    ///   - realms: The realms whose providers are asked about a foreign token. The caller checks whether the session
    ///     found is valid in them.
    ///   - client: The address of the client that presents the token; `nil` if unknown.
    package func resolve(
        _ kind: Session.Kind,
        token: UnsafeRawBufferPointer,
        of realms: @autoclosure () -> Realms = .default,
        for client: @autoclosure () -> AddressKey? = nil,
        now: UnixTime
    ) -> Resolution {
        self.loop.assertInEventLoop()
        guard token.count == TokenAuthority.tokenLength else {
            // The gateway's own cookie never contains a foreign token.
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

    /// Returns the answer for a request that waited, and records its use of the session.
    func use(_ outcome: SessionFlight.Outcome, for read: SessionRead) -> SessionFlight.Outcome {
        let answer = self.answer(outcome, of: read.flight, read.kind)
        // After a failure, nothing is written: the store cannot record the use either.
        if case .success = outcome, case .success(.some(let found)) = answer {
            // The session was read just now, so it needs no refresh.
            if found.isUseDue(at: read.now) { self.touch(found, now: read.now) }
            if read.now >= found.renewAt { self.renew(found, now: read.now) }
        }
        return answer
    }

    /// Returns the session that a read found, if it is of this kind. If the read failed, returns the cached entry while
    /// it is young enough.
    ///
    /// - Parameter kind: The kind of session; `nil` for both.
    private func answer(
        _ outcome: SessionFlight.Outcome,
        of flight: SessionFlight,
        _ kind: Session.Kind?
    ) -> SessionFlight.Outcome {
        switch outcome {
        case .success(let found):
            guard let found, kind == nil || found.session.kind == kind else { return .success(nil) }
            // Another request that waited for the read may have ended the session.
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

    /// Begins a read of a session.
    ///
    /// - Parameters:
    ///   - key: The key of the session.
    ///   - successor: The token, if it is known to be a successor token; otherwise `nil`.
    ///   - foreign: The lookup of a foreign token; `nil` for a token of the gateway.
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

    /// Reads the session of an entry again, or returns the read under way; `nil` if no provider can know the token.
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

    /// Processes all answers that arrived together, before their requests continue in later steps. Mixing the two would
    /// evict the code of each from the instruction cache. A read stays open until its answer is processed, so no end is
    /// missed.
    private func takeArrivals() {
        self.arrivals.drain { self.arrived($0.result, for: $0.flight) }
    }

    private func arrived(_ result: Result<SessionFinding, StoreError>, for flight: SessionFlight) {
        switch result {
        case .success(.live(let read)):
            let stored = read.updated(by: self.parties.directory)
            // A replaced token is rejected, because it may be a stolen copy of a cookie.
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
            guard stored.record.showsProviderTokens, let grant = stored.record.provider?.grant else {
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

    /// Reports whether the token may be a successor token.
    private static func mayBeSuccessor(_ flight: SessionFlight) -> Bool {
        flight.successor == nil && TokenAuthority.isWellFormed(.session, flight.token.bytes)
    }

    /// Looks for the session of a possible successor token, and reads it.
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

    /// Ends a read that found no live session.
    func forget(_ flight: SessionFlight) {
        self.cache.endReading(flight.reading)
        self.cache.remove(token: flight.token)
        self.finish(flight, .success(nil))
    }

    /// Stores the session with the provider's tokens. If the tokens have expired, the request waits once for their
    /// renewal.
    private func keepFresh(_ stored: Stored<Session>, _ tokens: SessionTokens?, for flight: SessionFlight) {
        if let expiresAt = tokens?.expiresAt, self.clock.now() >= expiresAt, !flight.hasAwaitedRenewal,
            stored.record.provider?.renewAt != nil || stored.record.sharedGrant != nil
        {
            return self.awaitRenewal(stored.record, flight)
        }
        self.keep(stored, .needed(tokens), for: flight)
    }

    /// Stores the session that was read, unless an end or change arrived meanwhile.
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
        entry.leaveOutExpired(at: self.clock.now())
        self.finish(flight, .success(entry))
    }

    /// Renews the provider's expired tokens, and reads the session again.
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

    /// Repeats a read, because an end or change arrived that may concern the session.
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

    /// True if an endpoint that shows sessions may use this resolver. False if a read may renew the provider's tokens,
    /// because showing a session must not use them.
    var readsShown: Bool { self.parties.tokenReader == nil }

    /// Returns the live session of this token from the cache; `nil` if it is not cached, or if it is foreign or an
    /// access token. Showing a session is not a use of it.
    func shown(_ token: UnsafeRawBufferPointer, now: UnixTime) -> SessionPresentation? {
        guard self.readsShown else { return nil }
        guard let entry = self.cache.lookup(token, now: now), entry.verdict == nil, entry.session.access == nil else {
            return nil
        }
        self.cache.counts.hits += 1
        if now >= entry.refreshAt { self.refresh(entry, now: now) }
        return SessionPresentation(entry)
    }

    /// Reads a session that is not cached, for an endpoint that shows it, and caches it.
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

    /// Reads the session of a stream's entry again. The future gives true and confirms the entry if the session is
    /// live. It gives false if the session has ended, and fails with `StoreError` if the store cannot answer.
    ///
    /// A stream whose token was replaced continues, because the session is the same. The read is not a use of the
    /// session. It is omitted if the cache has a trusted entry.
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

    /// Records a use of the session of a long request, unless a use was recorded a moment ago. An ended session is not
    /// extended.
    package func noteUse(of entry: CachedSession, now: UnixTime) {
        guard entry.isUseDue(at: now), !self.cache.hasEnded(entry) else { return }
        // Later requests may have recorded uses in a newer entry of the token.
        guard let known = entry.token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }), known !== entry else {
            return self.touch(entry, now: now)
        }
        if known.isUseDue(at: now) { self.touch(known, now: now) }
        entry.touchAt = known.touchAt
    }

    // MARK: In the background

    /// Starts the background work that is due when the entry is used.
    func maintain(_ entry: CachedSession, now: UnixTime) {
        if now >= entry.refreshAt { self.refresh(entry, now: now) }
        if entry.isUseDue(at: now) { self.touch(entry, now: now) }
        if now >= entry.renewAt { self.renew(entry, now: now) }
        entry.leaveOutExpired(at: now)
    }

    private func renew(_ entry: CachedSession, now: UnixTime) {
        entry.renewAt = now.advanced(by: Self.renewalPause)
        self.parties.renewer?.renew(entry.session, entry.key)
    }

    private func refresh(_ entry: CachedSession, now: UnixTime) {
        guard self.flights[entry.presentedToken.key] == nil else { return }
        // The answer sets a new time. Until then, a failing store is not asked with every request.
        entry.refreshAt = now.advanced(by: SessionCache.refreshPause)
        _ = self.readAgain(entry, now: now)
    }

    private func touch(_ entry: CachedSession, now: UnixTime) {
        entry.noteUse(now: now)
        // The result is ignored: if the write is lost, the session only ends earlier.
        _ = self.store.touch(entry.key, on: self.loop)
    }
}

extension SessionPresentation {
    fileprivate init(_ entry: CachedSession) {
        self.init(key: entry.key, token: entry.presentedToken, session: entry.stored)
    }
}
