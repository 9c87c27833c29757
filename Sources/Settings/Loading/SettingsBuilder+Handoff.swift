import Vocabulary

/// Checks of transfer tokens across the routes of a host.
extension SettingsBuilder {
    /// Warns of hosts whose clients have different bindings. A thief can choose the route with the weakest binding.
    mutating func checkBindings(of host: HostSettings, _ clients: [ClientSettings]) {
        let named = Set(host.routes.compactMap(\.client))
        let taking = clients.filter { named.contains($0.clientID) && ($0.allowsCookie || $0.allowsQuery) }
        let bindings = taking.map { $0.bindingDryRun ? "\($0.binding.rawValue), dry run" : $0.binding.rawValue }
        guard Set(bindings).count > 1 else { return }
        let list = zip(taking, bindings).map { "\($0.clientID): \($1)" }.joined(separator: "; ")
        self.warnings.append(
            "the clients of \(host.publicURL.authority) bind transfer tokens differently (\(list)): anyone with a token "
                + "uses it on the route with the weakest binding; give them the same enforce_device_binding, or separate hosts"
        )
    }
}
