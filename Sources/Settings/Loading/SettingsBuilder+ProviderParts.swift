import Vocabulary

extension SettingsBuilder {
    // MARK: The gateway as a client

    /// Parameters of authorization requests that `parameters` may not contain, and what to use instead (RFC 6749 4.1.1,
    /// RFC 7636 4.3, RFC 9101, RFC 9449 10, OpenID Connect Core 3.1.2.1).
    private static let ownParameters: [String: String] = [
        "client_id": "use client_id", "scope": "use scopes", "prompt": "use prompt",
        "max_age": "use provider.oidc.max_age", "acr_values": "use provider.oidc.acr_values",
        "redirect_uri": "the gateway sets it", "response_type": "the gateway sets it",
        "response_mode": "use provider.oidc.response_mode", "state": "the gateway sets it",
        "nonce": "the gateway sets it",
        "code_challenge": "the gateway sets it", "code_challenge_method": "the gateway sets it",
        "login_hint": "the gateway sets it", "id_token_hint": "the gateway sets it", "dpop_jkt": "the gateway sets it",
        "request": "request objects are not supported", "request_uri": "request objects are not supported",
        "client_secret": "use client_secret_file: a browser would see it here",
        "client_assertion": "use client_key_file: a browser would see it here",
    ]

    /// Builds the gateway's credentials at a provider; `nil` if the id is missing or was rejected.
    ///
    /// - Parameter id: The id to use if no id is written.
    mutating func providerClient(_ tree: SettingsTree, id: String? = nil) -> ProviderClientSettings? {
        let secret = self.secret("client_secret_file", of: tree)
        let privateKey = self.privateKey(tree)
        if let secret, secret.bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            self.report(
                tree.place(of: "client_secret_file"),
                found: "a secret with control characters",
                allowed: "a file with the secret on one line (RFC 6749 A.2)",
                fix: "remove the line ends from the file"
            )
        }
        let method = tree.text("client_authentication").flatMap(ClientAuthenticationMethod.init(rawValue:))
        self.checkAuthentication(tree, method)
        guard let id = tree.text("client_id") ?? (tree["client_id"] == nil ? id : nil) else { return nil }
        // With `lacksFiles`, there are no credentials for the method.
        let used = self.lacksFiles ? nil : method
        return ProviderClientSettings(id: id, secret: secret, privateKey: privateKey, method: used)
    }

    /// Checks the secret and the key against the method. Without a method, reports a mapping with both.
    private mutating func checkAuthentication(_ tree: SettingsTree, _ method: ClientAuthenticationMethod?) {
        if let method {
            let names = AuthenticationKeys(method: "client_authentication", keyFile: "client_key_file")
            return self.checkAuthentication(method, names, of: tree)
        }
        guard tree["client_secret_file"] != nil, tree["client_key_file"] != nil else { return }
        self.report(
            tree.place(of: "client_key_file"),
            found: "both client_key_file and client_secret_file",
            allowed: "one of the two",
            fix: "remove the one that the provider does not ask for"
        )
    }

    /// The keys of a mapping for client authentication, in addition to `client_secret_file`.
    struct AuthenticationKeys {
        let method: String
        let keyFile: String
    }

    /// Reports a secret or key that the method does not use, and a method without the secret or key that it needs.
    mutating func checkAuthentication(
        _ method: ClientAuthenticationMethod,
        _ names: AuthenticationKeys,
        of tree: SettingsTree
    ) {
        let needed: String? =
            switch method {
            case .basic, .post: "client_secret_file"
            case .privateKeyJWT: names.keyFile
            case .none: nil
            }
        if let needed, tree[needed] == nil, !self.isPartial {
            self.report(
                tree.place(of: names.method),
                found: "\(method.rawValue) without \(needed)",
                allowed: "\(method.rawValue) with \(needed)",
                fix: "add \(needed), or remove \(names.method)"
            )
        }
        for name in ["client_secret_file", names.keyFile] where name != needed && tree[name] != nil {
            self.report(
                tree.place(of: name),
                found: "\(name), but \(names.method) is \(method.rawValue)",
                allowed: needed.map { "\($0) only" } ?? "neither client_secret_file nor \(names.keyFile)",
                fix: "remove it, or write another \(names.method)"
            )
        }
    }

    /// Returns the content of the PEM file with a private key.
    private mutating func privateKey(_ tree: SettingsTree) -> Secret? {
        guard let pem = self.secret("client_key_file", of: tree) else { return nil }
        guard let fault = self.judges.privateKey(pem) else { return pem }
        self.report(
            tree.place(of: "client_key_file"),
            found: "a file that cannot be used: \(fault)",
            allowed: "a PEM file with a private key without a passphrase",
            fix: "make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"
        )
        return nil
    }

    // MARK: Authorization requests

    /// Sets the parts of authorization requests. `section` is the table of the provider's keys.
    mutating func setAuthorization(
        _ authorization: inout AuthorizationRequestSettings,
        _ tree: SettingsTree,
        _ section: Section
    ) {
        tree.set(section, in: &authorization)
        for (name, values) in tree.pairs("acr_values") { authorization.acrValues[AssuranceLevel(named: name)] = values }
        guard let parameters = tree.tree("parameters") else { return }
        for (name, setting) in parameters.entries {
            if let instead = Self.ownParameters[name.asciiLowercased] {
                self.report(
                    parameters.place(of: name),
                    found: "a parameter that the gateway sets itself",
                    allowed: "parameters that only the provider defines",
                    fix: "remove it: \(instead)"
                )
            }
            guard case .text(let value) = setting.value else { continue }
            authorization.parameters.append(AuthorizationRequestSettings.Parameter(name: name, value: value))
        }
    }

    // MARK: Claims

    mutating func claims(of provider: SettingsTree) -> ClaimSettings {
        var claims = ClaimSettings()
        guard let tree = provider.tree("claims") else { return claims }
        if let subject = tree.text("subject").flatMap(ClaimSettings.path) { claims.subject = subject }
        for (name, text) in tree.pairs("traits") {
            guard let trait = ClaimSettings.Trait(name: name, at: text) else { continue }
            claims.traits.removeAll { $0.name == name }
            claims.traits.append(trait)
        }
        let textLists = tree.tree("text_lists")
        for (name, text) in tree.pairs("text_lists") {
            if let index = claims.traits.firstIndex(where: { $0.name == name }) {
                claims.traits[index].textList = ClaimSettings.TextListForm(rawValue: text)
            } else if let place = textLists?.place(of: name) {
                self.report(
                    place,
                    found: "a trait that does not exist",
                    allowed: alternatives(claims.traits.map(\.name)),
                    fix: "add it to traits, or correct the name"
                )
            }
        }
        claims.groupsOnly = self.someTexts("groups_only", of: tree) ?? []
        for claim in ClaimSettings.Level.Claim.allCases {
            claims.levels += tree.pairs(claim.rawValue).map { value, level in
                ClaimSettings.Level(claim: claim, value: value, level: AssuranceLevel(named: level))
            }
        }
        return claims
    }

    mutating func admission(_ provider: SettingsTree) -> AdmissionSettings {
        var allow = AdmissionSettings()
        guard let tree = provider.tree("allow") else { return allow }
        allow.emails = self.someTexts("emails", of: tree) ?? []
        allow.emailDomains = self.someTexts("email_domains", of: tree) ?? []
        allow.groups = self.someTexts("groups", of: tree) ?? []
        if tree.entries.isEmpty, !self.isPartial {
            self.report(
                tree.place,
                found: "an empty mapping",
                allowed: "one or more of emails, email_domains and groups",
                fix: "add one, or remove allow to admit everybody whom the provider knows"
            )
        }
        return allow
    }

    /// Returns the texts of a list. Reports repeated texts, and an empty list, because it could mean all or none.
    mutating func someTexts(_ name: String, of tree: SettingsTree) -> [String]? {
        guard let texts = tree.texts(name) else { return nil }
        if texts.isEmpty, !self.isPartial {
            self.report(
                tree.place(of: name),
                found: "an empty list",
                allowed: "one element or more",
                fix: "add an element, or remove the key"
            )
        }
        if let index = texts.indices.first(where: { texts[..<$0].contains(texts[$0]) }) {
            self.report(
                tree.place(of: name).element(index),
                found: "\(quoted(texts[index])) a second time",
                allowed: "each element once",
                fix: "remove one"
            )
        }
        return texts
    }
}
