package import AddressIntelligence
import NIOCore
package import Vocabulary

/// The lookup of tokens and cookies that providers issued.
extension SessionResolver {
    /// The maximum length of a foreign token in bytes.
    private static let longestForeignToken = 8192

    /// Finds the session of a provider's own cookie.
    ///
    /// - Parameters:
    ///   - realms: The realms whose providers are asked.
    ///   - client: The address of the client that presents the cookie; `nil` if unknown.
    package func resolve(
        providerCookie cookie: UnsafeRawBufferPointer,
        of realms: Realms = .default,
        for client: @autoclosure () -> AddressKey? = nil,
        now: UnixTime
    ) -> Resolution {
        self.loop.assertInEventLoop()
        return self.foreign(.web, token: cookie, of: realms, for: client(), now: now)
    }

    /// Finds the session of a foreign token.
    ///
    /// - Parameter kind: `web` for a cookie of the provider, `native` for a token. Neither is accepted as the other.
    func foreign(
        _ kind: Session.Kind,
        token: UnsafeRawBufferPointer,
        of realms: Realms,
        for client: @autoclosure () -> AddressKey?,
        now: UnixTime
    ) -> Resolution {
        guard token.count <= Self.longestForeignToken else { return .malformed }
        if let entry = self.cache.lookup(token, now: now) {
            guard entry.session.kind == kind, entry.verdict != nil else { return .otherKind }
            self.cache.counts.hits += 1
            if now >= entry.dueAt { self.maintain(entry, now: now) }
            return .hit(entry)
        }
        let candidates = self.candidates(for: token, as: kind, of: realms)
        guard let first = candidates.first else { return .malformed }
        let known = candidates.map { self.unknownTokens.reason(of: $0.key.digest, now: now) }
        let flight: SessionFlight
        if let underWay = self.flights[first.key] {
            self.cache.counts.misses += 1
            flight = underWay
            flight.foreign?.add(candidates.dropFirst(), after: flight.sessionKey)
        } else if let reason = known[0], !known.contains(nil) {
            flight = self.unknown(Secret(Array(token)), key: first.key, for: reason, now: now)
        } else {
            self.cache.counts.misses += 1
            let foreign = ForeignFlight(
                tokens: first.tokens,
                kind: kind,
                generation: self.foreignGeneration,
                known: nil,
                others: Array(candidates.dropFirst()),
                trace: self.askersTrace,
                client: client()
            )
            flight = self.read(Secret(Array(token)), key: first.key, foreign: foreign, now: now)
        }
        return .miss(SessionRead(resolver: self, flight: flight, kind: kind, now: now))
    }

    /// Returns a read with a known result: the token is rejected. It ends in a later task of the loop, so that a client
    /// that repeats a rejected token is not served before others.
    private func unknown(_ token: Secret, key: RecordKey, for reason: Reason, now: UnixTime) -> SessionFlight {
        let flight = SessionFlight(token: token, begunAt: now, reading: self.cache.beginReading(key))
        flight.refusal = reason
        self.flights[key] = flight
        self.loop.assumeIsolated().execute {
            self.cache.endReading(flight.reading)
            self.finish(flight, .success(nil))
        }
        return flight
    }

    /// Returns the providers that may know a token, in the order of the realms, with the key of the token at each.
    private func candidates(
        for token: UnsafeRawBufferPointer,
        as kind: Session.Kind,
        of realms: Realms
    ) -> [ForeignCandidate] {
        realms.all.compactMap { realm in
            guard let tokens = self.tokens(of: realm), let key = tokens.key(of: token, as: kind) else { return nil }
            return ForeignCandidate(key: key, tokens: tokens)
        }
    }

    /// Returns the tokens of the realm's provider; `nil` if there are none. A search is fast for a few providers.
    private func tokens(of realm: Realm) -> (any ForeignTokens)? {
        self.parties.foreignTokens.first { $0.realm == realm }?.tokens
    }

    /// Returns the token's key under the present configuration, and a new lookup; `nil` if no provider can know the
    /// token. The known session is used only if the key is unchanged.
    func question(for entry: CachedSession, _ known: ForeignSession) -> (RecordKey, ForeignFlight)? {
        let realm = known.session.identity.realm
        guard let tokens = self.tokens(of: realm),
            let key = entry.token.bytes.withUnsafeBytes({ tokens.key(of: $0, as: known.session.kind) })
        else { return nil }
        let flight = ForeignFlight(
            tokens: tokens,
            kind: known.session.kind,
            generation: self.foreignGeneration,
            known: key == entry.key ? known : nil
        )
        return (key, flight)
    }

