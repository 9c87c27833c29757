internal import Vocabulary

extension SettingsBuilder {
    /// The gateway ends no TLS: where clients use https, a proxy stands in front. One that `trusted_proxies` does not name
    /// lends its own address to every client.
    mutating func checkUnnamedProxy(_ settings: Settings) {
        let isKnown = !self.isPartial && (self.tree["public_url"] != nil || self.tree["hosts"] != nil)
        guard isKnown, !self.namesProxies, let host = settings.hosts.first(where: \.publicURL.isHTTPS) else { return }
        let listener = settings.listen.first { $0.takesLocalProxies }
        let uses = listener == nil ? [] : self.enforcedBindings(settings)
        let effect =
            "every client has the proxy's address, bindings compare the proxy with itself, "
            + "and sign-in limits count all clients as one"
        if self.flags.unnamedProxy, !uses.isEmpty {
            self.warnings.append(
                "--insecure-unnamed-proxy: no proxy is named in trusted_proxies. If one stands in front, \(effect)"
            )
            return
        }
        guard let listener, !uses.isEmpty else {
            self.warnings.append(
                "trusted_proxies is empty, while \(host.publicURL) is https: unless the proxy that ends TLS is named there, \(effect)"
            )
            return
        }
        for use in uses {
            self.report(
                use.origin,
                use.key,
                found:
                    "\(use.mode.rawValue), while \(host.publicURL) is https, listen is \(listener) and trusted_proxies is empty",
                allowed: "a binding where trusted_proxies names the proxy that ends TLS; without it \(effect)",
                mend: "add trusted_proxies: [127.0.0.1], or whichever address that proxy has; "
                    + "if the gateway really sees the clients' addresses, say so with --insecure-unnamed-proxy"
            )
        }
    }

    private var namesProxies: Bool { !(self.tree.list("trusted_proxies") ?? []).isEmpty }

    /// Where an https host compares addresses or networks and acts on the result, with the place that says so.
    private func enforcedBindings(_ settings: Settings) -> [(key: String, origin: SettingsOrigin, mode: BindingMode)] {
        var uses: [(key: String, origin: SettingsOrigin, mode: BindingMode)] = []
        var consumers: Set<String> = []
        var written = self.writtenRoutes()[...]
        for host in settings.hosts {
            for route in host.routes {
                let place = written.popFirst()
                guard host.publicURL.isHTTPS else { continue }
                if route.handoff, let client = route.client { consumers.insert(client) }
                if route.auth == .required, route.liveBinding != .none, let place,
                    let origin = place.route["binding"]?.origin
                {
                    uses.append(("\(place.key).binding", origin, route.liveBinding))
                }
            }
        }
        for (index, tree) in self.tree.trees("clients").enumerated() {
            guard let id = tree.text("client_id"), consumers.contains(id),
                let client = settings.clients.first(where: { $0.clientID == id }),
                client.allowsCookie || client.allowsQuery, client.binding != .none, !client.bindingDryRun
            else { continue }
            let transfer = tree.tree("session_transfer")
            let origin = transfer?["enforce_device_binding"]?.origin ?? transfer?.origin ?? tree.origin
            uses.append(("clients[\(index)].session_transfer.enforce_device_binding", origin, client.binding))
        }
        return uses
    }
}
