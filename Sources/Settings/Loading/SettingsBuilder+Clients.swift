internal import Vocabulary

extension SettingsBuilder {
    // MARK: Clients

    mutating func clients() -> [ClientSettings] {
        var origins: [String: SettingsOrigin] = [:]
        return self.tree.trees("clients").enumerated().compactMap { index, tree in
            guard let id = tree.text("client_id"), let origin = tree["client_id"]?.origin else { return nil }
            let key = "clients[\(index)]"
            if let earlier = origins.updateValue(origin, forKey: id) {
                self.report(
                    origin,
                    "\(key).client_id",
                    found: "\(quoted(id)) a second time",
                    allowed: "each client_id once",
                    mend: "merge the two clients: the other one is at \(earlier)"
                )
            }
            var client = ClientSettings(clientID: id)
            client.clientSecret = self.secret(
                "client_secret_file",
                of: tree,
                key: "\(key).client_secret_file",
                minBytes: 16
            )
            guard let transfer = tree.tree("session_transfer") else { return client }
            client.canCreateTransferToken = transfer.boolean("can_create_session_transfer_token") ?? false
            let methods = transfer.texts("allowed_authentication_methods") ?? []
            client.allowsCookie = methods.contains("cookie")
            client.allowsQuery = methods.contains("query")
            client.binding = transfer.text("enforce_device_binding").flatMap(BindingMode.init(rawValue:)) ?? .ip
            client.bindingDryRun = transfer.boolean("binding_dry_run") ?? false
            client.burnsOnMismatch = transfer.text("on_mismatch") != "keep"
            client.revokesDerivedOnReplay = transfer.text("on_replay") == "revoke_derived"
            self.refuseLaterFeatures(transfer, key: "\(key).session_transfer")
            return client
        }
    }

    /// Refuses Auth0's keys that this version reads but cannot act on, so that an operator does not rely on them.
    private mutating func refuseLaterFeatures(_ transfer: SettingsTree, key: String) {
        let delegation = transfer.tree("delegation") ?? SettingsTree(origin: .builtIn)
        let features: [(tree: SettingsTree, name: String, path: String, inert: Bool, sentence: String)] = [
            (
                transfer, "enforce_cascade_revocation", key, false,
                "this version does not end web sessions when the refresh token of the native app is revoked"
            ),
            (transfer, "allow_refresh_token", key, false, "this version issues no refresh tokens to web clients"),
            (
                transfer, "enforce_online_refresh_tokens", key, true,
                "this version issues no refresh tokens to web clients"
            ),
            (delegation, "allow_delegated_access", "\(key).delegation", false, "this version has no delegated access"),
        ]
        for (tree, name, path, inert, sentence) in features {
            guard let value = tree.boolean(name), value != inert, let origin = tree[name]?.origin else { continue }
            self.report(
                origin,
                "\(path).\(name)",
                found: "\(value)",
                allowed: "\(inert)",
                mend: "write \(inert), or remove the key: \(sentence)"
            )
        }
    }
}
