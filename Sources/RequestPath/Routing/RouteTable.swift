package import Settings
package import Vocabulary

/// The result of looking for a route.
package enum RouteMatch: Sendable {
    case route(Pinned<RouteEntry>)
    case notFound
    /// 405, with the value of `Allow`.
    case methodNotAllowed(allow: String)
    /// 400: readings of the path lead to different demands, or the path holds something that the route does not accept.
    case refused(Reason)
}

/// A problem of the routes that an operator should know. `check` prints it.
package struct RouteFinding: Sendable, Equatable, CustomStringConvertible {
    /// Whether the gateway refuses to start.
    package var isError: Bool
    /// The authority of the host.
    package var host: String
    /// The name of the route; nil when the whole host is concerned.
    package var route: String?
    package var message: String

    package var description: String {
        "\(self.isError ? "error" : "warning"): \(self.host)\(self.route.map { " route \($0)" } ?? ""): \(self.message)"
    }
}

/// All hosts and routes of one configuration. It is made when the settings are loaded, read by every loop, and replaced
/// whole on reload.
package final class RouteTable: Sendable {
    package let hosts: [HostEntry]
    /// The routes of all hosts, each at its `index`.
    package let entries: [RouteEntry]
    /// Problems and hints about the routes. If one of them is an error, the table must not be used: the routes
    /// concerned are missing.
    package let findings: [RouteFinding]
    /// The host of all names, and of requests without a name. Nil: a name that is not in the settings is 404.
    package let anyHost: HostEntry?
    private let directory: HostDirectory
    /// The hosts of other addresses of the gateway.
    private let others: HostDirectory

    /// A table without routes: `host` has every name, and only its endpoints are served. For listeners of operators,
    /// whose clients connect by address or by any name.
    package init(forAnyName host: HostSettings) {
        var builder = RouteTableBuilder(upstreams: [], replacesAuthorization: false)
        self.hosts = builder.build([host])
        self.entries = []
        self.findings = builder.findings
        self.anyHost = self.hosts[0]
        self.directory = HostDirectory([])
        self.others = HostDirectory([])
    }

    /// - Parameters:
    ///   - upstreams: The names of the apps, in the order of `upstreamIndex`.
    ///   - replacesAuthorization: Whether the gateway sends basic authentication to the apps (`identity.basic`).
    ///   - others: What the gateway serves at other addresses only.
    package init(
        _ hosts: [HostSettings],
        upstreams: [String],
        replacesAuthorization: Bool = false,
        others: [PublicURL] = []
    ) {
        var builder = RouteTableBuilder(upstreams: upstreams, replacesAuthorization: replacesAuthorization)
        self.hosts = builder.build(hosts)
        self.entries = self.hosts.flatMap(\.routes)
        self.findings = builder.findings
        self.anyHost = nil
        self.directory = HostDirectory(hosts.map(\.publicURL), reserved: hosts.flatMap(\.reservedNames))
        self.others = HostDirectory(others)
    }

    /// The host that the value of `Host` names, or nil. Allocates nothing, but for a name of a wildcard that is not kept.
    ///
    /// - Parameter names: Where the hosts of such names are kept.
    @inline(__always)
    func pinnedHost(
        for authority: UnsafeBufferPointer<UInt8>,
        kept names: Pinned<NamedHostCache>
    ) -> Pinned<HostEntry>? {
        if let index = self.directory.index(of: authority) { return Pinned(self.hosts[index]) }
        return names.use { self.namedHost(for: authority, $0) }
    }

    @inline(never)
    private func namedHost(for authority: UnsafeBufferPointer<UInt8>, _ names: NamedHostCache) -> Pinned<HostEntry>? {
        let named = self.directory.wildcard(of: authority) { index, label in names.host(self.hosts[index], label) }
        return (named ?? self.anyHost).map { Pinned($0) }
    }

    /// The same as a counted reference.
    package func host(for authority: UnsafeBufferPointer<UInt8>, kept names: NamedHostCache) -> HostEntry? {
        withExtendedLifetime(names) { self.pinnedHost(for: authority, kept: Pinned(names))?.counted }
    }

    /// Whether the gateway serves the host that the value of `Host` names at another address.
    package func isElsewhere(_ authority: UnsafeBufferPointer<UInt8>) -> Bool {
        self.others.index(of: authority) != nil || self.others.wildcard(of: authority) { _, _ in true } != nil
    }

    /// The same for a text.
    package func host(named authority: String) -> HostEntry? {
        Array(authority.utf8).withUnsafeBufferPointer { self.host(for: $0, kept: NamedHostCache()) }
    }

    /// The route of a request, chosen before any credential is read.
    ///
    /// The most specific pattern wins: literal before `*` before `**`, and the longer literal prefix first. Among
    /// routes with one pattern, the one that names the method wins. A method that none of them takes is 405.
    ///
    /// - Parameters:
    ///   - rawPath: The path without the query, as it came and as the app gets it.
    ///   - reading: The reading of `rawPath`.
    @inline(__always)
    package func match(
        host: HostEntry,
        method: UnsafeBufferPointer<UInt8>,
        rawPath: UnsafeBufferPointer<UInt8>,
        reading: PathReading
    ) -> RouteMatch {
        host.match(method, rawPath, reading)
    }
}
