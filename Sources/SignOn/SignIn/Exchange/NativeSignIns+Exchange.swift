import AddressIntelligence
import Cryptography
import NIOCore
package import Sessions
import Settings
package import Vocabulary

/// The result of exchanging two valid codes.
package enum ExchangeOutcome: Sendable {
    /// The app gets the session's token. A repeated exchange gets the same token.
    case exchanged(token: Secret, session: Session)
    /// The user has not signed in. The flow contains the reason, if there is one.
    case notSignedIn(id: String, KeptFlow)
    /// The session of the codes has ended.
    case ended
}

extension NativeSignIns {
    /// The time in which one address may repeat an exchange, because the answer may have been lost. In the documented
    /// dialect, any client may repeat it for `ExchangeSettings.lifetime`.
    package static let repetition = Duration.seconds(30)
    /// The limit of failed exchanges from one address: 60 at once, then one per second.
    static let exchangesPerAddress = RateLimit("exchange.address", burst: 60, interval: .seconds(1))

    /// Returns a session token for the code that the app kept and the code that the browser brought back.
    ///
    /// - Throws: `exchange.unknown` (forged, mixed up or expired), `exchange.replayed`, `exchange.throttled`,
    ///   `session.limit`.
    package func exchange(
        _ code: Secret,
        _ returned: Secret,
        for requester: Requester
    ) async throws(NotDone) -> ExchangeOutcome {
        let bucket = RateBucket(Self.exchangesPerAddress, Array(requester.address.key.description.utf8))
        do throws(NotDone) {
            try await self.tries.count([bucket], or: .exchangeThrottled)
        } catch {
            if !error.isUnavailable { _ = self.refusal(.exchangeThrottled, requester) }
            throw error
        }
        do throws(NotDone) {
            let outcome = try await self.outcome(code, returned, requester)
            if case .ended = outcome { return outcome }
            await self.tries.giveBack([bucket])
            return outcome
        } catch {
            if error.reason == .gatewayOverloaded { await self.tries.giveBack([bucket]) }
            throw error
        }
    }

    private func outcome(
        _ code: Secret,
        _ returned: Secret,
        _ requester: Requester
    ) async throws(NotDone) -> ExchangeOutcome {
        let authority = self.sessions.authority
        guard let kept = authority.key(.exchangeCode, of: code.bytes),
            let key = authority.key(.returnCode, of: returned.bytes), key.lineage == kept.lineage,
            let secret = AttemptSecret(SHA256.digest(code.bytes).base64URL.utf8)
        else { throw self.refusal(.exchangeUnknown, requester) }
        // In the documented dialect, any client with both codes may repeat the exchange.
        let place = self.settings.dialect == .documented ? "" : requester.address.key.description
        let attempt = Attempt(
            key: key,
            code: kept.digest,
            session: authority.attempt(secret, with: key, of: returned.bytes, on: place),
            requester: requester
        )
        return try await self.use(
            key,
            as: ReturnCode.self,
            unknown: { () throws(NotDone) in throw self.refusal(.exchangeUnknown, requester) },
            spent: { marker throws(NotDone) in try await self.repeated(marker, attempt) },
            judge: { stored throws(NotDone) in try await self.verdict(on: stored.record, attempt) }
        )
    }

    /// One attempt to exchange two codes. The same codes make the same attempt. Unless the dialect is `documented`,
    /// they must come from the same address.
    private struct Attempt: Sendable {
        let key: RecordKey
        /// The digest of the app's code.
        let code: Digest256
        let session: SessionAttempt
        let requester: Requester
    }

