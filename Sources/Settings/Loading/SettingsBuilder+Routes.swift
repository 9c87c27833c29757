internal import Vocabulary

extension SettingsBuilder {
    // MARK: Apps

    mutating func namedUpstreams() -> [UpstreamSettings] {
        (self.tree.tree("upstreams")?.entries ?? []).compactMap { name, setting in
            guard case .tree(let tree) = setting.value else { return nil }
            let key = "upstreams.\(name)"
            var upstream = Self.upstream(named: name, at: tree.url("url"))
            tree.set(.upstream, in: &upstream)
            upstream.caFile = self.readablePath("ca_file", of: tree, key: key)
            upstream.certificateFile = self.readablePath("certificate_file", of: tree, key: key)
            upstream.keyFile = self.readablePath("key_file", of: tree, key: key, isSecret: true)
            for name in ["ca_file", "certificate_file", "key_file", "server_name"] where tree.url("url") != nil {
                guard !upstream.isHTTPS, let origin = tree[name]?.origin else { continue }
                self.report(
                    origin,
                    "\(key).\(name)",
                    found: "a key for TLS, but url is plain http",
                    allowed: "\(name) with an https url only",
                    mend: "write https in url, or remove the key"
                )
            }
            let pair = (certificate: tree["certificate_file"], key: tree["key_file"])
            if (pair.certificate == nil) != (pair.key == nil), !self.isPartial {
                let missing = pair.key == nil ? "key_file" : "certificate_file"
                self.report(
                    (pair.certificate ?? pair.key)?.origin ?? tree.origin,
                    "\(key).\(missing)",
                    found: "nothing",
                    allowed: "both certificate_file and key_file, or neither",
                    mend: "add \(missing)"
                )
            }
            return upstream
        }
    }

    static func upstream(named name: String, at url: PublicURL?) -> UpstreamSettings {
        let isHTTPS = url?.isHTTPS ?? false
        return UpstreamSettings(
            name: name,
            isHTTPS: isHTTPS,
            host: url?.host ?? "",
            port: url?.port ?? (isHTTPS ? 443 : 80)
        )
    }

    /// The name of a route's app. An app that is named by its URL is added to the others.
    private mutating func upstreamName(_ setting: Setting, key: String) -> String? {
        switch setting.value {
        case .url(let url):
            let name = url.description
            if !self.upstreams.contains(where: { $0.name == name }) {
                self.upstreams.append(Self.upstream(named: name, at: url))
            }
            return name
        case .text(let name):
            guard !self.upstreams.contains(where: { $0.name == name }) else { return name }
            let names = self.upstreams.map(\.name).filter { !$0.contains(":") }
            let nearest = Spelling.nearest(to: name, in: names)
            self.report(
                setting.origin,
                key,
                found: "\(quoted(name)), which is not in upstreams",
                allowed: names.isEmpty ? "a URL such as http://127.0.0.1:3000" : "a URL, or \(alternatives(names))",
                mend: nearest.map { "did you mean \($0)?" } ?? "add it to upstreams, or write the app's URL"
            )
            return nil
        default: return nil
        }
    }

    // MARK: Hosts

    /// Every route that was written, with its key, in the order of the settings.
    ///
    /// - Parameter provider: Only those on its hosts; nil: all.
    func writtenRoutes(of provider: String? = nil) -> [(key: String, route: SettingsTree)] {
        var routes: [(key: String, route: SettingsTree)] = []
        let first = self.providerNames.first
        for (prefix, host) in self.writtenHosts() {
            let chosen = self.tree["hosts"] == nil ? first : host.text("provider") ?? first
            guard provider == nil || provider == chosen else { continue }
            for (index, route) in host.trees("routes").enumerated() {
                routes.append(("\(prefix)routes[\(index)]", route))
            }
        }
        return routes
    }

    /// The hosts, or the top level where it is the shorthand for one host.
    private func writtenHosts() -> [(prefix: String, host: SettingsTree)] {
        guard self.tree["hosts"] == nil else {
            return self.tree.trees("hosts").enumerated().map { ("hosts[\($0)].", $1) }
        }
        return [("", self.tree)]
    }

