import NIOCore
import Sessions
import Vocabulary

/// Finds and ends the sessions of tokens that a provider made.
extension SessionService {
    /// The session that the provider vouches for, unless it was ended here.
    func found(foreign token: Secret) async throws(StoreError) -> PresentedSession {
        guard let answer = try await self.answer(to: token) else { return .none(.credentialMalformed) }
        switch answer {
        case .live(let key, let session): return .session(FoundSession(key: key, session: session))
        case .none(let reason): return .none(reason)
        }
    }

    /// Ends the session of a token and all sessions made from it, whatever the provider says of the token from now on.
    ///
    /// - Returns: Why the token is not accepted; nil when its session has ended, now or before.
    func end(foreign token: Secret, for requester: Requester) async throws(StoreError) -> Reason? {
        guard let answer = try await self.answer(to: token) else { return .credentialMalformed }
        switch answer {
        // It has ended here before.
        case .none(.sessionUnknown): return nil
        case .none(let reason): return reason
        case .live(_, let session):
            let provider = session.provider?.name ?? ""
            for lineage in token.bytes.withUnsafeBytes({ self.authority.foreignLineages(token: $0, of: provider) }) {
                try await self.end(lineage)
            }
            var record = self.record(.signedOut, .native, requester)
            record.subject = session.subject
            record.sessionID = session.id
            // The sign-out takes place in any case: a full queue must not keep the user signed in.
            _ = self.audit(record)
            return nil
        }
    }

    private enum Answer: Sendable {
        case live(RecordKey, Session)
        case none(Reason)
    }

    /// nil if no provider may know the token. A provider that cannot answer counts as a store that cannot.
    private func answer(to token: Secret) async throws(StoreError) -> Answer? {
        guard let tokens = self.tokens, let key = token.bytes.withUnsafeBytes({ tokens.key(of: $0) }) else {
            return nil
        }
        let answer = try await self.ask { _, loop in tokens.session(token, key: key, known: nil, on: loop) }
        switch answer {
        case .live(let found): return .live(key, found.session)
        case .none(let reason): return Answer.none(reason)
        }
    }
}
