/// Groups of the gateway's endpoints outside of `/.sallyport/`. The app serves the paths of groups that the host lacks.
package struct EndpointGroups: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// OAuth clients: `/authorize`, `/oauth/**`, `/oidc/logout`, `/v2/logout` and `/userinfo`.
    package static let clients = EndpointGroups(rawValue: 1)
    /// Native apps, in the shapes of Kratos: `/sessions/**` and `/self-service/**`.
    package static let nativeApps = EndpointGroups(rawValue: 2)
    /// Verifiers of the gateway's tokens: the metadata and keys in `/.well-known/`.
    package static let verifiers = EndpointGroups(rawValue: 4)

    package static let all: EndpointGroups = [.clients, .nativeApps, .verifiers]
}
