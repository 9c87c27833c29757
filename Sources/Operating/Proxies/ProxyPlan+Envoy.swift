import Settings
import Vocabulary

extension ProxyPlan {
    /// The request fields that a check needs. Envoy and Gateway API send no others, except a few such as `Host`.
    static let checkedFields = [
        "accept", "accept-language", "access-control-request-headers", "access-control-request-method",
        "authorization", "content-type", "cookie", "dpop", "hx-request", "origin", "purpose", "referer",
        "sallyport-native", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-purpose", "sec-websocket-key",
        "sec-websocket-version", "turbo-frame", "user-agent", "x-forwarded-for", "x-moz", "x-pjax", "x-purpose",
        "x-request-id", "x-requested-with", "x-session-token", "x-turbo-request-id",
    ]

    /// The static configuration for Envoy 1.36 or later.
    var envoy: [String] {
        var clusters = Self.envoyCluster("sallyport", self.gateway.host, self.gateway.port) + self.envoyIdle
        clusters += Self.envoyCluster("sallyport_checks", self.checks.host, self.checks.port) + self.envoyIdle
        if let tls = self.checksTLS {
            clusters += Self.envoyTLS(
                tls.name,
                authority: "/etc/envoy/tls/sallyport-ca.pem",
                own: tls.asksForCertificate ? ("/etc/envoy/tls/proxy.pem", "/etc/envoy/tls/proxy.key") : nil
            )
        }
        for app in self.apps {
            clusters += Self.envoyCluster(app)
        }
        var lines = [
            "# Envoy's limit for a regular expression is 100, which a list of paths exceeds.",
            "layered_runtime:",
            "  layers: [{name: sallyport, static_layer: {re2.max_program_size.error_level: 4000}}]",
            "static_resources:",
            "  listeners:",
        ]
        lines += self.ports.flatMap(self.envoyListener).indented(4)
        lines += ["  clusters:"]
        lines += clusters.indented(4)
        return lines + [""]
    }

    private func envoyListener(_ port: Int) -> [String] {
        let hosts = self.hosts.filter { $0.port == port }
        var lines = [
            "- name: port_\(port)",
            "  address: {socket_address: {address: 0.0.0.0, port_value: \(port)}}",
            "  filter_chains:",
            "    - filters:",
            "        - name: envoy.filters.network.http_connection_manager",
            "          typed_config:",
            "            \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "            stat_prefix: port_\(port)",
            "            # The client's address is that of the connection. Behind another proxy: without these mutations, and with",
            "            # xff_num_trusted_hops.",
            "            use_remote_address: true",
            "            early_header_mutation_extensions:",
            "              - name: envoy.http.early_header_mutation.header_mutation",
            "                typed_config:",
            "                  \"@type\": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
            "                  mutations: [{remove: x-forwarded-for}]",
            "            # The bytes that were judged are forwarded.",
            "            normalize_path: false",
            "            merge_slashes: false",
            "            path_with_escaped_slashes_action: KEEP_UNCHANGED",
            "            common_http_protocol_options: {headers_with_underscores_action: DROP_HEADER}",
            "            upgrade_configs: [{upgrade_type: websocket}]",
            "            http_filters:",
        ]
        lines += self.envoyFilters.indented(14)
        lines += ["            route_config:", "              virtual_hosts:"]
        lines += hosts.flatMap(self.envoyHost).indented(16)
        let secure = hosts.filter(\.url.isHTTPS)
        if !secure.isEmpty {
            lines += [
                "      transport_socket:",
                "        name: envoy.transport_sockets.tls",
                "        typed_config:",
                "          \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                "          common_tls_context:",
                "            tls_certificates:",
            ]
            lines += secure.flatMap { host in
                [
                    "- certificate_chain: {filename: /etc/envoy/tls/\(host.certificateName).pem}",
                    "  private_key: {filename: /etc/envoy/tls/\(host.certificateName).key}",
                ]
            }.indented(14)
        }
        return lines
    }

