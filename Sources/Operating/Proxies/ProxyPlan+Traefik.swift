import Endpoints
import Settings
import Vocabulary

extension ProxyPlan {
    /// The dynamic configuration for Traefik 3.3 or later, for its file provider.
    var traefik: [String] {
        var lines = [
            "http:",
            "  middlewares:",
            "    sallyport:",
            "      forwardAuth:",
            "        address: \(self.checksNamedURL)\(self.proxy.checkPath)",
        ]
        if let tls = self.checksTLS {
            lines += [
                "        # This name leads to \(self.checks), because Traefik verifies it.",
                "        tls:", "          ca: /etc/traefik/tls/sallyport-ca.pem",
            ]
            if tls.asksForCertificate {
                lines += [
                    "          cert: /etc/traefik/tls/proxy.pem", "          key: /etc/traefik/tls/proxy.key",
                ]
            }
        }
        lines += [
            "        # A client's own X-Forwarded-* fields are not trusted.",
            "        trustForwardHeader: false",
            "        preserveLocationHeader: true",
            "        # Fields that match are removed from the request, in every spelling, and set from the answer.",
            "        authResponseHeadersRegex: '(?i)\(self.removedPattern)'",
        ]
        if self.fields.contains("Authorization") { lines += ["        authResponseHeaders: [Authorization]"] }
        lines += ["        addAuthCookiesToResponse:"] + self.cookies.map { "          - \($0)" }
        for host in self.hosts {
            let name = host.isNamed ? [("Host", host.url.authority), ("X-Forwarded-Host", host.url.authority)] : []
            lines += [
                "    # The host name that the app gets, whatever the client's spelling.", "    name_\(host.label):",
                "      headers:", "        customRequestHeaders:",
            ]
            lines += (name + [("X-Forwarded-Proto", host.url.scheme)]).map { "          \($0): \"\($1)\"" }
        }
        lines += ["  routers:"]
        for host in self.hosts {
            let rule = Self.traefikRule(host)
            let tls = host.url.isHTTPS ? ["      tls: {}"] : []
            lines += ["    # Requests of browsers and native apps to Sallyport itself.", "    own_\(host.label):"]
            lines += ["      rule: '\(rule) && PathRegexp(`^(\(host.ownPaths))$`)'", "      priority: 1000"]
            lines += ["      service: sallyport"] + tls
            for (index, other) in host.otherApps.enumerated() {
                lines += [
                    "    path\(index + 1)_\(host.label):", "      rule: '\(rule) && PathRegexp(`^\(other.paths)$`)'",
                ]
                lines += ["      priority: \(900 - index)", "      middlewares: [sallyport, name_\(host.label)]"]
                lines += ["      service: app_\(other.app.label)"] + tls
            }
            lines += [
                "    host_\(host.label):", "      rule: '\(rule)'", "      priority: 1",
                "      middlewares: [sallyport, name_\(host.label)]",
            ]
            lines += ["      service: app_\(host.app.label)"] + tls
        }
        lines += ["  services:"]
        lines += ["    sallyport:", "      loadBalancer:", "        servers: [{url: \"http://\(self.gateway)\"}]"]
        for app in self.apps { lines += ["    app_\(app.label):", "      loadBalancer:"] + Self.traefikServers(app) }
        let transports = self.apps.map { ($0, Self.traefikTransport($0)) }.filter { !$0.1.isEmpty }
        if !transports.isEmpty { lines += ["  serversTransports:"] }
        for (app, transport) in transports { lines += ["    app_\(app.label):"] + transport.indented(6) }
        return lines + [""]
    }

    /// Returns the TLS options for connections to an app. Empty if the defaults apply.
    private static func traefikTransport(_ app: App) -> [String] {
        var lines = app.givenTLSName.map { ["serverName: \($0)"] } ?? []
        if let authority = app.files.authority { lines.append("rootCAs: [\(authority)]") }
        if let certificate = app.files.certificate, let key = app.files.key {
            lines.append("certificates: [{certFile: \(certificate), keyFile: \(key)}]")
        }
        return lines
    }

    private static func traefikServers(_ app: App) -> [String] {
        let servers = app.servers.map { server in
            "{url: \"\(app.url(of: server))\"\(server.weight == 1 ? "" : ", weight: \(server.weight)")}"
        }
        var lines = ["        servers: [\(servers.joined(separator: ", "))]"]
        if app.hasSeveralServers {
            let strategy =
                switch app.balance {
                case .leastRequests: "p2c"
                case .roundRobin: "wrr"
                case .sticky: "hrw"
                }
            lines += ["        # Traefik 3.6 or later.", "        strategy: \(strategy)"]
        }
        if let health = app.health {
            lines += [
                "        healthCheck:", "          path: '\(health.path.replacing("'", with: "''"))'",
                "          interval: \(Self.milliseconds(health.interval))",
                "          timeout: \(Self.milliseconds(health.timeout))",
            ]
            if let status = health.status { lines += ["          status: \(status)"] }
        }
        if !Self.traefikTransport(app).isEmpty { lines += ["        serversTransport: app_\(app.label)"] }
        return lines
    }

    /// Returns the rule for requests to a host. A wildcard excludes the hosts that are configured by name.
    private static func traefikRule(_ host: Host) -> String {
        guard host.url.isWildcard else { return "Host(`\(host.url.host)`)" }
        let others = host.others.map { " && !Host(`\($0.url.host)`)" }.joined()
        return "HostRegexp(`\(host.nameExpression)`)\(others)"
    }

    /// The names of all cookies that the answer to a check may set.
    private var cookies: [String] {
        let session = self.settings.session
        let own = [
            session.cookieName, session.attemptCookieName, session.handledCookieName, session.pendingCookieName,
            session.accountCookieName, "\(session.cookieName)-\(SignInNotice.label)",
        ]
        let reaches = Set(self.settings.hosts.map(\.cookieReach))
        let names = own.flatMap { name in reaches.map { $0.name(name) } } + self.settings.handoff.cookieNames
        return Set(names).sorted()
    }
}
