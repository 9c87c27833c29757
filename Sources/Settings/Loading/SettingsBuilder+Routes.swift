import Vocabulary

extension SettingsBuilder {
    /// Returns the name of a route's app. Adds an app that is written as a URL to `upstreams`.
    private mutating func upstreamName(_ tree: SettingsTree) -> String? {
        switch tree["upstream"]?.value {
        case .url(let url):
            let name = url.description
            if !self.upstreams.contains(where: { $0.name == name }) {
                self.upstreams.append(Self.upstream(named: name, at: url))
            }
            return name
        case .text(let name) where name.hasPrefix(TextRule.socketScheme):
            if !self.upstreams.contains(where: { $0.name == name }) {
                let upstream = Self.upstream(named: name, atSocket: name)
                self.checkSocket(of: upstream.first, tree.place(of: "upstream"))
                self.upstreams.append(upstream)
            }
            return name
        case .text(let name):
            guard !self.upstreams.contains(where: { $0.name == name }) else { return name }
            let names = self.upstreams.map(\.name).filter { !$0.utf8.contains(UInt8(ascii: ":")) }
            self.report(
                tree.place(of: "upstream"),
                found: "\(quoted(name)), which is not in upstreams",
                allowed: names.isEmpty ? "a URL such as http://127.0.0.1:3000" : "a URL, or \(alternatives(names))",
                fix: suggestion(for: name, among: names, else: "add it to upstreams, or write the app's URL")
            )
            return nil
        default: return nil
        }
    }

    // MARK: Hosts

    /// Returns every route that was written, in the order of the settings.
    ///
    /// - Parameter provider: Limits the result to hosts whose only provider is this one; `nil` for all hosts.
    func writtenRoutes(ofOnly provider: String? = nil) -> [SettingsTree] {
        zip(self.writtenHosts, self.hostProviders).flatMap { host, providers -> [SettingsTree] in
            provider == nil || providers == [provider] ? Self.routes(of: host) : []
        }
    }

    /// Returns the routes of a host as written. `upstream` in an element of `hosts` is a shorthand for one route.
    private static func routes(of host: SettingsTree) -> [SettingsTree] {
        guard !host.key.isEmpty, host["routes"] == nil, let app = host["upstream"] else { return host.trees("routes") }
        var route = SettingsTree(origin: host.origin, key: host.key)
        route["upstream"] = app
        return [route]
    }

    /// The mappings of all hosts: the elements of `hosts`, or the top level as a shorthand for a single host.
    var writtenHosts: [SettingsTree] {
        self.tree["hosts"] == nil ? [self.tree] : self.tree.trees("hosts")
    }

