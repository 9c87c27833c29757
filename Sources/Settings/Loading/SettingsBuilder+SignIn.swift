import Vocabulary

/// The choice among several providers at sign-in, and the linking of their users.
extension SettingsBuilder {
    /// Reports a domain of two providers that share a host, and warns of domains without effect.
    ///
    /// - Parameter trees: The mappings of the providers, in any order.
    mutating func checkDomains(_ providers: [NamedProvider], _ trees: [SettingsTree]) {
        let hosts = self.hostProviders.filter { $0.count > 1 }
        for (index, provider) in providers.enumerated() where !provider.domains.isEmpty && !self.isPartial {
            let tree = trees.first { $0.text("name") == provider.name } ?? trees.first
            guard let section = tree?.entries.map(\.name).first(where: { ProviderKind.named($0) != nil }),
                let place = tree?.tree(section)?.place(of: "domains")
            else { continue }
            let company = hosts.filter { $0.contains(provider.name) }
            if company.isEmpty {
                self.warnings.append("\(place.key) has no effect: no host has this provider together with another one")
            } else if !provider.settings.signsIn {
                self.report(
                    place,
                    found: "domains of a provider where nobody can sign in",
                    allowed: "domains at the provider where these users sign in",
                    fix: "remove them"
                )
            }
            for (element, domain) in provider.domains.enumerated() {
                let twin = providers[..<index].first { other in
                    other.domains.contains(domain) && company.contains { $0.contains(other.name) }
                }
                guard let twin else { continue }
                self.report(
                    place.element(element),
                    found: "\(quoted(domain)), which \(twin.name) also has",
                    allowed: "each domain at one provider of a host",
                    fix: "remove one"
                )
            }
        }
    }

    /// Reports `sign_in: identifier_first` on a host where the user's address cannot decide the provider.
    mutating func checkSignInOrder(of host: HostSettings, _ tree: SettingsTree) {
        guard host.signIn == .identifierFirst, !self.isPartial else { return }
        let place = tree.place(of: "sign_in")
        if host.providers.count < 2 {
            self.report(
                place,
                found: "identifier_first on a host with one provider",
                allowed: "identifier_first on a host with several providers: users go straight to a single one",
                fix: "remove it, or list several providers"
            )
        } else if !host.endpoints {
            self.report(
                place,
                found: "identifier_first on a host without endpoints",
                allowed: "identifier_first on the host with endpoints: true where the users of this host sign in",
                fix: "move it to that host"
            )
        } else if !self.hasDomains(host.providers) {
            self.report(
                place,
                found: "identifier_first, but no provider of the host has domains",
                allowed: "identifier_first if an address can determine the provider",
                fix: "write domains at a provider, e.g. oidc: {domains: [example.com]}"
            )
        }
    }

    private func hasDomains(_ names: [String]) -> Bool {
        self.tree.trees("providers").contains { provider in
            guard let name = provider.text("name"), names.contains(name) else { return false }
            return provider.entries.contains { kind in
                ProviderKind.named(kind.name) != nil
                    && provider.tree(kind.name)?.texts("domains")?.isEmpty == false
            }
        }
    }

    /// Returns the providers that own a kit's users: those that have one of the kit's issuers and share a host with
    /// another provider. Also returns the kit's issuers without an owner.
    private func kitOwners(of login: SocialLogin) -> (names: [String], others: [String]) {
        let kit = self.tree.tree("native_social")?.tree(login.rawValue)
        let issuers: [String] =
            switch login {
            case .google: kit?.texts("issuers") ?? GoogleSettings.issuers
            case .apple: [kit?.text("issuer") ?? AppleSettings.issuer]
            case .facebook: []
            }
        let hosts = self.hostProviders.filter { $0.count > 1 }
        let owners = self.tree.trees("providers").compactMap { provider -> (name: String, issuer: String)? in
            guard let name = provider.text("name"), let issuer = provider.tree("oidc")?.text("issuer"),
                hosts.contains(where: { $0.contains(name) })
            else { return nil }
            return (name, issuer)
        }
        func owns(_ own: String, _ issuer: String) -> Bool { NativeSocialSettings.isSame(issuer, own) }
        return (
            owners.filter { owner in issuers.contains { owns(owner.issuer, $0) } }.map(\.name),
            issuers.filter { issuer in !owners.contains { owns($0.issuer, issuer) } }
        )
    }

    /// Returns the providers whose users the kit signs in. Users without an owner belong to the first provider.
    func providers(ofKit login: SocialLogin) -> [String] {
        let (names, others) = self.kitOwners(of: login)
        return names.isEmpty || !others.isEmpty ? names + self.firstProvider : names
    }

