import Vocabulary

extension SettingsBuilder {
    // MARK: Clients

    mutating func clients() -> [ClientSettings] {
        var origins: [String: SettingsOrigin] = [:]
        return self.tree.trees("clients").compactMap { tree in
            guard let id = tree.text("client_id") else { return nil }
            let fix = "merge the two clients: the other one is at"
            self.checkOnce(id, "client_id", of: tree, in: &origins, fix: fix)
            var client = ClientSettings(clientID: id)
            tree.set(.client, in: &client)
            client.providers = self.providerNames(chosenBy: tree, else: self.usualClientProviders)
            client.clientSecrets = self.clientSecrets(tree)
            client.keySet = self.clientKeys(tree)
            self.checkAuthentication(of: client, tree)
            self.warnOfCallbacks(client, tree)
            client.androidApps = self.androidApps(tree)
            client.isNativeApp = tree.isNativeApp(client)
            self.check(client.refreshToken, of: tree)
            client.socialLogins = Set(
                SocialLogin.allCases.filter {
                    tree.tree("native_social_login")?.tree($0.rawValue)?.boolean("enabled") == true
                }
            )
            self.checkSocialLogins(client, tree)
            if client.trustsAddressField { self.checkTrust(in: tree) }
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

    /// Warns of missing callbacks, and of callbacks that would get a parameter twice.
    private mutating func warnOfCallbacks(_ client: ClientSettings, _ tree: SettingsTree) {
        let redirected = ["authorization_code", "implicit"].filter { tree.texts("grant_types")?.contains($0) == true }
        if let grant = redirected.first, client.callbacks.isEmpty {
            self.warnings.append("\(tree.key(of: "grant_types")) has \(grant), which does nothing without callbacks")
        }
        for (index, callback) in client.callbacks.enumerated() {
            let key = tree.place(of: "callbacks").element(index).key
            for name in callback.answerParameters {
                self.warnings.append(
                    "\(key) has the parameter \(name) in its query, which every answer to it has too"
                )
            }
        }
    }

    private mutating func clientSecrets(_ tree: SettingsTree) -> [Secret] {
        guard let content = self.secret("client_secret_file", of: tree, minBytes: 16) else { return [] }
        let secrets = content.bytes.split { $0 == 0x0A || $0 == 0x0D }
        guard secrets.count <= 2, secrets.allSatisfy({ $0.count >= 16 }) else {
            self.report(
                tree.place(of: "client_secret_file"),
                found: secrets.count > 2 ? "\(secrets.count) secrets" : "a secret of less than 16 bytes",
                allowed: "one secret, or two during a rotation, one per line, each of 16 bytes or more",
                fix: "write the current secret and, during a rotation, the next one"
            )
            return []
        }
        return secrets.map { Secret(Array($0)) }
    }

    /// Returns the content of `jwks_file` as bytes, because `Settings` does not depend on JOSE.
    private mutating func clientKeys(_ tree: SettingsTree) -> [UInt8]? {
        let allowed = "a JWK set (RFC 7517 5) of public keys for RS256, PS256, ES256 or EdDSA"
        guard let json = self.content("jwks_file", of: tree, allowed: allowed) else { return nil }
        guard let fault = self.judges.clientKeys(json) else { return json }
        self.report(
            tree.place(of: "jwks_file"),
            found: "a file that cannot be used: \(fault)",
            allowed: allowed,
            fix: "write the key set that the client publishes; private keys stay with the client"
        )
        return nil
    }

    private mutating func checkAuthentication(of client: ClientSettings, _ tree: SettingsTree) {
        if let type = tree.text("app_type"), ["native", "spa"].contains(type), !tree.isPublicClient, !self.isPartial {
            // RFC 8252 8.5
            self.report(
                tree.place(of: "app_type"),
                found: "\(type) for a client with client_secret_file or jwks_file",
                allowed: "\(type) for a public client: everybody who has the app has its secret",
                fix: "remove the secret, or write regular_web or non_interactive"
            )
        }
        guard let method = client.authenticationMethod else { return }
        let names = AuthenticationKeys(method: "token_endpoint_auth_method", keyFile: "jwks_file")
        self.checkAuthentication(method, names, of: tree)
    }

    private mutating func check(_ settings: RefreshTokenSettings, of client: SettingsTree) {
        guard let tree = client.tree("refresh_token") else { return }
        if settings.isOnline,
            client.tree("session_transfer")?.boolean("can_create_session_transfer_token") == true
        {
            self.report(
                tree.place(of: "enforce_online_refresh_tokens"),
                found: "true for a client with can_create_session_transfer_token",
                allowed: "one of the two: the results of a transfer would outlive the browser's session",
                fix: "remove one of them"
            )
        }
        let following = ["provider", "confirm_every", "confirm_within"]
        if settings.isOnline, let key = following.first(where: { tree[$0] != nil }) {
            self.report(
                tree.place(of: key),
                found: "\(key) beside enforce_online_refresh_tokens: true",
                allowed: "one of the two: online tokens end with the browser's session, which follows the provider",
                fix: "remove one of them"
            )
        }
        if settings.confirmWithin != .zero, settings.confirmWithin < settings.confirmEvery {
            self.report(
                tree.place(of: "confirm_within"),
                found: Quantity.text(settings.confirmWithin),
                allowed: "off, or at least confirm_every (\(Quantity.text(settings.confirmEvery)))",
                fix: "write a longer time, or a shorter confirm_every"
            )
        }
        if settings.rotation == .nonRotating, client.isPublicClient, !self.isPartial {
            // RFC 9700 4.14.2
            self.report(
                tree.place(of: "rotation_type"),
                found: "non-rotating for a client without client_secret_file or jwks_file",
                allowed: "non-rotating for a client that authenticates",
                fix: "write rotating, or add client_secret_file"
            )
        }
    }

    /// Reports a kit that is enabled for a client but not configured, or whose users cannot sign in to the client.
    private mutating func checkSocialLogins(_ client: ClientSettings, _ tree: SettingsTree) {
        let configured = self.tree.tree("native_social")
        let place = tree.place(of: "native_social_login")
        for login in SocialLogin.allCases where client.socialLogins.contains(login) && !self.isPartial {
            let providers = self.providers(ofKit: login)
            guard Set(providers).isDisjoint(with: client.providers) else { continue }
            let usual = providers.joined(separator: ", ")
            self.report(
                place,
                found: "\(login.rawValue) enabled for a client of \(client.providers.joined(separator: ", "))",
                allowed: "\(login.rawValue) for clients of \(usual), because it signs in their users",
                fix: "remove it, or add \(usual) to the providers of the client"
            )
        }
        for login in client.socialLogins where configured?[login.rawValue] == nil && !self.isPartial {
            self.report(
                KeyPlace(origin: place.origin, key: "\(place.key).\(login.rawValue).enabled"),
                found: "true, but there is no native_social.\(login.rawValue)",
                allowed: "true for a kit that is configured",
                fix: "add native_social.\(login.rawValue), or remove it here"
            )
        }
    }

    /// Reports clients whose `session_transfer.lifetimes` exceed `session.transfer`.
    mutating func checkClientLifetimes(within most: SessionSettings.Lifetimes) {
        guard !self.isPartial else { return }
        for client in self.tree.trees("clients") {
            guard let tree = client.tree("session_transfer")?.tree("lifetimes") else { continue }
            for (name, longest) in [("idle", most.idle), ("absolute", most.absolute)] {
                guard case .duration(let lifetime)? = tree[name]?.value, lifetime > longest else { continue }
                self.report(
                    tree.place(of: name),
                    found: "\(Quantity.text(lifetime)), longer than session.transfer.\(name)",
                    allowed: "at most \(Quantity.text(longest)), which is session.transfer.\(name)",
                    fix: "write a shorter time, or raise session.transfer.\(name)"
                )
            }
        }
    }

    /// Reports a trusted address field of a public client, because anybody can claim to be a public client.
    private mutating func checkTrust(in client: SettingsTree) {
        guard client.isPublicClient, !self.isPartial else { return }
        self.report(
            client.place(of: "is_token_endpoint_ip_header_trusted"),
            found: "true for a client without client_secret_file or jwks_file",
            allowed: "true for a client that authenticates: anyone can send requests as another client",
            fix: "add client_secret_file, or remove the key"
        )
    }
}

extension SettingsTree {
    /// True if the client has no credential.
    fileprivate var isPublicClient: Bool { self["client_secret_file"] == nil && self["jwks_file"] == nil }
}
