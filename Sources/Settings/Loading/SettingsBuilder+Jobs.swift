/// The purposes of the gateway's own paths. A single host on which `endpoints: true` is not written serves only paths
/// with a purpose, and passes all other paths to the app.
extension SettingsBuilder {
    /// Sets the purposes of each host's endpoints, and the keys that need them.
    func setJobs(_ settings: inout Settings) {
        var keys: [String] = []
        var jobs: EndpointJobs = []
        func give(_ more: EndpointJobs, _ key: String, if isUsed: Bool) {
            guard isUsed else { return }
            jobs.formUnion(more)
            keys.append(key)
        }
        give(.all, "clients", if: !settings.clients.isEmpty)
        // Clients may be added at run time.
        give(.all, "admin.tokens_file", if: settings.operatorTokens.contains { $0.scopes.contains(.clients) })
        give(.nativeApps, "exchange", if: self.tree.tree("exchange") != nil)
        give(.nativeApps, "native_social", if: settings.nativeSocial != nil)
        give(.verifiers, "identity.assertion", if: settings.identity.assertion != nil)
        settings.endpointKeys = keys
        for (index, host) in settings.hosts.enumerated() where !host.asksForEndpoints && !host.routes.isEmpty {
            settings.hosts[index].jobs = jobs
        }
    }
}
