internal import Vocabulary

extension SettingsBuilder {
    /// The APIs; tells the routes of `hosts` whose access tokens they accept.
    mutating func apis(_ hosts: inout [HostSettings], clients: [ClientSettings]) -> [APISettings] {
        var origins: [String: SettingsOrigin] = [:]
        return self.tree.trees("apis").enumerated().compactMap { index, tree in
            guard let audience = tree.text("audience"), let origin = tree["audience"]?.origin else { return nil }
            let key = "apis[\(index)]"
            if let earlier = origins.updateValue(origin, forKey: audience) {
                self.report(
                    origin,
                    "\(key).audience",
                    found: "\(quoted(audience)) a second time",
                    allowed: "each audience once",
                    mend: "merge the two APIs: the other one is at \(earlier)"
                )
            }
            var api = APISettings(audience: audience)
            tree.set(.api, in: &api)
            for scope in api.scopes where Self.identityScopes.contains(scope) {
                self.warnings.append("\(key).scopes has \(scope), which every client may ask for without an API")
            }
            for (place, id) in api.resourceServers.enumerated() {
                self.checkResourceServer(id, clients, tree, key: "\(key).resource_servers[\(place)]")
            }
            for (place, name) in api.routes.enumerated() {
                self.accept(audience, on: name, &hosts, tree, key: "\(key).routes[\(place)]")
            }
            return api
        }
    }

    /// The scopes of OpenID Connect (Core 5.4, 11) that the gateway grants itself.
    private static let identityScopes: Set<String> = [
        "openid", "profile", "email", "phone", "address", "offline_access",
    ]

    private mutating func accept(
        _ audience: String,
        on name: String,
        _ hosts: inout [HostSettings],
        _ tree: SettingsTree,
        key: String
    ) {
        var names: [String] = []
        var isFound = false
        for host in hosts.indices {
            for route in hosts[host].routes.indices {
                names.append(hosts[host].routes[route].name)
                guard hosts[host].routes[route].name == name else { continue }
                hosts[host].routes[route].apiAudiences.append(audience)
                isFound = true
            }
        }
        guard !isFound, !self.isPartial else { return }
        self.report(
            tree["routes"]?.origin ?? tree.origin,
            key,
            found: "\(quoted(name)), which is the name of no route",
            allowed: alternatives(names),
            mend: Spelling.nearest(to: name, in: names).map { "did you mean \($0)?" }
                ?? "write the name of a route (hosts[].routes[].name)"
        )
    }

    private mutating func checkResourceServer(
        _ id: String,
        _ clients: [ClientSettings],
        _ tree: SettingsTree,
        key: String
    ) {
        let names = clients.filter { !$0.isPublic }.map(\.clientID)
        guard !names.contains(id), !self.isPartial else { return }
        let isPublic = clients.contains { $0.clientID == id }
        self.report(
            tree["resource_servers"]?.origin ?? tree.origin,
            key,
            found: "\(quoted(id)), \(isPublic ? "which is public" : "which is not in clients")",
            allowed: "a client that proves itself" + (names.isEmpty ? "; there is none" : ": \(alternatives(names))"),
            mend: isPublic
                ? "add client_secret_file to it"
                : Spelling.nearest(to: id, in: names).map { "did you mean \($0)?" } ?? "add it to clients"
        )
    }
}
