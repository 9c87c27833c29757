package import AddressIntelligence

/// The listener at which other proxies ask whether a request of theirs is allowed (`authorization`).
package struct AuthorizationSettings: Sendable, Equatable {
    package var listen: ListenerSettings
    /// The proxies that may ask. They are trusted to name their clients.
    package var peers: [CIDRBlock]
    /// What each of them proves in the TLS handshake, besides; nil: no certificate is asked for.
    package var peerCertificate: CertificateRequirement?
    package var dialects = AuthorizationDialect.allCases
    /// What the dialect `auth-request` reads.
    package var metadata = OriginalMetadata.original
    /// Whether the proxies pass cookies of an answer that allows the request on to the browser.
    package var cookiesOnSuccess = true

    package init(listen: ListenAddress, peers: [CIDRBlock]) {
        self.listen = ListenerSettings(listen, takesAnyName: true)
        self.peers = peers
    }
}

/// What a proxy sends to ask about a request, and which answers it understands.
package enum AuthorizationDialect: String, Sendable, CaseIterable, SettingWord {
    /// Traefik's ForwardAuth and Caddy's `forward_auth`: any answer but 2xx goes to the client.
    case forwardAuth = "forward-auth"
    /// nginx's `auth_request`: only 2xx, 401 and 403 are answers.
    case authRequest = "auth-request"
    /// Envoy's `ext_authz` over HTTP: the request itself under a prefix; only 200 allows it.
    case extAuthz = "ext-authz"
}

/// The fields in which a proxy describes the request that it asks about. Only one set is read: a client can send the others.
package enum OriginalMetadata: String, Sendable, CaseIterable, SettingWord {
    /// `X-Original-URL` and `X-Original-Method`.
    case original
    /// `X-Forwarded-Method`, `-Proto`, `-Host`, `-Uri` and `-For`.
    case forwarded
}
