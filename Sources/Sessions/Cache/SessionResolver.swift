package import NIOCore
package import Vocabulary

/// What a presented session token turned out to be.
package enum Resolution {
    /// A live session that this loop knows.
    case hit(CachedSession)
    /// The store is being asked: nil when there is no such session, a `StoreError` when it cannot say.
    case miss(EventLoopFuture<CachedSession?>)
    /// Not a token of ours by its syntax; nobody was asked.
    case malformed
}

/// Finds the session of a token for one event loop: in the loop's cache, else in the store, with one read at a time for
/// each token. Confined to its loop.
///
/// Only sessions are kept, never what was decided on them, and never that there was none: a session made a moment later
/// is found (peers.md C4, 34 and 44).
///
/// An entry that the cache doubts is read again before it is used. Only when the store is unavailable does it serve, and
/// never once it was unconfirmed for `SessionCache.hardAge`.
package final class SessionResolver {
    /// How often a read is repeated when something ended while it was under way, before it counts as unavailable.
    private static let maxReads = 4
    /// After a failed read in the background, the next one waits so long.
    private static let refreshPause = Duration.milliseconds(250)

    /// One read under way and whoever waits for it. Keyed by the whole token: no answer reaches another token's request
    /// (CVE-2026-71326).
    private final class Flight {
        let token: Secret
        let key: RecordKey
        /// When the first read began; the age of what it brings counts from here.
        let begunAt: UnixTime
        let promise: EventLoopPromise<CachedSession?>
        var reading: Reading
        var reads = 1

        init(token: Secret, begunAt: UnixTime, promise: EventLoopPromise<CachedSession?>, reading: Reading) {
            self.token = token
            self.key = reading.key
            self.begunAt = begunAt
            self.promise = promise
            self.reading = reading
        }
    }

    package let cache: SessionCache
    private let loop: any EventLoop
    private let store: any SessionStore
    private let authority: TokenAuthority
    private let clock: Clock
    private var flights: [Secret: Flight] = [:]

    /// A resolver for `loop`, whose cache has been registered with the `SessionCaches` that the store tells of ends.
    ///
    /// - Parameter clock: tells how old an entry is when the store turns out to be unavailable.
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
    /// reverse. A hit allocates nothing but, every few seconds, what it takes to refresh the entry and to note the use.
    package func resolve(_ kind: Session.Kind, token: UnsafeRawBufferPointer, now: UnixTime) -> Resolution {
        self.loop.assertInEventLoop()
        guard token.count == TokenAuthority.tokenLength else { return .malformed }
        if let entry = self.cache.lookup(token, now: now) {
            guard entry.session.kind == kind else { return .miss(self.noSession()) }
            self.cache.counters.hits += 1
            if now >= entry.refreshAt { self.refresh(entry, now: now) }
            if now >= entry.touchAt { self.touch(entry, now: now) }
            return .hit(entry)
        }
        return self.miss(kind, token: token, now: now)
    }

    // MARK: Misses

    private func miss(_ kind: Session.Kind, token: UnsafeRawBufferPointer, now: UnixTime) -> Resolution {
        let token = Secret(Array(token))
        let flight: Flight
        if let underWay = self.flights[token] {
            flight = underWay
        } else {
            guard let key = self.authority.key(.session, of: token.bytes) else { return .malformed }
            flight = self.read(token, key: key, now: now)
        }
        self.cache.counters.misses += 1
        let answer = self.loop.makePromise(of: CachedSession?.self)
        flight.promise.futureResult.assumeIsolated().whenComplete { result in
            answer.assumeIsolated().completeWith(Result { try self.use(result, of: token, as: kind, now: now) })
        }
        return .miss(answer.futureResult)
    }

    /// What a request that waited for a read gets: what the read found; when the store could not say, what this loop
    /// knows, while that is young enough to serve.
    private func use(
        _ result: Result<CachedSession?, any Error>,
        of token: Secret,
        as kind: Session.Kind,
        now: UnixTime
    ) throws -> CachedSession? {
        switch result {
        case .success(let found):
            guard let found, found.session.kind == kind else { return nil }
            if now >= found.touchAt { self.touch(found, now: now) }
            return found
        case .failure(let error):
            guard let known = token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }),
                known.mayServe(at: self.clock.now())
            else { throw error }
            guard known.session.kind == kind else { return nil }
            // The store cannot be told of this use; the next one is noted.
            known.isReferenced = true
            self.cache.counters.doubtedUses += 1
            return known
        }
    }

    private func noSession() -> EventLoopFuture<CachedSession?> {
        self.loop.assumeIsolated().makeSucceededFuture(nil)
    }

    private func read(_ token: Secret, key: RecordKey, now: UnixTime) -> Flight {
        let flight = Flight(
            token: token,
            begunAt: now,
            promise: self.loop.makePromise(of: CachedSession?.self),
            reading: self.cache.beginReading(key)
        )
        self.flights[token] = flight
        self.send(flight)
        return flight
    }

    private func send(_ flight: Flight) {
        self.store.session(flight.key, on: self.loop).assumeIsolated().whenComplete { result in
            self.arrived(result, for: flight)
        }
    }

    private func arrived(_ result: Result<Stored<Session>?, any Error>, for flight: Flight) {
        self.cache.endReading(flight.reading)
        switch result {
        case .success(.some(let stored)) where !flight.reading.confirms(stored.record, names: self.store.names):
            // Read before something ended that may be its own end: for the cache and for whoever waits, ask again.
            guard flight.reads < Self.maxReads else {
                self.finish(flight) { $0.fail(StoreError.unavailable) }
                return
            }
            flight.reads += 1
            flight.reading = self.cache.beginReading(flight.key)
            self.cache.counters.rereads += 1
            self.send(flight)
        case .success(.some(let stored)):
            let entry = self.cache.insert(
                token: flight.token,
                stored: stored,
                reading: flight.reading,
                readAt: flight.begunAt,
                names: self.store.names
            )
            self.finish(flight) { $0.assumeIsolated().succeed(entry) }
        case .success(.none):
            self.cache.remove(token: flight.token)
            self.finish(flight) { $0.assumeIsolated().succeed(nil) }
        case .failure(let error):
            self.finish(flight) { $0.fail((error as? StoreError) ?? .unavailable) }
        }
    }

    private func finish(_ flight: Flight, _ answer: (EventLoopPromise<CachedSession?>) -> Void) {
        self.flights[flight.token] = nil
        answer(flight.promise)
    }

    // MARK: Streams

    /// Asks again for the session behind an entry that was handed out for a stream. True when it lives, which the entry
    /// then knows; false when it has ended; a `StoreError` when the store cannot say, however young the entry is.
    ///
    /// This is no use of the session. It shares reads with requests, and asks nobody when this loop knows better already.
    func confirm(_ entry: CachedSession, now: UnixTime) -> EventLoopFuture<Bool> {
        if let known = entry.token.bytes.withUnsafeBytes({ self.cache.lookup($0, now: now) }) {
            if known !== entry { entry.confirm(readAt: known.readAt, turn: known.turn) }
            return self.loop.makeSucceededFuture(true)
        }
        let flight: Flight
        if let underWay = self.flights[entry.token] {
            flight = underWay
        } else {
            self.cache.counters.refreshes += 1
            flight = self.read(entry.token, key: entry.key, now: now)
        }
        return flight.promise.futureResult.assumeIsolated().map { found in
            guard let found else { return false }
            if found !== entry { entry.confirm(readAt: found.readAt, turn: found.turn) }
            return true
        }.nonisolated()
    }

    // MARK: In the background

    private func refresh(_ entry: CachedSession, now: UnixTime) {
        guard self.flights[entry.token] == nil else { return }
        // Until the answer sets it anew; when none comes, a failing store is not asked with every request.
        entry.refreshAt = now.advanced(by: Self.refreshPause)
        self.cache.counters.refreshes += 1
        _ = self.read(entry.token, key: entry.key, now: now)
    }

    private func touch(_ entry: CachedSession, now: UnixTime) {
        entry.lastTouch = now
        entry.touchAt = now.advanced(by: entry.touchInterval)
        // Nobody waits: a note that is lost only ends the session early.
        _ = self.store.touch(entry.key, on: self.loop)
    }
}