    mutating func hosts(clients: [ClientSettings]) -> [HostSettings] {
        let isShorthand = self.tree["hosts"] == nil
        if isShorthand, self.tree["public_url"] == nil {
            self.reportMissing(
                self.tree.place(of: "public_url"),
                TextRule.publicURL.allowed,
                "write the URL with which clients reach the gateway (public_url or SALLYPORT_PUBLIC_URL), or hosts"
            )
        }
        for name in ["public_url", "routes", "case_sensitive", "same_site", "well_known"]
        where !isShorthand && self.tree[name] != nil {
            self.report(
                self.tree.place(of: name),
                found: "both \(name) and hosts",
                allowed: "either \(name) at the top level, or hosts",
                fix: "move it into an element of hosts"
            )
        }
        let written = self.writtenHosts
        if written.isEmpty { self.reportMissing(self.tree.place(of: "hosts"), "one host or more", "add a host") }
        var origins: [String: SettingsOrigin] = [:]
        let fallback = self.tree["upstream"].map { _ in self.upstreamName(self.tree) }
        let hosts = written.map { host -> HostSettings in
            let url = host.url("public_url") ?? PublicURL(isHTTPS: true, host: "invalid", port: nil)
            if host.url("public_url") != nil {
                self.checkPublicURL(url, host.place(of: "public_url"))
                self.checkOnce(
                    url.authority,
                    "public_url",
                    of: host,
                    in: &origins,
                    found: url.authority,
                    allowed: "each host and port once",
                    fix: "merge the two hosts: the other one is at"
                )
            }
            let endpoints = isShorthand || (host.boolean("endpoints") ?? (written.count == 1 && !url.isWildcard))
            // At the top level, `provider` and `providers` define providers and do not choose them.
            let providers =
                isShorthand ? self.firstProvider : self.providerNames(chosenBy: host, else: self.firstProvider)
            let clients = clients.filter { !Set($0.providers).isDisjoint(with: providers) }
            var routes: [RouteSettings] = []
            if host["routes"] == nil, isShorthand {
                routes = [self.route(SettingsTree(origin: host.origin), url, fallback, clients)]
            }
            if !isShorthand { self.checkWayToApp(host) }
            let trees = Self.routes(of: host)
            var places: [String: [Int]] = [:]
            for (index, tree) in trees.enumerated() {
                let route = self.route(tree, url, fallback, clients)
                routes.append(route)
                guard Self.knowsPath(of: tree) else { continue }
                if let earlier = places[route.path]?.first(where: { routes[$0].isTwin(of: route) }) {
                    self.report(
                        tree.place(of: "path"),
                        found: "\(route.path) a second time for the same methods",
                        allowed: "each path and method once: the order of routes does not matter",
                        fix: "merge the two routes: the other one is at \(trees[earlier].place(of: "path").origin)"
                    )
                }
                places[route.path, default: []].append(index)
            }
            if let list = host.list("routes"), list.isEmpty, !endpoints || isShorthand {
                self.report(
                    host.place(of: "routes"),
                    found: "an empty list",
                    allowed: "one route or more on a host without endpoints",
                    fix: "add a route such as path: /**"
                )
            }
            var settings = HostSettings(publicURL: url, endpoints: endpoints, providers: providers, routes: routes)
            host.set(isShorthand ? .file : .host, in: &settings)
            settings.asksForEndpoints = !isShorthand && host.boolean("endpoints") == true
            for tree in trees { self.checkDemandedProviders(tree, of: providers) }
            self.checkSignInOrder(of: settings, host)
            self.checkCookies(of: settings, host)
            self.checkBindings(of: settings, clients)
            return settings
        }
        let isBrowserless = self.tree.tree("provider")?["introspection"] != nil && clients.isEmpty
        self.warnOfSharedCookies(hosts.map(\.publicURL))
        if !hosts.isEmpty, !hosts.contains(where: \.endpoints), !isBrowserless {
            self.warnings.append("no host has endpoints: true, so no user can sign in and no token can be minted")
        }
        return hosts
    }

    /// Warns of hosts that differ only in their ports. Browsers send cookies to all ports of a host (RFC 6265 8.5), so
    /// a sign-in at one port signs the user out at the other.
    private mutating func warnOfSharedCookies(_ urls: [PublicURL]) {
        for (index, url) in urls.enumerated() {
            let earlier = urls[..<index].first { other in
                // On plain http the cookie has another name (`CookieScope.name`).
                other.isHTTPS == url.isHTTPS && other.port != url.port
                    && (other.host == url.host || other.hasName(url.host) || url.hasName(other.host))
            }
            guard let earlier else { continue }
            self.warnings.append(
                "\(url) and \(earlier): browsers do not keep the cookies of two ports apart, so signing in at one of these hosts signs the user out at the other; give each host a different name"
            )
        }
    }

