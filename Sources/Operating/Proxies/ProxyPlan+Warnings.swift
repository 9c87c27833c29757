import Settings
import Vocabulary

/// Warnings about settings that have no effect with the proxy.
extension ProxyPlan {
    /// All warnings. They name the settings' keys.
    var warnings: [String] {
        self.cookieWarnings + self.routeWarnings + self.appWarnings + self.serverWarnings
    }

    private var cookieWarnings: [String] {
        let passes = self.proxy.passesCookiesOnSuccess
        var warnings: [String] = []
        if self.authorization.cookiesOnSuccess, !passes {
            warnings.append(
                "write authorization.cookies_on_success: false. This proxy drops the cookies of an answer that allows a request."
            )
        }
        if !self.authorization.cookiesOnSuccess, passes {
            warnings.append("cookies_on_success: false costs a redirect that this proxy does not need.")
        }
        return warnings
    }

    // MARK: Routes

    private var routeWarnings: [String] {
        self.settings.hosts.flatMap { host in
            host.routes.compactMap { route in
                let keys = Self.unapplied(route)
                guard !keys.isEmpty else { return nil }
                return "the route \(host.publicURL)\(route.path): \(keys.joined(separator: ", ")) "
                    + "\(keys.count == 1 ? "is" : "are") not in this configuration. Add "
                    + "\(keys.count == 1 ? "it" : "them") by hand, or let Sallyport forward the route."
            }
        }
    }

    /// Returns the keys of a route that only apply if the gateway itself forwards requests. Default values are left
    /// out.
    static func unapplied(_ route: RouteSettings) -> [String] {
        let keys = [
            ("host", route.hostHeader != nil), ("strip_prefix", route.stripPrefix != nil),
            ("add_prefix", route.addPrefix != nil), ("request_headers", route.requestHeaders != FieldChanges()),
            ("response_headers", route.responseHeaders != FieldChanges()), ("cors", route.cors != nil),
            ("early_hints", !route.earlyHints), ("max_body", route.maxBody != nil),
            ("timeouts", route.responseTimeout != nil),
            // A proxy presents its own certificate, so the gateway would deny every client.
            ("require.client_certificate", route.require.clientCertificate != nil),
        ]
        return keys.filter(\.1).map(\.0)
    }

    /// Describes what the app receives with an allowed request.
    ///
    /// - Parameter host: The requested host. Not a wildcard.
    func forwarded(on host: PublicURL, by route: RouteSettings) -> [String] {
        var lines = ["the method, the path and the query as the client sent them"]
        switch self.proxy {
        case .ingressNginx, .gatewayAPI: lines.append("Host and X-Forwarded-* as the proxy writes them")
        case .nginx, .traefik, .caddy, .envoy, .haproxy:
            lines += [
                "Host: \(host.authority)", "X-Forwarded-For: the client's address",
                "X-Forwarded-Host: \(host.authority)",
                "X-Forwarded-Proto: \(host.scheme)",
            ]
        }
        lines.append("the fields of the answer above that have a value, never those of the client")
        if self.proxy != .envoy {
            lines.append("the credentials that the client sent: the session cookie, X-Session-Token, Authorization")
        }
        let keys = Self.unapplied(route)
        if !keys.isEmpty {
            lines.append("the proxy does not apply these keys of the route: \(keys.joined(separator: ", "))")
        }
        return lines
    }

    // MARK: Apps

    private var appWarnings: [String] {
        self.apps.compactMap { app in
            guard let settings = app.settings else { return nil }
            let keys = self.unapplied(settings)
            guard !keys.isEmpty else { return nil }
            return
                "upstreams.\(settings.name): \(keys.joined(separator: ", ")) \(keys.count == 1 ? "is" : "are") not in this "
                + "configuration. Add \(keys.count == 1 ? "it" : "them") by hand."
        }
    }

    /// Returns the keys of an app that the configuration does not contain. Default values are left out.
    private func unapplied(_ app: UpstreamSettings) -> [String] {
        let plain = UpstreamSettings(name: app.name, isHTTPS: app.isHTTPS, host: app.host, port: app.port)
        var keys = [
            ("slow_start", app.slowStart != nil), ("retry_on", !app.retryOn.isEmpty),
            ("max_connections", app.maxConnections != plain.maxConnections),
            ("client_share", app.clientShare != nil), ("health.host", app.health?.host != nil),
            ("max_queue", app.maxQueue != plain.maxQueue),
            ("reuse", app.reuse != plain.reuse), ("answers", app.answers != plain.answers),
            ("dns_refresh", app.dnsRefresh != plain.dnsRefresh),
        ]
        let certificate = app.certificateFile != nil
        switch self.proxy {
        case .nginx:
            keys.append(("health", app.health != nil))
            let hosts = self.hosts.filter { $0.apps.contains { $0.settings == app } }
            let isPrinted = hosts.allSatisfy { $0.appFiles != nil }
            keys += [
                ("ca_file", app.caFile != nil && !isPrinted), ("certificate_file", certificate && !isPrinted),
                ("key_file", app.keyFile != nil && !isPrinted),
            ]
        case .haproxy:
            // HAProxy needs certificate and key in one file.
            keys += [("certificate_file", certificate), ("key_file", app.keyFile != nil)]
        case .traefik, .caddy:
            let standard = HealthSettings()
            keys += [
                ("health.passes", app.health.map { $0.passes != standard.passes } ?? false),
                ("health.fails", app.health.map { $0.fails != standard.fails } ?? false),
            ]
        case .envoy: break
        case .ingressNginx, .gatewayAPI:
            // In Kubernetes, apps are services of the cluster.
            keys += [
                ("url", app.isHTTPS), ("servers", !app.others.isEmpty || app.first.weight != 1),
                ("server_name", app.servers.contains { $0.serverName != nil } || app.serverName != nil),
                ("balance", app.balance != plain.balance), ("health", app.health != nil),
                ("ca_file", app.caFile != nil),
                ("certificate_file", certificate), ("key_file", app.keyFile != nil),
            ]
        }
        return keys.filter(\.1).map(\.0)
    }

    /// Warnings about load balancing and certificate names.
    private var serverWarnings: [String] {
        let several = self.apps.filter(\.hasSeveralServers)
        var warnings: [String] = []
        switch self.proxy {
        case .ingressNginx, .gatewayAPI: return []
        case .nginx, .traefik, .caddy, .envoy, .haproxy: break
        }
        for app in several where app.balance == .sticky {
            warnings.append(
                "app_\(app.label): sticky uses the client's address, because this proxy does not know sessions."
            )
        }
        let usesHosts = self.proxy == .caddy || self.proxy == .traefik
        for app in several where app.isHTTPS && !app.hasOneTLSName && self.proxy != .haproxy && self.proxy != .envoy {
            if usesHosts, !app.servers.contains(where: \.isNamed) { continue }
            warnings.append(
                "app_\(app.label): this proxy asks all servers for one name (\(app.tlsName)), which their certificates must have."
            )
        }
        if self.proxy == .caddy {
            for app in several where app.hasWeights && app.balance != .roundRobin {
                warnings.append("app_\(app.label): this proxy applies weights only with round_robin.")
            }
        }
        return warnings
    }
}
