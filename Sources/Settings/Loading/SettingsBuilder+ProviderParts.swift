internal import Vocabulary

extension SettingsBuilder {
    // MARK: The gateway as a client

    /// Parameters that the gateway sets in every authorization request, and what sets them instead (RFC 6749 4.1.1, RFC
    /// 7636 4.3, RFC 9101, RFC 9449 10, OpenID Connect Core 3.1.2.1).
    private static let ownParameters: [String: String] = [
        "client_id": "use client_id", "scope": "use scopes", "prompt": "use prompt",
        "max_age": "use provider.oidc.max_age", "acr_values": "use provider.oidc.acr_values",
        "redirect_uri": "the gateway sets it", "response_type": "the gateway sets it",
        "response_mode": "the gateway sets it", "state": "the gateway sets it", "nonce": "the gateway sets it",
        "code_challenge": "the gateway sets it", "code_challenge_method": "the gateway sets it",
        "login_hint": "the gateway sets it", "id_token_hint": "the gateway sets it", "dpop_jkt": "the gateway sets it",
        "request": "request objects are not supported", "request_uri": "request objects are not supported",
        "client_secret": "use client_secret_file: a browser would see it here",
        "client_assertion": "use client_key_file: a browser would see it here",
    ]

    /// How the gateway proves itself; nil if its id is missing or something about it has been reported.
    ///
    /// - Parameter id: The id where none is written.
    mutating func providerClient(_ tree: SettingsTree, key: String, id: String? = nil) -> ProviderClientSettings? {
        let secret = self.secret("client_secret_file", of: tree, key: "\(key).client_secret_file", minBytes: 1)
        let privateKey = self.privateKey("client_key_file", of: tree, key: "\(key).client_key_file")
        if let secret, secret.bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            self.report(
                tree["client_secret_file"]?.origin ?? tree.origin,
                "\(key).client_secret_file",
                found: "a secret with control characters",
                allowed: "a file with the secret on one line (RFC 6749 A.2)",
                mend: "remove the line ends from the file"
            )
        }
        let method = tree.text("client_authentication").flatMap(ClientAuthenticationMethod.init(rawValue:))
        self.checkAuthentication(tree, method, key: key)
        guard let id = tree.text("client_id") ?? (tree["client_id"] == nil ? id : nil) else { return nil }
        return ProviderClientSettings(id: id, secret: secret, privateKey: privateKey, method: method)
    }

    /// Refuses both a secret and a key where no method says which of them counts.
    private mutating func checkAuthentication(
        _ tree: SettingsTree,
        _ method: ClientAuthenticationMethod?,
        key: String
    ) {
        if let method {
            let names = AuthenticationKeys(method: "client_authentication", keyFile: "client_key_file")
            return self.checkAuthentication(method, names, of: tree, key: key)
        }
        guard tree["client_secret_file"] != nil, let origin = tree["client_key_file"]?.origin else { return }
        self.report(
            origin,
            "\(key).client_key_file",
            found: "both client_key_file and client_secret_file",
            allowed: "one of the two",
            mend: "remove the one that the provider does not ask for"
        )
    }

    /// The names of the keys by which a mapping says how its client proves itself, besides `client_secret_file`.
    struct AuthenticationKeys {
        let method: String
        let keyFile: String
    }

    /// Refuses a secret or key that the method does not use, and a method without what it needs.
    mutating func checkAuthentication(
        _ method: ClientAuthenticationMethod,
        _ names: AuthenticationKeys,
        of tree: SettingsTree,
        key: String
    ) {
        let needed: String? =
            switch method {
            case .basic, .post: "client_secret_file"
            case .privateKeyJWT: names.keyFile
            case .none: nil
            }
        let origin = tree[names.method]?.origin ?? tree.origin
        if let needed, tree[needed] == nil, !self.isPartial {
            self.report(
                origin,
                "\(key).\(names.method)",
                found: "\(method.rawValue) without \(needed)",
                allowed: "\(method.rawValue) with \(needed)",
                mend: "add \(needed), or remove \(names.method)"
            )
        }
        for name in ["client_secret_file", names.keyFile] where name != needed {
            guard let given = tree[name] else { continue }
            self.report(
                given.origin,
                "\(key).\(name)",
                found: "\(name), but \(names.method) is \(method.rawValue)",
                allowed: needed.map { "\($0) only" } ?? "neither client_secret_file nor \(names.keyFile)",
                mend: "remove it, or write another \(names.method)"
            )
        }
    }

    /// The content of a PEM file with a private key.
    private mutating func privateKey(_ name: String, of tree: SettingsTree, key: String) -> Secret? {
        guard let setting = tree[name], let pem = self.secret(name, of: tree, key: key, minBytes: 1) else { return nil }
        guard let fault = self.judges.privateKey(pem) else { return pem }
        self.report(
            setting.origin,
            key,
            found: "a file that cannot be used: \(fault)",
            allowed: "a PEM file with a private key without a passphrase",
            mend: "make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"
        )
        return nil
    }

    // MARK: What it asks for

    /// - Parameter section: The keys of the provider.
    mutating func setAuthorization(
        _ authorization: inout AuthorizationSettings,
        _ tree: SettingsTree,
        _ section: Section,
        key: String
    ) {
        tree.set(section, in: &authorization)
        for (name, setting) in tree.tree("acr_values")?.entries ?? [] {
            guard case .text(let values) = setting.value else { continue }
            authorization.acrValues[AssuranceLevel(named: name)] = values
        }
        for (name, setting) in tree.tree("parameters")?.entries ?? [] {
            if let instead = Self.ownParameters[name.asciiLowercased] {
                self.report(
                    setting.origin,
                    "\(key).parameters.\(name)",
                    found: "a parameter that the gateway sets itself",
                    allowed: "parameters that only the provider defines",
                    mend: "remove it: \(instead)"
                )
            }
            guard case .text(let value) = setting.value else { continue }
            authorization.parameters.append(AuthorizationSettings.Parameter(name: name, value: value))
        }
    }

    // MARK: What its answers mean

    /// - Parameter key: That of the provider.
    mutating func claims(of provider: SettingsTree, key: String) -> ClaimSettings {
        var claims = ClaimSettings()
        guard let tree = provider.tree("claims") else { return claims }
        let key = "\(key).claims"
        if let subject = tree.text("subject").flatMap(ClaimSettings.path) { claims.subject = subject }
        for (name, setting) in tree.tree("traits")?.entries ?? [] {
            guard case .text(let text) = setting.value, let trait = ClaimSettings.Trait(name: name, at: text) else {
                continue
            }
            claims.traits.removeAll { $0.name == name }
            claims.traits.append(trait)
        }
        for (name, setting) in tree.tree("text_lists")?.entries ?? [] {
            guard case .text(let text) = setting.value else { continue }
            guard let index = claims.traits.firstIndex(where: { $0.name == name }) else {
                self.report(
                    setting.origin,
                    "\(key).text_lists.\(name)",
                    found: "a trait that is not there",
                    allowed: alternatives(claims.traits.map(\.name)),
                    mend: "add it to traits, or correct the name"
                )
                continue
            }
            claims.traits[index].textList = ClaimSettings.TextListForm(rawValue: text)
        }
        claims.groupsOnly = self.someTexts("groups_only", of: tree, key: key) ?? []
        for claim in ClaimSettings.Level.Claim.allCases {
            for (value, setting) in tree.tree(claim.rawValue)?.entries ?? [] {
                guard case .text(let level) = setting.value else { continue }
                claims.levels.append(
                    ClaimSettings.Level(claim: claim, value: value, level: AssuranceLevel(named: level))
                )
            }
        }
        return claims
    }

    mutating func admission(_ provider: SettingsTree, key: String) -> AdmissionSettings {
        var allow = AdmissionSettings()
        guard let tree = provider.tree("allow") else { return allow }
        let key = "\(key).allow"
        allow.emails = self.someTexts("emails", of: tree, key: key) ?? []
        allow.emailDomains = self.someTexts("email_domains", of: tree, key: key) ?? []
        allow.groups = self.someTexts("groups", of: tree, key: key) ?? []
        if tree.entries.isEmpty, !self.isPartial {
            self.report(
                tree.origin,
                key,
                found: "an empty mapping",
                allowed: "one or more of emails, email_domains and groups",
                mend: "add one, or remove allow to admit everybody whom the provider knows"
            )
        }
        return allow
    }

    /// The texts of a list, which may not be empty: that could mean everything or nothing.
    mutating func someTexts(_ name: String, of tree: SettingsTree, key: String) -> [String]? {
        guard let texts = tree.texts(name), let origin = tree[name]?.origin else { return nil }
        if texts.isEmpty, !self.isPartial {
            self.report(
                origin,
                "\(key).\(name)",
                found: "an empty list",
                allowed: "one element or more",
                mend: "add an element, or remove the key"
            )
        }
        if let index = texts.indices.first(where: { texts[..<$0].contains(texts[$0]) }) {
            self.report(
                origin,
                "\(key).\(name)[\(index)]",
                found: "\(quoted(texts[index])) a second time",
                allowed: "each element once",
                mend: "remove one"
            )
        }
        return texts
    }

    /// Reports required keys that neither the file nor a variable has.
    mutating func reportMissingKeys(of tree: SettingsTree, in section: Section, key: String) {
        for entry in section.keys where entry.isRequired && tree[entry.name] == nil {
            self.reportMissing(
                tree.origin,
                "\(key).\(entry.name)",
                entry.kind.allowed,
                "add the key \(entry.name)\(entry.environmentName.map { " (\($0))" } ?? ""): \(entry.purpose)"
            )
        }
    }
}
