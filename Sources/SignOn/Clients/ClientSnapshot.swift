package import JOSE
package import Sessions
package import Settings
import Vocabulary

/// The registered clients at one moment, immutable. A class, because every step of a request passes the snapshot on.
package final class ClientSnapshot: Sendable {
    package static let empty = ClientSnapshot([])

    private let clients: [String: ClientSettings]
    /// The start time of each client whose id an earlier client may have had. Other clients have always existed.
    private let beginnings: [String: UnixTime]
    private let isComplete: Bool
    /// The clients' key sets. Parsed once, because every assertion of a client needs its key set.
    private let keySets: [String: JWKSet]
    private let origins: Set<String>
    /// Whether some client may get an id_token from `/authorize`.
    package let hasImplicit: Bool
    /// Whether some client's tokens follow the user's provider.
    package let hasFollower: Bool
    /// Whether some client is to be notified of ended sessions.
    let hasLogoutURIs: Bool

    /// Creates a snapshot. The settings reject two clients with one id. Otherwise, the first client would be used.
    ///
    /// - Parameter isComplete: Whether the snapshot contains the changes made at run time.
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

    /// Returns the client with exactly this `client_id`. `nil` if no client has it.
    package func client(_ clientID: String) -> ClientSettings? {
        self.clients[clientID]
    }

    /// Returns the invalidations that end the tokens of each client of `former` that is gone or was created anew.
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

    /// Returns true if any client lists exactly this origin in `allowed_origins`. A preflight names no client.
    package func allows(origin: String) -> Bool {
        // Compared byte for byte, because equal Unicode texts can differ in their bytes.
        self.origins.contains { $0.isExactly(origin) }
    }

    /// Returns true if the client serves users of the realm and was not created after `time`.
    func hasKept(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool {
        // Before the changes are read, nobody knows which clients are gone, and apps must not lose their tokens.
        guard let client = self.clients[clientID] else { return !self.isComplete }
        guard client.isFor(realm.name) else { return false }
        return self.beginnings[clientID].map { time >= $0 } ?? true
    }

    /// Returns the clients with https callbacks at this origin, sorted by id, with the paths of these callbacks.
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

    /// Returns the public keys of the client, for its assertions (RFC 7523 2.2). `nil` if the client has none.
    package func keys(of clientID: String) -> JWKSet? {
        self.keySets[clientID]
    }
}
