import Vocabulary

extension SettingsBuilder {
    mutating func namedUpstreams() -> [UpstreamSettings] {
        let upstreams = self.tree.tree("upstreams")
        return (upstreams?.entries ?? []).compactMap { name, _ in
            guard let tree = upstreams?.tree(name) else { return nil }
            let servers = self.servers(tree)
            var upstream = UpstreamSettings.initial
            upstream.name = name
            if let first = servers.first {
                upstream.first = first
                upstream.others = Array(servers.dropFirst())
            }
            tree.set(.upstream, in: &upstream)
            upstream.health = tree.tree("health").map { tree in
                var health = HealthSettings()
                tree.set(.health, in: &health)
                return health
            }
            if upstream.maxConnections < servers.count {
                self.report(
                    tree.place(of: "max_connections"),
                    found: "\(upstream.maxConnections), fewer than its \(servers.count) servers",
                    allowed: "at least one connection for each server",
                    fix: "write a larger number"
                )
            }
            if servers.count == 1, !servers[0].isNamed {
                for name in ["health", "slow_start", "retry_on"] where tree[name] != nil {
                    self.report(
                        tree.place(of: name),
                        found: "\(name), but only one server",
                        allowed: "\(name) where there are several servers, or a name that may have several addresses",
                        fix: "remove it, or add another server"
                    )
                }
            }
            upstream.caFile = self.readablePath("ca_file", of: tree)
            upstream.certificateFile = self.readablePath("certificate_file", of: tree)
            upstream.keyFile = self.readablePath("key_file", of: tree, isSecret: true)
            if !servers.isEmpty, !upstream.isHTTPS {
                for name in ["ca_file", "certificate_file", "key_file", "server_name"] where tree[name] != nil {
                    self.reportTLSKey(name, of: tree)
                }
            }
            if (tree["certificate_file"] == nil) != (tree["key_file"] == nil), !self.isPartial {
                let (missing, given) =
                    tree["key_file"] == nil ? ("key_file", "certificate_file") : ("certificate_file", "key_file")
                self.report(
                    tree.place(of: missing, or: given),
                    found: "nothing",
                    allowed: "both certificate_file and key_file, or neither",
                    fix: "add \(missing)"
                )
            }
            return upstream
        }
    }

    /// Returns an app with one server at a URL.
    static func upstream(named name: String, at url: PublicURL) -> UpstreamSettings {
        let server = self.server(at: url)
        return UpstreamSettings(name: name, isHTTPS: server.isHTTPS, host: server.host, port: server.port)
    }

    /// Returns an app with one server at a Unix socket.
    ///
    /// - Parameter text: `unix:` and the path of the socket.
    static func upstream(named name: String, atSocket text: String) -> UpstreamSettings {
        var upstream = UpstreamSettings.initial
        upstream.name = name
        if let server = self.server(atSocket: text) { upstream.first = server }
        return upstream
    }

    private static func server(at url: PublicURL) -> ServerSettings {
        ServerSettings(isHTTPS: url.isHTTPS, host: url.host, port: url.port ?? (url.isHTTPS ? 443 : 80))
    }

    private static func server(atSocket text: String) -> ServerSettings? {
        guard text.hasPrefix(TextRule.socketScheme) else { return nil }
        return ServerSettings(socketPath: String(text.dropFirst(TextRule.socketScheme.count)))
    }

    /// Returns the server of `url`; `nil` if the key is missing or invalid.
    private mutating func server(_ tree: SettingsTree) -> ServerSettings? {
        if let url = tree.url("url") { return Self.server(at: url) }
        guard let server = tree.text("url").flatMap(Self.server(atSocket:)) else { return nil }
        self.checkSocket(of: server, tree.place(of: "url"))
        return server
    }

    /// Checks the socket of a server. A missing socket is only a warning, because its app may start later.
    mutating func checkSocket(of server: ServerSettings, _ place: KeyPlace) {
        guard let path = server.socketPath, let fault = self.files.socketFault(path), !self.isPartial else { return }
        switch fault {
        case .otherKind:
            self.report(
                place,
                found: "a file that is not a socket at \(quoted(path))",
                allowed: "the path of the socket at which the app listens",
                fix: "check the path"
            )
        case .absent:
            self.warnings.append(
                "\(place.key): there is no socket at \(path); until its app makes one, requests get 502 upstream.unreachable"
            )
        case .closed:
            self.warnings.append(
                "\(place.key): this user (\(FilePermissions.user)) may not connect to \(path): it needs the permission to write to the socket and to search the directories that lead there"
            )
        }
    }

    /// Returns the servers of an app from its key `url` or `servers`.
    private mutating func servers(_ tree: SettingsTree) -> [ServerSettings] {
        guard tree["servers"] != nil else {
            if tree["url"] == nil {
                self.reportMissing(
                    tree.place(of: "url"),
                    TextRule.serverURL.allowed,
                    "add url, the address of the app, or servers, the addresses of all its servers"
                )
            }
            return self.server(tree).map { [$0] } ?? []
        }
        let place = tree.place(of: "servers")
        if tree["url"] != nil {
            self.report(
                tree.place(of: "url"),
                found: "both url and servers",
                allowed: "either url, or servers",
                fix: "move the URL into servers"
            )
        }
        let trees = tree.trees("servers")
        if !(1...ServerSettings.limit).contains(trees.count), !self.isPartial {
            self.report(
                place,
                found: trees.isEmpty ? "an empty list" : "\(trees.count) servers",
                allowed: "1 to \(ServerSettings.limit) servers",
                fix: trees.isEmpty ? "add a server" : "put a load balancer in front of the servers"
            )
        }
        var origins: [String: SettingsOrigin] = [:]
        var servers: [ServerSettings] = []
        for tree in trees {
            guard var server = self.server(tree) else { continue }
            tree.set(.server, in: &server)
            self.checkOnce(
                server.origin,
                "url",
                of: tree,
                in: &origins,
                allowed: "each server once",
                fix: "remove it, and write weight for a larger share: the other one is at"
            )
            if let first = servers.first, first.isHTTPS != server.isHTTPS {
                self.report(
                    tree.place(of: "url"),
                    found: "\(server.origin) beside \(first.origin)",
                    allowed: "servers that all have https, or all http",
                    fix: "write the same scheme everywhere"
                )
            }
            if !server.isHTTPS, tree["server_name"] != nil { self.reportTLSKey("server_name", of: tree) }
            servers.append(server)
        }
        return servers
    }

    private mutating func reportTLSKey(_ name: String, of tree: SettingsTree) {
        self.report(
            tree.place(of: name),
            found: "a key for TLS, but url is not https",
            allowed: "\(name) with an https url only",
            fix: "write https in url, or remove the key"
        )
    }
}
