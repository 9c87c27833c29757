import AddressIntelligence
import Vocabulary

/// The listeners for clients and for operators.
extension SettingsBuilder {
    /// Builds `listen`, `redirect_http`, `admin.listen` and `strict_transport_security`.
    mutating func setListeners(_ settings: inout Settings) {
        if let elements = self.tree.list("listen") {
            let place = self.tree.place(of: "listen")
            if elements.isEmpty {
                self.report(
                    place,
                    found: "an empty list",
                    allowed: "one address or more",
                    fix: "add an address"
                )
            }
            settings.listen = []
            for tree in elements.trees(below: place.key) {
                guard let listener = self.listener(tree) else { continue }
                self.check(listener.address, tree, besides: settings.listen + settings.management)
                switch listener.role {
                case .clients: settings.listen.append(listener)
                case .management: settings.management.append(listener)
                }
            }
            if settings.listen.isEmpty, !settings.management.isEmpty, !self.isPartial {
                self.report(
                    place,
                    found: "only addresses with role: management",
                    allowed: "one address for clients or more",
                    fix: "add an address"
                )
            }
        }
        if self.tree["listen"] == nil { self.setDefaults(&settings.listen[0]) }
        self.setRedirectListener(&settings)
        self.setAdminListener(&settings)
        self.setStrictTransport(&settings)
    }

    /// Builds `redirect_http`. Call it after `listen` is built.
    private mutating func setRedirectListener(_ settings: inout Settings) {
        guard let tree = self.tree.tree("redirect_http"), case .address(let address)? = tree["address"]?.value else {
            return
        }
        var listener = ListenerSettings(address)
        listener.proxyProtocol = self.proxyProtocol(tree)
        settings.redirectListen = listener
        if let other = (settings.listen + settings.management).map(\.address).first(where: address.overlaps) {
            self.report(
                tree.place,
                found: "\(address), but listen has \(other)",
                allowed: "an address and port that listen does not use",
                fix: "choose another port, e.g. redirect_http: \"\(ListenAddress(host: address.host, port: 80))\""
            )
        }
        if !settings.hosts.contains(where: \.publicURL.isHTTPS), !self.isPartial {
            self.report(
                tree.place,
                found: "an address, but no public_url is https",
                allowed: "an address where some host has https",
                fix: "remove it"
            )
        }
    }

    private mutating func setStrictTransport(_ settings: inout Settings) {
        guard let tree = self.tree.tree("strict_transport_security"), case .duration(let age)? = tree["max_age"]?.value
        else { return }
        var strict = StrictTransportSettings()
        strict.maxAge = age
        tree.set(.strictTransport, in: &strict)
        settings.strictTransport = strict
        if !settings.hosts.contains(where: \.publicURL.isHTTPS), !self.isPartial {
            self.warnings.append("\(tree.place.key): no public_url is https, so it is not sent")
        }
    }

    /// Builds an element of `listen`; `nil` if its address is invalid or missing.
    private mutating func listener(_ tree: SettingsTree) -> ListenerSettings? {
        guard case .address(let address)? = tree["address"]?.value else { return nil }
        var listener = ListenerSettings(address)
        self.setDefaults(&listener)
        tree.set(.listener, in: &listener)
        if !listener.isSecure {
            if tree["client_certificates"] == nil { listener.clientCertificates = .none }
            if tree["protocols"] == nil { listener.protocols = [.http1] }
        }
        listener.publicURL = self.managementURL(of: listener, tree)
        self.checkTLS(listener, tree)
        self.checkProtocols(listener, tree)
        listener.proxyProtocol = self.proxyProtocol(tree)
        return listener
    }

    /// Sets the defaults of a listener if `tls` is set: TLS, HTTP/2, and the value of `client_certificates` in `tls`.
    private func setDefaults(_ listener: inout ListenerSettings) {
        guard let tls = self.tree.tree("tls") else { return }
        listener.isSecure = true
        listener.protocols = [.http2, .http1]
        var settings = TLSSettings()
        tls.set(.tls, in: &settings)
        listener.clientCertificates = settings.clientCertificates
    }

