import Settings

/// The connections for checks.
extension ProxyPlan {
    /// The TLS settings of the proxy for checks.
    struct ChecksTLS {
        /// The name in the gateway's certificate that the proxy verifies.
        let name: String
        /// True if the gateway requires a client certificate (`authorization.peer_certificate`).
        let asksForCertificate: Bool

        /// `nil` if the listener for checks has no TLS.
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

    /// The URL for checks, with the listener's address.
    var checksURL: String { "\(self.checksTLS == nil ? "http" : "https")://\(self.checks)" }

    /// The URL for checks, with a name in the gateway's certificate. For proxies that verify the host in the URL.
    var checksNamedURL: String { self.checksTLS.map { "https://\($0.name):\(self.checks.port)" } ?? self.checksURL }
}
