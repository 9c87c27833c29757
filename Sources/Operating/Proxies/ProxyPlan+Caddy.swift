import RequestPath
import Settings

extension ProxyPlan {
    /// A `Caddyfile` for Caddy 2.6 or later.
    var caddy: [String] {
        self.hosts.flatMap { host in [host.url.description + " {"] + self.caddySite(host).indented(4) + ["}", ""] }
    }

    private func caddySite(_ host: Host) -> [String] {
        var lines = [
            "# Requests of browsers and native apps to Sallyport itself.",
            "@sallyport path_regexp ^(\(host.ownPaths))$",
            "handle @sallyport {",
            "    reverse_proxy \(self.gateway)",
            "}",
            "handle {",
            "    # In this order.",
            "    route {",
            "        # Caddy removes the fields that Connection lists: a client must not list identity fields there.",
            "        @hop header_regexp Connection `(?i)\(self.hopPattern)`",
            "        error @hop 400",
            "        # A client must not set these: before 2.11.2, Caddy leaves a client's field where the check has none",
            "        # (CVE-2026-30851). Other spellings, such as X.Auth.Email, are not removed. Behind another proxy, x-forwarded",
            "        # must stay, and trusted_proxies must name that proxy.",
        ]
        lines += self.caddyRemoved.map { "        request_header -\($0)" }
        lines += [
            "        forward_auth \(self.checksTLS == nil ? "\(self.checks)" : self.checksURL) {",
            "            uri \(self.proxy.checkPath)",
            "            copy_headers \(self.fields.joined(separator: " "))",
            "            transport http {",
            "                dial_timeout 1s",
            "                response_header_timeout 5s",
        ]
        lines += self.caddyChecksTLS.indented(16)
        lines += [
            "            }",
            "        }",
        ]
        for (index, other) in host.otherApps.enumerated() {
            lines += [
                "        @app_\(index + 1) path_regexp ^\(other.paths)$"
            ]
            lines += Self.caddyProxy(to: other.app, on: host, for: " @app_\(index + 1)").indented(8)
        }
        return lines + Self.caddyProxy(to: host.app, on: host).indented(8) + ["    }", "}"]
    }

    private static func caddyProxy(to app: App, on host: Host, for matcher: String = "") -> [String] {
        let line = "reverse_proxy\(matcher) \(app.servers.map(app.url).joined(separator: " "))"
        // The app gets the configured name and port. For a wildcard host, it gets the requested name.
        let port = host.url.port.map { ":\($0)" } ?? ""
        let name = host.isNamed ? host.url.authority : "{http.request.host}\(port)"
        var options = ["header_up Host \(name)", "header_up X-Forwarded-Host \(name)"]
        if app.hasSeveralServers {
            switch app.balance {
            case .leastRequests: options += ["lb_policy least_conn"]
            case .roundRobin where app.hasWeights:
                options += [
                    "# 2.8 or later.",
                    "lb_policy weighted_round_robin \(app.servers.map { "\($0.weight)" }.joined(separator: " "))",
                ]
            case .roundRobin: options += ["lb_policy round_robin"]
            case .sticky: options += ["lb_policy ip_hash"]
            }
            options += ["# A server that does not answer is left out for a while, and another one is tried."]
            options += ["max_fails 5", "fail_duration 10s", "lb_try_duration 5s"]
        }
        if let health = app.health {
            options += [
                "health_uri \(health.path)", "health_interval \(Self.milliseconds(health.interval))",
                "health_timeout \(Self.milliseconds(health.timeout))",
            ]
            if let status = health.status { options += ["health_status \(status)"] }
        }
        var transport = app.givenTLSName.map { ["tls_server_name \($0)"] } ?? []
        if let authority = app.files.authority { transport.append("tls_trusted_ca_certs \(authority)") }
        if let certificate = app.files.certificate, let key = app.files.key {
            transport.append("tls_client_auth \(certificate) \(key)")
        }
        if !transport.isEmpty { options += ["transport http {"] + transport.indented(4) + ["}"] }
        return [line + " {"] + options.indented(4) + ["}"]
    }

    private var caddyChecksTLS: [String] {
        guard let tls = self.checksTLS else { return [] }
        return ["tls_server_name \(tls.name)", "tls_trusted_ca_certs /etc/caddy/tls/sallyport-ca.pem"]
            + (tls.asksForCertificate ? ["tls_client_auth /etc/caddy/tls/proxy.pem /etc/caddy/tls/proxy.key"] : [])
    }

    /// The fields to remove, spelled with `-` and with `_`: many apps do not distinguish them. `x-auth-*` stands for
    /// all names with this prefix.
    private var caddyRemoved: [String] {
        let prefixes = self.managed.prefixes
        let names = (self.removedNames + self.fields.map { $0.lowercased() }).filter { name in
            name != "authorization" && !prefixes.contains { name.hasPrefix($0) }
        }
        return prefixes.flatMap { Self.spellings($0).map { $0 + "*" } }
            + Set(names).sorted().flatMap { name in
                let other = String(name.map { $0 == "-" ? "_" : $0 })
                return other == name ? [name] : [name, other]
            }
    }

    /// Returns all spellings of a name in which any `-` may be `_`.
    private static func spellings(_ name: String) -> [String] {
        name.reduce([""]) { spellings, letter in
            spellings.flatMap { spelling in
                letter == "-" ? [spelling + "-", spelling + "_"] : [spelling + String(letter)]
            }
        }
    }
}
