/// Keys of other products, and what to write instead. The advice depends on the section in which the key is written.
package enum ForeignKeys {
    /// Advice for some names in some sections.
    package struct Advice: Sendable {
        /// The names in other products.
        package var names: [String]
        /// The sections for the advice, such as `provider.oidc`, or "" for the top level; `nil` for all sections.
        package var sections: [String]?
        /// The keys that the sentence names, by their paths in the table.
        package var keys: [String]
        /// What to write instead.
        package var sentence: String

        /// - Parameter names: The names, separated by spaces.
        init(_ names: String, in sections: [String]? = nil, _ sentence: String, keys: [String] = []) {
            self.names = names.split(separator: " ").map(String.init)
            self.sections = sections
            self.sentence = sentence
            self.keys = keys
        }
    }

    /// All advice.
    package static let all = [
        // Access to routes.
        Advice(
            "groups group role roles allowed_groups allowed_roles required_groups",
            in: ["routes"],
            "write require: {groups_any: [...]}",
            keys: ["routes[].require.groups_any"]
        ),
        Advice(
            "users user allowed_users emails allowed_emails subject",
            in: ["routes"],
            "routes ask for groups: write require: {groups_any: [...]}",
            keys: ["routes[].require.groups_any"]
        ),
        Advice(
            "groups group role roles allowed_groups allowed_roles users user emails",
            in: ["routes.require"],
            "write groups_any: [...]: routes ask for groups of the user",
            keys: ["routes[].require.groups_any"]
        ),
        Advice(
            "public skip_auth no_auth anonymous bypass unauthenticated_access",
            in: ["routes"],
            "write auth: public",
            keys: ["routes[].auth"]
        ),
        Advice(
            "policy rule",
            in: ["routes"],
            "write auth: public, auth: optional, or require with what a session needs",
            keys: ["routes[].auth", "routes[].require"]
        ),
        Advice(
            "skip_auth_routes skip_auth_regex public_paths public_routes whitelist allowlist",
            in: ["", "hosts"],
            "write an element of routes for each path, with auth: public",
            keys: ["routes", "routes[].auth"]
        ),
        Advice(
            "access_control policies",
            in: [""],
            "write routes, with auth or require for each path",
            keys: ["routes", "routes[].auth", "routes[].require"]
        ),
        Advice(
            "allowed_groups allowed_emails email_domains groups",
            in: ["", "provider", "provider.oidc"],
            "write provider.oidc.allow with groups, emails or email_domains for who may sign in at all, and require on a route for who may open it",
            keys: [
                "provider.oidc.allow.groups", "provider.oidc.allow.emails", "provider.oidc.allow.email_domains",
                "routes[].require",
            ]
        ),
        // The app and its header fields.
        Advice(
            "backend target proxy_pass to dest origin_server",
            in: ["", "hosts", "routes"],
            "write upstream",
            keys: ["upstream", "routes[].upstream"]
        ),
        Advice("headers set_headers pass_headers", in: [""], "write identity.headers", keys: ["identity.headers"]),
        Advice(
            "headers set_headers add_headers",
            in: ["routes"],
            "write request_headers or response_headers; fields with the identity are in identity.headers",
            keys: ["routes[].request_headers", "routes[].response_headers", "identity.headers"]
        ),
        Advice(
            "websocket websockets allow_websockets proxy_websockets",
            "remove it: WebSockets pass wherever the route lets the request pass"
        ),
        Advice(
            "domain hostname server_name",
            in: ["", "hosts"],
            "write public_url, with the scheme",
            keys: ["public_url", "hosts[].public_url"]
        ),
        Advice(
            "wildcard wildcards wildcard_domain server_names domains",
            in: ["", "hosts"],
            "write an element of hosts for each name, or one for all of a domain: public_url: \"https://*.example.com\"",
            keys: ["hosts", "hosts[].public_url"]
        ),
        // Sign-in.
        Advice(
            "keycloak auth0 google okta azure entra entra_id microsoft gitlab authentik authelia zitadel dex cognito",
            in: ["provider"],
            "write provider.oidc with its issuer and client_id",
            keys: ["provider.oidc.issuer", "provider.oidc.client_id"]
        ),
        Advice("github oauth", in: ["provider"], "write provider.oauth2", keys: ["provider.oauth2"]),
        Advice(
            "email username user login name",
            in: ["provider.static.users"],
            "write identifier, and what apps learn about the user below traits",
            keys: ["provider.static.users[].identifier", "provider.static.users[].traits"]
        ),
        Advice(
            "redirect_uri redirect_url callback_url",
            in: ["", "provider", "provider.oidc", "provider.oauth2"],
            "remove it: register the URL /.sallyport/callback of each host at the provider"
        ),
        Advice(
            "redirect_uris redirect_urls callbacks",
            in: ["", "provider", "provider.oidc", "provider.oauth2"],
            "remove it: register the URL /.sallyport/callback of each host at the provider; the callbacks of native apps and other clients are in clients[].callbacks",
            keys: ["clients[].callbacks"]
        ),
        Advice("redirect_uri redirect_uris", in: ["clients"], "write callbacks", keys: ["clients[].callbacks"]),
        Advice(
            "issuer_url discovery_url authority well_known_url",
            in: ["provider.oidc"],
            "write issuer",
            keys: ["provider.oidc.issuer"]
        ),
        Advice(
            "oidc openid oidc_issuer_url issuer_url client_id",
            in: [""],
            "write provider.oidc with issuer and client_id",
            keys: ["provider.oidc.issuer", "provider.oidc.client_id"]
        ),
        Advice(
            "ldap saml",
            "remove it: use an OpenID provider that knows these users",
            keys: []
        ),
        // Sessions and their cookie.
        Advice(
            "lifetime expiration expire max_age ttl cookie_expire",
            in: ["session"],
            "write absolute",
            keys: ["session.absolute"]
        ),
        Advice("inactivity timeout idle_timeout cookie_refresh", in: ["session"], "write idle", keys: ["session.idle"]),
        Advice("remember_me remember", in: ["", "session"], "write session.persistent", keys: ["session.persistent"]),
        Advice("cookie_expire session_lifetime", in: [""], "write session.absolute", keys: ["session.absolute"]),
        Advice("cookie_refresh session_timeout", in: [""], "write session.idle", keys: ["session.idle"]),
        Advice(
            "cookie cookies session_cookie",
            in: [""],
            "write session.cookie for its name, same_site for the host, and session.absolute and session.idle for how long it lasts",
            keys: ["session.cookie", "same_site", "session.absolute", "session.idle"]
        ),
        Advice("cookie_name", in: [""], "write session.cookie", keys: ["session.cookie"]),
        Advice("cookie_name name", in: ["session"], "write cookie", keys: ["session.cookie"]),
        Advice(
            "cookie_domain cookie_domains",
            "remove it: a cookie is for one host; write an element of hosts for each name",
            keys: ["hosts"]
        ),
        Advice(
            "domain domains",
            in: ["session"],
            "remove it: a cookie is for one host; write an element of hosts for each name",
            keys: ["hosts"]
        ),
        Advice(
            "cookie_samesite cookie_same_site",
            "write same_site for the host",
            keys: ["same_site", "hosts[].same_site"]
        ),
        Advice("same_site samesite", in: ["session"], "write same_site for the host", keys: ["same_site"]),
        Advice(
            "cookie_secure cookie_httponly cookie_http_only",
            "remove it: the cookie is always HttpOnly, and Secure on https"
        ),
        Advice("redis", in: ["session", "cache"], "write store.redis", keys: ["store.redis"]),
        // The process.
        Advice("port bind address http_address", in: [""], "write listen", keys: ["listen"]),
        Advice(
            "metrics metrics_address prometheus health healthcheck ping_path ready_path",
            in: [""],
            "write admin.listen, which has /metrics, /healthz and /readyz",
            keys: ["admin.listen"]
        ),
        Advice(
            "forward_auth forwardauth auth_request ext_authz",
            "write authorization.listen and authorization.peers: the guide Run/BesideAProxy.md",
            keys: ["authorization.listen", "authorization.peers"]
        ),
        Advice(
            "tls_cert tls_cert_file cert_file ssl_certificate",
            in: [""],
            "write tls.certificate_file",
            keys: ["tls.certificate_file"]
        ),
        Advice("cert cert_file cert_path", in: ["tls"], "write certificate_file", keys: ["tls.certificate_file"]),
        Advice("tls_key tls_key_file ssl_certificate_key", in: [""], "write tls.key_file", keys: ["tls.key_file"]),
        Advice("log_level loglevel verbosity debug", in: [""], "write log.level", keys: ["log.level"]),
        Advice("log_format", in: [""], "write log.format", keys: ["log.format"]),
        Advice(
            "logging logs logger access_log",
            in: [""],
            "write log, with level, format and access",
            keys: ["log.level", "log.format", "log.access"]
        ),
        Advice(
            "tracing traces otel otlp opentelemetry jaeger zipkin",
            in: [""],
            "write telemetry.endpoint: traces are sent as OTLP over HTTP",
            keys: ["telemetry.endpoint"]
        ),
        Advice(
            "rate_limit rate_limits rate_limiting ratelimit throttle",
            in: ["", "hosts", "routes"],
            "remove it: sign-ins are always limited; limit other requests in a proxy in front or in the app"
        ),
        Advice(
            "basic_auth basicauth htpasswd htpasswd_file",
            in: ["", "provider", "hosts", "routes"],
            "write provider.static.users_file: its users sign in on a page; identity.basic is for an app that needs Basic",
            keys: ["provider.static.users_file", "identity.basic"]
        ),
        Advice(
            "csp content_security_policy security_headers",
            in: ["", "hosts", "routes"],
            "write response_headers for a route; the gateway's own pages always have a strict policy",
            keys: ["routes[].response_headers"]
        ),
        Advice(
            "reverse_proxy trusted_ips forwarded_allow_ips trust_proxy trust_proxies trusted_proxy_ips real_ip_from",
            in: [""],
            "write trusted_proxies",
            keys: ["trusted_proxies"]
        ),
    ]

    /// Values of other products, and the value here with the same meaning.
    private static let words: [(names: String, meaning: String)] = [
        ("none off no false disabled anonymous bypass skip open allow unauthenticated guest", "public"),
        ("true yes on enabled require protected private authenticated login user one_factor any", "required"),
        ("verbose trace", "debug"),
        ("warn", "warning"),
        ("err fatal critical panic", "error"),
        ("pretty console plain human logfmt", "text"),
    ]

    /// Returns the word among `words` that other products call `text`; `nil` if none exists.
    static func word(for text: String, among words: [String]) -> String? {
        let text = text.lowercased()
        return self.words.first { words.contains($0.meaning) && $0.names.split(separator: " ").contains(text[...]) }?
            .meaning
    }

    /// Returns what to write instead of the unknown key `name` at `path` in the file; `nil` if there is no advice.
    package static func sentence(for name: String, at path: String) -> String? {
        var section = path.dropLast(name.count).split(separator: ".").map { $0.prefix { $0 != "[" } }
        // Routes of hosts have the keys of top-level routes. Elements of `providers` have the keys of `provider`.
        if section.count > 1, section[0] == "hosts" { section.removeFirst() }
        if section.first == "providers" { section[0] = "provider" }
        let place = section.joined(separator: ".")
        return self.all.first { $0.names.contains(name) && ($0.sections?.contains(place) ?? true) }?.sentence
    }
}