    /// Reports an element of `hosts` that has both `upstream` and `routes`, or neither key.
    private mutating func checkWayToApp(_ host: SettingsTree) {
        switch (host["upstream"], host["routes"]) {
        case (_?, let routes?):
            self.report(
                host.place(of: "upstream"),
                found: "both upstream and routes",
                allowed: "either upstream, the app of all paths, or routes, each with its own app",
                fix: "move it into the routes, which are at \(routes.origin)"
            )
        case (nil, nil):
            self.reportMissing(
                host.place(of: "routes"),
                "upstream, the app of all paths, or a list of routes",
                "add upstream: http://127.0.0.1:3000, or routes"
            )
        default: break
        }
    }

    /// Reports required providers that the host of a route does not have.
    private mutating func checkDemandedProviders(_ route: SettingsTree, of host: [String]) {
        guard let require = route.tree("require"), let names = require.texts("provider"), !self.isPartial else {
            return
        }
        let place = require.place(of: "provider")
        if names.isEmpty {
            self.report(
                place,
                found: "an empty list",
                allowed: "one provider or more",
                fix: "add one, or remove the key"
            )
        }
        for (index, name) in names.enumerated() where !host.contains(name) {
            self.report(
                place.element(index),
                found: "\(quoted(name)), which is not a provider of the host",
                allowed: alternatives(host),
                fix: suggestion(for: name, among: host, else: "add it to the providers of the host")
            )
        }
    }

    /// Returns whether the path of a route is valid. A rejected path must not be treated as the default, `/**`.
    private static func knowsPath(of route: SettingsTree) -> Bool {
        if case .invalid? = route["path"]?.value { false } else { true }
    }

    mutating func checkPublicURL(_ url: PublicURL, _ place: KeyPlace) {
        guard !url.isHTTPS else { return }
        if self.flags.http {
            self.warnings.append(
                "--insecure-http: \(url) is plain http, so cookies and tokens can be read on the network"
            )
        } else if !url.isLoopback {
            self.report(
                place,
                found: "plain http on a host other than loopback",
                allowed: "https, or http on localhost, 127.0.0.1 and [::1]",
                fix: "write https, or accept readable cookies and tokens with --insecure-http"
            )
        }
    }

    // MARK: Routes

    private mutating func route(
        _ tree: SettingsTree,
        _ url: PublicURL,
        _ fallback: String??,
        _ clients: [ClientSettings]
    ) -> RouteSettings {
        var route = RouteSettings.initial
        tree.set(.route, in: &route)
        if tree["upstream"] != nil {
            route.upstream = self.upstreamName(tree)
        } else if let fallback {
            route.upstream = fallback
        } else if self.tree["authorization"] == nil {
            self.reportMissing(
                tree.place(of: "upstream"),
                TextRule.upstream.allowed,
                "add upstream here, or at the top level (or SALLYPORT_UPSTREAM) for all routes without one"
            )
        }
        route.name = tree.text("name") ?? url.authority + route.path
        if route.pathInfo == .follow, Self.knowsPath(of: tree), route.path.hasSuffix("/**") {
            self.report(
                tree.place(of: "path_info"),
                found: "follow on a path that ends with /**, which matches everything below it anyway",
                allowed: "follow on exact paths",
                fix: "remove it"
            )
        }
        if let host = tree.text("host"), host != "client" { route.hostHeader = host }
        self.checkBindingAction(tree, route)
        route.cachePrivate = tree.text("cache") != "app"
        route.require.refusesActors = tree.tree("require")?.text("actor") == "none"
        route.require.clientCertificate = tree.tree("require")?.tree("client_certificate").map {
            self.certificateRequirement($0)
        }
        route.cors = tree.tree("cors").map { self.cors($0) }
        self.setChanges(of: &route, tree)
        self.setClient(&route, tree, clients)
        self.checkDemands(tree, route.auth)
        return route
    }

