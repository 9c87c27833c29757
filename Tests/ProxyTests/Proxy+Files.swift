/// The configuration of each proxy, as a user writes it.
extension Proxy {
    /// What the gateway answers itself.
    static let ownPaths = ["/.sallyport/", "/oauth/", "/self-service/", "/sessions/", "/oauth2/", "/.well-known/"]

    /// The identity of a user.
    static let identity =
        ["Subject", "Session-Id", "Email", "Name", "Groups", "Aal", "Methods", "Authenticated-At", "Origin", "Actor"]
        .map { "X-Auth-\($0)" }

    /// How many cookies an answer sets at most: those of the session, and each of the handoff twice.
    private static let cookieCount = 8

    /// The names and texts of its files.
    func files(_ places: ProxyPlaces) -> [String: String] {
        switch self {
        case .nginx: ["nginx.conf": self.nginx(places)]
        case .caddy, .oldCaddy: ["Caddyfile": self.caddy(places)]
        case .envoy: ["envoy.yaml": self.envoy(places)]
        case .haproxy: ["haproxy.cfg": self.haproxy(places), "sallyport.lua": self.lua(places)]
        case .traefik: [:]
        }
    }

    private func nginx(_ places: ProxyPlaces) -> String {
        let copied = Self.identity + ["X-Request-Id"]
        func variable(_ name: String) -> String { "$" + name.lowercased().replacing("-", with: "_") + "_of_check" }
        let taken = copied.map {
            "auth_request_set \(variable($0)) $upstream_http_\($0.lowercased().replacing("-", with: "_"));"
        }
        let given = copied.map { "proxy_set_header \($0) \(variable($0));" }
        let cookies = (1...Self.cookieCount).map { "add_header Set-Cookie $sallyport_cookie_\($0) always;" }.joined(
            separator: "\n"
        )
        let own = Self.ownPaths.map { path in
            """
            location ^~ \(path) {
                proxy_pass http://127.0.0.1:\(places.gateway);
                proxy_set_header Host $http_host;
                proxy_set_header X-Forwarded-For $remote_addr;
            }
            """
        }
        // The name by which nginx chose the server, which an absolute URL can say otherwise than `Host`.
        let host = "$host" + (places.hasPort ? ":$server_port" : "")
        let checked = """
                auth_request /.sallyport-check;
                auth_request_set $sallyport_location $upstream_http_location;
                auth_request_set $sallyport_reason $upstream_http_x_sallyport_reason;
                \((1...Self.cookieCount).map { "auth_request_set $sallyport_cookie_\($0) $upstream_http_x_sallyport_cookie_\($0);" }
            .joined(separator: "\n"))
                \(taken.joined(separator: "\n"))
                error_page 401 = @sallyport;
                error_page 403 = @forbidden;
                \(cookies)
                proxy_pass http://127.0.0.1:\(places.app);
                proxy_http_version 1.1;
                proxy_set_header Host \(host);
                proxy_set_header Upgrade $http_upgrade;
                proxy_set_header Connection $sallyport_connection;
                proxy_set_header X-Forwarded-For $remote_addr;
                \(given.joined(separator: "\n"))
            """
        return """
            daemon off;
            user root;
            worker_processes 1;
            pid nginx.pid;
            events {}
            http {
                access_log off;
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                large_client_header_buffers 4 32k;
                map $http_upgrade $sallyport_connection { default upgrade; '' ''; }
                upstream checks { server 127.0.0.1:\(places.checks); keepalive 16; }
                server {
                    listen 127.0.0.1:\(places.proxy);
                    \(own.joined(separator: "\n"))
                    location = /.sallyport-check {
                        internal;
                        proxy_pass http://checks/authz/auth-request;
                        proxy_http_version 1.1;
                        proxy_pass_request_body off;
                        proxy_set_header Connection "";
                        proxy_set_header Content-Length "";
                        proxy_set_header Upgrade "";
                        proxy_set_header X-Original-URL $scheme://\(host)$request_uri;
                        proxy_set_header X-Original-Method $request_method;
                        proxy_set_header X-Forwarded-For $remote_addr;
                    }
                    location / {
                        \(checked)
                    }
                    location /again/ {
                        \(checked)
                        proxy_intercept_errors on;
                        error_page 404 = /again/instead;
                    }
                    location @sallyport {
                        \(cookies)
                        add_header Cache-Control no-store always;
                        add_header X-Sallyport-Reason $sallyport_reason always;
                        if ($sallyport_location) { return 303 $sallyport_location; }
                        return 401;
                    }
                    location @forbidden {
                        \(cookies)
                        add_header Cache-Control no-store always;
                        add_header X-Sallyport-Reason $sallyport_reason always;
                        return 403;
                    }
                }
            }
            """
    }

    private func caddy(_ places: ProxyPlaces) -> String {
        """
        {
            admin off
            auto_https off
        }
        http://:\(places.proxy) {
            bind 127.0.0.1
            @gateway path \(Self.ownPaths.map { $0 + "*" }.joined(separator: " "))
            handle @gateway {
                reverse_proxy 127.0.0.1:\(places.gateway)
            }
            handle {
                route {
                    request_header -X-Auth-*
                    request_header -X_Auth_*
                    request_header -X_Auth-*
                    request_header -X-Auth_*
                    forward_auth 127.0.0.1:\(places.checks) {
                        uri /authz/forward-auth
                        copy_headers \((Self.identity + ["X-Request-Id"]).joined(separator: " "))
                    }
                    reverse_proxy 127.0.0.1:\(places.app)
                }
            }
        }

        """
    }

