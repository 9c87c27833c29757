package import JOSE
package import Sessions
package import Settings
import Vocabulary

/// The OAuth clients at one moment.
package final class ClientSnapshot: Sendable {
    package static let empty = ClientSnapshot([])

    private let clients: [String: ClientSettings]
    /// When a client began, for ids that an earlier client may have used. Other clients have no entry.
    private let beginnings: [String: UnixTime]
    private let isComplete: Bool
    /// The clients' parsed key sets (`keys(of:)`).
    private let keySets: [String: JWKSet]
    private let origins: Set<String>
    /// Whether some client may get id_tokens from `/authorize`.
    package let hasImplicit: Bool
    /// Whether some client's tokens depend on the provider's confirmation of the user (`refresh_token.provider:
    /// follow`).
    package let hasFollower: Bool
    /// Whether some client has a `backchannel_logout_uri`.
    let hasLogoutURIs: Bool

    /// Creates a snapshot.
    ///
    /// - Parameter isComplete: Whether the changes at run time have been read.
    init(_ clients: [ClientSettings], beginnings: [String: UnixTime] = [:], isComplete: Bool = true) {
        self.beginnings = beginnings
        self.isComplete = isComplete
        self.clients = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
        self.keySets = self.clients.compactMapValues { client in client.keySet.flatMap { try? JWKSet($0) } }
        self.origins = Set(clients.flatMap(\.allowedOrigins))
        self.hasImplicit = clients.contains { $0.grantTypes.contains(.implicit) }
        self.hasFollower = clients.contains(where: \.refreshToken.follows)
        self.hasLogoutURIs = clients.contains { $0.backchannelLogoutURI != nil }
    }

    /// Whether the snapshot has no clients.
    package var isEmpty: Bool { self.clients.isEmpty }

    /// Returns the client with exactly this `client_id`. `nil` if there is none.
    package func client(_ clientID: String) -> ClientSettings? {
        self.clients[clientID]
    }

    /// Returns invalidations for the tokens of clients in `former` that were deleted, created again, or lost a
    /// provider.
    package func losses(since former: ClientSnapshot) -> [Invalidation] {
        former.clients.values.compactMap { client in
            let id = client.clientID
            guard let now = self.clients[id], client.providers.allSatisfy(now.isFor) else {
                return .client(id, before: nil)
            }
            let beginning = self.beginnings[id]
            return beginning == former.beginnings[id] ? nil : .client(id, before: beginning)
        }
    }

    /// Returns whether any client lists exactly this origin in `allowed_origins`. Preflight requests name no client.
    package func allows(origin: String) -> Bool {
        // `isExactly` compares bytes. Swift's `==` ignores differences in Unicode normalisation.
        self.origins.contains { $0.isExactly(origin) }
    }

    /// Returns whether the client serves the realm's users and has existed since `time`.
    func hasExisted(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool {
        // Until the changes are read, a missing client may have been created at run time. Its tokens stay valid.
        guard let client = self.clients[clientID] else { return !self.isComplete }
        guard client.isFor(realm.name) else { return false }
        return self.beginnings[clientID].map { time >= $0 } ?? true
    }

    /// Returns the clients with https callbacks on this origin, sorted by id, and the paths of these callbacks.
    package func callbacks(on origin: String) -> [(client: ClientSettings, paths: [String])] {
        self.clients.values.sorted { $0.clientID < $1.clientID }.compactMap { client in
            var paths: [String] = []
            for callback in client.callbacks where callback.origin == origin {
                guard let path = callback.securePath, !paths.contains(path) else { continue }
                paths.append(path)
            }
            return paths.isEmpty ? nil : (client, paths)
        }
    }

    /// Returns the client's public keys for client assertions (RFC 7523 2.2). `nil` if the client has none.
    package func keys(of clientID: String) -> JWKSet? {
        self.keySets[clientID]
    }
}
