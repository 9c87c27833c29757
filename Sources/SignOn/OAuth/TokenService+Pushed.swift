import NIOCore
import Sessions
package import Vocabulary

/// A pushed authorization request that was found, and what is needed to use it up.
package struct FoundRequest: Sendable {
    package let request: PushedRequest
    fileprivate let key: RecordKey
    fileprivate let version: RecordVersion
}

/// Authorization requests that clients push (RFC 9126): kept until a browser gets the answer.
extension TokenService {
    /// Keeps a request.
    ///
    /// - Parameter query: Its parameters, judged.
    /// - Returns: The last part of its `request_uri`.
    package func push(_ query: String, from clientID: String) async throws(NotDone) -> Secret {
        let (token, key) = self.authority.make(.pushedRequest, in: self.authority.newLineage())
        let request = PushedRequest(clientID: clientID, query: query, issuedAt: self.clock.now())
        try await self.ask { store, loop in store.create(request, key: key, on: loop) }
        return token
    }

    /// The request with this `request_uri`; nil if there is none, it was used, or the client that pushed it is gone.
    package func pushed(_ token: Secret) async throws(NotDone) -> FoundRequest? {
        guard let key = self.authority.key(.pushedRequest, of: token.bytes) else { return nil }
        let lookup = try await self.ask { store, loop in
            store.singleUse(key, as: PushedRequest.self, on: loop)
        }
        guard case .live(let stored) = lookup,
            self.users.hasKept(stored.record.clientID, since: stored.record.issuedAt)
        else { return nil }
        return FoundRequest(request: stored.record, key: key, version: stored.version)
    }

    /// Uses a request up; false if another browser was faster, and is the one that gets an answer.
    package func use(_ found: FoundRequest) async throws(NotDone) -> Bool {
        let marker = Marker.used(self.authority.newAttempt(), session: nil)
        return try await self.consume(found.key, found.version, marker, [], asksAgain: true) == .done
    }
}