    private var envoyFilters: [String] {
        var lines = [
            "# A client must not set these, in any spelling that an app may accept.",
            "- name: envoy.filters.http.header_mutation",
            "  typed_config:",
            "    \"@type\": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
            "    mutations:",
            "      request_mutations:",
            "        - remove_on_match:",
            "            key_matcher:",
            "              safe_regex: {regex: '\(self.removedPattern)'}",
            "- name: envoy.filters.http.ext_authz",
            "  typed_config:",
            "    \"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
            "    # **true lets every request pass while Sallyport cannot answer.**",
            "    failure_mode_allow: false",
            "    status_on_error: {code: ServiceUnavailable}",
            "    # A route that is chosen again may have other demands than the one that was judged.",
            "    clear_route_cache: false",
            "    allowed_headers:",
            "      patterns:",
        ]
        lines += Self.checkedFields.map { "        - exact: \($0)" }
        lines += [
            "    http_service:",
            "      server_uri: {uri: \"\(self.checksURL)\", cluster: sallyport_checks, timeout: 2s}",
            "      path_prefix: \(self.proxy.checkPath)",
            "      authorization_response:",
            "        # cookie: without Sallyport's own. The fields of consumed credentials are removed, too.",
            "        allowed_upstream_headers:",
            "          patterns:",
        ]
        lines += (self.fields.map { $0.lowercased() } + ["cookie"]).map { "            - exact: \($0)" }
        lines += [
            "        allowed_client_headers_on_success:",
            "          patterns:",
            "            - exact: set-cookie",
            "- name: envoy.filters.http.router",
            "  typed_config:",
            "    \"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
            "    # One of them is the host as the client spelled it.",
            "    suppress_envoy_headers: true",
        ]
        return lines
    }

