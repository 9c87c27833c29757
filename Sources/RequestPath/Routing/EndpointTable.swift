package import Endpoints
package import Settings
package import Vocabulary

/// The gateway's own endpoints by host and path. They take precedence over the routes of the host, except those in
/// `portals`.
package struct EndpointTable: Sendable {
    /// The error for an endpoint that forwards to an unknown upstream.
    package struct UnknownUpstream: Error, Sendable, CustomStringConvertible {
        package let name: String

        package var description: String { "an endpoint forwards to \(self.name), and there is no such upstream" }
    }

    /// The routes that judge requests to forwarding endpoints, one for each endpoint and each host that serves it.
    /// Their indices follow the last index of the route table.
    package let routes: [RouteEntry]
    /// The endpoint paths in the order of the route table's hosts.
    private let paths: [EndpointPaths]
    /// The paths of Authelia's portal, in the order of the route table's hosts. They are matched only if no app would
    /// answer.
    private let portals: [EndpointPaths]
    /// The filters of `paths`, in one array with `EndpointPaths.Filter.count` elements for each host.
    private let filters: [EndpointPaths.Filter]
    /// The distinct paths of all endpoints that the gateway answers. Metrics use them as names.
    let names: [String]
    private let listed: [Realms: [(path: String, scope: EndpointScope)]]

    /// The endpoints of all hosts with equal realms.
    package struct Group: Sendable {
        let realms: Realms
        let endpoints: [Endpoint]
        let forwarding: [ForwardingEndpoint]
        let portal: [Endpoint]

        /// - Parameters:
        ///   - endpoints: The endpoints that the gateway answers.
        ///   - forwarding: The endpoints that the identity provider answers.
        ///   - portal: The endpoints that the gateway answers on hosts with `endpoints: true` if no app would answer.
        package init(
            _ realms: Realms,
            _ endpoints: [Endpoint],
            forwarding: [ForwardingEndpoint],
            portal: [Endpoint] = []
        ) {
            self.realms = realms
            self.endpoints = endpoints
            self.forwarding = forwarding
            self.portal = portal
        }
    }

    /// Creates a table with equal endpoints on all hosts of `table`.
    package init(
        _ endpoints: [Endpoint],
        forwarding: [ForwardingEndpoint],
        on table: RouteTable,
        upstreams: [String],
        maxBody: Int? = nil
    ) throws(UnknownUpstream) {
        try self.init(
            Set(table.hosts.map(\.realms)).map { Group($0, endpoints, forwarding: forwarding) },
            on: table,
            upstreams: upstreams,
            maxBody: maxBody
        )
    }

    /// - Parameters:
    ///   - groups: One group for each list of realms that a host has.
    ///   - table: The table with the hosts.
    ///   - upstreams: The names of the apps and the provider, in the order of `RouteEntry.upstreamIndex`.
    ///   - maxBody: The maximum body size in bytes for requests that the provider answers. `nil` if there is no limit.
    package init(_ groups: [Group], on table: RouteTable, upstreams: [String], maxBody: Int?) throws(UnknownUpstream) {
        var indexes: [String: Int] = [:]
        for endpoint in groups.flatMap(\.forwarding) {
            guard let upstream = upstreams.firstIndex(of: endpoint.upstream) else {
                throw UnknownUpstream(name: endpoint.upstream)
            }
            indexes[endpoint.upstream] = upstream
        }
        let groups = Dictionary(groups.map { ($0.realms, $0) }, uniquingKeysWith: { first, _ in first })
        var routes: [RouteEntry] = []
        self.paths = table.hosts.map { host in
            func isServed(_ scope: EndpointScope) -> Bool {
                scope.isServed(on: host.settings)
            }
            let group = groups[host.realms]
            var entries = (group?.endpoints ?? []).filter { isServed($0.scope) }.map { EndpointPaths.Entry($0) }
            for endpoint in group?.forwarding ?? [] where isServed(endpoint.scope) {
                guard let upstream = indexes[endpoint.upstream] else { continue }
                let index = table.entries.count + routes.count
                let route = RouteEntry(
                    forwarding: endpoint,
                    on: host,
                    index: index,
                    upstreamIndex: upstream,
                    maxBody: maxBody
                )
                routes.append(route)
                entries.append(EndpointPaths.Entry(endpoint, by: route))
            }
            return EndpointPaths(entries)
        }
        self.portals = table.hosts.map { host in
            let portal = host.servesSignIn ? groups[host.realms]?.portal : nil
            return EndpointPaths((portal ?? []).map { EndpointPaths.Entry($0) })
        }
        self.filters = self.paths.flatMap(\.filters)
        self.routes = routes
        self.names = Set(groups.values.flatMap { $0.endpoints + $0.portal }.map(\.path)).sorted()
        self.listed = groups.mapValues { group -> [(path: String, scope: EndpointScope)] in
            group.endpoints.map { ($0.path, $0.scope) } + group.forwarding.map { ($0.pattern.text, $0.scope) }
        }
    }

    /// Looks up a normalised path among the endpoints of `host`. The filter excludes nearly all requests for the app.
    @inline(__always)
    package func match(_ reading: PathReading, method: UnsafeBufferPointer<UInt8>, host: HostEntry) -> EndpointMatch {
        let filter = host.index &* EndpointPaths.Filter.count &+ EndpointPaths.Filter.index(of: reading.bytes)
        guard self.filters[filter].admits(reading.bytes.count) else { return .none }
        return self.paths[host.index].match(reading, method: method)
    }

    /// Looks up a normalised path in Authelia's portal. Called only if no app would answer.
    func portal(_ reading: PathReading, method: UnsafeBufferPointer<UInt8>, host: HostEntry) -> EndpointMatch {
        self.portals[host.index].match(reading, method: method)
    }

    /// Returns the form of the rejection of a request that cannot be parsed. The path in the request line selects the
    /// endpoint, on any host. `nil` if the rejection is a problem document.
    ///
    /// - Parameter bytes: The bytes that should have been a head.
    package func envelope(ofUnparsed bytes: UnsafeBufferPointer<UInt8>) -> RefusalEnvelope? {
        guard let path = RequestParser.path(ofUnparsed: bytes) else { return nil }
        return self.paths.lazy.compactMap { $0.envelope(of: path) }.first
    }

    /// Returns the paths that endpoints take from the app of `host`, with parameters as `{name}`.
    package func takenPaths(of host: HostSettings) -> [String] {
        let taken = (self.listed[host.realms] ?? []).filter { $0.scope.isServed(on: host) }
        return Set(taken.map(\.path)).sorted()
    }

    /// Returns the scope of an endpoint that takes every path of a route, so that no request reaches the route. Returns
    /// `nil` if no endpoint takes all of them.
    ///
    /// - Parameter path: The route's path in the settings.
    package func scope(taking path: String, on host: HostSettings) -> EndpointScope? {
        (self.listed[host.realms] ?? []).first { $0.scope.isServed(on: host) && Self.hasAll($0.path, of: path) }?.scope
    }

    /// Whether `endpoint` matches every path of `route`. In `endpoint`, `{name}` matches one segment and `**` the rest.
    private static func hasAll(_ endpoint: String, of route: String) -> Bool {
        let own = endpoint.split(separator: "/", omittingEmptySubsequences: false)
        let theirs = route.split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in own.enumerated() {
            if segment == "**" { return index < theirs.count }
            guard index < theirs.count, theirs[index] != "**" else { return false }
            guard segment == theirs[index] || segment.hasPrefix("{") && !theirs[index].isEmpty else { return false }
        }
        return own.count == theirs.count
    }
}

