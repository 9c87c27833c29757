import Synchronization
package import Vocabulary

/// The key set of one issuer, fetched on demand and cached.
///
/// - At most one fetch runs at a time.
/// - A token causes a fetch if no key of the set has its `kid` and algorithm, or if no key verifies it. The issuer may
///   have a new key, which may reuse a `kid` or have none.
/// - Tokens cause at most `KeySetState.maxKeyFetches` fetches in each cool-down, whatever strangers send.
/// - An aging set is refreshed in the background, so that no request waits.
/// - While the issuer cannot be reached, the last valid set is used until it is `KeySetState.maxStale` old.
package final class JWKSetCache: Sendable {
    private struct State: Sendable {
        var keySet = KeySetState()
        var flight: Task<Void, Never>?
        var failure: String?
    }

    private let clock: Clock
    private let state = Mutex(State())
    private let headers = LastJWSHeader()
    private let fetch: @Sendable () async throws -> [UInt8]

    /// - Parameter fetch: Returns the document. It must limit its own time, and throw if there is no valid answer.
    package init(clock: Clock, fetch: @escaping @Sendable () async throws -> [UInt8]) {
        self.clock = clock
        self.fetch = fetch
    }

    /// Returns the set for a token with this `kid` and `alg`, or with no `kid`, after a fetch if necessary. `nil` if
    /// the set could never be read or is too old. The set may still lack the key.
    package func keys(for keyID: String?, _ algorithm: JWSAlgorithm? = nil) async -> JWKSet? {
        await self.found(Self.need(keyID, algorithm)).set
    }

    private static func need(_ keyID: String?, _ algorithm: JWSAlgorithm?) -> KeySetState.Need {
        keyID.map { .key($0, algorithm) } ?? .any
    }

    /// Returns the cached set at once; `nil` if it is missing, needs a fetch first or lacks the key.
    package func known(_ keyID: String?, _ algorithm: JWSAlgorithm? = nil) -> JWKSet? {
        let need = Self.need(keyID, algorithm)
        return self.state.withLock { state in
            let now = self.clock.now()
            guard state.keySet.ready(for: need, now: now) != nil else { return nil }
            return self.act(on: &state, for: need, now: now, hasFetched: false).found?.set
        }
    }

    /// Returns the token, verified with the issuer's keys. `nil` if the keys cannot be read now: there is no set, or it
    /// lacks the token's key and the last fetch failed.
    ///
    /// If no known key verifies the token, verification is retried with a new set. The error is `keyFetchDenied` if the
    /// issuer cannot be asked for a new set now.
    package func verify(_ token: [UInt8], allowing: Set<JWSAlgorithm>) async throws(JOSEError) -> JWS? {
        let token = try UnverifiedToken(token, allowing: allowing, headers: self.headers)
        let number = self.state.withLock { $0.keySet.number }
        let found = await self.found(Self.need(token.header.keyID, token.header.algorithm))
        guard let keys = found.set else { return nil }
        do throws(JOSEError) {
            return try token.verified(with: keys)
        } catch {
            var isFinal = found.isFinal
            if Self.mayNeedAnotherSet(token, error) {
                let newer = await self.found(.newer(than: number))
                if let set = newer.set, set.keys != keys.keys { return try token.verified(with: set) }
                isFinal = newer.isFinal
            }
            if error.kind == .unknownKey, self.failure != nil { return nil }
            var error = error
            if error.kind == .unknownKey { error.detail += keys.shortcomings }
            guard isFinal || error.kind != .signature && error.kind != .unknownKey else {
                throw JOSEError(
                    "\(error.detail); the key may be new, and the issuer cannot be asked for it now",
                    kind: .keyFetchDenied
                )
            }
            throw error
        }
    }

    /// Verifies a token at once with the cached set. `nil` if the result depends on a fetch; `verify` makes the fetch.
    package func verifyAtOnce(_ token: [UInt8], allowing: Set<JWSAlgorithm>) throws(JOSEError) -> JWS? {
        let token = try UnverifiedToken(token, allowing: allowing, headers: self.headers)
        guard let keys = self.known(token.header.keyID, token.header.algorithm) else { return nil }
        do throws(JOSEError) {
            return try token.verified(with: keys)
        } catch {
            // While no fetch may begin, as in a flood of forged tokens, the token is rejected at once.
            let mayFetchKey = self.state.withLock { $0.keySet.mayFetchKey(self.clock.now()) }
            if mayFetchKey, Self.mayNeedAnotherSet(token, error) { return nil }
            throw error
        }
    }

    /// Returns whether a new set may verify the token: a new key may reuse a `kid`, or have none.
    private static func mayNeedAnotherSet(_ token: UnverifiedToken, _ error: JOSEError) -> Bool {
        error.kind == .signature || error.kind == .unknownKey && token.header.keyID == nil
    }

    /// The reason why the last fetch failed; `nil` if it succeeded or no fetch has ended yet.
    package var failure: String? { self.state.withLock { $0.failure } }

    /// A set, and `isFinal` of `KeySetState.Step.use`.
    private struct Found {
        let set: JWKSet?
        let isFinal: Bool
    }

    private func found(_ need: KeySetState.Need) async -> Found {
        var hasFetched = false
        while true {
            let action = self.state.withLock { state in
                self.act(on: &state, for: need, now: self.clock.now(), hasFetched: hasFetched)
            }
            switch action {
            case .use(let found): return found
            case .wait(let flight, let isOwn):
                // The caller's cancellation does not end the fetch: others may wait for it, too.
                await flight.value
                hasFetched = hasFetched || isOwn
            }
        }
    }

    private enum Action {
        case use(Found)
        case wait(Task<Void, Never>, isOwn: Bool)

        var found: Found? {
            guard case .use(let found) = self else { return nil }
            return found
        }
    }

    private func act(
        on state: inout State,
        for need: KeySetState.Need,
        now: UnixTime,
        hasFetched: Bool
    ) -> Action {
        switch state.keySet.step(for: need, now: now, hasFetched: hasFetched) {
        case .use(let set, let isFinal): return .use(Found(set: set, isFinal: isFinal))
        case .useAndFetch(let set):
            state.flight = self.flight()
            return .use(Found(set: set, isFinal: true))
        case .fetch:
            let flight = self.flight()
            state.flight = flight
            return .wait(flight, isOwn: true)
        case .join:
            guard let flight = state.flight else { return .use(Found(set: state.keySet.set, isFinal: false)) }
            return .wait(flight, isOwn: false)
        }
    }

    private func flight() -> Task<Void, Never> {
        Task {
            let result: Result<JWKSet, any Error>
            do {
                let set = try JWKSet(try await self.fetch(), loneSurrogates: .replaced)
                result =
                    set.keys.isEmpty
                    ? .failure(JOSEError("the key set has no key that can be used\(set.shortcomings)")) : .success(set)
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