    private func envoyHost(_ host: Host) -> [String] {
        let names = host.url.port == nil ? [host.url.host, host.url.host + ":\(host.port)"] : [host.url.authority]
        var lines = [
            "- name: \(host.label)",
            "  domains: [\(names.map { "\"\($0)\"" }.joined(separator: ", "))]",
            "  # The client's own were removed.",
            "  request_headers_to_add:",
        ]
        let shown = host.isNamed ? host.url.authority : "%REQ(:AUTHORITY)%"
        for (name, value) in [("x-forwarded-host", shown), ("x-forwarded-proto", host.url.scheme)] {
            lines += [
                "    - header: {key: \(name), value: \"\(value)\"}",
                "      append_action: OVERWRITE_IF_EXISTS_OR_ADD",
            ]
        }
        lines += [
            "  routes:",
            "    # Requests of browsers and native apps to Sallyport itself.",
            "    - match: {safe_regex: {regex: '\(host.ownPaths)'}}",
            "      route: {cluster: sallyport, timeout: 0s}",
            "      typed_per_filter_config:",
            "        envoy.filters.http.ext_authz:",
            "          \"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
            "          disabled: true",
            "        envoy.filters.http.header_mutation:",
            "          \"@type\": type.googleapis.com/envoy.config.route.v3.FilterConfig",
            "          disabled: true",
        ]
        for other in host.otherApps {
            lines += [
                "    - match: {safe_regex: {regex: '\(other.paths)'}}",
                "      route: \(Self.envoyRoute(to: other.app, on: host))",
            ]
        }
        return lines + ["    - match: {prefix: /}", "      route: \(Self.envoyRoute(to: host.app, on: host))"]
    }

    private static func envoyRoute(to app: App, on host: Host) -> String {
        let isSticky = app.hasSeveralServers && app.balance == .sticky
        let hash = isSticky ? ", hash_policy: [{connection_properties: {source_ip: true}}]" : ""
        // The app gets the configured name and port. For a wildcard host, it gets the requested name.
        let name = host.isNamed ? ", host_rewrite_literal: \"\(host.url.authority)\"" : ""
        return "{cluster: app_\(app.label), timeout: 0s\(name)\(hash)}"
    }

    private static func envoyCluster(_ name: String, _ host: String, _ port: Int) -> [String] {
        self.envoyCluster(name, [self.envoyEndpoint(host, port)])
    }

    private static func envoyCluster(_ name: String, _ endpoints: [String], balance: [String] = []) -> [String] {
        [
            "- name: \(name)",
            "  type: STRICT_DNS",
            "  connect_timeout: 5s",
        ] + balance + [
            "  load_assignment:",
            "    cluster_name: \(name)",
            "    endpoints:",
            "      - lb_endpoints:",
        ] + endpoints
    }

    private static func envoyEndpoint(_ host: String, _ port: Int) -> String {
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return "          - endpoint: {address: {socket_address: {address: \"\(bare)\", port_value: \(port)}}}"
    }

    private static func envoyCluster(_ app: App) -> [String] {
        let hasNames = app.isHTTPS && !app.hasOneTLSName
        let endpoints = app.servers.flatMap { server -> [String] in
            var lines = [self.envoyEndpoint(server.host, server.port)]
            if server.weight != 1 { lines += ["            load_balancing_weight: \(server.weight)"] }
            if hasNames {
                lines += [
                    "            metadata: {filter_metadata: {envoy.transport_socket_match: {name: \(server.tlsName)}}}"
                ]
            }
            return lines
        }
        var lines = self.envoyCluster(
            "app_\(app.label)",
            endpoints,
            balance: (app.hasSeveralServers ? self.envoyBalance(app) : []) + self.envoyHealth(app)
        )
        guard app.isHTTPS else { return lines }
        guard hasNames else { return lines + self.envoyTLS(app.tlsName, of: app) }
        lines += ["  transport_socket_matches:"]
        for name in Set(app.servers.map(\.tlsName)).sorted() {
            lines += ["    - name: \(name)", "      match: {name: \(name)}"]
            lines += self.envoyTLS(name, of: app).indented(4)
        }
        return lines
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        let part = String(1000 + milliseconds % 1000).dropFirst()
        return "\(milliseconds / 1000).\(part)s"
    }

    private static func envoyBalance(_ app: App) -> [String] {
        let policy =
            switch app.balance {
            case .leastRequests: "LEAST_REQUEST"
            case .roundRobin: "ROUND_ROBIN"
            case .sticky: "MAGLEV"
            }
        return [
            "  lb_policy: \(policy)",
            "  outlier_detection:",
            "    {enforcing_consecutive_5xx: 0, consecutive_gateway_failure: 10,",
            "     enforcing_consecutive_gateway_failure: 100, max_ejection_percent: 50}",
        ]
    }

    private static func envoyHealth(_ app: App) -> [String] {
        guard let health = app.health else { return [] }
        let statuses = health.status.map { $0..<($0 + 1) } ?? 200..<400
        return [
            "  health_checks:",
            "    - timeout: \(Self.seconds(health.timeout))",
            "      interval: \(Self.seconds(health.interval))",
            "      healthy_threshold: \(health.passes)",
            "      unhealthy_threshold: \(health.fails)",
            "      http_health_check:",
            "        path: '\(health.path.replacing("'", with: "''"))'",
            "        expected_statuses: [{start: \(statuses.lowerBound), end: \(statuses.upperBound)}]",
        ]
    }

    /// Makes Envoy close idle connections before the gateway does (`timeouts.idle`). Otherwise Envoy could send a
    /// request on a connection that the gateway is closing.
    private var envoyIdle: [String] {
        let seconds = max(1, self.settings.timeouts.idle.components.seconds / 2)
        return [
            "  typed_extension_protocol_options:",
            "    envoy.extensions.upstreams.http.v3.HttpProtocolOptions:",
            "      \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "      # Less than Sallyport's timeouts.idle.",
            "      common_http_protocol_options: {idle_timeout: \(seconds)s}",
            "      explicit_http_config: {http_protocol_options: {}}",
        ]
    }

    /// Returns the TLS settings for connections to an app.
    private static func envoyTLS(_ name: String, of app: App) -> [String] {
        var own: (certificate: String, key: String)?
        if let certificate = app.files.certificate, let key = app.files.key { own = (certificate, key) }
        return self.envoyTLS(
            name,
            authority: app.files.authority ?? "/etc/ssl/certs/ca-certificates.crt",
            own: own
        )
    }

    /// - Parameters:
    ///   - name: The name to verify.
    ///   - authority: The file with the trusted authorities.
    ///   - own: The files with Envoy's own certificate and key; `nil` to present no certificate.
    private static func envoyTLS(
        _ name: String,
        authority: String,
        own: (certificate: String, key: String)? = nil
    ) -> [String] {
        let certificates =
            own.map {
                [
                    "        tls_certificates:",
                    "          - certificate_chain: {filename: \($0.certificate)}",
                    "            private_key: {filename: \($0.key)}",
                ]
            } ?? []
        return [
            "  transport_socket:",
            "    name: envoy.transport_sockets.tls",
            "    typed_config:",
            "      \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "      sni: \(name)",
            "      common_tls_context:",
        ] + certificates + [
            "        validation_context:",
            "          trusted_ca: {filename: \(authority)}",
            "          match_typed_subject_alt_names:",
            "            - {san_type: DNS, matcher: {exact: \"\(name)\"}}",
        ]
    }
}
