/// The endpoints outside of `/.sallyport/` on hosts without a written `endpoints: true`. Such a host serves only the
/// endpoints that some key needs. Its app gets all other paths.
extension SettingsBuilder {
    /// Sets the jobs of each host, and the list of keys that need jobs.
    func setJobs(_ settings: inout Settings) {
        var keys: [String] = []
        var jobs: EndpointGroups = []
        func give(_ more: EndpointGroups, _ key: String, if isUsed: Bool) {
            guard isUsed else { return }
            jobs.formUnion(more)
            keys.append(key)
        }
        give(.all, "clients", if: !settings.clients.isEmpty)
        // Operators with this scope may add clients at run time.
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
