import Settings

extension ProxyPlan {
    /// A `haproxy.cfg` for HAProxy 2.6 or later with Lua.
    var haproxy: [String] {
        var lines = [
            "global",
            "    log stdout format raw local0 notice",
            "    # An answer of Sallyport, such as a page with a logo, has to fit into one buffer; the default is 16384.",
            "    tune.bufsize 393216",
            "    # deploy/proxies/sallyport.lua",
            "    lua-load /etc/haproxy/sallyport.lua",
        ]
        lines += [
            "    # WebSockets come by HTTP/1.1, where the check sees their key.",
            "    h2-workaround-bogus-websocket-clients",
            "",
            "defaults",
            "    mode http",
            "    log global",
            "    timeout connect 5s",
            "    timeout http-request 10s",
            "    timeout client 75s",
            "    timeout server 65m",
            "    timeout tunnel 65m",
        ]
        for port in self.ports { lines += [""] + self.haproxyFrontend(port) }
        lines += ["", "backend sallyport", "    server sallyport \(self.gateway)"]
        lines += self.haproxyChecks
        for app in self.apps { lines += ["", "backend app_\(app.label)"] + Self.haproxyServers(app) }
        return lines + [""]
    }

    private static func haproxyServers(_ app: App) -> [String] {
        var lines: [String] = []
        var check = ""
        if app.hasSeveralServers {
            switch app.balance {
            case .leastRequests: lines = ["    balance leastconn"]
            case .roundRobin: lines = ["    balance roundrobin"]
            case .sticky: lines = ["    balance source", "    hash-type consistent"]
            }
            lines += ["    option redispatch"]
        }
        if let health = app.health {
            let status = health.status.map(String.init) ?? "200-399"
            lines += [
                "    option httpchk GET \(health.path.replacing("'", with: "\\'"))",
                "    http-check expect status \(status)",
            ]
            lines += ["    timeout check \(Self.milliseconds(health.timeout))"]
            check = " check inter \(Self.milliseconds(health.interval)) rise \(health.passes) fall \(health.fails)"
        }
        let authority = app.files.authority ?? "@system-ca"
        // HAProxy allows weights up to 256.
        let most = app.servers.map(\.weight).max() ?? 1
        return lines
            + app.servers.enumerated().map { index, server in
                let name = server.tlsName
                let tls =
                    app.isHTTPS ? " ssl verify required ca-file \(authority) sni str(\(name)) verifyhost \(name)" : ""
                let weight = most > 256 ? max(1, server.weight * 256 / most) : server.weight
                let number = app.hasSeveralServers ? "_\(index + 1)" : ""
                return "    server app\(number) \(server.address)\(tls)"
                    + (app.hasWeights ? " weight \(weight)" : "") + check
                    + (check.isEmpty || !app.isHTTPS ? "" : " check-sni \(name)")
            }
    }

