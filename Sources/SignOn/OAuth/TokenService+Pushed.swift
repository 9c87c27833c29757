import NIOCore
import Sessions
package import Vocabulary

/// A stored pushed authorization request, with the key and version that are needed to use it up.
package struct FoundRequest: Sendable {
    package let request: PushedRequest
    fileprivate let key: RecordKey
    fileprivate let version: RecordVersion
}

/// Authorization requests that clients push (RFC 9126), stored until a browser gets the answer.
extension TokenService {
    /// Stores a request.
    ///
    /// - Parameter query: The validated parameters of the request.
    /// - Returns: The last part of the request's `request_uri`.
    package func push(_ query: String, from clientID: String) async throws(NotDone) -> Secret {
        let (token, key) = self.authority.make(.pushedRequest, in: self.authority.newLineage())
        let request = PushedRequest(clientID: clientID, query: query, issuedAt: self.clock.now())
        try await self.ask { store, loop in store.create(request, key: key, on: loop) }
        return token
    }

    /// Returns the request with this `request_uri`. `nil` if the request does not exist or was used, or its client is
    /// gone.
    package func pushed(_ token: Secret) async throws(NotDone) -> FoundRequest? {
        guard let key = self.authority.key(.pushedRequest, of: token.bytes) else { return nil }
        let lookup = try await self.ask { store, loop in
            store.singleUse(key, as: PushedRequest.self, on: loop)
        }
        guard case .live(let stored) = lookup,
            self.users.hasExisted(stored.record.clientID, since: stored.record.issuedAt)
        else { return nil }
        return FoundRequest(request: stored.record, key: key, version: stored.version)
    }

    /// Uses up a request. Returns false if another browser used it first. Only that browser gets an answer.
    package func use(_ found: FoundRequest) async throws(NotDone) -> Bool {
        let marker = Marker.used(self.authority.newAttempt(), session: nil)
        return try await self.consume(found.key, found.version, marker, [], asksAgain: true) == .done
    }
}
