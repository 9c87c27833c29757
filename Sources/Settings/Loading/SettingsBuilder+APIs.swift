import Vocabulary

extension SettingsBuilder {
    /// Builds the APIs. Adds the audience of each API to the routes of `hosts` that accept its access tokens.
    mutating func apis(_ hosts: inout [HostSettings], clients: [ClientSettings]) -> [APISettings] {
        var origins: [String: SettingsOrigin] = [:]
        return self.tree.trees("apis").compactMap { tree in
            guard let audience = tree.text("audience") else { return nil }
            let fix = "merge the two APIs: the other one is at"
            self.checkOnce(audience, "audience", of: tree, in: &origins, fix: fix)
            var api = APISettings(audience: audience)
            tree.set(.api, in: &api)
            for scope in api.scopes where Self.identityScopes.contains(scope) {
                self.warnings.append(
                    "\(tree.key(of: "scopes")) has \(scope), which every client may ask for without an API"
                )
            }
            for (index, id) in api.resourceServers.enumerated() {
                self.checkResourceServer(id, clients, tree.place(of: "resource_servers").element(index))
            }
            for (index, name) in api.routes.enumerated() {
                self.accept(audience, on: name, &hosts, tree.place(of: "routes").element(index))
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
        _ place: KeyPlace
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
            place,
            found: "\(quoted(name)), but no route has this name",
            allowed: alternatives(names),
            fix: suggestion(for: name, among: names, else: "write the name of a route (hosts[].routes[].name)")
        )
    }

    private mutating func checkResourceServer(_ id: String, _ clients: [ClientSettings], _ place: KeyPlace) {
        let names = clients.filter { !$0.isPublic }.map(\.clientID)
        guard !names.contains(id), !self.isPartial else { return }
        let isPublic = clients.contains { $0.clientID == id }
        self.report(
            place,
            found: "\(quoted(id)), \(isPublic ? "which is public" : "which is not in clients")",
            allowed: "a client that authenticates" + (names.isEmpty ? "; there is none" : ": \(alternatives(names))"),
            fix: isPublic
                ? "add client_secret_file to it"
                : suggestion(for: id, among: names, else: "add it to clients")
        )
    }
}