    /// If `separatesProviderUsers`, reports kits whose users would pass as users of the first provider. Also reports
    /// providers whose users could get the ids of a kit's users.
    mutating func checkKits(_ settings: Settings) {
        guard let kits = self.tree.tree("native_social") else { return }
        for login in SocialLogin.allCases where kits[login.rawValue] != nil {
            let (names, others) = self.kitOwners(of: login)
            if names.isEmpty || !others.isEmpty, settings.separatesProviderUsers {
                let issuers = names.isEmpty ? "issuer" : "issuer \(others.joined(separator: ", "))"
                self.report(
                    kits.place(of: login.rawValue),
                    found: "a kit whose \(issuers) no provider has that shares a host with others",
                    allowed:
                        "a kit with the issuer of a listed provider, if routes require a provider or accounts are linked",
                    fix: "list a provider with the kit's issuer among the host's providers, or remove the kit"
                )
            }
            let twin = self.prefixedProviders.first { name in
                name == login.connection && (!names.contains(name) || !others.isEmpty)
            }
            guard let twin, let tree = self.tree.trees("providers").first(where: { $0.text("name") == twin }) else {
                continue
            }
            self.report(
                tree.place(of: "name"),
                found: "\(quoted(twin)), with which the kit \(login.rawValue) of native_social names its users",
                allowed: "a different name beside other providers: users of both would be \(twin)|ID",
                fix: "choose another name, or give this provider the kit's issuer"
            )
        }
    }

    // MARK: Accounts

    /// Reports addresses that would be treated as verified although the provider verifies only another claim.
    ///
    /// - Parameter section: The keys of the provider.
    mutating func checkEmail(of provider: NamedProvider, _ section: SettingsTree) {
        guard let claims = provider.settings.claimMapping else { return }
        let address = ClaimSettings.text(of: claims.path(ofTrait: "email"))
        let verified = ClaimSettings.text(of: claims.path(ofTrait: "email_verified"))
        let written = section.tree("claims")
        if provider.trustsEmail, !claims.takesEmailItself {
            let traits = written?.tree("traits")
            let name = traits?["email"] == nil ? "email_verified" : "email"
            self.report(
                traits?.place(of: name) ?? section.place(of: "trusted_email"),
                found: "trusted_email with the address from \(quoted(address)), verified by \(quoted(verified))",
                allowed: "the claim email itself: the provider verifies no other claim (OpenID Connect Core 5.1)",
                fix: "remove email and email_verified from claims.traits, or remove trusted_email"
            )
        }
        guard !claims.vouchesForEmail, let allow = section.tree("allow") else { return }
        for name in ["emails", "email_domains"] where allow[name] != nil {
            self.report(
                allow.place(of: name),
                found: "addresses from \(quoted(address)), which \(quoted(verified)) does not verify",
                allowed: "addresses from the claim email, or from a claim that another claim verifies",
                fix:
                    "remove email from claims.traits, add the verifying claim there as email_verified, or use allow.groups"
            )
        }
    }

    /// Reads `accounts.key_file`. Warns of the effects of linking, and of keys without effect.
    mutating func setAccounts(_ accounts: inout AccountSettings, _ providers: [NamedProvider]) {
        let tree = self.tree.tree("accounts")
        if let tree { accounts.key = self.secret("key_file", of: tree, minBytes: 32) }
        let trusted = providers.filter(\.trustsEmail).map(\.name)
        guard accounts.link != .none, let tree else {
            if let tree, tree["link"] == nil, tree["key_file"] != nil {
                self.warnings.append(
                    "\(tree.place(of: "key_file").key) links nobody without accounts.link: verified_email"
                )
            }
            for name in trusted {
                self.warnings.append(
                    "trusted_email of the provider \(name) does nothing without accounts.link: verified_email"
                )
            }
            return
        }
        if tree["key_file"] == nil {
            self.reportMissing(
                tree.place(of: "key_file", or: "link"),
                "key_file: a file with 32 bytes or more",
                "make one, e.g. with openssl rand -base64 32, and keep it for good: with another key these users have other subjects"
            )
        }
        let place = tree.place(of: "link")
        guard let first = trusted.first else {
            self.warnings.append("\(place.key) links nobody: no provider has trusted_email: true")
            return
        }
        guard trusted.count > 1 else {
            self.warnings.append(
                "\(place.key): only \(first) has trusted_email: true; its users with a verified address are acc_... from now on, so "
                    + "that they stay who they are when another provider joins, and two of them with one address are one"
            )
            return
        }
        self.warnings.append(
            "\(place.key): anyone who gets an address confirmed at one of \(trusted.joined(separator: ", ")) is the user with that "
                + "address at all of them; each must verify addresses, and never give one to another user"
        )
    }
}