    private func haproxyFrontend(_ port: Int) -> [String] {
        let hosts = self.hosts.filter { $0.port == port }
        let certificates = hosts.filter(\.url.isHTTPS).map { " crt /etc/haproxy/tls/\($0.certificateName).pem" }
            .joined()
        var lines = ["frontend port_\(port)", "    bind :\(port)\(certificates.isEmpty ? "" : " ssl\(certificates)")"]
        for host in hosts {
            lines += [
                "    acl is_\(host.label) req.fhdr(host),host_only \(Self.haproxyMatch(host))",
                "    acl own_\(host.label) path -m reg ^(\(host.ownPaths))$",
            ]
        }
        let known = hosts.map { "is_\($0.label)" }.joined(separator: " or ")
        let own = hosts.map { "\(Self.haproxyCondition($0)) own_\($0.label)" }.joined(separator: " or ")
        let fields = self.fields.map { $0.lowercased() }.joined(separator: ",")
        lines += [
            "    http-request deny deny_status 421 unless \(known)",
            "    # The fields that Connection lists end at the next hop: a client must not list identity fields there.",
        ]
        lines += self.hopPatterns.map {
            "    http-request deny deny_status 400 if { req.fhdr(connection) -m reg -i '\($0)' }"
        }
        lines += [
            "    # Requests of browsers and native apps to Sallyport itself.",
            "    http-request set-var(txn.own) bool(true) if \(own)",
            "    # A client must not set these, in any spelling that an app may accept.",
        ]
        lines += self.removedPatterns.map {
            "    http-request del-header \($0) -m reg unless { var(txn.own) -m bool }"
        }
        lines += [
            "    http-request del-header ^\(Self.anyForwarded)$ -m reg",
            "    http-request set-header X-Forwarded-For %[src]",
        ]
        for host in hosts {
            let condition = Self.haproxyCondition(host)
            lines += [
                "    http-request set-header X-Forwarded-Host \(Self.haproxyName(host)) if \(condition)",
                "    http-request set-header X-Forwarded-Proto \(host.url.scheme) if \(condition)",
            ]
        }
        let check = "\(self.checksTLS == nil ? "\(self.checks)" : Self.haproxyChecksSocket) \(fields)"
        lines += [
            "    # The check: sallyport.lua passes the request's fields, sets those of the identity, or answers.",
            "    http-request set-header X-Forwarded-Method %[method]",
            "    http-request set-header X-Forwarded-Uri %[pathq]",
            "    http-request lua.sallyport \(check) unless { var(txn.own) -m bool }",
            "    http-request del-header X-Forwarded-Method",
            "    http-request del-header X-Forwarded-Uri",
            "    # The client's spelling of the name, and its port, are not for the app.",
        ]
        lines += hosts.map { host in
            "    http-request set-header Host \(Self.haproxyName(host)) if \(Self.haproxyCondition(host)) !{ var(txn.own) -m bool }"
        }
        lines += [
            "    use_backend sallyport if { var(txn.own) -m bool }"
        ]
        for host in hosts {
            let condition = Self.haproxyCondition(host)
            lines += host.otherApps.map {
                "    use_backend app_\($0.app.label) if \(condition) { path,url_dec -m reg ^\($0.paths)$ }"
            }
            lines += ["    use_backend app_\(host.app.label) if \(condition)"]
        }
        return lines
    }

    /// The socket of `haproxyChecks`. Checks by Lua go through it to use TLS, because Lua cannot verify certificates.
    private static let haproxyChecksSocket = "abns@sallyport_checks"

    /// The section that forwards checks over TLS. Empty if checks do not use TLS.
    private var haproxyChecks: [String] {
        guard let tls = self.checksTLS else { return [] }
        return [
            "", "# Over TLS, the check goes this way, because Lua does not verify certificates.",
            "listen sallyport_checks",
            "    mode tcp", "    bind \(Self.haproxyChecksSocket)",
            "    # A transfer token in a check is used up by the first.",
            "    retries 0",
            "    server checks \(self.checks) ssl verify required ca-file /etc/haproxy/tls/sallyport-ca.pem sni str(\(tls.name)) verifyhost \(tls.name)",
        ]
    }

    private static func haproxyMatch(_ host: Host) -> String {
        host.url.isWildcard ? "-m reg -i \(host.nameExpression)" : "-i \(host.url.host)"
    }

    /// Returns the condition for requests to a host. A wildcard excludes the hosts that are configured by name.
    private static func haproxyCondition(_ host: Host) -> String {
        (["is_\(host.label)"] + host.others.map { "!is_\($0.label)" }).joined(separator: " ")
    }

    /// Returns the host's public name or, for a wildcard, an expression for the requested name.
    private static func haproxyName(_ host: Host) -> String {
        host.url.isWildcard
            ? "%[req.fhdr(host),host_only,lower]\(host.url.port.map { ":\($0)" } ?? "")" : host.url.authority
    }
}
