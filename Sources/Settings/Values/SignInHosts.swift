package import Vocabulary

/// The hosts, and where their users sign in. Users of a host without endpoints sign in on the first host that has
/// endpoints and the same providers, otherwise on the first that has endpoints and all of these providers.
package struct SignInHosts: Sendable {
    /// The properties of a host that matter for sign-ins.
    package struct Host: Sendable, Hashable {
        package fileprivate(set) var url: PublicURL
        /// Whether users sign in on the host itself.
        package let hasEndpoints: Bool
        /// The names of the host's providers.
        package let providers: [String]
        /// The device bindings that the host's routes enforce on every request, without `none`.
        package let bindings: Set<BindingMode>

        /// `host[:port]` of the host's `public_url`.
        package var authority: String { self.url.authority }
        /// The origin of the host's `public_url`, e.g. `https://app.example.com`.
        package var origin: String { self.url.description }
    }

    private let hosts: [String: Host]
    /// The wildcard hosts, each with its settings.
    private let wildcards: [(host: Host, settings: HostSettings)]
    /// The hosts with endpoints, except wildcards, in the order of the settings.
    private let signInHosts: [Host]

    package init(_ hosts: [HostSettings]) {
        let all = hosts.map { host in
            Host(
                url: host.publicURL,
                hasEndpoints: host.endpoints,
                providers: host.providers,
                bindings: Set(host.routes.map(\.enforcedBinding)).subtracting([.none])
            )
        }
        let exact = all.filter { !$0.url.isWildcard }
        self.hosts = Dictionary(exact.map { ($0.authority, $0) }, uniquingKeysWith: { first, _ in first })
        self.wildcards = zip(all, hosts).filter { $0.0.url.isWildcard }.map { (host: $0, settings: $1) }
        self.signInHosts = exact.filter(\.hasEndpoints)
    }

    /// Whether users of some host sign in on another host.
    package var isShared: Bool {
        (self.hosts.values + self.wildcards.map(\.host)).contains { self.signInHost(of: $0) != nil }
    }

    /// Returns the host that has this authority, or whose wildcard covers it; `nil` if there is no such host.
    package func host(_ authority: String) -> Host? {
        if let host = self.hosts[authority] { return host }
        for (host, settings) in self.wildcards {
            guard let url = settings.named(by: authority) else { continue }
            var host = host
            host.url = url
            return host
        }
        return nil
    }

    /// Returns the other host where users of `authority` sign in; `nil` if they sign in on the same host or nowhere.
    package func signInHost(of authority: String) -> Host? { self.host(authority).flatMap { self.signInHost(of: $0) } }

    private func signInHost(of host: Host) -> Host? {
        guard !host.hasEndpoints else { return nil }
        return self.signInHosts.first { $0.providers == host.providers }
            ?? self.signInHosts.first { Set(host.providers).isSubset(of: $0.providers) }
    }
}
