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
/// A token that is not of our syntax may be a provider's (`ForeignTokens`). Then the provider is asked instead of the
/// store. Its answer is cached like the store's, for no longer than the provider allows; the answer that it knows no
/// such token is cached for `UnknownTokens.lifetime`.
///
/// A doubted entry is read again before it is used. It serves without that only when the store is unavailable, and
/// never when it was unconfirmed for `SessionCache.hardAge`.
package final class SessionResolver {
    /// How many reads are made when ends arrive during each, before the store counts as unavailable.
    private static let maxReads = 4
    /// The longest foreign token in bytes: room for a JSON Web Token with many claims.
    private static let longestForeignToken = 8192
    /// The wait after a failed read in the background before the next one.
    private static let refreshPause = Duration.milliseconds(250)

    package let cache: SessionCache
    let loop: any EventLoop
    private let store: any SessionStore
    private let authority: TokenAuthority
    private let clock: Clock
    private var flights: [RecordKey: SessionFlight] = [:]
    /// The providers that know foreign tokens; nil if no configured provider knows any. A reload replaces it.
    package var foreignTokens: (any ForeignTokens)?
    private var unknownTokens = UnknownTokens()
    /// The last version given to a foreign session; providers do not number theirs.
    private var foreignVersion: UInt64 = 0
    /// The answers of the store in this tick.
    private let arrivals = Batch<(flight: SessionFlight, result: Result<Stored<Session>?, StoreError>)>()

    /// A resolver for `loop`, whose cache has been registered with the `SessionCaches` that the store tells of ends.
    ///
    /// - Parameter clock: Tells how old an entry is when the store turns out to be unavailable.
    package init(
        loop: any EventLoop,
        cache: SessionCache,
        store: any SessionStore,
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
    package func resolve(_ kind: Session.Kind, token: UnsafeRawBufferPointer, now: UnixTime) -> Resolution {
        self.loop.assertInEventLoop()
        guard token.count == TokenAuthority.tokenLength else { return self.foreign(kind, token: token, now: now) }
        if let entry = self.cache.lookup(token, now: now) {
            guard entry.session.kind == kind else { return .otherKind }
            self.cache.counters.hits += 1
            if now >= entry.refreshAt { self.refresh(entry, now: now) }
            if now >= entry.touchAt { self.touch(entry, now: now) }
            return .hit(entry)
        }
        return self.miss(kind, token: token, now: now)
    }

    /// The session of a token that is not of our syntax. Only native apps present providers' tokens: none comes in a
    /// cookie.
    private func foreign(_ kind: Session.Kind, token: UnsafeRawBufferPointer, now: UnixTime) -> Resolution {
        guard let foreignTokens = self.foreignTokens, kind == .native, token.count <= Self.longestForeignToken else {
            return .malformed
        }
        if let entry = self.cache.lookup(token, now: now) {
            self.cache.counters.hits += 1
            if now >= entry.refreshAt { self.refresh(entry, now: now) }
            return .hit(entry)
        }
        guard let provider = foreignTokens.provider(of: token) else { return .malformed }
        let key = self.authority.foreignKey(token, of: provider)
        let flight: SessionFlight
        if let underWay = self.flights[key] {
            self.cache.counters.misses += 1
            flight = underWay
        } else if self.unknownTokens.contains(key.digest, now: now) {
            flight = self.unknown(Secret(Array(token)), key: key, now: now)
        } else {
            self.cache.counters.misses += 1
            flight = self.read(Secret(Array(token)), key: key, isForeign: true, now: now)
        }
        return .miss(SessionRead(resolver: self, flight: flight, kind: kind, now: now))
    }

    // MARK: Misses

    private func miss(_ kind: Session.Kind, token: UnsafeRawBufferPointer, now: UnixTime) -> Resolution {
        let key: RecordKey
        switch self.authority.read(.session, token) {
        case .record(let named): key = named
        case .otherKey: return .otherKey
        case .malformed: return self.foreign(kind, token: token, now: now)
        }
        self.cache.counters.misses += 1
        let flight = self.flights[key] ?? self.read(Secret(Array(token)), key: key, isForeign: false, now: now)
        return .miss(SessionRead(resolver: self, flight: flight, kind: kind, now: now))
    }

    /// What a request that waited gets: what the read found, or, when the store could not answer, the loop's own entry
    /// while it is young enough to serve.
    func use(_ outcome: SessionFlight.Outcome, for read: SessionRead) -> SessionFlight.Outcome {
        switch outcome {
        case .success(let found):
            guard let found, found.session.kind == read.kind else { return .success(nil) }
            if read.now >= found.touchAt { self.touch(found, now: read.now) }
            return outcome
        case .failure:
            guard let known = read.flight.token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }),
                known.mayServe(at: self.clock.now())
            else { return outcome }
            guard known.session.kind == read.kind else { return .success(nil) }
            // The store cannot note this use; the next one is noted.
            known.isReferenced = true
            self.cache.counters.doubtedUses += 1
            return .success(known)
        }
    }

    private func read(_ token: Secret, key: RecordKey, isForeign: Bool, now: UnixTime) -> SessionFlight {
        let reading = self.cache.beginReading(key)
        let flight = SessionFlight(token: token, isForeign: isForeign, begunAt: now, reading: reading)
        self.flights[key] = flight
        self.send(flight)
        return flight
    }

    private func send(_ flight: SessionFlight) {
        guard !flight.isForeign else { return self.introspect(flight) }
        self.store.session(flight.key, on: self.loop) { result in
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

    private func arrived(_ result: Result<Stored<Session>?, StoreError>, for flight: SessionFlight) {
        switch result {
        case .success(.some(let stored)):
            guard self.cache.endReading(flight.reading, of: stored.record, names: self.store.names) else {
                return self.readAgain(flight)
            }
            let entry = self.cache.insert(
                token: flight.token,
                stored: stored,
                reading: flight.reading,
                readAt: flight.begunAt,
                names: self.store.names
            )
            self.finish(flight, .success(entry))
        case .success(.none):
            self.cache.endReading(flight.reading)
            self.cache.remove(token: flight.token)
            self.finish(flight, .success(nil))
        case .failure(let error):
            self.cache.endReading(flight.reading)
            self.finish(flight, .failure(error))
        }
    }

    /// Repeats a read for the cache and the waiting requests, because something ended meanwhile that may concern it.
    private func readAgain(_ flight: SessionFlight) {
        guard flight.reads < Self.maxReads else { return self.finish(flight, .failure(.unavailable)) }
        flight.reads += 1
        flight.reading = self.cache.beginReading(flight.key)
        self.cache.counters.rereads += 1
        self.send(flight)
    }

    private func finish(_ flight: SessionFlight, _ outcome: SessionFlight.Outcome) {
        self.flights[flight.id] = nil
        flight.end(outcome)
    }

    // MARK: Foreign tokens

    /// A read whose answer is known already: the provider does not know the token. Like every read it ends in a later
    /// tick.
    private func unknown(_ token: Secret, key: RecordKey, now: UnixTime) -> SessionFlight {
        let reading = self.cache.beginReading(key)
        let flight = SessionFlight(token: token, isForeign: true, begunAt: now, reading: reading)
        self.flights[key] = flight
        self.loop.assumeIsolated().execute {
            self.cache.endReading(flight.reading)
            self.finish(flight, .success(nil))
        }
        return flight
    }

    private func introspect(_ flight: SessionFlight) {
        let answer = self.foreignTokens?.session(flight.token, on: self.loop) ?? self.loop.makeSucceededFuture(nil)
        answer.assumeIsolated().whenComplete { result in
            // The answer is handled in a later tick, even if the provider answered at once.
            self.loop.assumeIsolated().execute { self.introspected(result, for: flight) }
        }
    }

    private func introspected(_ result: Result<ForeignSession?, any Error>, for flight: SessionFlight) {
        let now = self.clock.now()
        switch result {
        case .success(.some(let found)) where found.session.expiresAt > now:
            let session = found.session
            flight.reading.key = RecordKey(kind: .session, lineage: session.lineage, digest: flight.key.digest)
            guard self.cache.endReading(flight.reading, of: session, names: self.store.names) else {
                return self.readAgain(flight)
            }
            let foreign = ForeignEntry(cacheLifetime: found.cacheLifetime)
            let entry = self.cache.insert(
                token: flight.token,
                stored: Stored(record: session, version: self.version(of: session, foreign, flight.token)),
                reading: flight.reading,
                readAt: flight.begunAt,
                foreign: foreign,
                names: self.store.names
            )
            self.finish(flight, .success(entry))
        case .success:
            self.cache.endReading(flight.reading)
            self.cache.remove(token: flight.token)
            self.unknownTokens.insert(flight.key.digest, now: now)
            self.finish(flight, .success(nil))
        case .failure(let error):
            self.cache.endReading(flight.reading)
            self.finish(flight, .failure((error as? StoreError) ?? .unavailable))
        }
    }

    /// The version of the present entry if the provider's answer is unchanged; else a new one.
    private func version(of session: Session, _ foreign: ForeignEntry, _ token: Secret) -> RecordVersion {
        if let known = token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }), known.says(session, foreign) {
            return known.version
        }
        self.foreignVersion += 1
        return RecordVersion(value: self.foreignVersion)
    }

    // MARK: Streams

    /// Reads the session behind an entry that was handed out for a stream again. True when it lives, and the entry is
    /// then confirmed; false when it has ended; a `StoreError` when the store cannot answer, however young the entry
    /// is.
    ///
    /// This does not count as a use of the session. It shares reads with requests, and makes no read when this loop
    /// knows newer state already.
    func confirm(_ entry: CachedSession, now: UnixTime) -> EventLoopFuture<Bool> {
        if let known = entry.token.bytes.withUnsafeBytes({ self.cache.lookup($0, now: now) }) {
            if known !== entry { entry.confirm(readAt: known.readAt, turn: known.turn) }
            return self.loop.makeSucceededFuture(true)
        }
        let flight: SessionFlight
        let key = entry.flightKey
        if let underWay = self.flights[key] {
            flight = underWay
        } else {
            self.cache.counters.refreshes += 1
            flight = self.read(entry.token, key: key, isForeign: entry.isForeign, now: now)
        }
        let promise = self.loop.makePromise(of: Bool.self)
        flight.whenOver { outcome in
            switch outcome {
            case .success(.some(let found)):
                if found !== entry { entry.confirm(readAt: found.readAt, turn: found.turn) }
                promise.succeed(true)
            case .success(.none): promise.succeed(false)
            case .failure(let error): promise.fail(error)
            }
        }
        return promise.futureResult
    }

    // MARK: In the background

    private func refresh(_ entry: CachedSession, now: UnixTime) {
        let key = entry.flightKey
        guard self.flights[key] == nil else { return }
        // Until the answer replaces it. Without this, a failing store would be asked with every request.
        entry.refreshAt = now.advanced(by: Self.refreshPause)
        self.cache.counters.refreshes += 1
        _ = self.read(entry.token, key: key, isForeign: entry.isForeign, now: now)
    }

    private func touch(_ entry: CachedSession, now: UnixTime) {
        entry.touchAt = now.advanced(by: entry.touchInterval)
        // The result is ignored: losing a note only ends the session early.
        _ = self.store.touch(entry.key, on: self.loop)
    }
}
