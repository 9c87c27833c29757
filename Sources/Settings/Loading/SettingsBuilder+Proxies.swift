import AddressIntelligence
import Vocabulary

extension SettingsBuilder {
    /// If https hosts have no TLS at the gateway and no setting names the proxy that terminates TLS, all clients appear
    /// to have the proxy's address. Reports enforced device bindings. Only warns without them, if no proxy on this
    /// machine or in a private network can connect, or with `--insecure-unnamed-proxy`.
    mutating func checkUnnamedProxy(_ settings: Settings) {
        let isKnown = !self.isPartial && (self.tree["public_url"] != nil || self.tree["hosts"] != nil)
        let open = settings.listen.filter { !$0.isSecure && $0.proxyProtocol == nil }.map(\.address)
        guard isKnown, !open.isEmpty, (self.tree.list("trusted_proxies") ?? []).isEmpty,
            let host = settings.hosts.first(where: \.publicURL.isHTTPS)
        else { return }
        let listener = open.first(where: \.takesLocalProxies)
        let uses = listener == nil ? [] : self.enforcedBindings(settings)
        let peers = settings.authorization.map { $0.peers.map(\.description).joined(separator: ", ") }
        // At `authorization.listen`, the asking proxy reports the client's own address.
        let bindings = peers == nil ? "every device binding matches" : "no device binding matches when a proxy asks"
        let effect =
            "every client appears to have the proxy's address: \(bindings), and sign-in limits count all clients as one"
        if self.flags.unnamedProxy, !uses.isEmpty {
            self.warnings.append(
                "--insecure-unnamed-proxy: trusted_proxies is empty. If there is a proxy in front, \(effect)"
            )
            return
        }
        guard let listener, !uses.isEmpty else {
            self.warnings.append(
                "trusted_proxies is empty, but \(host.publicURL) is https: unless it contains the proxy that terminates TLS, \(effect)"
            )
            return
        }
        for use in uses {
            self.report(
                use.place,
                found:
                    "\(use.mode.rawValue), but \(host.publicURL) is https, listen is \(listener) and trusted_proxies is empty",
                allowed:
                    "a binding only if trusted_proxies contains the proxy that terminates TLS; without it \(effect)",
                fix: "add trusted_proxies: [\(peers ?? "127.0.0.1")], or the address of that proxy; "
                    + "if it passes bytes on, add proxy_protocol at this address of listen; "
                    + "if the gateway really sees the clients' addresses, use --insecure-unnamed-proxy"
            )
        }
    }

    /// Returns the enforced bindings of https hosts, with the places where they are written.
    private func enforcedBindings(_ settings: Settings) -> [(place: KeyPlace, mode: BindingMode)] {
        var uses: [(place: KeyPlace, mode: BindingMode)] = []
        var consumers: Set<String> = []
        var written = self.writtenRoutes()[...]
        for host in settings.hosts {
            for route in host.routes {
                let tree = written.popFirst()
                guard host.publicURL.isHTTPS else { continue }
                if route.handoff, let client = route.client { consumers.insert(client) }
                if route.auth == .required, route.enforcedBinding != .none, let tree, tree["binding"] != nil {
                    uses.append((tree.place(of: "binding"), route.liveBinding))
                }
            }
        }
        let name = "enforce_device_binding"
        for tree in self.tree.trees("clients") {
            guard let id = tree.text("client_id"), consumers.contains(id), let transfer = tree.tree("session_transfer"),
                let client = settings.clients.first(where: { $0.clientID == id }),
                client.allowsCookie || client.allowsQuery
            else { continue }
            if client.binding != .none, !client.bindingDryRun {
                uses.append((transfer.place(of: name), client.binding))
            }
            if let binding = client.delegation, let delegation = transfer.tree("delegation") {
                uses.append((KeyPlace(origin: delegation.origin, key: delegation.key(of: name)), binding))
            }
        }
        return uses
    }
}
