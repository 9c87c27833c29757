import Settings

/// How the proxy asks.
extension ProxyPlan {
    /// What the proxy has to know to ask over TLS.
    struct ChecksTLS {
        /// A name in the gateway's certificate, which the proxy asks for and verifies.
        let name: String
        /// Whether the gateway wants a certificate of the proxy (`peer_certificate`).
        let asksForCertificate: Bool

        /// nil: the proxy asks without TLS.
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

    /// Where the proxy asks, by the address.
    var checksURL: String { "\(self.checksTLS == nil ? "http" : "https")://\(self.checks)" }

    /// The same for a proxy that verifies the name by which it asks.
    var checksNamedURL: String { self.checksTLS.map { "https://\($0.name):\(self.checks.port)" } ?? self.checksURL }
}
