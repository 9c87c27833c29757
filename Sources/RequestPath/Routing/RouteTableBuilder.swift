import Settings

/// Makes the entries of a table and finds what is wrong with them.
struct RouteTableBuilder {
    private(set) var findings: [RouteFinding] = []
    private let upstreams: [String: Int]
    private let replacesAuthorization: Bool
    private var demands: [Demands] = []
    private var requirements: [RequirementSettings] = [RequirementSettings()]
    private var routeCount = 0

    init(upstreams: [String], replacesAuthorization: Bool) {
        self.upstreams = Dictionary(upstreams.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        self.replacesAuthorization = replacesAuthorization
    }

    mutating func build(_ hosts: [HostSettings]) -> [HostEntry] {
        var authorities: Set<String> = []
        return hosts.enumerated().map { index, host in
            let authority = host.publicURL.authority
            if !authorities.insert(authority).inserted {
                self.report(isError: true, host, nil, "another host has the same public_url")
            }
            if !authority.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) {
                self.report(isError: true, host, nil, "write the name as it stands in DNS (xn--...)")
            }
            if host.routes.isEmpty, !host.endpoints {
                self.report(isError: false, host, nil, "without routes every request is 404")
            }
            return self.build(index, host)
        }
    }

    private mutating func build(_ index: Int, _ host: HostSettings) -> HostEntry {
        var routes: [(pattern: RoutePattern, entry: RouteEntry)] = []
        for settings in host.routes {
            guard let upstream = self.upstreams[settings.upstream] else {
                self.report(isError: true, host, settings, "there is no upstream \(settings.upstream)")
                continue
            }
            self.checkMethods(host, settings)
            do {
                let pattern = try RoutePattern(settings.path)
                routes.append((pattern, self.entry(settings, upstream)))
            } catch {
                self.report(isError: true, host, settings, "path \(settings.path): \(error.message)")
            }
        }
        self.checkReachability(host, routes)
        let entry = HostEntry(index: index, settings: host, routes: routes)
        self.checkTrailingSlashes(host, routes, entry)
        return entry
    }

    private mutating func entry(_ settings: RouteSettings, _ upstream: Int) -> RouteEntry {
        defer { self.routeCount += 1 }
        return RouteEntry(
            index: self.routeCount,
            settings: settings,
            upstreamIndex: upstream,
            replacesAuthorization: self.replacesAuthorization,
            demands: Self.number(Demands(settings), in: &self.demands),
            requirement: Self.number(settings.require, in: &self.requirements)
        )
    }

    /// The place of an equal value, after appending it when there is none.
    private static func number<Value: Equatable>(_ value: Value, in values: inout [Value]) -> Int {
        if let index = values.firstIndex(of: value) { return index }
        values.append(value)
        return values.count - 1
    }

    private mutating func checkMethods(_ host: HostSettings, _ route: RouteSettings) {
        for method in route.methods {
            if method == "CONNECT" || method == "TRACE" {
                self.report(isError: true, host, route, "\(method) is never forwarded")
            } else if method.isEmpty || !method.utf8.allSatisfy({ ByteClass.normalizedToken[Int($0)] != 0 }) {
                self.report(isError: true, host, route, "\"\(method)\" is no method")
            } else if !MethodSet.common.contains(method), MethodSet.common.contains(method.uppercased()) {
                self.report(isError: true, host, route, "methods are case-sensitive: \(method.uppercased())")
            }
        }
    }

    /// The order of routes does not matter, so two that take the same request are a mistake, not a rule.
    private mutating func checkReachability(
        _ host: HostSettings,
        _ routes: [(pattern: RoutePattern, entry: RouteEntry)]
    ) {
        for (place, route) in routes.enumerated() {
            let rival = routes[..<place].first { earlier in
                earlier.pattern == route.pattern && earlier.entry.methods.overlaps(route.entry.methods)
            }
            guard let rival else { continue }
            let message = "unreachable: route \(rival.entry.name) has the same path and takes the same methods"
            self.report(isError: true, host, route.entry.settings, message)
        }
    }

    /// Many apps answer `/admin/` like `/admin`; the gateway does not take them for one.
    private mutating func checkTrailingSlashes(
        _ host: HostSettings,
        _ routes: [(pattern: RoutePattern, entry: RouteEntry)],
        _ entry: HostEntry
    ) {
        for (pattern, route) in routes where !pattern.hasRest && route.settings.path != "/" {
            guard route.settings.auth != .public, !route.settings.path.contains("*") else { continue }
            var other = Array(route.settings.path.utf8)
            if other.last == UInt8(ascii: "/") { other.removeLast() } else { other.append(UInt8(ascii: "/")) }
            let method = Array((route.methods.names.first ?? "GET").utf8)
            let match = other.withUnsafeBufferPointer { path in
                method.withUnsafeBufferPointer { entry.tree.match(path, $0) }
            }
            guard case .route(let found) = match, found.settings.auth == .public else { continue }
            let path = String(decoding: other, as: UTF8.self)
            self.report(
                isError: false,
                host,
                route.settings,
                "\(path) is public by route \(found.name); to protect both write a path that ends with /**"
            )
        }
    }

    private mutating func report(isError: Bool, _ host: HostSettings, _ route: RouteSettings?, _ message: String) {
        self.findings.append(
            RouteFinding(isError: isError, host: host.publicURL.authority, route: route?.name, message: message)
        )
    }
}
