package import AddressIntelligence

/// The listener where other proxies ask whether a request is allowed (`authorization`).
package struct AuthorizationSettings: Sendable, Equatable {
    package var listen: ListenerSettings
    /// The proxies that may ask. The gateway trusts what they report about their clients.
    package var peers: [CIDRBlock]
    /// The requirement for the TLS certificate of each peer; `nil` if no certificate is requested.
    package var peerCertificate: CertificateRequirement?
    package var dialects = AuthorizationDialect.allCases
    /// The fields that the dialect `auth-request` reads.
    package var metadata = OriginalMetadata.original
    /// Whether the proxies pass the cookies of an allowing answer on to the browser.
    package var cookiesOnSuccess = true

    package init(listen: ListenAddress, peers: [CIDRBlock]) {
        self.listen = ListenerSettings(listen, takesAnyName: true)
        self.peers = peers
    }
}

/// The form in which a proxy asks about a request, and the answers that it understands.
package enum AuthorizationDialect: String, Sendable, CaseIterable, SettingWord {
    /// Traefik's ForwardAuth and Caddy's `forward_auth`. They pass any answer other than 2xx on to the client.
    case forwardAuth = "forward-auth"
    /// nginx's `auth_request`. It understands only the statuses 2xx, 401 and 403.
    case authRequest = "auth-request"
    /// Envoy's `ext_authz` over HTTP. It sends the request's own head under a path prefix. Only 200 allows the request.
    case extAuthz = "ext-authz"
}

/// The fields in which a proxy describes a request. Only one set is read, because a client can send the other set.
package enum OriginalMetadata: String, Sendable, CaseIterable, SettingWord {
    /// `X-Original-URL` and `X-Original-Method`.
    case original
    /// `X-Forwarded-Method`, `-Proto`, `-Host`, `-Uri` and `-For`.
    case forwarded
}