    private func envoy(_ places: ProxyPlaces) -> String {
        func cluster(_ name: String, _ port: Int) -> String {
            let address = "{socket_address: {address: 127.0.0.1, port_value: \(port)}}"
            return """
                  - name: \(name)
                    load_assignment:
                      cluster_name: \(name)
                      endpoints: [{lb_endpoints: [{endpoint: {address: \(address)}}]}]
                """
        }
        let own = Self.ownPaths.map { path in
            """
                          - match: {prefix: \(path)}
                            route: {cluster: gateway}
                            typed_per_filter_config:
                              envoy.filters.http.ext_authz:
                                "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                                disabled: true
            """
        }
        let sent =
            [
                "cookie", "accept", "origin", "dpop", "x-session-token", "sec-purpose", "purpose", "x-purpose", "x-moz",
                "x-forwarded-for", "user-agent", "x-request-id", "sec-websocket-key",
            ].map { "{exact: \($0)}" } + ["sec-fetch-", "access-control-request-"].map { "{prefix: \($0)}" }
        return """
            static_resources:
              listeners:
              - name: web
                address: {socket_address: {address: 127.0.0.1, port_value: \(places.proxy)}}
                filter_chains:
                - filters:
                  - name: envoy.filters.network.http_connection_manager
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                      stat_prefix: web
                      use_remote_address: true
                      common_http_protocol_options: {headers_with_underscores_action: DROP_HEADER}
                      upgrade_configs: [{upgrade_type: websocket}]
                      route_config:
                        virtual_hosts:
                        - name: all
                          domains: ["*"]
                          routes:
            \(own.joined(separator: "\n"))
                          - match: {prefix: /}
                            route: {cluster: app}
                      http_filters:
                      - name: envoy.filters.http.ext_authz
                        typed_config:
                          "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
                          failure_mode_allow: false
                          status_on_error: {code: ServiceUnavailable}
                          allowed_headers: {patterns: [\(sent.joined(separator: ", "))]}
                          http_service:
                            server_uri: {uri: "http://127.0.0.1:\(places.checks)", cluster: checks, timeout: 5s}
                            path_prefix: /authz/ext-authz
                            authorization_response:
                              allowed_upstream_headers:
                                patterns: [{prefix: x-auth-}, {exact: x-request-id}, {exact: cookie}]
                              allowed_client_headers_on_success: {patterns: [{exact: set-cookie}]}
                      - name: envoy.filters.http.router
                        typed_config:
                          "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              clusters:
            \(cluster("app", places.app))
            \(cluster("gateway", places.gateway))
            \(cluster("checks", places.checks))

            """
    }

    private func haproxy(_ places: ProxyPlaces) -> String {
        let cookies = (1...Self.cookieCount).map { index in
            let name = "txn.sallyport_cookie_\(index)"
            return "    http-response add-header Set-Cookie %[var(\(name))] if { var(\(name)) -m found }"
        }
        return """
            global
                lua-load sallyport.lua
            defaults
                mode http
                timeout connect 5s
                timeout client 60s
                timeout server 60s
            frontend web
                bind 127.0.0.1:\(places.proxy)
                acl gateway path_beg \(Self.ownPaths.joined(separator: " "))
                http-request set-header X-Forwarded-For %[src]
                http-request del-header ^x[-_]auth[-_] -m reg
                http-request lua.sallyport unless gateway
            \(cookies.joined(separator: "\n"))
                use_backend gateway if gateway
                default_backend app
            backend gateway
                server gateway 127.0.0.1:\(places.gateway)
            backend app
                server app 127.0.0.1:\(places.app)

            """
    }

    private func lua(_ places: ProxyPlaces) -> String {
        let names = (Self.identity + ["X-Request-Id"]).map { "\"\($0.lowercased())\"" }.joined(separator: ", ")
        return #"""
            local check = "http://127.0.0.1:\#(places.checks)/authz/forward-auth"
            local identity = { \#(names) }
            local skipped = { ["connection"] = true, ["keep-alive"] = true, ["te"] = true, ["upgrade"] = true,
              ["content-length"] = true, ["transfer-encoding"] = true, ["expect"] = true }

            local function values(list)
              local found, index = {}, 0
              while list and list[index] do
                found[#found + 1] = list[index]
                index = index + 1
              end
              return found
            end

            core.register_action("sallyport", { "http-req" }, function(txn)
              local asked = {}
              for name, list in pairs(txn.http:req_get_headers()) do
                if not skipped[name] then asked[name] = values(list) end
              end
              asked["x-forwarded-method"] = { txn.sf:method() }
              asked["x-forwarded-proto"] = { "http" }
              asked["x-forwarded-uri"] = { txn.sf:pathq() }
              asked["x-forwarded-host"] = { txn.sf:req_fhdr("host") }
              asked["x-forwarded-for"] = { txn.sf:src() }
              local answer = core.httpclient():get{ url = check, headers = asked }
              local status = answer and answer.status or 0
              if status == 200 then
                for _, name in ipairs(identity) do
                  txn.http:req_del_header(name)
                  for _, value in ipairs(values(answer.headers[name])) do txn.http:req_add_header(name, value) end
                end
                for index, cookie in ipairs(values(answer.headers["set-cookie"])) do
                  txn:set_var("txn.sallyport_cookie_" .. index, cookie)
                end
                return
              end
              if status < 200 then status = 503 end
              local reply = txn:reply{ status = status, reason = answer and answer.reason, body = answer and answer.body }
              for name, list in pairs(answer and answer.headers or {}) do
                if not skipped[name] then
                  for _, value in ipairs(values(list)) do reply:add_header(name, value) end
                end
              end
              txn:done(reply)
            end)

            """#
    }
}