    /// Returns the URL of a listener for operators; `nil` if it serves clients. A missing URL is reported.
    private mutating func managementURL(of listener: ListenerSettings, _ tree: SettingsTree) -> PublicURL? {
        let url = tree.url("public_url")
        guard listener.role == .management else {
            if url != nil {
                self.report(
                    tree.place(of: "public_url"),
                    found: "public_url on an address for clients",
                    allowed: "public_url only with role: management; clients use the public_url of a host",
                    fix: "remove it, or add role: management"
                )
            }
            return nil
        }
        if let url {
            self.checkPublicURL(url, tree.place(of: "public_url"))
        } else if tree["public_url"] == nil {
            self.reportMissing(
                tree.place(of: "public_url"),
                TextRule.publicURL.allowed,
                "write the URL with which operators reach this address"
            )
        }
        if self.tree.tree("admin")?["tokens_file"] == nil, !self.isPartial {
            self.report(
                tree.place(of: "role"),
                found: "management, but admin.tokens_file is missing",
                allowed: "management with operators' tokens: it serves nothing else",
                fix: "add admin.tokens_file"
            )
        }
        return url
    }

    private mutating func check(_ address: ListenAddress, _ tree: SettingsTree, besides others: [ListenerSettings]) {
        guard let earlier = others.map(\.address).first(where: address.overlaps) else { return }
        self.report(
            tree.place,
            found: "\(address), but listen also has \(earlier)",
            allowed: "each address once; an address that means every address excludes others on its port",
            fix: "remove one, or choose another port"
        )
    }

    private mutating func checkTLS(_ listener: ListenerSettings, _ tree: SettingsTree) {
        if listener.isSecure, self.tree["tls"] == nil {
            self.report(
                tree.place(of: "tls"),
                found: "true, but there is no tls with a certificate",
                allowed: "true where tls has a certificate",
                fix: "add tls with certificate_file and key_file"
            )
        }
        guard listener.clientCertificates != .none else { return }
        if !listener.isSecure {
            self.report(
                tree.place(of: "client_certificates"),
                found: "\(listener.clientCertificates.rawValue) without TLS",
                allowed: "a listener with TLS",
                fix: "write tls: true, or remove the key"
            )
        } else if self.tree.tree("tls")?["client_ca_file"] == nil {
            self.reportMissing(
                tree.place(of: "client_certificates"),
                "client certificates where tls has client_ca_file",
                "add tls.client_ca_file"
            )
        }
    }

    private mutating func checkProtocols(_ listener: ListenerSettings, _ tree: SettingsTree) {
        let protocols = listener.protocols
        // If elements were rejected, an empty list is no mistake of its own.
        let isEmpty = protocols.isEmpty && !self.isPartial
        if isEmpty || Set(protocols).count != protocols.count {
            self.report(
                tree.place(of: "protocols"),
                found: isEmpty ? "an empty list" : "a protocol twice",
                allowed: "one protocol or more, each once",
                fix: isEmpty ? "write those that clients may speak, or remove the key" : "remove one"
            )
        }
        // With TLS, clients choose HTTP/2 in the handshake (`h2`). Without TLS, they must know beforehand (`h2c`).
        let foreign: ListenerProtocol = listener.isSecure ? .plainHTTP2 : .http2
        let own: ListenerProtocol = listener.isSecure ? .http2 : .plainHTTP2
        if protocols.contains(foreign) {
            self.report(
                tree.place(of: "protocols"),
                found: "\(foreign.rawValue) \(listener.isSecure ? "with" : "without") TLS",
                allowed: "\(own.rawValue) and http/1.1",
                fix: "write \(own.rawValue)"
            )
        }
    }

    /// If no listener for clients requests certificates, warns of routes that require a certificate. Also warns of
    /// `client_ca_file`, unless a listener for operators or for other proxies requests certificates.
    mutating func checkCertificateDemands(_ settings: Settings) {
        guard !self.isPartial, settings.listen.allSatisfy({ $0.clientCertificates == .none }) else { return }
        let others = settings.management + [settings.authorization?.listen].compactMap(\.self)
        if settings.tls?.clientAuthorities != nil, others.allSatisfy({ $0.clientCertificates == .none }) {
            self.warnings.append(
                "tls.client_ca_file: no address of listen asks for a certificate: write client_certificates: optional or required"
            )
        }
        for route in settings.hosts.flatMap(\.routes) where route.require.clientCertificate != nil {
            self.warnings.append(
                "the route \(route.name) requires a client's certificate, but no address of listen asks for one: nobody passes"
            )
        }
    }

