package import AddressIntelligence

/// The client for which a provider is asked, by its address. Concurrent questions per client are limited, and some
/// calls are reserved for sign-ins. The address is `nil` if a trusted proxy names no client, or the gateway itself
/// asks.
package enum ProviderCaller: Hashable, Sendable {
    /// A request that presents a token which a provider may know.
    case request(AddressKey?)
    /// An endpoint of the gateway, mostly for a sign-in.
    case endpoint(AddressKey?)

    /// The client's address in a task that answers a request to an endpoint; `nil` in other tasks.
    @TaskLocal package static var endpointClient: AddressKey?

    /// The caller to use in a task that does not itself answer a request for an app.
    package static var current: ProviderCaller { .endpoint(self.endpointClient) }

    /// The client's address.
    package var client: AddressKey? {
        switch self {
        case .request(let client), .endpoint(let client): client
        }
    }

    /// True if the caller is a request for an app.
    package var isRequest: Bool { if case .request = self { true } else { false } }
}
