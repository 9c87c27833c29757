package import Vocabulary

/// The hosts of the gateway, and where the users of each sign in: a host without endpoints leaves that to the first
/// host of its provider that has them, so that one sign-in serves all hosts of a provider.
package struct SignInHosts: Sendable {
    /// A host, as far as sign-ins concern it.
    package struct Host: Sendable, Hashable {
        package let url: PublicURL
        /// Whether users sign in on the host itself.
        package let hasEndpoints: Bool
        /// The name of its provider.
        package let provider: String
        /// What the host's routes compare of a device on every request, without `none`.
        package let bindings: Set<BindingMode>

        /// `host[:port]` of its `public_url`.
        package var authority: String { self.url.authority }
        /// The origin of its `public_url`, e.g. `https://app.example.com`.
        package var origin: String { self.url.description }
    }

    private let hosts: [String: Host]
    /// The first host with endpoints of each provider.
    private let first: [String: Host]

    package init(_ hosts: [HostSettings]) {
        let all = hosts.map { host in
            Host(
                url: host.publicURL,
                hasEndpoints: host.endpoints,
                provider: host.provider,
                bindings: Set(host.routes.map(\.enforcedBinding)).subtracting([.none])
            )
        }
        self.hosts = Dictionary(all.map { ($0.authority, $0) }, uniquingKeysWith: { first, _ in first })
        self.first = Dictionary(
            all.filter(\.hasEndpoints).map { ($0.provider, $0) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Whether there is a host whose users sign in on another one.
    package var isShared: Bool { self.hosts.keys.contains { self.signInHost(of: $0) != nil } }

    /// The host with this authority; nil if the gateway does not serve it.
    package func host(_ authority: String) -> Host? { self.hosts[authority] }

    /// The host on which the users of `authority` sign in; nil: on that host itself.
    package func signInHost(of authority: String) -> Host? {
        guard let host = self.hosts[authority], !host.hasEndpoints else { return nil }
        return self.first[host.provider]
    }
}