    private func verdict(
        on code: ReturnCode,
        _ attempt: Attempt
    ) async throws(NotDone) -> SingleUseVerdict<ExchangeOutcome> {
        let requester = attempt.requester
        let now = self.sessions.clock.now()
        guard constantTimeEqual(code.code.bytes, attempt.code.bytes), now < code.expiresAt else {
            throw self.refusal(.exchangeUnknown, requester)
        }
        guard let draft = code.session else {
            guard let flow = try await self.flow(code.flow) else {
                throw self.refusal(.exchangeUnknown, requester)
            }
            return .leave(.notSignedIn(id: code.flow, flow))
        }
        let session = self.sessions.begun(draft, id: attempt.session.sessionID, for: requester)
        // A refusal for another provider's host, or for a user who is gone, does not use up the codes.
        if self.sessions.users?.loss(of: session) != nil { return .leave(self.refuseEnded(requester)) }
        if let grant = session.sharedGrant, let grants = self.sessions.grants {
            let isHeld = try await grants.add(attempt.session.sessionKey, expiresAt: session.expiresAt, to: grant)
            // False if the provider has ended the sign-in meanwhile.
            guard isHeld else { return .leave(self.refuseEnded(requester)) }
        }
        return .use(
            attempt.session.success,
            creating: [.session(NewSession(key: attempt.session.sessionKey, session: session))],
            quarantined: { () throws(NotDone) in throw self.refusal(.exchangeUnknown, requester, session) },
            done: { () throws(NotDone) in try await self.hand(out: session, attempt) }
        )
    }

    /// Hands out the session of this attempt, unless it cannot be recorded.
    private func hand(out session: Session, _ attempt: Attempt) async throws(NotDone) -> ExchangeOutcome {
        try await self.admit(session, attempt)
        var record = self.sessions.record(.signedIn, .native, attempt.requester)
        record.note(session, attempt.session.sessionKey)
        record.provider = session.provider?.name
        guard self.sessions.journal.record(record) else {
            // If ending fails, the session is harmless, because nobody has its token.
            _ = try? await self.sessions.endOne(attempt.session.sessionKey)
            throw NotDone(.gatewayOverloaded)
        }
        return .exchanged(token: attempt.session.token, session: session)
    }

    /// Applies the limit of a user's sessions. A refused session ends. After an outage, the session stays, so that the
    /// app can repeat the exchange.
    private func admit(_ session: Session, _ attempt: Attempt) async throws(NotDone) {
        let found = FoundSession(key: attempt.session.sessionKey, session: session)
        do throws(NotDone) {
            try await self.sessions.admit(found, for: attempt.requester)
        } catch {
            guard !error.isUnavailable else { throw error }
            try? await self.sessions.endWithDependents(found)
            throw self.refusal(error.reason, attempt.requester, session)
        }
    }

    /// Answers used codes. A repetition of the attempt that used them gets the token again for a limited time. Anyone
    /// else is refused.
    private func repeated(_ marker: Marker, _ attempt: Attempt) async throws(NotDone) -> ExchangeOutcome {
        guard marker == attempt.session.success else { throw self.refusal(.exchangeReplayed, attempt.requester) }
        try await self.ask { store, loop in store.confirm(marker, of: attempt.key, on: loop) }
        let key = attempt.session.sessionKey
        let stored = try await self.ask { store, loop in store.session(key, on: loop) }
        guard let session = stored?.record, self.sessions.users?.loss(of: session) == nil else {
            return self.refuseEnded(attempt.requester)
        }
        let limit = self.settings.dialect == .documented ? self.settings.lifetime : Self.repetition
        guard self.sessions.clock.now().since(session.issuedAt) < limit else {
            throw self.refusal(.exchangeReplayed, attempt.requester, session)
        }
        try await self.admit(session, attempt)
        await self.sessions.list(session, key)
        return .exchanged(token: attempt.session.token, session: session)
    }

    private func refuseEnded(_ requester: Requester) -> ExchangeOutcome {
        _ = self.refusal(.exchangeUnknown, requester)
        return .ended
    }

    private func refusal(_ reason: Reason, _ requester: Requester, _ session: Session? = nil) -> NotDone {
        var record = self.sessions.record(.refused(reason), .native, requester)
        record.subject = session?.subject
        record.sessionID = session?.id
        self.sessions.journal.record(record)
        return NotDone(reason)
    }
}
