package import Settings

/// The OAuth clients that the configuration names: an immutable value, replaced whole by a reload.
package struct ClientRegistry: Sendable {
    private let clients: [String: ClientSettings]

    /// The registry of `clients`. Settings refuse two clients of one id; the first would win here.
    package init(_ clients: [ClientSettings]) {
        self.clients = Dictionary(clients.map { ($0.clientID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The client with exactly this `client_id`; nil when nobody registered it.
    package func client(_ clientID: String) -> ClientSettings? {
        self.clients[clientID]
    }
}