extension EndpointScope {
    /// Whether `host` serves the endpoints of this scope.
    fileprivate func isServed(on host: HostSettings) -> Bool {
        switch self {
        case .everyHost: true
        case .endpointHosts: host.endpoints
        case .hostsWith(let jobs): host.endpoints && !jobs.isDisjoint(with: host.jobs)
        case .appLinkHosts: host.namesApps
        }
    }
}

extension RouteEntry {
    /// Creates the route of an endpoint that the provider answers: public, with the provider's own credentials.
    fileprivate convenience init(
        forwarding endpoint: ForwardingEndpoint,
        on host: HostEntry,
        index: Int,
        upstreamIndex: Int,
        maxBody: Int?
    ) {
        let authority = host.publicURL.authority
        var settings = RouteSettings(path: endpoint.pattern.text, upstream: endpoint.upstream, auth: .public)
        settings.name = authority + endpoint.pattern.text
        settings.methods = endpoint.methods
        settings.bearer = .app
        settings.maxBody = maxBody
        self.init(
            index: index,
            settings: settings,
            url: host.publicURL,
            audience: Audience(index: -1, text: ""),
            sharesPath: false,
            upstreamIndex: upstreamIndex,
            replacesAuthorization: false,
            leavesSessionToken: true,
            demands: -1,
            requirement: 0
        )
    }
}
