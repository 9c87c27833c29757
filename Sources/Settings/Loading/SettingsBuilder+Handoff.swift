import Vocabulary

/// What the routes of a host say together about transfer tokens.
extension SettingsBuilder {
    /// Warns of a host whose routes name clients with different bindings: a token is good on every route, so whoever has one
    /// presents it where the least is asked, and the session is the same.
    mutating func checkBindings(of host: HostSettings, _ clients: [ClientSettings]) {
        let named = Set(host.routes.compactMap(\.client))
        let taking = clients.filter { named.contains($0.clientID) && ($0.allowsCookie || $0.allowsQuery) }
        let bindings = taking.map { $0.bindingDryRun ? "\($0.binding.rawValue), dry run" : $0.binding.rawValue }
        guard Set(bindings).count > 1 else { return }
        let list = zip(taking, bindings).map { "\($0.clientID): \($1)" }.joined(separator: "; ")
        self.warnings.append(
            "the clients of \(host.publicURL.authority) bind transfer tokens differently (\(list)): whoever has a token "
                + "uses it on a route of the weakest; give them the same enforce_device_binding, or hosts of their own"
        )
    }
}
