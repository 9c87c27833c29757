import Settings

extension ProxyPlan {
    /// An `nginx.conf` for nginx 1.15 or later with `auth_request`.
    var nginx: [String] {
        let apps = self.apps.flatMap { app in
            ["upstream sallyport_app_\(app.label) {"] + Self.nginxServers(app) + ["    keepalive 32;", "}"]
        }
        return [
            "events {}",
            "http {",
            "    # For long names.",
            "    map_hash_bucket_size 512;",
            "    variables_hash_bucket_size 512;",
            "    server_names_hash_bucket_size 512;",
            "    # Only the handshake of a WebSocket asks for an upgrade.",
            "    map $http_upgrade $sallyport_connection {",
            "        default upgrade;",
            "        \"\" \"\";",
            "    }",
            "    proxy_headers_hash_max_size 1024;",
            "    proxy_headers_hash_bucket_size 128;",
            "    variables_hash_max_size 2048;",
            "    upstream sallyport {",
            "        server \(self.gateway);",
            "        keepalive 32;",
            "    }",
            "    upstream sallyport_checks {",
            "        server \(self.checks);",
            "        keepalive 32;",
            "    }",
        ] + apps.indented(4) + self.hosts.flatMap(self.nginxServer).indented(4) + ["}", ""]
    }

    private func nginxServer(_ host: Host) -> [String] {
        // For a wildcard, this is the requested name in lower case. The check rejects names that the wildcard does not
        // cover.
        let authority =
            host.url.isWildcard ? "$host\(host.url.port.map { ":\($0)" } ?? "")" : host.url.authority
        let scheme = host.url.scheme
        let isChosen = !host.otherApps.isEmpty || host.app.isHTTPS
        var lines: [String] = []
        if isChosen {
            lines += ["# The app of each path.", "map $uri $sallyport_app_of_\(host.label) {"]
            lines += host.otherApps.map { "    \"~^\($0.paths)$\" \(Self.nginxURL($0.app));" }
            lines += ["    default \(Self.nginxURL(host.app));", "}"]
        }
        let secureApps = Set(host.apps.filter(\.isHTTPS).map { "    \(Self.nginxURL($0)) \($0.tlsName);" }).sorted()
        if !secureApps.isEmpty {
            lines += [
                "# The name in its certificate.",
                "map $sallyport_app_of_\(host.label) $sallyport_name_of_\(host.label) {",
            ]
            lines += secureApps + ["    default \"\";", "}"]
        }
        lines += ["server {"]
        if host.url.isHTTPS {
            lines += [
                "    listen \(host.port) ssl;",
                "    ssl_certificate /etc/nginx/tls/\(host.certificateName).pem;",
                "    ssl_certificate_key /etc/nginx/tls/\(host.certificateName).key;",
            ]
        } else {
            lines += ["    listen \(host.port);"]
        }
        lines += [
            "    server_name \(host.url.host);",
            "    # Other spellings of names, such as X_Auth_Email, are dropped.",
            "    underscores_in_headers off;",
            "    ignore_invalid_headers on;",
            "    client_max_body_size \(self.largestBody.map(String.init) ?? "0");",
            "",
            host.url.isWildcard
                ? "    # What the app gets. Sallyport has judged the name before; an empty field is not sent."
                : "    # What the app gets. The name is fixed here, so that no client chooses it; an empty field is not sent.",
        ]
        lines += self.nginxFields(authority, scheme).indented(4)
        lines += [
            "",
            "    location / {",
            "        auth_request /.sallyport/check;",
            "        satisfy all;",
        ]
        lines += self.fields.map {
            "        auth_request_set \(Self.nginxVariable($0)) $upstream_http_\(Self.nginxName($0));"
        }
        lines += [
            "        auth_request_set $sallyport_location $upstream_http_location;",
            "        auth_request_set $sallyport_reason $upstream_http_x_sallyport_reason;",
        ]
        lines += Self.cookies.map {
            "        auth_request_set $sallyport_cookie_\($0) $upstream_http_x_sallyport_cookie_\($0);"
        }
        lines += [
            "        # Sign-in, and the page again after a handoff.",
            "        error_page 401 = @sallyport_401;",
            "        # Sallyport or its store cannot be reached, which is no verdict.",
            "        error_page 500 = @sallyport_503;",
        ]
        lines += self.nginxAnswer.indented(8)
        lines += [
            "        proxy_http_version 1.1;",
            "        proxy_read_timeout 65m;",
            "        proxy_buffering off;",
        ]
        if !secureApps.isEmpty {
            lines += [
                "        proxy_ssl_server_name on;", "        proxy_ssl_name $sallyport_name_of_\(host.label);",
                "        proxy_ssl_verify on;",
                "        proxy_ssl_trusted_certificate \(host.appFiles?.authority ?? "/etc/ssl/certs/ca-certificates.crt");",
            ]
            if let certificate = host.appFiles?.certificate, let key = host.appFiles?.key {
                lines += [
                    "        proxy_ssl_certificate \(certificate);", "        proxy_ssl_certificate_key \(key);",
                ]
            }
        }
        lines += [
            "        # Without a path here, the bytes that were judged are forwarded.",
            "        proxy_pass \(isChosen ? "$sallyport_app_of_\(host.label)" : Self.nginxURL(host.app));",
            "    }",
            "",
            "    location = /.sallyport/check {",
            "        internal;",
            "        proxy_pass \(self.checksTLS == nil ? "http" : "https")://sallyport_checks\(self.proxy.checkPath);",
        ]
        lines += self.nginxChecksTLS.indented(8)
        lines += [
            "        proxy_http_version 1.1;",
            "        proxy_set_header Connection \"\";",
            "        proxy_pass_request_body off;",
            "        proxy_set_header Content-Length \"\";",
            "        # nginx passes the client's own fields to the check, so these are always set ($request_uri is what came).",
        ]
        lines += self.nginxMetadata(authority, scheme).indented(8)
        lines += [
            "        proxy_set_header X-Forwarded-For $remote_addr;",
            "        proxy_set_header X-Request-Id $request_id;",
            "        proxy_connect_timeout 1s;",
            "        proxy_read_timeout 5s;",
            "        proxy_buffer_size 32k;",
            "        proxy_buffers 4 32k;",
            "        proxy_cache off;",
            "        # Otherwise an outer error_page would request its page from the app, without any identity.",
            "        proxy_intercept_errors off;",
            "    }",
            "",
            "    location @sallyport_401 {",
        ]
        lines += self.nginxAnswer.indented(8)
        lines += [
            "        add_header Cache-Control no-store always;",
            "        default_type application/problem+json;",
            "        if ($sallyport_location) {",
            "            return 303 $sallyport_location;",
            "        }",
            "        return 401 '{\"title\":\"Unauthorized\",\"status\":401,\"reason\":\"$sallyport_reason\"}';",
            "    }",
            "",
            "    location @sallyport_503 {",
            "        add_header X-Sallyport-Reason $sallyport_reason always;",
            "        add_header Retry-After 5 always;",
            "        add_header Cache-Control no-store always;",
            "        return 503;",
            "    }",
            "",
            "    # Requests of browsers and native apps to Sallyport itself.",
            "    location ~ ^(\(host.ownPaths))$ {",
            "        proxy_pass http://sallyport;",
            "        proxy_intercept_errors off;",
            "        proxy_http_version 1.1;",
            "        proxy_set_header Connection \"\";",
            "        proxy_set_header Host \(authority);",
            "        proxy_set_header X-Forwarded-For $remote_addr;",
            "        proxy_set_header X-Request-Id $request_id;",
            "    }",
            "}",
        ]
        return lines
    }

