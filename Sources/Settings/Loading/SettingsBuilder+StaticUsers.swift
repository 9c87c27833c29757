internal import Vocabulary

extension SettingsBuilder {
    // MARK: Static users

    mutating func fixedUsers(_ tree: SettingsTree, _ settings: Settings) -> ProviderSettings {
        if tree["users"] != nil, let setting = tree["users_file"] {
            self.report(
                setting.origin,
                "\(self.providerKey).static.users_file",
                found: "both users_file and users",
                allowed: "one of the two",
                mend: "remove one"
            )
        }
        let users: [UserSettings]
        if let setting = tree["users_file"] {
            users = self.users(inFile: setting)
        } else {
            users = self.users(tree.trees("users"), key: "\(self.providerKey).static.users")
            if users.isEmpty {
                self.reportMissing(
                    tree.origin,
                    "\(self.providerKey).static.users",
                    "one user or more",
                    "add users, or users_file"
                )
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
                "\(self.providerKey).static",
                found: "the static provider, while listen is \(address)",
                allowed: "the static provider on loopback only: it is meant for demos and tests",
                mend: "listen on 127.0.0.1, or accept it with --insecure-static-users"
            )
        }
    }

    private mutating func users(inFile setting: Setting) -> [UserSettings] {
        let key = "\(self.providerKey).static.users_file"
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
        // Whoever reads the hashes can guess at passwords without the gateway's limits.
        self.warnIfOpenToAll(path, key: key, shown: setting.shown)
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
            let origin = tree["identifier"]?.origin ?? tree.origin
            guard let normalised = UserIdentifier(identifier) else {
                self.report(
                    origin,
                    "\(key)[\(index)].identifier",
                    found: quoted(identifier),
                    allowed:
                        "1 to \(UserIdentifier.longest) bytes without control characters, besides white space at the ends",
                    mend: "write what the user types"
                )
                return nil
            }
            let id = tree.text("id") ?? identifier
            // Also those that differ in the case of other letters than ASCII's are too easily taken for one another.
            let spelling = String(decoding: normalised.bytes, as: UTF8.self).lowercased()
            let names = [("identifier", spelling), ("id", id)]
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
