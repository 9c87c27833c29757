package import AddressIntelligence

/// Who asks a provider, for fairness: concurrent calls are limited for each client address, and some calls are reserved
/// for sign-ins. The address is `nil` if the gateway itself asks, or if a trusted proxy reports no client.
package enum ProviderCaller: Hashable, Sendable {
    /// A request to an app with a token that a provider may know.
    case request(AddressKey?)
    /// An endpoint of the gateway, such as sign-in.
    case endpoint(AddressKey?)

    /// The client's address in a task that answers a request to an endpoint; otherwise `nil`.
    @TaskLocal package static var endpointClient: AddressKey?

    /// The caller for the current task, as an endpoint.
    package static var current: ProviderCaller { .endpoint(self.endpointClient) }

    /// The client's address.
    package var client: AddressKey? {
        switch self {
        case .request(let client), .endpoint(let client): client
        }
    }

    /// True for a request to an app.
    package var isRequest: Bool { if case .request = self { true } else { false } }
}