    mutating func hosts(clients: [ClientSettings]) -> [HostSettings] {
        let isShorthand = self.tree["hosts"] == nil
        if isShorthand, self.tree["public_url"] == nil {
            self.reportMissing(
                self.tree.origin,
                "public_url",
                TextRule.publicURL.allowed,
                "write the URL by which clients reach the gateway (public_url or SALLYPORT_PUBLIC_URL), or hosts"
            )
        }
        for name in ["public_url", "routes", "case_sensitive", "same_site"] where !isShorthand {
            guard let origin = self.tree[name]?.origin else { continue }
            self.report(
                origin,
                name,
                found: "both \(name) and hosts",
                allowed: "either \(name) at the top level, or hosts",
                mend: "move it into an element of hosts"
            )
        }
        let written = self.writtenHosts()
        if written.isEmpty {
            self.reportMissing(self.tree["hosts"]?.origin ?? .builtIn, "hosts", "one host or more", "add a host")
        }
        var origins: [String: SettingsOrigin] = [:]
        let fallback = self.tree["upstream"].map { self.upstreamName($0, key: "upstream") }
        let hosts = written.map { prefix, host -> HostSettings in
            let url = host.url("public_url") ?? PublicURL(isHTTPS: true, host: "invalid", port: nil)
            if let origin = host["public_url"]?.origin, host.url("public_url") != nil {
                self.checkPublicURL(url, origin, key: "\(prefix)public_url")
                if let earlier = origins.updateValue(origin, forKey: url.authority) {
                    self.report(
                        origin,
                        "\(prefix)public_url",
                        found: "\(url.authority) a second time",
                        allowed: "each host and port once",
                        mend: "merge the two hosts: the other one is at \(earlier)"
                    )
                }
            }
            let endpoints = isShorthand ? true : host.boolean("endpoints") ?? (written.count == 1)
            // At the top level the key is the provider itself.
            let provider =
                isShorthand
                ? self.providerNames.first ?? Realm.default.name : self.providerName(chosenBy: host, key: prefix)
            let clients = clients.filter { $0.provider == provider }
            var routes: [RouteSettings] = []
            if host["routes"] == nil, isShorthand {
                routes = [self.route(SettingsTree(origin: host.origin), "", url, fallback, clients)]
            }
            let trees = host.trees("routes")
            var places: [String: [Int]] = [:]
            for (index, tree) in trees.enumerated() {
                let route = self.route(tree, "\(prefix)routes[\(index)].", url, fallback, clients)
                if let earlier = places[route.path]?.first(where: { routes[$0].isTwin(of: route) }) {
                    self.report(
                        tree["path"]?.origin ?? tree.origin,
                        "\(prefix)routes[\(index)].path",
                        found: "\(route.path) a second time for the same methods",
                        allowed: "each path and method once: the order of routes does not matter",
                        mend: "merge the two routes: the other one is at "
                            + "\(trees[earlier]["path"]?.origin ?? trees[earlier].origin)"
                    )
                }
                places[route.path, default: []].append(index)
                routes.append(route)
            }
            if let list = host.list("routes"), list.isEmpty, !endpoints || isShorthand {
                self.report(
                    host["routes"]?.origin ?? host.origin,
                    "\(prefix)routes",
                    found: "an empty list",
                    allowed: "one route or more on a host without endpoints",
                    mend: "add a route such as path: /**"
                )
            }
            var settings = HostSettings(publicURL: url, endpoints: endpoints, provider: provider, routes: routes)
            host.set(isShorthand ? .file : .host, in: &settings)
            self.checkCookies(of: settings, host, key: prefix)
            self.checkBindings(of: settings, clients)
            return settings
        }
        let isBrowserless = self.tree.tree("provider")?["introspection"] != nil && clients.isEmpty
        if !hosts.isEmpty, !hosts.contains(where: \.endpoints), !isBrowserless {
            self.warnings.append("no host has endpoints: true, so no user can sign in and no token can be minted")
        }
        return hosts
    }

    private mutating func checkPublicURL(_ url: PublicURL, _ origin: SettingsOrigin, key: String) {
        guard !url.isHTTPS else { return }
        if self.flags.http {
            self.warnings.append(
                "--insecure-http: \(url) is plain http, so cookies and tokens can be read on the network"
            )
        } else if !url.isLoopback {
            self.report(
                origin,
                key,
                found: "plain http on a host other than loopback",
                allowed: "https, or http on localhost, 127.0.0.1 and [::1]",
                mend: "write https, or accept readable cookies and tokens with --insecure-http"
            )
        }
    }

    mutating func reportMissing(_ origin: SettingsOrigin, _ key: String, _ allowed: String, _ mend: String) {
        guard !self.isPartial else { return }
        self.report(origin, key, found: "nothing", allowed: allowed, mend: mend)
    }

    // MARK: Routes

