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

    // MARK: Provider

    mutating func provider(_ settings: inout Settings) -> ProviderSettings? {
        guard let tree = self.tree.tree("provider")?.tree("static") else {
            let demands = settings.hosts.contains { $0.routes.contains { $0.auth == .required } }
            if demands {
                self.reportMissing(
                    self.tree["provider"]?.origin ?? self.tree.origin,
                    "provider",
                    "provider.static with users or users_file",
                    "add users (or SALLYPORT_USERS_FILE), or write auth: public on every route; without users no one can sign in"
                )
            }
            return nil
        }
        if tree["users"] != nil, let setting = tree["users_file"] {
            self.report(
                setting.origin,
                "provider.static.users_file",
                found: "both users_file and users",
                allowed: "one of the two",
                mend: "remove one"
            )
        }
        let users: [UserSettings]
        if let setting = tree["users_file"] {
            users = self.users(inFile: setting)
        } else {
            users = self.users(tree.trees("users"), key: "provider.static.users")
            if users.isEmpty {
                self.reportMissing(tree.origin, "provider.static.users", "one user or more", "add users, or users_file")
            }
        }
        self.checkStaticUsers(tree.origin, settings)
        return .fixedUsers(users)
    }

    private mutating func checkStaticUsers(_ origin: SettingsOrigin, _ settings: Settings) {
        guard let open = settings.listen.first(where: { !$0.isLoopback }) else { return }
        let address = "\(open.host.isEmpty ? "every address" : open.host), port \(open.port)"
        if self.flags.staticUsers {
            self.warnings.append(
                "--insecure-static-users: the static provider is reachable from other machines (\(address))"
            )
        } else {
            self.report(
                origin,
                "provider.static",
                found: "the static provider, while listen is \(address)",
                allowed: "the static provider on loopback only: it is meant for demos and tests",
                mend: "listen on 127.0.0.1, or accept it with --insecure-static-users"
            )
        }
    }

    private mutating func users(inFile setting: Setting) -> [UserSettings] {
        let key = "provider.static.users_file"
        guard let path = self.resolved(setting) else { return [] }
        let bytes: [UInt8]
        do throws(SettingsFiles.Fault) {
            bytes = try self.files.read(path, YAMLGuard.maxBytes)
        } catch {
            self.report(
                setting.origin,
                key,
                found: "\(error.sentence) at \(quoted(path))",
                allowed: "a YAML file with a list of users",
                mend: "check the path and the file's permissions"
            )
            return []
        }
        do throws(SettingsFailure) {
            var decoder = SettingsDecoder(try YAMLDocument(bytes, path: path))
            let trees = decoder.trees(of: .user, key: "users")
            self.problems += decoder.problems
            let users = self.users(trees, key: "users")
            if users.isEmpty, decoder.problems.isEmpty {
                self.report(
                    .file(path: path, line: 1, column: 1),
                    "users",
                    found: "nothing",
                    allowed: "one user or more",
                    mend: "write a list of users: \"- identifier: ...\""
                )
            }
            return users
        } catch {
            self.problems += error.problems
            return []
        }
    }

    private mutating func users(_ trees: [SettingsTree], key: String) -> [UserSettings] {
        var seen: [String: SettingsOrigin] = [:]
        return trees.enumerated().compactMap { index, tree in
            guard let identifier = tree.text("identifier"), let hash = tree.secret("password_hash") else { return nil }
            let id = tree.text("id") ?? identifier
            let names = [("identifier", identifier.lowercased()), ("id", id)]
            for (name, value) in names {
                let origin = tree[name]?.origin ?? tree.origin
                guard let earlier = seen.updateValue(origin, forKey: "\(name) \(value)") else { continue }
                self.report(
                    origin,
                    "\(key)[\(index)].\(name)",
                    found: "\(quoted(value)) a second time",
                    allowed: "each \(name) once",
                    mend: "choose another one: the first is at \(earlier)"
                )
            }
            return UserSettings(
                identifier: identifier,
                id: id,
                passwordHash: hash,
                traits: tree.document("traits") ?? .object([:]),
                aal: tree.text("aal").map(AssuranceLevel.init(named:)) ?? .aal1
            )
        }
    }
}