    /// The numbers of cookies that the answer to a check may contain.
    private static let cookies = 1...8

    /// Adds the fields of the answer to a check to the answer for the client. nginx leaves out empty fields.
    private var nginxAnswer: [String] {
        Self.cookies.map { "add_header Set-Cookie $sallyport_cookie_\($0) always;" }
            + ["add_header X-Sallyport-Reason $sallyport_reason always;"]
    }

    private func nginxFields(_ authority: String, _ scheme: String) -> [String] {
        [
            "proxy_set_header Host \(authority);",
            "proxy_set_header X-Forwarded-Host \(authority);",
            "proxy_set_header X-Forwarded-Proto \(scheme);",
            "proxy_set_header X-Forwarded-For $remote_addr;",
            "proxy_set_header X-Request-Id $request_id;",
            "proxy_set_header Upgrade $http_upgrade;",
            "proxy_set_header Connection $sallyport_connection;",
        ] + self.fields.map { "proxy_set_header \($0) \(Self.nginxVariable($0));" }
            + ["# A client must not set these; nginx cannot remove by prefix, so an app must not trust other names."]
            + self.removedNames.map { "proxy_set_header \($0) \"\";" }
    }

    private var nginxChecksTLS: [String] {
        guard let tls = self.checksTLS else { return [] }
        return [
            "proxy_ssl_protocols TLSv1.2 TLSv1.3;",
            "proxy_ssl_server_name on;",
            "proxy_ssl_name \(tls.name);",
            "proxy_ssl_verify on;",
            "proxy_ssl_verify_depth 3;",
            "proxy_ssl_trusted_certificate /etc/nginx/tls/sallyport-ca.pem;",
        ]
            + (tls.asksForCertificate
                ? [
                    "proxy_ssl_certificate /etc/nginx/tls/proxy.pem;",
                    "proxy_ssl_certificate_key /etc/nginx/tls/proxy.key;",
                ] : [])
    }

    private func nginxMetadata(_ authority: String, _ scheme: String) -> [String] {
        switch self.authorization.metadata {
        case .original:
            [
                "proxy_set_header X-Original-URL \(scheme)://\(authority)$request_uri;",
                "proxy_set_header X-Original-Method $request_method;",
            ]
        case .forwarded:
            [
                "proxy_set_header X-Forwarded-Method $request_method;",
                "proxy_set_header X-Forwarded-Proto \(scheme);",
                "proxy_set_header X-Forwarded-Host \(authority);",
                "proxy_set_header X-Forwarded-Uri $request_uri;",
            ]
        }
    }

    /// The largest body that any route accepts, in bytes; `nil` if a route has no limit.
    private var largestBody: Int? {
        let limits = self.settings.hosts.flatMap(\.routes).map(\.maxBody)
        return limits.contains(nil) ? nil : limits.compactMap(\.self).max() ?? self.settings.limits.body
    }

    /// Returns the servers of an app, and the method of load balancing.
    private static func nginxServers(_ app: App) -> [String] {
        let servers = app.servers.map { server in
            "    server \(server.address)\(server.weight == 1 ? "" : " weight=\(server.weight)");"
        }
        guard app.hasSeveralServers else { return servers }
        switch app.balance {
        case .leastRequests: return ["    least_conn;"] + servers
        case .roundRobin: return servers
        case .sticky: return ["    hash $remote_addr consistent;"] + servers
        }
    }

    private static func nginxURL(_ app: App) -> String {
        "\(app.isHTTPS ? "https" : "http")://sallyport_app_\(app.label)"
    }

    private static func nginxVariable(_ field: String) -> String { "$sallyport_field_\(self.nginxName(field))" }

    private static func nginxName(_ field: String) -> String {
        String(field.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}
