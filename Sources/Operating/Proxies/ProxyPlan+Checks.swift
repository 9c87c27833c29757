import Settings

/// The proxy's connections for checks.
extension ProxyPlan {
    /// The proxy's settings for checks over TLS.
    struct ChecksTLS {
        /// The name in the gateway's certificate that the proxy asks for and verifies.
        let name: String
        /// True if the gateway requires a certificate of the proxy (`peer_certificate`).
        let asksForCertificate: Bool

        /// Returns `nil` if checks are made without TLS.
        init?(_ settings: Settings, _ authorization: AuthorizationSettings) {
            guard authorization.listen.isSecure else { return nil }
            let names = settings.tls?.certificates.flatMap { $0.facts?.names ?? [] } ?? []
            let hosts = settings.hosts.map(\.publicURL.host)
            self.name =
                names.first { !$0.hasPrefix("*") } ?? hosts.first { settings.tls?.covers($0) == true }
                ?? names.first.map { "sallyport" + $0.dropFirst() } ?? "localhost"
            self.asksForCertificate = authorization.peerCertificate != nil
        }
    }

    /// The URL for checks, with the gateway's address as the host.
    var checksURL: String { "\(self.checksTLS == nil ? "http" : "https")://\(self.checks)" }

    /// The URL for checks, with the name in the gateway's certificate, for proxies that verify the name in the URL.
    var checksNamedURL: String { self.checksTLS.map { "https://\($0.name):\(self.checks.port)" } ?? self.checksURL }
}
