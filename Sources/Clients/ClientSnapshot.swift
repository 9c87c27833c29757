package import JOSE
package import Settings

/// The registered clients at one moment; immutable. A reference, because every step of a request passes it on.
package final class ClientSnapshot: Sendable {
    static let empty = ClientSnapshot([])

    private let clients: [String: ClientSettings]
    /// Read once, because every assertion of a client needs them.
    private let keySets: [String: JWKSet]
    private let origins: Set<String>
    /// Whether some client may get an id_token from `/authorize`.
    package let hasImplicit: Bool

    /// The settings refuse two clients with the same id; here the first would be used.
    init(_ clients: [ClientSettings]) {
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

    /// Whether some client has exactly this origin among its `allowed_origins`: a preflight names no client.
    package func allows(origin: String) -> Bool {
        // Byte for byte: equal texts of Unicode can differ in their bytes.
        self.origins.contains { $0.utf8.elementsEqual(origin.utf8) }
    }

    /// The public keys of the client, for its assertions (RFC 7523 2.2); nil if it has none.
    package func keys(of clientID: String) -> JWKSet? {
        self.keySets[clientID]
    }
}
