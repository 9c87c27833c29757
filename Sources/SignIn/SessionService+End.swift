package import Sessions
package import Vocabulary

/// Ends sessions. When one of these methods returns, every loop of the process has forgotten what ended.
extension SessionService {
    /// Ends one session only; true when it existed.
    @discardableResult
    package func end(_ key: RecordKey) async throws(StoreError) -> Bool {
        try await self.ask { store, loop in store.end(key, on: loop) }
    }

    /// Ends every token and session of the family.
    package func end(_ lineage: Lineage) async throws(StoreError) {
        try await self.ask { store, loop in store.end(lineage, on: loop) }
    }

    /// Ends a session and, as far as `reach` says, its family.
    package func end(_ found: FoundSession) async throws(StoreError) {
        switch Self.reach(ofEnding: found.session) {
        case .nothing: break
        case .session: try await self.end(found.key)
        case .lineage: try await self.end(found.session.lineage)
        }
    }

    /// Ends the sessions that the request's cookies present on this host; true when there was one.
    @discardableResult
    package func endPresented(by requester: Requester) async throws(StoreError) -> Bool {
        var wasThere = false
        for cookie in requester.cookies {
            guard let key = self.authority.key(.session, of: cookie.bytes) else { continue }
            if case .ended = try await self.end(presented: key, .web, requester) { wasThere = true }
        }
        return wasThere
    }

    /// Ends the native session of a presented token and all sessions made from it.
    ///
    /// - Returns: Why the token never named a native session; nil when its session has ended, now or before: a client
    ///   that lost the answer may repeat the request and gets the same answer.
    package func end(native token: Secret, for requester: Requester) async throws(StoreError) -> Reason? {
        switch self.authority.read(.session, token.bytes) {
        case .malformed: return .credentialMalformed
        case .otherKey: return .credentialOtherKey
        case .record(let key):
            if case .kept = try await self.end(presented: key, .native, requester) { return .sessionUnknown }
            return nil
        }
    }

    /// Ends what the token names, even if it ended before: a client that got 503 because the end was not confirmed
    /// repeats its request.
    private func end(
        presented key: RecordKey,
        _ kind: Session.Kind,
        _ requester: Requester
    ) async throws(StoreError) -> PresentedEnd {
        let end = try await self.ask { store, loop in
            store.end(
                presented: key,
                reaching: { session in
                    let isPresentable = kind == .web ? Self.isPresentable(session, by: requester) : session.kind == kind
                    return isPresentable ? Self.reach(ofEnding: session) : .nothing
                },
                on: loop
            )
        }
        guard case .ended(let session) = end else { return end }
        var record = self.record(.signedOut, kind, requester)
        record.subject = session.subject
        record.sessionID = session.id
        // The sign-out takes place in any case: a full queue must not keep the user signed in.
        _ = self.audit(record)
        return end
    }

    /// A session made by a handoff ends alone, because the native app that it came from stays signed in; any other ends
    /// with its whole family.
    private static func reach(ofEnding session: Session) -> EndReach {
        session.origin == .transfer ? .session : .lineage
    }
}