    func ask(_ foreign: ForeignFlight, _ flight: SessionFlight) {
        let answer = CallTrace.with(foreign.trace) {
            foreign.tokens.eventualSession(
                flight.token,
                as: foreign.kind,
                key: flight.sessionKey,
                known: foreign.known,
                for: .request(foreign.client),
                on: self.loop
            )
        }
        answer.whenComplete { self.answered($0, foreign, for: flight) }
    }

    /// The trace of the request that looks up the token; `nil` if it is not traced.
    private var askersTrace: CallTrace? { CallTrace.current ?? self.asker?.callTrace }

    private func answered(
        _ result: Result<ForeignAnswer, any Error>,
        _ foreign: ForeignFlight,
        for flight: SessionFlight
    ) {
        // An answer under an earlier configuration is returned to the waiting requests, but not cached.
        let isCurrent = foreign.generation == self.foreignGeneration
        let now = self.clock.now()
        switch result {
        case .success(.live(let found)) where found.session.expiresAt > now:
            let names = { (_: String) in self.names(of: found) }
            guard self.cache.endReading(flight.reading, of: found.session, names: names) else {
                return self.readAgain(flight)
            }
            let entry = self.cache.insert(
                token: flight.token,
                stored: Stored(record: found.session, version: self.version(of: found, flight.token)),
                reading: flight.reading,
                readAt: flight.begunAt,
                verdict: found.verdict,
                // The app gets the token that the client presented.
                tokens: self.parties.tokenReader == nil
                    ? .notNeeded : .needed(SessionTokens(access: flight.token, id: nil)),
                names: names
            )
            if !isCurrent { self.cache.remove(token: flight.token) }
            self.finish(flight, .success(entry))
        case .success(.insufficient(let demand)):
            // Not cached, because the user may meet the demand at any moment.
            flight.refusal = .requireAAL
            flight.demand = demand
            self.forget(flight)
        case .success(let answer):
            flight.refusal = if case .none(let reason) = answer { reason } else { .credentialExpired }
            if isCurrent { self.unknownTokens.insert(flight.sessionKey.digest, for: flight.refusal, now: now) }
            if self.askNext(flight) { return }
            // The provider that did not answer might have accepted the token.
            guard flight.foreign?.hasMissedAnswer == true else { return self.forget(flight) }
            self.cache.endReading(flight.reading)
            flight.failure = .providerUnavailable
            self.finish(flight, .failure(.unavailable))
        case .failure(let error):
            if error as? ForeignTokenError == .providerUnavailable {
                flight.foreign?.hasMissedAnswer = true
                if self.askNext(flight) { return }
            }
            self.cache.endReading(flight.reading)
            switch error as? ForeignTokenError {
            case .store(let failure):
                flight.failure = failure == .full ? .storeFull : .storeUnavailable
                self.finish(flight, .failure(failure))
            case .providerUnavailable, nil:
                flight.failure = .providerUnavailable
                self.finish(flight, .failure(.unavailable))
            }
        }
    }

    /// Asks the next provider that may know the token.
    ///
    /// - Returns: True if there is a next provider.
    private func askNext(_ flight: SessionFlight) -> Bool {
        guard let next = flight.foreign?.next(after: flight.sessionKey) else { return false }
        self.cache.endReading(flight.reading)
        flight.reading = self.cache.beginReading(next.key)
        self.send(flight)
        return true
    }

    /// Returns the store's names of the subject and of the provider's session.
    private func names(of foreign: ForeignSession) -> [String] {
        self.store.names(of: foreign.session.subject)
            + (foreign.session.provider?.endName.map(self.store.names) ?? [])
    }

    /// Returns the version of the cached entry if its session is unchanged; otherwise a new version.
    private func version(of foreign: ForeignSession, _ token: Secret) -> RecordVersion {
        if let known = token.bytes.withUnsafeBytes({ self.cache.entry(for: $0) }), known.verdict != nil,
            known.session == foreign.session
        {
            return known.version
        }
        self.foreignVersion += 1
        return RecordVersion(value: self.foreignVersion)
    }
}
