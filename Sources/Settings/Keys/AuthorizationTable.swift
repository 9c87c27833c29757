extension Section {
    static let authorization = Section(
        [
            SettingsKey(
                "listen",
                .shorthand("address", for: .innerListener),
                required: true,
                "The address at which proxies ask: another one than listen and admin.listen."
            ),
            SettingsKey(
                "peers",
                .list(.text(.addressBlock)),
                required: true,
                "The proxies that may ask. They are believed what they say of the request and of its client; all others are refused."
            ),
            SettingsKey(
                "peer_certificate",
                .section(.clientCertificate),
                "What the certificate of each of them must be, besides; without TLS, and without the key, none is asked for."
            ),
            SettingsKey(
                "dialects",
                at: \AuthorizationSettings.dialects,
                .list(AuthorizationDialect.kind),
                "What is served: forward-auth for Traefik, Caddy and HAProxy; auth-request for nginx; ext-authz for Envoy and Istio."
            ),
            SettingsKey(
                "metadata",
                at: \AuthorizationSettings.metadata,
                "What auth-request reads: original, X-Original-URL and X-Original-Method; or forwarded, X-Forwarded-Method, -Proto, -Host and -Uri. Only one set, because a client can send the other. Where it is written, /oauth2/auth reads the same, else Host, X-Forwarded-Uri and X-Real-IP."
            ),
            SettingsKey(
                "cookies_on_success",
                at: \AuthorizationSettings.cookiesOnSuccess,
                "Whether the proxies pass on the cookies of an answer that allows a request; Caddy and HAProxy cannot."
            ),
        ],
        isOption: true
    )
}
