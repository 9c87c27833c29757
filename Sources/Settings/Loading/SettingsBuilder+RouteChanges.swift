import Vocabulary

/// The changes of routes to paths and header fields.
extension SettingsBuilder {
    mutating func setChanges(of route: inout RouteSettings, _ tree: SettingsTree) {
        route.requestHeaders = self.fieldChanges(tree.tree("request_headers"), takesAddress: true)
        route.responseHeaders = self.fieldChanges(tree.tree("response_headers"), takesAddress: false)
        for name in ["strip_prefix", "add_prefix", "request_headers", "response_headers"]
        where tree[name] != nil && route.upstream == nil && !self.isPartial {
            self.report(
                tree.place(of: name),
                found: "\(name) on a route without an app",
                allowed: "\(name) on a route with upstream",
                fix: "add upstream, or make the change in the proxy that forwards the requests"
            )
        }
        guard let prefix = route.stripPrefix, !self.isPartial, route.path != prefix,
            !route.path.hasPrefix(prefix + "/")
        else { return }
        self.report(
            tree.place(of: "strip_prefix"),
            found: "\(quoted(prefix)), but the path \(quoted(route.path)) does not begin with it",
            allowed: "a prefix of the route's path",
            fix: "write path: \(prefix)/**, or another prefix"
        )
    }

    /// Removes the encoding of a route if it equals `identity.encoding`.
    func setEncodings(_ settings: inout Settings) {
        let common = settings.identity.encoding
        for host in settings.hosts.indices {
            for route in settings.hosts[host].routes.indices
            where settings.hosts[host].routes[route].identityEncoding == common {
                settings.hosts[host].routes[route].identityEncoding = nil
            }
        }
    }

    /// - Parameter takesAddress: True if a field may be set to the client's address.
    private mutating func fieldChanges(_ tree: SettingsTree?, takesAddress: Bool) -> FieldChanges {
        guard let tree else { return FieldChanges() }
        let fields = tree.pairs("set").map { FieldChanges.Field(name: $0.name, value: $0.text) }
        let address = FieldChanges.clientAddress
        for field in fields where field.value.contains(address) && !(takesAddress && field.isClientAddress) {
            self.report(
                tree.place,
                found: "\(address) in the value of \(field.name)",
                allowed: "\(address) as the whole value of a field of request_headers",
                fix: takesAddress ? "write only \(address)" : "remove \(field.name)"
            )
        }
        let changes = FieldChanges(set: fields + self.secretFields(tree), remove: tree.texts("remove") ?? [])
        var seen: [String: String] = [:]
        for name in changes.names {
            // CGI has one variable for `X-A`, `x_a` and `X.A`. The app would get only one value.
            guard let earlier = seen.updateValue(name, forKey: FieldChanges.normalized(name)) else { continue }
            self.report(
                tree.place,
                found: "both \(earlier) and \(name), which are one field to some apps",
                allowed: "each field once, in one spelling: a field that is set replaces the field of the same name",
                fix: "remove one of them"
            )
        }
        return changes
    }

    /// Returns the fields with values in files, without the line ends of the files.
    private mutating func secretFields(_ tree: SettingsTree) -> [FieldChanges.Field] {
        guard let files = tree.tree("set_file") else { return [] }
        return files.entries.compactMap { name, _ in
            guard let secret = self.secret(name, of: files) else { return nil }
            let text = String(decoding: secret.bytes, as: UTF8.self)
            do throws(SyntaxFault) {
                _ = try TextRule.fieldValue.read(text)
            } catch {
                self.report(
                    files.place(of: name),
                    found: "content that no field can have (not shown)",
                    allowed: "a file with one line of \(TextRule.fieldValue.allowed)",
                    fix: error.fix
                )
                return nil
            }
            return FieldChanges.Field(name: name, value: text)
        }
    }

    /// Reports changes of fields that belong to the gateway.
    mutating func checkChangedFields(_ identity: IdentitySettings) {
        for route in self.writtenRoutes() {
            for section in ["request_headers", "response_headers"] {
                guard let tree = route.tree(section) else { continue }
                let isOfRequest = section == "request_headers"
                for key in ["set", "set_file"] {
                    for (name, _) in tree.pairs(key) {
                        guard let set = tree.tree(key) else { continue }
                        self.check(
                            FieldChange(name: name, isSet: true, isOfRequest: isOfRequest),
                            set.place(of: name),
                            identity
                        )
                    }
                }
                for name in tree.texts("remove") ?? [] {
                    let change = FieldChange(name: name, isSet: false, isOfRequest: isOfRequest)
                    self.check(change, tree.place(of: "remove"), identity)
                }
            }
        }
    }

    private mutating func check(_ change: FieldChange, _ place: KeyPlace, _ identity: IdentitySettings) {
        guard let fault = self.judges.routeField(change, identity) else { return }
        self.report(
            place,
            found: "\(change.name), \(fault)",
            allowed: "fields that belong to the app",
            fix: "remove \(change.name)"
        )
    }
}
