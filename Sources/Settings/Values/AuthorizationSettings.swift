package import AddressIntelligence

/// The listener where other proxies ask whether a request is allowed (`authorization`).
package struct AuthorizationSettings: Sendable, Equatable {
    package var listen: ListenerSettings
    /// The proxies that may ask. Their reports about clients are trusted.
    package var peers: [CIDRBlock]
    /// The requirement for the TLS certificate of each peer; `nil` if no certificate is requested.
    package var peerCertificate: CertificateRequirement?
    package var dialects = AuthorizationDialect.allCases
    /// The fields that the dialect `auth-request` reads.
    package var metadata = OriginalMetadata.original
    /// Whether the proxies pass cookies to the browser from an answer that allows the request.
    package var cookiesOnSuccess = true

    package init(listen: ListenAddress, peers: [CIDRBlock]) {
        self.listen = ListenerSettings(listen, acceptsAnyHostName: true)
        self.peers = peers
    }
}

/// The protocol in which a proxy asks about a request.
package enum AuthorizationDialect: String, Sendable, CaseIterable, SettingWord {
    /// Traefik's ForwardAuth and Caddy's `forward_auth`. The client gets any answer other than 2xx.
    case forwardAuth = "forward-auth"
    /// nginx's `auth_request`. It understands only the statuses 2xx, 401 and 403.
    case authRequest = "auth-request"
    /// Envoy's `ext_authz` over HTTP: the request's own head with a path prefix. Only 200 allows the request.
    case extAuthz = "ext-authz"
}

/// The header fields in which a proxy describes a request. All others are ignored, because a client could forge them.
package enum OriginalMetadata: String, Sendable, CaseIterable, SettingWord {
    /// `X-Original-URL` and `X-Original-Method`.
    case original
    /// `X-Forwarded-Method`, `-Proto`, `-Host`, `-Uri` and `-For`.
    case forwarded
}
