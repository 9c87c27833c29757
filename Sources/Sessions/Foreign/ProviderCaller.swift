package import AddressIntelligence

/// Who needs an answer of a provider, by the address of the client. One client may ask only so much at a time, and
/// requests leave room for sign-ins. An address is `nil` if a trusted proxy names no client, or the gateway asks by itself.
package enum ProviderCaller: Hashable, Sendable {
    /// A request that presents a token which a provider may know.
    case request(AddressKey?)
    /// An endpoint of the gateway, mostly for a sign-in.
    case endpoint(AddressKey?)

    /// The client of the endpoint's request that a task answers. `nil` in other tasks.
    @TaskLocal package static var endpointClient: AddressKey?

    /// The caller in a task that answers no request of its own.
    package static var current: ProviderCaller { .endpoint(self.endpointClient) }

    /// The client's address.
    package var client: AddressKey? {
        switch self {
        case .request(let client), .endpoint(let client): client
        }
    }

    /// Whether it is a request for an app, and no endpoint's.
    package var isRequest: Bool { if case .request = self { true } else { false } }
}
