import NIOCore
package import Sessions
package import Vocabulary

/// Finds and ends the sessions of provider tokens and cookies.
extension SessionService {
    /// Returns the session that a provider vouches for, unless it was ended here.
    func found(foreign token: Secret, as kind: Session.Kind = .native) async throws(NotDone) -> FoundSession {
        var refusal = NotDone(.credentialMalformed)
        for candidate in self.tokens.candidates(for: token, as: kind) {
            let (tokens, key) = (candidate.tokens, candidate.key)
            let answer: ForeignAnswer
            do throws(NotDone) {
                answer = try await self.ask { _, loop in tokens.freshSession(token, as: kind, key: key, on: loop) }
            } catch {
                // Another provider may know the token. If none does, this outage is thrown.
                guard error.reason == .providerUnavailable else { throw error }
                refusal = error
                continue
            }
            switch answer {
            // Endpoints that show sessions accept no proof of possession, so they reject bound tokens.
            case .live(let found) where found.session.keyThumbprint != nil: throw NotDone(.credentialBoundToKey)
            case .live(let found) where found.session.certificateHash != nil:
                throw NotDone(.credentialBoundToCertificate)
            case .live(let found): return FoundSession(key: key, session: found.session)
            case .insufficient: throw NotDone(.requireAAL)
            case .none(let reason): if !refusal.isUnavailable { refusal = NotDone(reason.told) }
            }
        }
        throw refusal
    }

    /// Returns whether the browser sent a provider's cookie of a blocked user. Returns false if that cannot be found
    /// out.
    package func isBlocked(_ requester: Requester) async -> Bool {
        for cookie in requester.providerCookies {
            for candidate in self.tokens.candidates(for: cookie, as: .web) {
                let answer = try? await self.ask { _, loop in
                    candidate.tokens.freshSession(cookie, as: .web, key: candidate.key, on: loop)
                }
                if answer == ForeignAnswer.none(.signInBlocked) { return true }
            }
        }
        return false
    }

    /// Ends the session of a provider's token or cookie here, with all sessions made from it, even if the provider
    /// still accepts the token. Notifies the provider if it accepts notifications.
    ///
    /// - Throws: The reason why the token is not accepted. `provider.unavailable` if the provider could not be
    ///   notified. The session has then ended here, and the client can retry.
    package func signOutForeign(
        _ token: Secret,
        as kind: Session.Kind = .native,
        for requester: Requester
    ) async throws(NotDone) {
        let candidates = self.tokens.candidates(for: token, as: kind)
        guard let last = candidates.last else { throw NotDone(.credentialMalformed) }
        var (tokens, key) = (last.tokens, last.key)
        var answer = ForeignAnswer.none(.credentialMalformed)
        for candidate in candidates {
            (tokens, key) = (candidate.tokens, candidate.key)
            answer = try await self.ask { [tokens, key] _, loop in
                tokens.session(token, as: kind, key: key, known: nil, on: loop)
            }
            // An unknown token may be another provider's.
            guard case .none(let reason) = answer, ![.sessionUnknown, .signInBlocked].contains(reason) else {
                break
            }
        }
        var isTold: Bool
        switch answer {
        case .live(let found):
            let session = found.session
            isTold = await tokens.revoke(token, as: kind, sessionID: session.provider?.sessionID)
            let provider = session.provider?.name ?? ""
            let ends = ProviderSessions(records: self.records)
            try await ends.end(token: token, of: provider)
            if let id = session.provider?.sessionID {
                if kind == .web {
                    // Also ends other cookies that the provider may have issued for this session.
                    try await ends.end(session: id, at: provider)
                } else {
                    // Also ends sessions and tokens that a client got for this session with an earlier token.
                    for record in try await ends.records(of: id, at: provider) { try await ends.end(record) }
                }
            }
            var record = self.record(.signedOut, kind, requester)
            record.note(session, key)
            // The result is ignored, because a full audit queue must not keep the user signed in.
            self.journal.record(record)
        // The session has ended here before, is insufficient, or belongs to a blocked user. The provider is still
        // notified of the sign-out.
        case .none(.sessionUnknown), .none(.signInBlocked), .insufficient:
            isTold = await tokens.revoke(token, as: kind, sessionID: nil)
        case .none(let reason): throw NotDone(reason)
        }
        guard isTold else { throw NotDone(.providerUnavailable) }
    }
}