    /// Builds the requirement for clients' certificates.
    mutating func certificateRequirement(_ tree: SettingsTree) -> CertificateRequirement {
        var requirement = CertificateRequirement()
        if tree.list("san_any")?.isEmpty == true, !self.isPartial {
            self.report(
                tree.place(of: "san_any"),
                found: "an empty list, which no certificate matches",
                allowed: "one name or more",
                fix: "add a name; without the key any name is accepted"
            )
        }
        requirement.names = (tree.texts("san_any") ?? []).compactMap { CertificateName($0) }
        requirement.issuer = tree.text("issuer")
        return requirement
    }

    private mutating func setClient(
        _ route: inout RouteSettings,
        _ tree: SettingsTree,
        _ clients: [ClientSettings]
    ) {
        let place = tree.place(of: "client")
        let handoff = tree.boolean("handoff")
        route.handoff = handoff ?? (tree["client"] != nil)
        route.passesHandoffToApp = handoff == false
        guard let name = route.client else {
            if handoff == true, tree["client"] == nil {
                self.report(
                    tree.place(of: "handoff"),
                    found: "true without the key client",
                    allowed: "true together with client, the web client whose settings apply",
                    fix: "add \(place.key), or remove handoff"
                )
            }
            return
        }
        guard let client = clients.first(where: { $0.clientID == name }) else {
            let names = clients.map(\.clientID)
            self.report(
                place,
                found: "\(quoted(name)), which is not in clients"
                    + (self.providerNames.count > 1 ? " for the provider of this host" : ""),
                allowed: names.isEmpty ? "a client_id from clients, which is empty" : alternatives(names),
                fix: suggestion(for: name, among: names, else: "add it to clients")
            )
            return
        }
        // At run time, an operator may remove both methods to stop a client's handoffs (`handoff.method_not_allowed`).
        // In the file, a client without a method is a mistake.
        guard route.handoff, !client.allowsCookie, !client.allowsQuery, !self.isPartial, !self.isAtRunTime else {
            return
        }
        self.report(
            place,
            found: "\(quoted(name)), which may not accept a token from a cookie or from the query",
            allowed: "a client with session_transfer.allowed_authentication_methods",
            fix: "add cookie or query there, or write \(tree.key(of: "handoff")): false"
        )
    }

    /// Reports a binding action without a binding, because the action would have no effect.
    private mutating func checkBindingAction(_ tree: SettingsTree, _ route: RouteSettings) {
        guard route.liveBinding == .none, route.bindingAction != .reauthenticate, !self.isPartial,
            let setting = tree["binding_action"]
        else { return }
        self.report(
            tree.place(of: "binding_action"),
            found: "\(quoted(setting.shown)) without a binding",
            allowed: "binding_action where binding is not none",
            fix: "add binding, or remove it"
        )
    }

    /// Reports requirements without effect. A public route reads no session. An optional route accepts requests without
    /// a session, so a requirement would only reject signed-in users.
    private mutating func checkDemands(_ tree: SettingsTree, _ auth: AuthRequirement) {
        let (names, why) =
            switch auth {
            case .required: ([String](), "")
            case .optional: (["require", "binding"], "which accepts every request without a session")
            case .public: (["require", "binding", "unauthenticated"], "which reads no session")
            }
        for name in names where tree[name] != nil && tree.text(name) != "none" {
            let needs = name == "unauthenticated" ? "required or optional" : "required"
            self.report(
                tree.place(of: name),
                found: "\(name) on a route with auth: \(auth.rawValue), \(why)",
                allowed: "\(name) where auth is \(needs)",
                fix: "write auth: required, and serve public paths by another route without \(name)"
            )
        }
    }

    private mutating func cors(_ tree: SettingsTree) -> CORSSettings {
        var cors = CORSSettings()
        cors.origins = tree.texts("origins") ?? []
        tree.set(.cors, in: &cors)
        if cors.credentials, cors.origins.contains("*") {
            self.report(
                tree.place(of: "credentials"),
                found: "true, but origins has *",
                allowed: "credentials only with exact origins: with * every site could act as the user",
                fix: "list the origins, or set credentials: false"
            )
        }
        return cors
    }
}
