import Vocabulary

/// Native apps that open https callbacks. Apple and Google ask the callback's host which apps may open it.
extension SettingsBuilder {
    mutating func androidApps(_ client: SettingsTree) -> [AndroidApp] {
        var origins: [String: SettingsOrigin] = [:]
        return client.trees("android_apps").compactMap { tree in
            guard let name = tree.text("package"), let fingerprints = tree.texts("sha256_cert_fingerprints") else {
                return nil
            }
            let fix = "write all fingerprints of an app in one place: the other one is at"
            self.checkOnce(name, "package", of: tree, in: &origins, fix: fix)
            if fingerprints.isEmpty {
                self.report(
                    tree.place(of: "sha256_cert_fingerprints"),
                    found: "an empty list, which matches no app",
                    allowed: "one fingerprint or more",
                    fix: "add the fingerprint of the certificate that signs the app"
                )
            }
            return AndroidApp(packageName: name, fingerprints: fingerprints.map { $0.uppercased() })
        }
    }

    /// Warns of apps that no host lists, of hosts that list no app, and of hosts that Apple and Google cannot ask.
    mutating func warnOfApps(_ hosts: [HostSettings], _ clients: [ClientSettings]) {
        guard !self.isPartial else { return }
        for (client, tree) in zip(clients, self.tree.trees("clients").filter { $0.text("client_id") != nil }) {
            let keys = ["ios_app_ids", "android_apps"].filter { tree.list($0)?.isEmpty == false }
            guard let key = keys.first else { continue }
            let isNamed = hosts.contains { $0.namesApps && client.hasCallback(on: $0, among: hosts) }
            if !isNamed {
                self.warnings.append(
                    "\(tree.key(of: key)) does nothing: no callback of the client is an https URL on a host with well_known: true"
                )
            }
        }
        for (host, tree) in zip(hosts, self.writtenHosts) where host.namesApps {
            let key = tree.key(of: "well_known")
            if !host.publicURL.isHTTPS || host.publicURL.port != nil {
                self.warnings.append(
                    "\(key): Apple and Google ask only by https at port 443, and the host is \(host.publicURL)"
                )
            }
            guard !clients.contains(where: { $0.hasCallback(on: host, among: hosts) && $0.namesApps }),
                !self.isAtRunTime
            else {
                continue
            }
            self.warnings.append(
                "\(key) is true, but no client of the file with an https callback on \(host.publicURL.authority) has ios_app_ids or android_apps"
            )
        }
    }
}

extension ClientSettings {
    /// Returns whether the client serves users of the host's providers and has a callback on the host.
    ///
    /// - Parameter hosts: All hosts. A wildcard does not cover names that have their own host.
    package func hasCallback(on host: HostSettings, among hosts: [HostSettings]) -> Bool {
        let others = host.publicURL.isWildcard ? hosts.filter { !$0.publicURL.isWildcard } : []
        let (served, taken) = (ServedOrigins([host]), ServedOrigins(others))
        return self.isKnown(to: host.providers)
            && self.callbacks.contains {
                $0.scheme == "https" && $0.origin.map { served.contains($0) && !taken.contains($0) } == true
            }
    }

    /// True if the client names native apps.
    fileprivate var namesApps: Bool { !self.iosAppIDs.isEmpty || !self.androidApps.isEmpty }
}

extension SettingsTree {
    /// Returns whether the mapping of a client describes a native app.
    func isNativeApp(_ client: ClientSettings) -> Bool {
        if let type = self.text("app_type") { return type == "native" }
        return client.canCreateTransferToken || !client.iosAppIDs.isEmpty || !client.androidApps.isEmpty
            || client.callbacks.contains(where: \.hasOwnScheme)
    }
}
