import Synchronization
package import Vocabulary

/// The key set of one issuer, read when it is needed and kept.
///
/// - At most one fetch runs at a time.
/// - A `kid` that is not in the set, or not for the token's algorithm, causes a fetch, because the issuer may have begun
///   to use a new key. If the fetch does not find it, unknown `kid`s cause no other fetch until the cool-down has passed.
///   They are not remembered.
/// - Before the set is old it is read again in the background, so that no request waits.
/// - While the issuer cannot be reached, the last good set is used until it is `maxStale` old.
package final class JWKSetCache: Sendable {
    private struct State: Sendable {
        var keySet: KeySetState
        var flight: Task<Void, Never>?
        var failure: String?
    }

    private let clock: Clock
    private let state: Mutex<State>
    private let headers = LastJWSHeader()
    private let fetch: @Sendable () async throws -> [UInt8]

    /// - Parameters:
    ///   - maxAge: How old a set may be before it must be read again.
    ///   - coolDown: The least time between two fetches for a `kid` that is not in the set.
    ///   - maxStale: How old the last good set may be while the issuer cannot be reached; at least `maxAge`.
    ///   - fetch: Returns the document. It limits its own time; it throws if the issuer has no good answer.
    package init(
        clock: Clock,
        maxAge: Duration = .seconds(600),
        coolDown: Duration = .seconds(30),
        maxStale: Duration,
        fetch: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.clock = clock
        self.state = Mutex(State(keySet: KeySetState(maxAge: maxAge, coolDown: coolDown, maxStale: maxStale)))
        self.fetch = fetch
    }

    /// The set for a token with this `kid` and `alg`, or with no `kid`; it may have to be read. nil: it never could be
    /// read, or is too old. The set may still lack the key.
    package func keys(for keyID: String?, _ algorithm: JWSAlgorithm? = nil) async -> JWKSet? {
        await self.keys(keyID.map { .key($0, algorithm) } ?? .any)
    }

    /// The same if the set is there and holds the key: at once, without waiting.
    package func known(_ keyID: String?, _ algorithm: JWSAlgorithm? = nil) -> JWKSet? {
        let need = keyID.map { KeySetState.Need.key($0, algorithm) } ?? .any
        return self.state.withLock { state in
            let now = self.clock.now()
            guard state.keySet.ready(for: need, now: now) != nil else { return nil }
            return self.act(on: &state, for: need, now: now, hasFetched: false).set
        }
    }

    /// The token, verified with the issuer's keys; nil if that takes keys that cannot be read now: there is no set, or the
    /// token names a key that is not in it, perhaps a new one, and the last fetch failed.
    ///
    /// A token without `kid` that no known key verifies is tried again with a new set. A token that is refused in any case
    /// causes no fetch.
    package func verify(_ token: [UInt8], allowing: Set<JWSAlgorithm>) async throws(JOSEError) -> JWS? {
        let token = try UnverifiedToken(token, allowing: allowing, headers: self.headers)
        let number = self.state.withLock { $0.keySet.number }
        guard let keys = await self.keys(for: token.header.keyID, token.header.algorithm) else { return nil }
        do throws(JOSEError) {
            return try token.verified(with: keys)
        } catch {
            if Self.mayNeedAnotherSet(token, error), let newer = await self.keys(.newer(than: number)),
                newer.keys != keys.keys
            {
                return try token.verified(with: newer)
            }
            if error.kind == .unknownKey, self.failure != nil { return nil }
            throw error
        }
    }

    /// The same at once, without waiting; nil if it takes a fetch to know: then `verify` has the answer.
    package func verifyAtOnce(_ token: [UInt8], allowing: Set<JWSAlgorithm>) throws(JOSEError) -> JWS? {
        let token = try UnverifiedToken(token, allowing: allowing, headers: self.headers)
        guard let keys = self.known(token.header.keyID, token.header.algorithm) else { return nil }
        do throws(JOSEError) {
            return try token.verified(with: keys)
        } catch {
            if Self.mayNeedAnotherSet(token, error) { return nil }
            throw error
        }
    }

    /// Without a name, the key may be a new one.
    private static func mayNeedAnotherSet(_ token: UnverifiedToken, _ error: JOSEError) -> Bool {
        token.header.keyID == nil && (error.kind == .signature || error.kind == .unknownKey)
    }

    /// Why the last fetch failed; nil if it succeeded, or if there was none.
    package var failure: String? { self.state.withLock { $0.failure } }

    private func keys(_ need: KeySetState.Need) async -> JWKSet? {
        var hasFetched = false
        while true {
            let action = self.state.withLock { state in
                self.act(on: &state, for: need, now: self.clock.now(), hasFetched: hasFetched)
            }
            switch action {
            case .use(let set): return set
            case .wait(let flight, let isOwn):
                // Not ended by the caller's cancellation: others may wait for it too.
                await flight.value
                hasFetched = hasFetched || isOwn
            }
        }
    }

    private enum Action {
        case use(JWKSet?)
        case wait(Task<Void, Never>, isOwn: Bool)

        var set: JWKSet? {
            guard case .use(let set) = self else { return nil }
            return set
        }
    }

    private func act(
        on state: inout State,
        for need: KeySetState.Need,
        now: UnixTime,
        hasFetched: Bool
    ) -> Action {
        switch state.keySet.step(for: need, now: now, hasFetched: hasFetched) {
        case .use(let set): return .use(set)
        case .useAndFetch(let set):
            state.flight = self.flight()
            return .use(set)
        case .fetch:
            let flight = self.flight()
            state.flight = flight
            return .wait(flight, isOwn: true)
        case .join:
            guard let flight = state.flight else { return .use(state.keySet.set) }
            return .wait(flight, isOwn: false)
        }
    }

    private func flight() -> Task<Void, Never> {
        Task {
            let result: Result<JWKSet, any Error>
            do {
                let set = try JWKSet(try await self.fetch())
                result =
                    set.keys.isEmpty ? .failure(JOSEError("the key set has no key that can be used")) : .success(set)
            } catch {
                result = .failure(error)
            }
            self.state.withLock { state in
                let now = self.clock.now()
                switch result {
                case .success(let set):
                    state.keySet.take(set, now: now)
                    state.failure = nil
                case .failure(let error):
                    state.keySet.fail(now: now)
                    state.failure = (error as? JOSEError)?.detail ?? "\(error)"
                }
                state.flight = nil
            }
        }
    }
}
