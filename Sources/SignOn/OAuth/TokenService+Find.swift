import NIOCore
package import Sessions
import Settings
package import Vocabulary

/// A token that a client or an API asks about.
package enum FoundToken: Sendable {
    /// The token of a session, or an access token of a session (`Session.access`).
    case session(NewSession)
    /// A refresh token that can still be used, and the session of its family.
    case refresh(RefreshFamily, NewSession)
    /// A token that has ended or that this gateway did not make.
    case none
}

extension TokenService {
    /// Finds the session or family of a token. Returns `none` if its user or client is gone.
    package func find(_ token: Secret) async throws(NotDone) -> FoundToken {
        let found = try await self.findKept(token)
        switch found {
        case .session(let session), .refresh(_, let session):
            return self.loss(of: session.session) == nil ? found : .none
        case .none: return .none
        }
    }

    /// Finds the session or family of a token, even if its user or client is gone.
    private func findKept(_ token: Secret) async throws(NotDone) -> FoundToken {
        if TokenAuthority.isWellFormed(.refresh, token.bytes) {
            guard case .genuine(let refresh) = self.refreshTokens.read(token.bytes),
                let family = try await self.family(refresh.key)?.record,
                refresh.generation >= family.generation,
                let session = try await self.kept(family.session)
            else { return .none }
            return .refresh(family, session)
        }
        guard case .record(let key) = self.authority.readSession(token.bytes),
            let session = try await self.kept(key), session.session.kind == .native
        else { return .none }
        return .session(session)
    }

    /// Returns the session with the key that `token` presents. `nil` if `token` is not a session token.
    package func presented(_ session: Session, by token: Secret) -> NewSession? {
        self.authority.key(.session, of: token.bytes).map { NewSession(key: $0, session: session) }
    }

    /// Returns whether only a provider can have made a token that is to be revoked.
    package func isForeign(revoked token: Secret) -> Bool {
        self.refreshTokens.read(token.bytes) == .malformed && self.isForeign(token)
    }

    /// Revokes a token for the client that owns it (RFC 7009 2.1). An access token ends alone. A refresh token of any
    /// generation or a session token ends with everything that was made from it.
    ///
    /// Also succeeds, without effect, for a token that has ended, was never issued, or belongs to another client, so
    /// that the client learns nothing. A token under an unknown secret, perhaps from another region, does not end. The
    /// audit stream reports it (`credential.other_key`).
    package func revoke(_ token: Secret, for requester: TokenRequester) async throws(NotDone) {
        guard let (session, isAlone) = try await self.revocable(token, requester.client.clientID) else {
            if self.refreshTokens.read(token.bytes) == .otherKey || self.authority.readSession(token.bytes) == .otherKey
            {
                self.journal.record(self.record(.revoked, refusal: .credentialOtherKey, requester))
            }
            return
        }
        var record = self.record(.revoked, requester)
        record.note(session, audience: session.session.access?.audience)
        if case .genuine(let refresh) = self.refreshTokens.read(token.bytes) {
            record.tokenFingerprint = refresh.key.fingerprint
        }
        if isAlone {
            _ = try await self.ask { store, loop in store.end(session.key, on: loop) }
        } else {
            try await self.end(session, &record)
            self.notifyClients(of: session, besides: requester.client.clientID)
        }
        // The token has ended in any case. A full audit queue must not keep a token alive.
        self.journal.record(record)
    }

    private func revocable(
        _ token: Secret,
        _ clientID: String
    ) async throws(NotDone) -> (session: NewSession, isAlone: Bool)? {
        if case .genuine(let refresh) = self.refreshTokens.read(token.bytes) {
            guard let family = try await self.family(refresh.key)?.record, family.clientID == clientID,
                let session = try await self.kept(family.session)
            else { return nil }
            return (session, false)
        }
        guard case .session(let session) = try await self.findKept(token), session.session.clientID == clientID else {
            return nil
        }
        // If an access token was made from no session or family, its client has no other token. The access token then
        // ends with its dependents.
        return (session, session.session.access != nil && session.session.sourceKey != nil)
    }
}
