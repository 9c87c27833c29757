import Settings
import Vocabulary

/// Creates the entries of a route table and reports problems in them.
struct RouteTableBuilder {
    private typealias Route = (pattern: RoutePattern, entry: RouteEntry)

    private(set) var findings: [RouteFinding] = []
    private let upstreams: [String: Int]
    private let replacesAuthorization: Bool
    private var demands: [Demands: Int] = [:]
    private var audiences: [String: Int] = [:]
    private var requirements = [RequirementSettings(): 0]
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
                self.report(isError: true, host, nil, "write the host name in its ASCII form, as in DNS (xn--...)")
            }
            if host.routes.isEmpty, !host.endpoints {
                self.report(isError: false, host, nil, "the host has no routes, so every request is 404")
            }
            return self.build(index, host)
        }
    }

    private mutating func build(_ index: Int, _ host: HostSettings) -> HostEntry {
        var routes: [Route] = []
        let paths = Dictionary(grouping: host.routes, by: \.path)
        for settings in host.routes {
            let upstream = settings.upstream.flatMap { self.upstreams[$0] }
            if let name = settings.upstream, upstream == nil {
                self.report(isError: true, host, settings, "there is no upstream \(name)")
                continue
            }
            self.checkMethods(host, settings)
            do {
                let pattern = try RoutePattern(settings.path)
                let sharesPath = (paths[settings.path]?.count ?? 0) > 1
                routes.append((pattern, self.entry(settings, upstream, host.publicURL, sharesPath)))
            } catch {
                self.report(isError: true, host, settings, "path \(settings.path): \(error.message)")
            }
        }
        self.checkReachability(host, routes)
        self.checkLetters(host, routes)
        let entry = HostEntry(index: index, settings: host, routes: routes)
        self.checkSpellings(host, routes, entry)
        return entry
    }

    private mutating func entry(
        _ settings: RouteSettings,
        _ upstream: Int?,
        _ publicURL: PublicURL,
        _ sharesPath: Bool
    ) -> RouteEntry {
        defer { self.routeCount += 1 }
        let audience = settings.audience ?? publicURL.description
        return RouteEntry(
            index: self.routeCount,
            settings: settings,
            url: publicURL,
            audience: Audience(index: Self.number(audience, in: &self.audiences), text: audience),
            sharesPath: sharesPath,
            upstreamIndex: upstream,
            replacesAuthorization: self.replacesAuthorization,
            demands: Self.number(Demands(settings), in: &self.demands),
            requirement: Self.number(settings.require, in: &self.requirements)
        )
    }

    /// Returns the number of an equal value, or assigns the next number.
    private static func number<Value: Hashable>(_ value: Value, in numbers: inout [Value: Int]) -> Int {
        if let number = numbers[value] { return number }
        numbers[value] = numbers.count
        return numbers.count - 1
    }

    private mutating func checkMethods(_ host: HostSettings, _ route: RouteSettings) {
        for method in route.methods {
            if ["CONNECT", "TRACE"].contains(method.uppercased()) {
                self.report(isError: true, host, route, "the gateway never forwards \(method); remove it")
            } else if method.isEmpty || !method.utf8.allSatisfy({ ByteClass.normalizedToken[Int($0)] != 0 }) {
                self.report(isError: true, host, route, "\"\(method)\" is not a valid method")
            } else if !MethodSet.common.contains(method), MethodSet.common.contains(method.uppercased()) {
                self.report(isError: true, host, route, "methods are case-sensitive: write \(method.uppercased())")
            }
        }
    }

    /// Reports two routes with equal paths whose methods overlap (`MethodSet.overlaps`). This is an error because the
    /// order of routes has no effect.
    private mutating func checkReachability(_ host: HostSettings, _ routes: [Route]) {
        var seen: [RoutePattern: [RouteEntry]] = [:]
        for (pattern, route) in routes {
            let rival = seen[pattern]?.first { $0.methods.overlaps(route.methods) }
            seen[pattern, default: []].append(route)
            guard let rival else { continue }
            let message = "unreachable: route \(rival.name) has the same path and takes the same methods"
            self.report(isError: true, host, route.settings, message)
        }
    }

    /// Reports two routes with different demands whose paths are equal to an app that ignores letter case or the
    /// composition of letters. Requests for the weaker route would be rejected.
    private mutating func checkLetters(_ host: HostSettings, _ routes: [Route]) {
        var seen: [RoutePattern: [Route]] = [:]
        for route in routes {
            let folded = route.pattern.folded(keepsCase: host.caseSensitive)
            let rival = seen[folded]?.first { earlier in
                earlier.pattern != route.pattern && earlier.entry.methods.intersects(route.entry.methods)
                    && earlier.entry.strictness != route.entry.strictness
            }
            seen[folded, default: []].append(route)
            guard let rival else { continue }
            let message =
                host.caseSensitive
                ? "differs from route \(rival.entry.name) in how its letters are composed alone and demands something else; let both demand the same"
                : "differs from route \(rival.entry.name) in letter case alone and demands something else; let both demand the same, or write case_sensitive: true on the host if its apps tell cases apart"
            self.report(isError: true, host, route.entry.settings, message)
        }
    }

    /// Reports routes that reject every request as ambiguous. Also reports spellings of a protected path that reach a
    /// route with weaker demands.
    private mutating func checkSpellings(_ host: HostSettings, _ routes: [Route], _ entry: HostEntry) {
        for (pattern, route) in routes {
            let method = route.methods.names.first ?? "GET"
            guard case .refused(.pathAmbiguous) = entry.match(pattern.example("example"), method) else { continue }
            let message =
                "every request of this path is refused with 400 path.ambiguous, because some apps read the path as that of a route with other demands; choose another path, or let both routes demand the same"
            self.report(isError: false, host, route.settings, message)
        }
        let demanded = Set(entry.routes.map(\.strictness))
        var capitals: (path: String, route: RouteEntry)?
        for (pattern, route) in routes where demanded.contains(where: { !$0.covers(route.strictness) }) {
            let path = pattern.example("example")
            let method = route.methods.names.first ?? "GET"
            // A more specific route may match the example.
            guard case .route(let own) = entry.match(path, method), own.counted === route else { continue }
            let weaker = { (spelling: String) -> RouteEntry? in
                guard spelling != path, case .route(let found) = entry.match(spelling, method),
                    !found.counted.strictness.covers(route.strictness)
                else { return nil }
                return found.counted
            }
            capitals = capitals ?? weaker(path.uppercased()).map { (path.uppercased(), $0) }
            let passing = Self.spellings(of: path, hasRest: pattern.hasRest).compactMap { spelling in
                weaker(spelling).map { (path: spelling, route: $0) }
            }
            guard let first = passing.first else { continue }
            let paths = passing.map(\.path).joined(separator: ", ")
            let message = "an app may take \(paths) for this path, but route \(first.route.name) demands less"
            self.report(isError: false, host, route.settings, message)
        }
        if let capitals {
            let message =
                "case_sensitive is true, so \(capitals.path) comes to route \(capitals.route.name), which demands less than its lower case; every app of the host must tell cases apart"
            self.report(isError: false, host, nil, message)
        }
    }

    /// Returns spellings that some app treats as `path`.
    private static func spellings(of path: String, hasRest: Bool) -> [String] {
        let encoded = path.dropFirst().utf8.first.map { byte in
            "/%" + String(byte, radix: 16, uppercase: true) + path.dropFirst(2)
        }
        var spellings = ["/" + path, path + ";x", path + "%20"]
        if let encoded, path.utf8.allSatisfy({ $0 < 0x80 }) { spellings.append(encoded) }
        if path.hasSuffix("/") {
            spellings.append(String(path.dropLast()))
        } else {
            spellings += [path + "/"]
            if !hasRest { spellings += [path + "/x", path + "%2Fx"] }
        }
        return spellings.filter { !$0.isEmpty }
    }

    private mutating func report(isError: Bool, _ host: HostSettings, _ route: RouteSettings?, _ message: String) {
        self.findings.append(
            RouteFinding(isError: isError, host: host.publicURL.authority, route: route?.name, message: message)
        )
    }
}
