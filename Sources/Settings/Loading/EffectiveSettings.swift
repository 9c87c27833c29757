import Vocabulary

/// The written values and the defaults in effect, for `check`.
enum EffectiveSettings {
    /// Returns the written values and the defaults, in the order of the reference.
    ///
    /// - Parameter settings: The settings that were built from the tree.
    static func entries(of tree: SettingsTree, _ settings: Settings) -> [LoadedSettings.Entry] {
        let inUse = self.valuesInUse(settings, tree)
        return self.entries(of: tree, .file, isElement: false).map { entry in
            var entry = entry
            entry.value = inUse[entry.key] ?? entry.value
            return entry
        }
    }

    /// Returns the values that depend on other keys or on the machine, by key.
    private static func valuesInUse(_ settings: Settings, _ tree: SettingsTree) -> [String: String] {
        var values = ["event_loops": "\(settings.eventLoops)", "session.cookie": self.cookieName(settings)]
        for (index, host) in settings.hosts.enumerated() {
            let prefix = tree["hosts"] == nil ? "" : "hosts[\(index)]."
            values["\(prefix)endpoints"] = "\(host.endpoints)"
            // Without `providers`, hosts and clients do not choose a provider.
            if tree["providers"] != nil { self.set(host.providers, at: prefix, in: &values) }
            for (index, route) in host.routes.enumerated() {
                let prefix = "\(prefix)routes[\(index)]."
                values["\(prefix)name"] = route.name
                values["\(prefix)upstream"] = route.upstream ?? "none"
                let origin = host.publicURL.isWildcard ? "the origin of the name" : host.publicURL.description
                let encoding = route.identityEncoding ?? settings.identity.encoding
                values["\(prefix)identity_encoding"] = encoding.rawValue
                values["\(prefix)audience"] = route.audience ?? origin
                if route.handoff { values["\(prefix)handoff"] = "true" }
            }
        }
        for (index, client) in settings.clients.enumerated() where tree["providers"] != nil {
            self.set(client.providers, at: "clients[\(index)].", in: &values)
        }
        for upstream in settings.upstreams where upstream.others.isEmpty && upstream.first.socketPath == nil {
            values["upstreams.\(upstream.name).server_name"] = upstream.serverName ?? upstream.host
        }
        return values
    }

    /// Sets the providers of a host or client as the value of `provider` or `providers`.
    private static func set(_ providers: [String], at prefix: String, in values: inout [String: String]) {
        if providers.count == 1 {
            values["\(prefix)provider"] = providers[0]
        } else {
            values["\(prefix)providers"] = providers.joined(separator: ", ")
        }
    }

    /// Returns the name of the session cookie. It may differ on hosts with plain http.
    private static func cookieName(_ settings: Settings) -> String {
        let name = settings.session.cookieName
        let plain = CookieScope.plain.name(name)
        let reaches = settings.hosts.map(\.cookieReach)
        guard plain != name, reaches.contains(.plain) else { return name }
        return reaches.contains(where: \.isSecure) ? "\(name), on plain http \(plain)" : plain
    }

    private static func entries(
        of tree: SettingsTree,
        _ section: Section,
        isElement: Bool
    ) -> [LoadedSettings.Entry] {
        section.keys.flatMap { key -> [LoadedSettings.Entry] in
            let path = tree.key(of: key.name)
            let setting = tree[key.name]
            switch key.kind {
            case .section(let below):
                // Sections that turn a feature on, and all sections in elements of lists, are shown only if they are
                // written. A route without `cors` has no CORS defaults.
                if setting == nil, isElement || below.isOption { return [] }
                let tree = tree.tree(key.name) ?? SettingsTree(origin: .builtIn, key: path)
                return self.entries(of: tree, below, isElement: isElement)
            case .sections(let below), .named(let below):
                return tree.mappings(at: key).flatMap { self.entries(of: $0, below, isElement: true) }
            case .pairs:
                guard let pairs = tree.tree(key.name) else { return self.fallback(of: key, at: path) }
                return pairs.entries.map { self.entry(pairs.key(of: $0.name), $0.setting) }
            default:
                guard let setting else { return self.fallback(of: key, at: path) }
                var entry = self.entry(path, setting)
                entry.isChanged = entry.value != key.fallback
                return [entry]
            }
        }
    }

    private static func fallback(of key: SettingsKey, at path: String) -> [LoadedSettings.Entry] {
        key.fallback.map { [LoadedSettings.Entry(key: path, value: $0, origin: .builtIn)] } ?? []
    }

    private static func entry(_ path: String, _ setting: Setting) -> LoadedSettings.Entry {
        LoadedSettings.Entry(key: path, value: setting.written, origin: setting.origin, isChanged: true)
    }
}
