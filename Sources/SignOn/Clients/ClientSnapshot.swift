package import JOSE
package import Sessions
package import Settings
import Vocabulary

/// The registered clients at one moment; immutable. A reference, because every step of a request passes it on.
package final class ClientSnapshot: Sendable {
    package static let empty = ClientSnapshot([])

    private let clients: [String: ClientSettings]
    /// When clients began that others with their ids may have preceded. All others are there from the beginning.
    private let beginnings: [String: UnixTime]
    private let isComplete: Bool
    /// Read once, because every assertion of a client needs them.
    private let keySets: [String: JWKSet]
    private let origins: Set<String>
    /// Whether some client may get an id_token from `/authorize`.
    package let hasImplicit: Bool

    /// The settings refuse two clients with the same id; here the first would be used.
    ///
    /// - Parameter isComplete: Whether what was changed at run time is in it.
    init(_ clients: [ClientSettings], beginnings: [String: UnixTime] = [:], isComplete: Bool = true) {
        self.beginnings = beginnings
        self.isComplete = isComplete
        self.clients = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
        self.keySets = self.clients.compactMapValues { client in client.keySet.flatMap { try? JWKSet($0) } }
        self.origins = Set(clients.flatMap(\.allowedOrigins))
        self.hasImplicit = clients.contains { $0.grantTypes.contains(.implicit) }
    }

    /// Whether there is no client.
    package var isEmpty: Bool { self.clients.isEmpty }

    /// The client with exactly this `client_id`; nil if there is none.
    package func client(_ clientID: String) -> ClientSettings? {
        self.clients[clientID]
    }

    /// The clients of `former` whose tokens do not count any more: they are gone, or have begun anew.
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

    /// Whether some client has exactly this origin among its `allowed_origins`: a preflight names no client.
    package func allows(origin: String) -> Bool {
        // Byte for byte: equal texts of Unicode can differ in their bytes.
        self.origins.contains { $0.isExactly(origin) }
    }

    /// Whether the realm has had the client since then.
    func hasKept(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool {
        // Before the changes are read, nobody knows which clients are gone: an app must not lose its tokens to that.
        guard let client = self.clients[clientID] else { return !self.isComplete }
        guard client.isFor(realm.name) else { return false }
        return self.beginnings[clientID].map { time >= $0 } ?? true
    }

    /// The clients that have https callbacks at this origin, in the order of their ids, with the paths of these callbacks.
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

    /// The public keys of the client, for its assertions (RFC 7523 2.2); nil if it has none.
    package func keys(of clientID: String) -> JWKSet? {
        self.keySets[clientID]
    }
}
