package import Settings
package import Vocabulary

/// The result of looking up a route.
package enum RouteMatch: Sendable {
    case route(Pinned<RouteEntry>)
    case notFound
    /// 405, with the value of `Allow`.
    case methodNotAllowed(allow: String)
    /// 400: readings of the path lead to different requirements, or the path has a forbidden part, such as `%2F`.
    case refused(Reason)
}

/// A problem with the routes that an operator should know about. `check` prints it.
package struct RouteFinding: Sendable, Equatable, CustomStringConvertible {
    /// Whether the gateway refuses to start because of the problem.
    package var isError: Bool
    /// The authority of the host.
    package var host: String
    /// The name of the route. `nil` if the problem concerns the whole host.
    package var route: String?
    package var message: String

    package var description: String {
        "\(self.isError ? "error" : "warning"): \(self.host)\(self.route.map { " route \($0)" } ?? ""): \(self.message)"
    }
}

/// All hosts and routes of one configuration. The table is created when the settings are loaded, read by every loop,
/// and replaced as a whole on reload.
package final class RouteTable: Sendable {
    package let hosts: [HostEntry]
    /// The routes of all hosts, each at its `index`.
    package let entries: [RouteEntry]
    /// Problems and hints about the routes. If one of them is an error, the table must not be used: routes may be
    /// missing.
    package let findings: [RouteFinding]
    /// The host for all names and for requests without a name. `nil` if unknown names are rejected.
    package let anyHost: HostEntry?
    private let directory: HostDirectory
    /// The hosts that only other listeners of the gateway serve.
    private let others: HostDirectory

    /// Creates a table without routes. `host` is found by every name, and only its endpoints are served. Used for
    /// operators' listeners, whose clients connect by address or by any name.
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
    ///   - others: The URLs of the hosts that only other listeners of the gateway serve.
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

    /// Returns the host named by the value of `Host`. `nil` if none exists.
    ///
    /// - Parameter names: The cache of hosts for wildcard names.
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

    /// Returns a counted reference to the host that the value of `Host` names. `nil` if none exists.
    package func host(for authority: UnsafeBufferPointer<UInt8>, kept names: NamedHostCache) -> HostEntry? {
        withExtendedLifetime(names) { self.pinnedHost(for: authority, kept: Pinned(names))?.counted }
    }

    /// Whether another listener of the gateway serves the host in the value of `Host`.
    package func isElsewhere(_ authority: UnsafeBufferPointer<UInt8>) -> Bool {
        self.others.index(of: authority) != nil || self.others.wildcard(of: authority) { _, _ in true } != nil
    }

    /// Returns the host for `authority`, the text of a `Host` value. Returns `nil` if none exists.
    package func host(named authority: String) -> HostEntry? {
        Array(authority.utf8).withUnsafeBufferPointer { self.host(for: $0, kept: NamedHostCache()) }
    }

    /// Returns the route of a request, chosen before any credential is read.
    ///
    /// The most specific pattern wins: literal before `*` before `**`, and longer literal prefixes first. Among routes
    /// with equal patterns, a route that names the method wins. If none of them accepts the method, the result is 405.
    ///
    /// - Parameters:
    ///   - rawPath: The path as received, without the query.
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
