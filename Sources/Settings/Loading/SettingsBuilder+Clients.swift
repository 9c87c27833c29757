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
            tree.set(.client, in: &client)
            client.provider = self.providerName(chosenBy: tree, key: "\(key).")
            client.clientSecrets = self.clientSecrets(tree, key: "\(key).client_secret_file")
            client.keySet = self.clientKeys(tree, key: "\(key).jwks_file")
            self.checkAuthentication(of: client, tree, key: key)
            self.warnOfCallbacks(client, tree, key: key)
            self.check(client.refreshToken, of: tree, key: key)
            client.socialLogins = Set(
                SocialLogin.allCases.filter {
                    tree.tree("native_social_login")?.tree($0.rawValue)?.boolean("enabled") == true
                }
            )
            self.checkSocialLogins(client, tree, key: key)
            if client.trustsAddressField { self.checkTrust(in: tree, key: key) }
            guard let transfer = tree.tree("session_transfer") else { return client }
            let methods = transfer.texts("allowed_authentication_methods") ?? []
            client.allowsCookie = methods.contains("cookie")
            client.allowsQuery = methods.contains("query")
            client.burnsOnMismatch = transfer.text("on_mismatch") != "keep"
            client.revokesDerivedOnReplay = transfer.text("on_replay") == "revoke_derived"
            if let delegation = transfer.tree("delegation"), delegation.boolean("allow_delegated_access") == true {
                client.delegation =
                    delegation.text("enforce_device_binding").flatMap(BindingMode.init(rawValue:)) ?? .ip
            }
            return client
        }
    }

    /// Warns of callbacks that are missing, or that receive a parameter twice.
    private mutating func warnOfCallbacks(_ client: ClientSettings, _ tree: SettingsTree, key: String) {
        let redirected = ["authorization_code", "implicit"].filter { tree.texts("grant_types")?.contains($0) == true }
        if let grant = redirected.first, client.callbacks.isEmpty {
            self.warnings.append("\(key).grant_types has \(grant), which does nothing without callbacks")
        }
        for (index, callback) in client.callbacks.enumerated() {
            for name in callback.answerParameters {
                self.warnings.append(
                    "\(key).callbacks[\(index)] has the parameter \(name) in its query, which every answer to it has too"
                )
            }
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

    /// The content of a file of public keys, which only JOSE can read.
    private mutating func clientKeys(_ tree: SettingsTree, key: String) -> [UInt8]? {
        let allowed = "a JWK set (RFC 7517 5) of public keys for RS256, PS256, ES256 or EdDSA"
        guard let setting = tree["jwks_file"], let json = self.content(setting, key: key, allowed: allowed) else {
            return nil
        }
        guard let fault = self.judges.clientKeys(json) else { return json }
        self.report(
            setting.origin,
            key,
            found: "a file that cannot be used: \(fault)",
            allowed: allowed,
            mend: "write what the client publishes of its keys; their private parts stay with the client"
        )
        return nil
    }

    private mutating func checkAuthentication(of client: ClientSettings, _ tree: SettingsTree, key: String) {
        if let type = tree.text("app_type"), ["native", "spa"].contains(type), !tree.isPublicClient, !self.isPartial {
            // RFC 8252 8.5
            self.report(
                tree["app_type"]?.origin ?? tree.origin,
                "\(key).app_type",
                found: "\(type) for a client with client_secret_file or jwks_file",
                allowed: "\(type) for a public client: everybody who has the app has its secret",
                mend: "remove the secret, or write regular_web or non_interactive"
            )
        }
        guard let method = client.authenticationMethod else { return }
        let names = AuthenticationKeys(method: "token_endpoint_auth_method", keyFile: "jwks_file")
        self.checkAuthentication(method, names, of: tree, key: key)
    }

    private mutating func check(_ settings: RefreshTokenSettings, of client: SettingsTree, key: String) {
        guard let tree = client.tree("refresh_token") else { return }
        if settings.isOnline,
            client.tree("session_transfer")?.boolean("can_create_session_transfer_token") == true
        {
            self.report(
                tree["enforce_online_refresh_tokens"]?.origin ?? tree.origin,
                "\(key).refresh_token.enforce_online_refresh_tokens",
                found: "true for a client with can_create_session_transfer_token",
                allowed: "one of the two: what a transfer makes would outlive the browser's session",
                mend: "remove one of them"
            )
        }
        if settings.rotation == .nonRotating, client.isPublicClient, !self.isPartial,
            let origin = tree["rotation_type"]?.origin
        {
            // RFC 9700 4.14.2
            self.report(
                origin,
                "\(key).refresh_token.rotation_type",
                found: "non-rotating for a client without client_secret_file or jwks_file",
                allowed: "non-rotating for a client that proves itself",
                mend: "write rotating, or add client_secret_file"
            )
        }
    }

    /// Refuses a kit that is enabled for a client and configured nowhere.
    private mutating func checkSocialLogins(_ client: ClientSettings, _ tree: SettingsTree, key: String) {
        let configured = self.tree.tree("native_social")
        if !client.socialLogins.isEmpty, client.provider != self.providerNames.first, !self.isPartial {
            self.report(
                tree["native_social_login"]?.origin ?? tree.origin,
                "\(key).native_social_login",
                found: "enabled for a client of the provider \(client.provider)",
                allowed: "it for clients of the first provider, whose users they sign in",
                mend: "remove it, or write provider: \(self.providerNames.first ?? "")"
            )
        }
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

    /// Refuses to take addresses from a client that anybody can claim to be.
    private mutating func checkTrust(in client: SettingsTree, key: String) {
        let name = "is_token_endpoint_ip_header_trusted"
        guard client.isPublicClient, !self.isPartial, let origin = client[name]?.origin else { return }
        self.report(
            origin,
            "\(key).\(name)",
            found: "true for a client without client_secret_file or jwks_file",
            allowed: "true for a client that proves itself: anyone can send requests as any other",
            mend: "add client_secret_file, or remove the key"
        )
    }
}

extension SettingsTree {
    /// Whether the mapping of a client names nothing by which the client could prove itself.
    fileprivate var isPublicClient: Bool { self["client_secret_file"] == nil && self["jwks_file"] == nil }
}
