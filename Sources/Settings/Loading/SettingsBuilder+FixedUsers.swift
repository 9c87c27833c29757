import Vocabulary

extension ProviderKind {
    static let fixedUsers = ProviderKind(
        FixedUsersSettings.self,
        .fixedUsers,
        "Users in the configuration, for demos and tests.",
        isSingle: true,
        read: { $0.fixedUsers($1, $2) },
        check: { $0.checkSignIn(at: $1) }
    )
}

extension SettingsBuilder {
    fileprivate mutating func fixedUsers(_ tree: SettingsTree, _ settings: Settings) -> FixedUsersSettings {
        if tree["users"] != nil, tree["users_file"] != nil {
            self.report(
                tree.place(of: "users_file"),
                found: "both users_file and users",
                allowed: "one of the two",
                fix: "remove one"
            )
        }
        let users: [UserSettings]
        if let setting = tree["users_file"] {
            users = self.users(inFile: setting, tree.place(of: "users_file"))
        } else {
            users = self.users(tree.trees("users"))
            if users.isEmpty {
                let place = KeyPlace(origin: tree.origin, key: tree.key(of: "users"))
                self.reportMissing(place, "one user or more", "add users, or users_file")
            }
        }
        self.checkStaticUsers(tree.place, settings)
        return FixedUsersSettings(users)
    }

    /// Warns if only hosts of other providers have endpoints, because this provider's users cannot sign in.
    fileprivate mutating func checkSignIn(at place: ProviderKind.Place) {
        if place.settings.hosts.contains(where: \.endpoints), !place.hosts.isEmpty,
            !place.hosts.contains(where: \.endpoints)
        {
            self.warnings.append(
                "\(place.tree.key): no host of the provider \(place.name) has endpoints: true, so its users cannot sign in"
            )
        }
    }

    private mutating func checkStaticUsers(_ place: KeyPlace, _ settings: Settings) {
        guard let open = settings.listen.map(\.address).first(where: { !$0.isLoopback }) else { return }
        let address = "\(open.host.isEmpty ? "every address" : open.host), port \(open.port)"
        if self.flags.staticUsers {
            self.warnings.append(
                "--insecure-static-users: the static provider is reachable from other machines (\(address))"
            )
        } else {
            self.report(
                place,
                found: "the static provider, while listen is \(address)",
                allowed: "the static provider on loopback only: it is meant for demos and tests",
                fix: "listen on 127.0.0.1, or accept it with --insecure-static-users"
            )
        }
    }

    private mutating func users(inFile setting: Setting, _ place: KeyPlace) -> [UserSettings] {
        guard let path = self.resolved(setting), !self.lacksFiles else { return [] }
        let bytes: [UInt8]
        do throws(SettingsFiles.Fault) {
            bytes = try self.files.read(path, YAMLGuard.maxBytes)
        } catch {
            self.report(
                place,
                found: "\(error.sentence) at \(quoted(path))",
                allowed: "a YAML file with a list of users",
                fix: "check the path and the file's permissions"
            )
            return []
        }
        // Anyone who can read the hashes can guess passwords without the gateway's limits.
        self.warnIfOpenToAll(path, key: place.key, shown: self.shown(setting))
        do throws(SettingsFailure) {
            var decoder = SettingsDecoder(try YAMLDocument(bytes, path: path), file: .file)
            let trees = decoder.trees(of: .user, key: "users")
            self.problems += decoder.problems
            let users = self.users(trees)
            if users.isEmpty, decoder.problems.isEmpty {
                self.report(
                    KeyPlace(origin: .file(path: path, line: 1, column: 1), key: "users"),
                    found: "nothing",
                    allowed: "one user or more",
                    fix: "write a list of users: \"- identifier: ...\""
                )
            }
            return users
        } catch {
            self.problems += error.problems
            return []
        }
    }

    private mutating func users(_ trees: [SettingsTree]) -> [UserSettings] {
        var identifiers: [String: SettingsOrigin] = [:]
        var ids: [String: SettingsOrigin] = [:]
        return trees.compactMap { tree in
            guard let identifier = tree.text("identifier"), let hash = tree.secret("password_hash") else { return nil }
            guard let normalised = UserIdentifier(identifier) else {
                self.report(
                    tree.place(of: "identifier"),
                    found: quoted(identifier),
                    allowed:
                        "1 to \(UserIdentifier.longest) bytes without control characters, not counting white space at the ends",
                    fix: "write what the user types"
                )
                return nil
            }
            let id = tree.text("id") ?? identifier
            // Identifiers that differ only in the case of non-ASCII letters would be confused.
            let spelling = String(decoding: normalised.bytes, as: UTF8.self).lowercased()
            let fix = "choose another one: the first is at"
            self.checkOnce(spelling, "identifier", of: tree, in: &identifiers, fix: fix)
            self.checkOnce(id, "id", of: tree, in: &ids, fix: fix)
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