    /// Builds `proxy_protocol`; `nil` if it is missing or invalid.
    private mutating func proxyProtocol(_ tree: SettingsTree) -> ProxyProtocolSettings? {
        guard let below = tree.tree("proxy_protocol") else { return nil }
        let trusted = "any host in this list can claim any client address"
        var settings = ProxyProtocolSettings(from: self.proxies("from", of: below, else: trusted))
        below.set(.proxyProtocol, in: &settings)
        return settings
    }

    /// Reports peers that are in both `proxy_protocol` and `trusted_proxies`. A peer with the PROXY protocol may pass
    /// requests on unchanged, with a forwarding field that a client forged.
    mutating func checkProxyReports(_ settings: Settings) {
        let listeners = (self.tree.list("listen") ?? []).trees(below: "listen")
        for tree in listeners + [self.tree.tree("redirect_http")].compactMap(\.self) {
            guard let below = tree.tree("proxy_protocol") else { continue }
            for (index, element) in (below.list("from") ?? []).enumerated() {
                guard case .block(let block) = element.value,
                    let other = settings.trustedProxies.first(where: {
                        $0.contains(block.network) || block.contains($0.network)
                    })
                else { continue }
                self.report(
                    KeyPlace(origin: element.origin, key: "\(below.key(of: "from"))[\(index)]"),
                    found: "\(block), but trusted_proxies has \(other)",
                    allowed:
                        "peers that are not in trusted_proxies: they report their clients only in the header",
                    fix:
                        "remove it from trusted_proxies; a proxy in front of it that sends X-Forwarded-For is listed there with its own address"
                )
            }
        }
    }

    /// Returns the proxies of a list. Reports an empty list, and networks that are larger than any private network.
    ///
    /// - Parameter risk: What a stranger in the list could do.
    mutating func proxies(_ name: String, of tree: SettingsTree, else risk: String) -> [CIDRBlock] {
        let allowed = "the addresses of your own proxies"
        let elements = tree.list(name)
        if elements?.isEmpty == true {
            let fix = "add the addresses from which they connect, e.g. 10.0.0.0/24"
            self.report(tree.place(of: name), found: "an empty list", allowed: allowed, fix: fix)
        }
        return (elements ?? []).enumerated().compactMap { index, element in
            guard case .block(let block) = element.value else { return nil }
            // The largest blocks of private addresses (RFC 1918, RFC 4193).
            if block.prefixLength < (block.network.isV4 ? 8 : 7) {
                let size = block.prefixLength == 0 ? "every address" : "larger than any private network"
                self.report(
                    KeyPlace(origin: element.origin, key: "\(tree.key(of: name))[\(index)]"),
                    found: "\(block), which is \(size)",
                    allowed: allowed,
                    fix: "list the proxies: \(risk)"
                )
            }
            return block
        }
    }

    /// Builds `admin.listen` or `authorization.listen`; `nil` if the address is invalid or missing.
    mutating func innerListener(_ tree: SettingsTree) -> ListenerSettings? {
        guard case .address(let address)? = tree["address"]?.value else { return nil }
        var listener = ListenerSettings(address, acceptsAnyHostName: true)
        tree.set(.innerListener, in: &listener)
        self.checkTLS(listener, tree)
        return listener
    }

    private mutating func setAdminListener(_ settings: inout Settings) {
        let written = self.tree.tree("admin")?.tree("listen")
        if let written, let admin = self.innerListener(written) { settings.adminListen = admin }
        guard let admin = settings.adminListen?.address else { return }
        let others = (settings.listen + settings.management).map { (key: "listen", address: $0.address) }
        let redirect = settings.redirectListen.map { (key: "redirect_http", address: $0.address) }
        if let other = (others + [redirect].compactMap(\.self)).first(where: { admin.overlaps($0.address) }) {
            self.report(
                KeyPlace(origin: written?.place.origin ?? self.tree.place(of: "listen").origin, key: "admin.listen"),
                found: "\(admin)\(written == nil ? " (the default)" : ""), but \(other.key) has \(other.address)",
                allowed: "an address and port that \(other.key) does not use",
                fix: "choose another port, e.g. admin.listen: \"127.0.0.1:\(admin.port == 9090 ? 9091 : 9090)\""
            )
        }
        if !admin.isLoopback {
            self.warnings.append("admin.listen is reachable from other machines and asks for no credentials")
        }
    }
}
