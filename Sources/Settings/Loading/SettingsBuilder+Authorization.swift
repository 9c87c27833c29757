import AddressIntelligence
import Vocabulary

/// The listener where other proxies ask whether a request is allowed.
extension SettingsBuilder {
    /// Builds `authorization` and `compat.oauth2_proxy`. Other listeners, hosts and clients must be built before.
    mutating func setAuthorization(_ settings: inout Settings) {
        settings.authorization = self.authorization(besides: settings)
        guard settings.oauth2ProxyPaths else { return }
        if self.tree.tree("authorization")?["metadata"] != nil {
            settings.oauth2ProxyMetadata = settings.authorization?.metadata
        }
        self.checkOAuth2Proxy(settings)
    }

    /// Builds `authorization`; `nil` if it is not configured or incomplete.
    private mutating func authorization(besides settings: Settings) -> AuthorizationSettings? {
        guard let tree = self.tree.tree("authorization") else { return nil }
        self.reportMissingKeys(of: tree, in: .authorization)
        let peers = self.proxies(
            "peers",
            of: tree,
            else: "anyone who may ask can claim any request and any client address"
        )
        guard let listen = tree.tree("listen").flatMap({ self.innerListener($0) }) else { return nil }
        var authorization = AuthorizationSettings(listen: listen.address, peers: peers)
        authorization.listen = listen
        tree.set(.authorization, in: &authorization)
        self.checkPort(of: listen.address, tree, besides: settings)
        self.setPeerCertificate(of: &authorization, tree, besides: settings)
        self.checkDialects(authorization.dialects, tree)
        self.warn(of: authorization, besides: settings)
        return authorization
    }

    private mutating func setPeerCertificate(
        of authorization: inout AuthorizationSettings,
        _ tree: SettingsTree,
        besides settings: Settings
    ) {
        guard let below = tree.tree("peer_certificate") else { return }
        let requirement = self.certificateRequirement(below)
        authorization.peerCertificate = requirement
        authorization.listen.clientCertificates = .required
        let address = authorization.listen.address
        if !authorization.listen.isSecure {
            self.report(
                below.place,
                found: "a certificate, but authorization.listen has no TLS",
                allowed: "peer_certificate where authorization.listen has TLS",
                fix: "write listen: {address: \"\(address)\", tls: true}, or remove the key"
            )
        } else if self.tree.tree("tls")?["client_ca_file"] == nil {
            self.reportMissing(
                below.place,
                "peer_certificate where tls has client_ca_file",
                "add tls.client_ca_file with the authority of the proxies' certificates"
            )
        } else if requirement == CertificateRequirement(), !self.isPartial,
            (settings.listen + settings.management).contains(where: { $0.clientCertificates != .none })
        {
            self.report(
                below.place,
                found: "any certificate, but listen also accepts certificates of these authorities",
                allowed: "san_any or issuer: otherwise a client with a certificate could ask as a proxy",
                fix: "add san_any with the names in the certificates of your proxies"
            )
        }
    }

    private mutating func checkPort(of listen: ListenAddress, _ tree: SettingsTree, besides settings: Settings) {
        let admin = settings.adminListen?.address
        let isDefault = self.tree.tree("admin")?["listen"] == nil
        let others =
            settings.listen.map { (address: $0.address, key: "listen", isDefault: self.tree["listen"] == nil) }
            + [
                settings.redirectListen.map { (address: $0.address, key: "redirect_http", isDefault: false) },
                admin.map { (address: $0, key: "admin.listen", isDefault: isDefault) },
            ].compactMap(\.self)
        guard let other = others.first(where: { listen.overlaps($0.address) }) else { return }
        self.report(
            tree.place(of: "listen"),
            found: "\(listen), but \(other.key) has \(other.address)\(other.isDefault ? " (the default)" : "")",
            allowed: "an address and port that no other listener uses",
            fix: "choose another port"
        )
    }

    private mutating func checkDialects(_ dialects: [AuthorizationDialect], _ tree: SettingsTree) {
        let isDoubled = Set(dialects).count != dialects.count
        // If elements were rejected, an empty list is no mistake of its own.
        guard isDoubled || dialects.isEmpty && !self.isPartial else { return }
        self.report(
            tree.place(of: "dialects"),
            found: isDoubled ? "a dialect twice" : "an empty list",
            allowed: "one dialect or more, each once",
            fix: isDoubled ? "remove one" : "write those that your proxies use, or remove the key for all"
        )
    }

    /// Warns of peers that cannot connect, of `metadata` without effect, and of address bindings with `ext-authz`.
    private mutating func warn(of authorization: AuthorizationSettings, besides settings: Settings) {
        let address = authorization.listen.address
        if let host = IPAddress(address.host), host.isLoopback,
            !authorization.peers.contains(where: { $0.contains(host) || $0.network.isLoopback })
        {
            self.warnings.append(
                "authorization.listen is \(address), to which only this machine connects, but authorization.peers does not contain \(host): every check is refused"
            )
        }
        if authorization.metadata == .forwarded, !authorization.dialects.contains(.authRequest) {
            self.warnings.append(
                "authorization.metadata: forwarded has no effect: only the dialect auth-request reads it, and authorization.dialects does not have it"
            )
        }
        if authorization.dialects.contains(.extAuthz), let binding = Self.addressBinding(in: settings) {
            self.warnings.append(
                "authorization.dialects has ext-authz, and \(binding) is bound to addresses: the proxy must pass X-Forwarded-For to the check (Envoy: allowed_headers), otherwise these requests are rejected; leave ext-authz out if no proxy uses it"
            )
        }
    }

    /// Returns the first route or client with a device binding, for a message; `nil` if none has one.
    private static func addressBinding(in settings: Settings) -> String? {
        if let route = settings.hosts.flatMap(\.routes).first(where: { $0.liveBinding != .none }) {
            return "the route \(route.name)"
        }
        return settings.clients.first { $0.binding != .none }.map { "the client \($0.clientID)" }
    }

    private mutating func checkOAuth2Proxy(_ settings: Settings) {
        guard let tree = self.tree.tree("compat"), !self.isPartial else { return }
        guard let authorization = settings.authorization, authorization.dialects.contains(.authRequest) else {
            self.report(
                tree.place(of: "oauth2_proxy"),
                found: settings.authorization == nil
                    ? "true, but no authorization" : "true, but authorization.dialects does not have auth-request",
                allowed: "true where proxies ask in the dialect auth-request",
                fix: settings.authorization == nil
                    ? "add authorization with listen and peers, or remove the key"
                    : "add auth-request there, or remove the key"
            )
            return
        }
        guard settings.oauth2ProxyMetadata == nil,
            let route = settings.hosts.flatMap(\.routes).first(where: { !$0.methods.isEmpty })
        else { return }
        self.warnings.append(
            "compat.oauth2_proxy: the check at /oauth2/auth does not report the method and is treated as GET, but the route \(route.name) has methods: let the proxy ask at /authz/auth-request instead"
        )
    }
}
