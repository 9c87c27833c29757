package import Settings

/// The source of snapshots of the OAuth clients: one registry per configuration, shared by the request path, the token
/// endpoint and all event loops.
///
/// Readers keep the registry, and keep a client or a snapshot only for one request, so that all of them see a change of
/// the clients at the same time.
package final class ClientRegistry: Sendable {
    /// The current clients. A request that looks at clients more than once takes the snapshot once.
    package let snapshot: ClientSnapshot

    /// The registry of the clients in the configuration.
    package init(_ clients: [ClientSettings]) {
        self.snapshot = ClientSnapshot(clients)
    }
}

/// The registered clients at one moment: an immutable value.
package struct ClientSnapshot: Sendable {
    private let clients: [String: ClientSettings]

    /// The settings refuse two clients with the same id; here the first would be used.
    init(_ clients: [ClientSettings]) {
        self.clients = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The client with exactly this `client_id`; nil if there is none.
    package func client(_ clientID: String) -> ClientSettings? {
        self.clients[clientID]
    }
}
