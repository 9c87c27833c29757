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
            client.clientSecrets = self.clientSecrets(tree, key: "\(key).client_secret_file")
            if let written = tree.texts("grant_types") {
                client.grantTypes = Set(written.compactMap(GrantType.init(rawValue:)))
            }
            client.callbacks = (tree.texts("callbacks") ?? []).compactMap(RedirectURI.init)
            client.refreshToken = self.refreshToken(tree, key: key)
            client.socialLogins = Set(
                SocialLogin.allCases.filter {
                    tree.tree("native_social_login")?.tree($0.rawValue)?.boolean("enabled") == true
                }
            )
            client.bundleID = tree.tree("mobile")?.tree("ios")?.text("app_bundle_identifier")
            self.checkSocialLogins(client, tree, key: key)
            client.trustsAddressField = self.trustsAddressField(tree, key: key)
            guard let transfer = tree.tree("session_transfer") else { return client }
            client.allowsRefreshAfterTransfer = transfer.boolean("allow_refresh_token") ?? false
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

    private mutating func clientSecrets(_ tree: SettingsTree, key: String) -> [Secret] {
        guard let setting = tree["client_secret_file"],
            let content = self.secret("client_secret_file", of: tree, key: key, minBytes: 16)
        else { return [] }
        let secrets = content.bytes.split { $0 == 0x0A || $0 == 0x0D }
        guard secrets.count <= 2, secrets.allSatisfy({ $0.count >= 16 }) else {
            self.report(
                setting.origin,
                key,
                found: secrets.count > 2 ? "\(secrets.count) secrets" : "a secret of less than 16 bytes",
                allowed: "one secret, or two while it is rotated, one a line, each of 16 bytes or more",
                mend: "write the present secret and, during a rotation, its successor"
            )
            return []
        }
        return secrets.map { Secret(Array($0)) }
    }

    private mutating func refreshToken(_ client: SettingsTree, key: String) -> RefreshTokenSettings {
        var settings = RefreshTokenSettings()
        guard let tree = client.tree("refresh_token") else { return settings }
        settings.rotation = tree.text("rotation_type").flatMap { .init(rawValue: $0) } ?? settings.rotation
        settings.leeway = tree.duration("leeway") ?? settings.leeway
        settings.lifetime = tree.duration("token_lifetime")
        settings.idleLifetime = tree.duration("idle_token_lifetime")
        settings.issuing = tree.text("issued").flatMap { .init(rawValue: $0) } ?? settings.issuing
        if settings.rotation == .nonRotating, client["client_secret_file"] == nil, !self.isPartial,
            let origin = tree["rotation_type"]?.origin
        {
            // RFC 9700 4.14.2
            self.report(
                origin,
                "\(key).refresh_token.rotation_type",
                found: "non-rotating for a client without client_secret_file",
                allowed: "non-rotating for a client with a secret",
                mend: "write rotating, or add client_secret_file"
            )
        }
        return settings
    }

    /// Refuses a kit that is enabled for a client and configured nowhere.
    private mutating func checkSocialLogins(_ client: ClientSettings, _ tree: SettingsTree, key: String) {
        let configured = self.tree.tree("native_social")
        for login in client.socialLogins where configured?[login.rawValue] == nil && !self.isPartial {
            self.report(
                tree["native_social_login"]?.origin ?? tree.origin,
                "\(key).native_social_login.\(login.rawValue).enabled",
                found: "true, but there is no native_social.\(login.rawValue)",
                allowed: "true for a kit that is configured",
                mend: "add native_social.\(login.rawValue), or remove it here"
            )
        }
    }

    private mutating func trustsAddressField(_ client: SettingsTree, key: String) -> Bool {
        let name = "is_token_endpoint_ip_header_trusted"
        guard client.boolean(name) == true, let origin = client[name]?.origin else { return false }
        if client["client_secret_file"] == nil, !self.isPartial {
            self.report(
                origin,
                "\(key).\(name)",
                found: "true for a client without client_secret_file",
                allowed: "true for a client with a secret: anyone can send requests as any other",
                mend: "add client_secret_file, or remove the key"
            )
        }
        return true
    }

    /// Refuses Auth0's keys that this version reads but cannot act on, so that an operator does not rely on them.
    private mutating func refuseLaterFeatures(_ transfer: SettingsTree, key: String) {
        let delegation = transfer.tree("delegation") ?? SettingsTree(origin: .builtIn)
        let features: [(tree: SettingsTree, name: String, path: String, inert: Bool, sentence: String)] = [
            (
                transfer, "enforce_cascade_revocation", key, true,
                "web sessions always end with the native session or refresh token that they come from"
            ),
            (
                transfer, "enforce_online_refresh_tokens", key, true,
                "refresh tokens of a transfer always end with the native session that it comes from"
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
