package import Settings

/// Where every reader of OAuth clients takes its snapshot: one registry per configuration, shared by the request path, the
/// token endpoint and all event loops.
///
/// Readers keep the registry and never a client or a snapshot beyond the request that they serve, so that all of them see
/// a change of the clients at the same time.
package final class ClientRegistry: Sendable {
    /// The clients as they are now. A request that looks at clients more than once takes it once.
    package let snapshot: ClientSnapshot

    /// The registry of the clients that the configuration names.
    package init(_ clients: [ClientSettings]) {
        self.snapshot = ClientSnapshot(clients)
    }
}

/// The registered clients at one moment: an immutable value.
package struct ClientSnapshot: Sendable {
    private let clients: [String: ClientSettings]

    /// Settings refuse two clients of one id; the first would win here.
    init(_ clients: [ClientSettings]) {
        self.clients = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The client with exactly this `client_id`; nil when none is registered under it.
    package func client(_ clientID: String) -> ClientSettings? {
        self.clients[clientID]
    }
}
