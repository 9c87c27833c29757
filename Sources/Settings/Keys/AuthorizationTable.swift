extension Section {
    static let authorization = Section(
        [
            SettingsKey(
                "listen",
                .shorthand("address", for: .innerListener),
                required: true,
                "The address where proxies ask. It must differ from listen and admin.listen."
            ),
            SettingsKey(
                "peers",
                .list(.text(.addressBlock)),
                required: true,
                "The proxies that may ask. What they report about a request and its client is trusted. All other peers are rejected."
            ),
            SettingsKey(
                "peer_certificate",
                .section(.clientCertificate),
                "Requirements for the TLS certificate of each peer, in addition to peers. Without TLS or without this key, no certificate is requested."
            ),
            SettingsKey(
                "dialects",
                at: \AuthorizationSettings.dialects,
                .list(AuthorizationDialect.kind),
                "The dialects that are served: forward-auth for Traefik, Caddy and HAProxy; auth-request for nginx; ext-authz for Envoy and Istio."
            ),
            SettingsKey(
                "metadata",
                at: \AuthorizationSettings.metadata,
                "The fields that auth-request reads. original: X-Original-URL and X-Original-Method; forwarded: X-Forwarded-Method, -Proto, -Host and -Uri. Only one set is read, because a client can send the other. If the key is written, /oauth2/auth reads this set, too; otherwise it reads Host, X-Forwarded-Uri and X-Real-IP."
            ),
            SettingsKey(
                "cookies_on_success",
                at: \AuthorizationSettings.cookiesOnSuccess,
                "Whether the proxies pass on the cookies of an answer that allows a request. Caddy and HAProxy cannot."
            ),
        ],
        isOption: true
    )
}