    private mutating func route(
        _ tree: SettingsTree,
        _ prefix: String,
        _ url: PublicURL,
        _ fallback: String??,
        _ clients: [ClientSettings]
    ) -> RouteSettings {
        var route = RouteSettings.initial
        tree.set(.route, in: &route)
        if let setting = tree["upstream"] {
            route.upstream = self.upstreamName(setting, key: "\(prefix)upstream") ?? ""
        } else if let fallback {
            route.upstream = fallback ?? ""
        } else {
            self.reportMissing(
                tree.origin,
                "\(prefix)upstream",
                TextRule.upstream.allowed,
                "add upstream here, or at the top level (or SALLYPORT_UPSTREAM) for all routes without one"
            )
        }
        route.name = tree.text("name") ?? url.authority + route.path
        if route.pathInfo == .follow, route.path.hasSuffix("/**"), let origin = tree["path_info"]?.origin {
            self.report(
                origin,
                "\(prefix)path_info",
                found: "follow on a path that ends with /**, which matches everything below it anyway",
                allowed: "follow on exact paths",
                mend: "remove it"
            )
        }
        if let host = tree.text("host"), host != "client" { route.hostHeader = host }
        self.checkBindingAction(tree, prefix, route)
        route.cachePrivate = tree.text("cache") != "app"
        route.require.refusesActors = tree.tree("require")?.text("actor") == "none"
        if let cors = tree.tree("cors") { route.cors = self.cors(cors, key: "\(prefix)cors") }
        self.setClient(&route, tree, prefix, clients)
        self.checkDemands(tree, prefix, route.auth)
        return route
    }

    private mutating func setClient(
        _ route: inout RouteSettings,
        _ tree: SettingsTree,
        _ prefix: String,
        _ clients: [ClientSettings]
    ) {
        let handoff = tree.boolean("handoff")
        route.handoff = handoff ?? (tree["client"] != nil)
        route.leavesHandoffToApp = handoff == false
        guard let setting = tree["client"], let name = route.client else {
            if handoff == true, tree["client"] == nil, let origin = tree["handoff"]?.origin {
                self.report(
                    origin,
                    "\(prefix)handoff",
                    found: "true without the key client",
                    allowed: "true where client names the web client whose settings apply",
                    mend: "add \(prefix)client, or remove handoff"
                )
            }
            return
        }
        guard let client = clients.first(where: { $0.clientID == name }) else {
            let names = clients.map(\.clientID)
            let nearest = Spelling.nearest(to: name, in: names)
            self.report(
                setting.origin,
                "\(prefix)client",
                found: "\(quoted(name)), which is not in clients"
                    + (self.providerNames.count > 1 ? " for the provider of this host" : ""),
                allowed: names.isEmpty ? "a client_id from clients, which is empty" : alternatives(names),
                mend: nearest.map { "did you mean \($0)?" } ?? "add it to clients"
            )
            return
        }
        // An operator may stop the handoffs of a client at run time: its tokens are refused then
        // (`handoff.method_not_allowed`). In the file, it is a mistake.
        guard route.handoff, !client.allowsCookie, !client.allowsQuery, !self.isPartial, !self.isAtRunTime else {
            return
        }
        self.report(
            setting.origin,
            "\(prefix)client",
            found: "\(quoted(name)), which may not take a token from a cookie or from the query",
            allowed: "a client with session_transfer.allowed_authentication_methods",
            mend: "add cookie or query there, or write \(prefix)handoff: false"
        )
    }

    /// An action without a binding never takes place.
    private mutating func checkBindingAction(_ tree: SettingsTree, _ prefix: String, _ route: RouteSettings) {
        guard route.liveBinding == .none, route.bindingAction != .reauthenticate, !self.isPartial,
            let setting = tree["binding_action"]
        else { return }
        self.report(
            setting.origin,
            "\(prefix)binding_action",
            found: "\(quoted(setting.shown)) without a binding",
            allowed: "binding_action where binding is not none",
            mend: "add binding, or remove it"
        )
    }

    /// Refuses demands that have no effect. A public route reads no session. An optional route accepts requests without
    /// a session, so a demand would only refuse users who are signed in.
    private mutating func checkDemands(_ tree: SettingsTree, _ prefix: String, _ auth: AuthRequirement) {
        let (names, why) =
            switch auth {
            case .required: ([String](), "")
            case .optional: (["require", "binding"], "which accepts every request without a session")
            case .public: (["require", "binding", "unauthenticated"], "which reads no session")
            }
        for name in names {
            guard let setting = tree[name], tree.text(name) != "none" else { continue }
            let needs = name == "unauthenticated" ? "required or optional" : "required"
            self.report(
                setting.origin,
                "\(prefix)\(name)",
                found: "\(name) on a route with auth: \(auth.rawValue), \(why)",
                allowed: "\(name) where auth is \(needs)",
                mend: "write auth: required, and serve public paths by another route without \(name)"
            )
        }
    }

    private mutating func cors(_ tree: SettingsTree, key: String) -> CORSSettings {
        var cors = CORSSettings()
        cors.origins = tree.texts("origins") ?? []
        tree.set(.cors, in: &cors)
        if cors.credentials, cors.origins.contains("*"), let origin = tree["credentials"]?.origin {
            self.report(
                origin,
                "\(key).credentials",
                found: "true, but origins has *",
                allowed: "credentials only with exact origins: with * every site could act as the user",
                mend: "list the origins, or set credentials: false"
            )
        }
        return cors
    }
}
