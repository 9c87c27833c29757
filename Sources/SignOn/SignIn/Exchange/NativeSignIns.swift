import AddressIntelligence
import NIOCore
package import Sessions
package import Settings
package import Vocabulary

/// Signs users of native apps in through the browser.
///
/// ```
/// app:      begin    -> a code that it keeps, and the flow's id
/// browser:  complete -> a second code, in the URL that leads back to the app
/// app:      exchange -> a session token for both codes
/// ```
/// Neither code is enough alone, so an app that intercepts the second code gets no session. The session is written at
/// the exchange. Its token is computed from both codes, so a repeated exchange returns the same token.
package struct NativeSignIns: RecordCaller {
    package private(set) var sessions: SessionService
    package let settings: ExchangeSettings
    let tries: TryCounter
    var records: RecordAccess { self.sessions.records }

    /// The limit of new flows from one address: 60 at once, then one per second. Each flow is stored.
    static let perAddress = RateLimit("exchange.flow", burst: 60, interval: .seconds(1))
    /// The maximum number of tries while other requests change the flow.
    private static let tries = 4

    /// - Parameter limiter: The limiter for flows and exchanges.
    package init(
        sessions: SessionService,
        settings: ExchangeSettings,
        limiter: any RateLimiter
    ) {
        self.sessions = sessions
        self.settings = settings
        self.tries = TryCounter(store: limiter, loops: sessions.loops)
    }

    /// Returns this service for sign-ins of the users of one realm.
    package func signing(in realm: Realm) -> NativeSignIns {
        var native = self
        native.sessions = self.sessions.signing(in: realm)
        return native
    }

    // MARK: Flows

    /// Begins the flow `id` with a new code for the app.
    package func begin(
        _ wish: FlowWish,
        id: String,
        for requester: Requester
    ) async throws(NotDone) -> (flow: KeptFlow, code: Secret) {
        let bucket = RateBucket(Self.perAddress, Array(requester.address.key.description.utf8))
        try await self.tries.count([bucket], or: .exchangeThrottled)
        let authority = self.sessions.authority
        let (code, key) = authority.make(.exchangeCode, in: authority.newLineage())
        let now = self.sessions.clock.now()
        let flow = KeptFlow(
            wish: wish,
            code: key,
            appCode: code,
            issuedAt: now,
            expiresAt: self.end(ofFlowFrom: now)
        )
        try await self.keep(flow, id: id)
        return (flow, code)
    }

    /// Stores an expired flow again as the new flow `id`, with the same app code.
    package func renew(_ expired: KeptFlow, id: String) async throws(NotDone) {
        var flow = expired
        flow.failure = nil
        flow.issuedAt = self.sessions.clock.now()
        flow.expiresAt = self.end(ofFlowFrom: flow.issuedAt)
        try await self.keep(flow, id: id)
    }

    /// Returns the flow with this id, even if it has expired. `nil` if the store does not have it.
    package func flow(_ id: String) async throws(NotDone) -> KeptFlow? { try await self.found(id)?.stored.record }

    /// Returns whether the flow has expired.
    package func isExpired(_ flow: KeptFlow) -> Bool { self.sessions.clock.now() >= flow.expiresAt }

    /// Returns when a flow that begins at `start` expires.
    package func end(ofFlowFrom start: UnixTime) -> UnixTime { start.advanced(by: self.settings.lifetime) }

    /// Returns the URI to which the browser returns: `asked`, otherwise the app's URI, otherwise the only URI in the
    /// settings. `nil` if the URI is not allowed, or if none is named and the settings do not have exactly one.
    ///
    /// - Parameter asked: The URI that the browser names. `nil` if it names none.
    package func returnTo(of flow: KeptFlow, asked: String? = nil) -> String? {
        if let asked { return self.settings.allows(asked) ? asked : nil }
        if let returnTo = flow.wish.returnTo { return self.settings.allows(returnTo) ? returnTo : nil }
        return self.settings.returnTo.count == 1 ? self.settings.returnTo[0].text : nil
    }

    // MARK: Steps

    private func found(_ id: String) async throws(NotDone) -> (key: RecordKey, stored: Stored<KeptFlow>)? {
        for key in self.sessions.authority.flowKeys(id) {
            let stored = try await self.ask { store, loop in store.replaceable(key, as: KeptFlow.self, on: loop) }
            if let stored { return (key, stored) }
        }
        return nil
    }

    private func keep(_ flow: KeptFlow, id: String) async throws(NotDone) {
        let authority = self.sessions.authority
        guard let key = authority.flowKeys(id).first else { throw NotDone(.storeUnavailable) }
        let attempt = authority.newAttempt()
        let answer = try await self.ask { store, loop in store.create(flow, key: key, attempt: attempt, on: loop) }
        guard answer == .done else { throw NotDone(.storeUnavailable) }
    }

    /// Removes the app's code from the flow, before a browser is redirected with the flow's id. Otherwise, anyone who
    /// sees the id could fetch the code.
    package func leave(_ flow: KeptFlow, id: String) async throws(NotDone) {
        if flow.appCode != nil { try await self.change(id) { $0.appCode = nil } }
    }

    /// Stores why the last sign-in failed. `nil` if it did not fail.
    func note(_ failure: KeptFlow.Failure?, in id: String) async throws(NotDone) {
        try await self.change(id) { $0.failure = failure }
    }

    private func change(_ id: String, _ edit: (inout KeptFlow) -> Void) async throws(NotDone) {
        let attempt = self.sessions.authority.newAttempt()
        for _ in 0..<Self.tries {
            guard let (key, stored) = try await self.found(id) else { return }
            var flow = stored.record
            edit(&flow)
            guard flow != stored.record else { return }
            let answer = try await self.ask { [flow] store, loop in
                store.replace(key, judged: stored.version, with: flow, attempt: attempt, on: loop)
            }
            if answer != .changed { return }
        }
        throw NotDone(.storeUnavailable)
    }
}

extension TokenAuthority {
    /// Returns the keys of the native flow `id`. A flow is written under the first key and looked up under all keys,
    /// because its key may depend on an earlier secret.
    fileprivate func flowKeys(_ id: String) -> [RecordKey] { self.namedKeys("native flow", id, KeptFlow.kind) }
}
