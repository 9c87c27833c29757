import Pages
import Settings
import Testing
import Vocabulary

@Suite("Several providers on one host") struct HostProvidersTests {
    private static func file(
        _ hosts: String =
            "{public_url: https://app.example.com, endpoints: true, providers: [google, staff], routes: [{path: /**}]}",
        clients: String = "[{client_id: app}]",
        ids: String = "ada",
        route: String = ""
    ) -> String {
        """
        upstream: http://127.0.0.1:3000
        hosts:
          - \(hosts)
        \(route)
        clients: \(clients)
        providers:
          - name: staff
            label: Company account
            static: {users: [{identifier: ada, id: "\(ids)", password_hash: "\(passwordHash)"}]}
          - {name: google, oidc: {issuer: "https://accounts.google.com", client_id: a, client_authentication: none}}
          - name: partner
            oidc: {issuer: "https://id.example.com", client_id: a, client_authentication: none}

        """
    }

    private static let three = """
        {public_url: https://one.example.com, endpoints: true, providers: [google], routes: [{path: /**}]}
          - {public_url: https://app.example.com, endpoints: true, providers: [staff, google], routes: [{path: /**}]}
          - {public_url: https://far.example.com, endpoints: true, provider: partner, routes: [{path: /**}]}
          - {public_url: https://twin.example.com, providers: [google, staff], routes: [{path: /**}]}
        """

    @Test("A host has them in its order, and hosts with the same ones share their endpoints, clients and issuer")
    func groups() throws {
        let clients = "[{client_id: app}, {client_id: far, provider: partner}, {client_id: g, providers: [google]}]"
        let settings = try SettingsBench().load(Self.file(Self.three, clients: clients)).get().settings
        #expect(
            settings.hosts.map(\.providers) == [["google"], ["staff", "google"], ["partner"], ["google", "staff"]]
        )
        #expect(settings.clients.map(\.providers) == [["staff", "google"], ["partner"], ["google"]])
        #expect(settings.groups.map(\.providers) == settings.hosts.map(\.providers))
        let groups = settings.groups.map(\.settings)
        #expect(groups.map { $0.providers.map(\.name) } == settings.hosts.map(\.providers))
        #expect(groups.map { $0.clients.map(\.clientID) } == [["app", "g"], ["app", "g"], ["far"], ["app", "g"]])
        // The one of the connected hosts with endpoints that has the most.
        let (app, far) = ("https://app.example.com", "https://far.example.com")
        #expect(groups.map(\.issuer) == [app, app, far, app])
        #expect(["staff", "google", "partner"].map { settings.issuer(of: $0) } == [app, app, far])
        let choices = groups[1].exchange.providers
        #expect(choices.map(\.id) == ["staff", "google"] && choices.map(\.label) == ["Company account", "Google"])
        #expect(groups[1].exchange.directChoices == ["staff", "google"] && groups[2].exchange.directChoices.isEmpty)
        #expect(groups[2].exchange.providers.map(\.id) == ["oidc"])
        let hosts = SignInHosts(settings.hosts)
        #expect(hosts.signInHost(of: "twin.example.com")?.authority == "app.example.com")
        #expect(settings.hosts(sharing: settings.groups[0]).map(\.publicURL.host).count == 3)
    }

    @Test("Users of a provider that has company are named by it, but for those of the first of all")
    func names() throws {
        let settings = try SettingsBench().load(Self.file(Self.three)).get().settings
        guard let google = settings.provider(named: "google") as? OpenIDSettings,
            let partner = settings.provider(named: "partner") as? OpenIDSettings,
            let users = (settings.provider(named: "staff") as? FixedUsersSettings)?.users
        else {
            Issue.record("other kinds of providers")
            return
        }
        #expect(google.names.name(of: "7") == "google|7" && Realm("google").ownID(of: "google|7") == "7")
        #expect(partner.names.name(of: "7") == "7" && users.map(\.id) == ["ada"])
        // Nobody else is taken for one of them.
        #expect(partner.names.name(of: "google|7") == nil && partner.names.name(of: "google7") == "google7")
        #expect(google.names.name(of: "google|7") == "google|google|7")
        // Behind the mark, a combining character makes another character of its end.
        for mark in ["\u{301}", "\u{338}", "\u{200D}", "\u{FE0F}", "\u{E0001}"] {
            let (id, name) = ("\(mark)7", "google|\(mark)7")
            #expect(google.names.name(of: id) == name && partner.names.name(of: name) == nil)
            #expect(Realm("google").ownID(of: name).unicodeScalars.elementsEqual(id.unicodeScalars))
        }
        let alone = try SettingsBench().load(
            Self.file("{public_url: https://app.example.com, provider: google, routes: [{path: /**}]}")
        ).get().settings
        guard let lone = alone.provider(named: "google") as? OpenIDSettings else { return }
        #expect(
            lone.names.name(of: "7") == "7" && lone.names.name(of: "staff|7") == "staff|7" && lone.names.marks == []
        )
    }

    @Test("Each has a button: its label, else what people call it, else its name")
    func buttons() throws {
        let settings = try SettingsBench().load(Self.file(Self.three)).get().settings
        #expect(settings.providers.map(\.button.label) == ["Company account", "Google", "Partner"])
        #expect(settings.providers[1].button.html(leadingTo: "/a", text: "x").contains("<svg"))
        #expect(settings.providers[2].button.html(leadingTo: "/a?b&c", text: "<b>").contains("href=\"/a?b&amp;c\""))
        #expect(settings.providers[2].button.html(leadingTo: "/a", text: "<b>").contains("&lt;b&gt;"))
    }

    @Test(
        "What cannot work is refused, with its place",
        arguments: [
            (
                Self.file("{public_url: https://a.example.com, providers: [google, x], routes: [{path: /**}]}"),
                "hosts[0].providers[1]", "not in providers"
            ),
            (
                Self.file("{public_url: https://a.example.com, providers: [staff, staff], routes: [{path: /**}]}"),
                "hosts[0].providers[1]", "a second time"
            ),
            (
                Self.file("{public_url: https://a.example.com, providers: [], routes: [{path: /**}]}"),
                "hosts[0].providers", "one or more"
            ),
            (
                Self.file(
                    "{public_url: https://a.example.com, provider: staff, providers: [google], routes: [{path: /**}]}"
                ),
                "hosts[0].providers", "either one provider"
            ),
            (
                Self.file(clients: "[{client_id: a, providers: [staff, x]}]"), "clients[0].providers[1]",
                "not in providers"
            ),
            (Self.file(ids: "google|7"), "providers", "google|7"),
            (
                Self.file(
                    "{public_url: https://a.example.com, providers: [google, staff], routes: [{path: /**, require: {provider: [staff, partner]}}]}"
                ),
                "hosts[0].routes[0].require.provider[1]", "not a provider of the host"
            ),
            (
                Self.file(
                    "{public_url: https://a.example.com, providers: [google], routes: [{path: /**, require: {provider: []}}]}"
                ),
                "hosts[0].routes[0].require.provider", "one provider or more"
            ),
        ]
    )
    func refused(file: String, key: String, words: String) {
        let problems = SettingsBench().problems(file)
        let problem = problems.first { $0.key == key }
        #expect(problem?.line != nil && problem?.column != nil, "\(problems)")
        #expect("\(problem.map { "\($0)" } ?? "")".contains(words), "\(problems)")
    }

    private static let hostWithAll = "{public_url: https://a.example.com, endpoints: true, providers: [google, staff], "

    private static func file(domains: String, of provider: String = "google", order: String = "") -> String {
        let issuer = provider == "google" ? "https://accounts.google.com" : "https://id.example.com"
        let hosts = Self.hostWithAll.replacing("staff]", with: "staff, partner]") + "\(order)routes: [{path: /**}]}"
        return Self.file(hosts).replacing(
            "{issuer: \"\(issuer)\"",
            with: "{domains: \(domains), issuer: \"\(issuer)\""
        )
    }

    @Test("Domains lead to a provider, in lower case, and a host may ask for the address first")
    func domains() throws {
        let first = "sign_in: identifier_first, "
        let file = Self.file(domains: "[Example.COM, xn--bcher-kva.example]", order: first)
        let settings = try SettingsBench().load(file).get().settings
        #expect(settings.providers[1].domains == ["example.com", "xn--bcher-kva.example"])
        #expect(settings.hosts[0].signIn == .identifierFirst)
        #expect(try SettingsBench().load(Self.file()).get().settings.hosts[0].signIn == .choose)
        let alone = Self.file("{public_url: https://a.example.com, provider: google, routes: [{path: /**}]}")
            .replacing("{issuer: \"https://acc", with: "{domains: [example.com], issuer: \"https://acc")
        let warnings = try SettingsBench().load(alone).get().warnings
        #expect(warnings.contains { $0.contains("oidc.domains has no effect") }, "\(warnings)")
    }

    @Test(
        "Domains and an order of signing in that cannot work are refused, with their place",
        arguments: [
            (Self.file(domains: "[]"), "providers[1].oidc.domains", "empty list"),
            (Self.file(domains: "[\"*\"]"), "providers[1].oidc.domains[0]", "any other address"),
            (Self.file(domains: "[bücher.example]"), "providers[1].oidc.domains[0]", "punycode"),
            (Self.file(domains: "[ada@example.com]"), "providers[1].oidc.domains[0]", "follows the @"),
            (
                Self.file(domains: "[example.com]").replacing(
                    "{issuer: \"https://id",
                    with: "{domains: [EXAMPLE.com], issuer: \"https://id"
                ), "providers[2].oidc.domains[0]", "google also has"
            ),
            (
                Self.file("{public_url: https://a.example.com, sign_in: identifier_first, routes: [{path: /**}]}"),
                "hosts[0].sign_in", "one provider"
            ),
            (
                Self.file(Self.hostWithAll + "sign_in: identifier_first, routes: [{path: /**}]}"), "hosts[0].sign_in",
                "no provider of the host has domains"
            ),
            (
                Self.file(domains: "[example.com]", order: "sign_in: identifier_first, ").replacing(
                    "endpoints: true",
                    with: "endpoints: false"
                ), "hosts[0].sign_in", "without endpoints"
            ),
            (Self.file(Self.hostWithAll + "sign_in: first, routes: [{path: /**}]}"), "hosts[0].sign_in", "first"),
        ]
    )
    func refusedOrders(file: String, key: String, words: String) {
        let problems = SettingsBench().problems(file)
        let problem = problems.first { $0.key == key }
        #expect(problem?.line != nil && problem?.column != nil, "\(problems)")
        #expect("\(problem.map { "\($0)" } ?? "")".contains(words), "\(problems)")
    }

    private static func linked(_ accounts: String, trusted: [String] = ["google", "partner"]) -> String {
        var file = Self.file(Self.hostWithAll.replacing("staff]", with: "staff, partner]") + "routes: [{path: /**}]}")
        for (name, issuer) in [("google", "https://accounts.google.com"), ("partner", "https://id.example.com")]
        where trusted.contains(name) {
            file = file.replacing("{issuer: \"\(issuer)\"", with: "{trusted_email: true, issuer: \"\(issuer)\"")
        }
        return file + accounts + "\n"
    }

    private static var keyed: SettingsBench {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/accounts.key"] = Array("0123456789abcdef0123456789abcdef\n".utf8)
        bench.files["/etc/sallyport/short.key"] = Array("0123456789abcdef\n".utf8)
        return bench
    }

    @Test("Users are linked where a key and trusted providers are written, and check warns of what that means")
    func accounts() throws {
        let link = "accounts: {link: verified_email, key_file: /etc/sallyport/accounts.key}"
        let loaded = try Self.keyed.load(Self.linked(link)).get()
        #expect(loaded.settings.accounts.linkKey != nil)
        #expect(loaded.settings.providers.map(\.trustsEmail) == [false, true, true])
        #expect(loaded.warnings.contains { $0.contains("accounts.link") && $0.contains("google, partner") })
        let one = try Self.keyed.load(Self.linked(link, trusted: ["google"])).get()
        #expect(
            one.warnings.contains { $0.contains("only google has trusted_email") && $0.contains("are acc_...") },
            "\(one.warnings)"
        )
        let none = try Self.keyed.load(Self.linked(link, trusted: [])).get()
        #expect(none.warnings.contains { $0.contains("links nobody: no provider has") }, "\(none.warnings)")
        let keyOnly = try Self.keyed.load(Self.linked("accounts: {key_file: /etc/sallyport/accounts.key}", trusted: []))
            .get()
        #expect(keyOnly.warnings.contains { $0.contains("accounts.key_file links nobody") }, "\(keyOnly.warnings)")
        let off = try Self.keyed.load(Self.linked("accounts: {link: none, key_file: /etc/sallyport/accounts.key}"))
            .get()
        #expect(off.settings.accounts.linkKey == nil)
        #expect(off.warnings.contains { $0.contains("google does nothing without accounts.link") }, "\(off.warnings)")
        for (accounts, key) in [
            ("accounts: {link: verified_email}", "accounts.key_file"),
            ("accounts: {link: verified_email, key_file: /etc/sallyport/short.key}", "accounts.key_file"),
            ("accounts: {link: email}", "accounts.link"),
        ] {
            let problems = Self.keyed.problems(Self.linked(accounts))
            #expect(problems.contains { $0.key == key }, "\(accounts): \(problems)")
        }
    }

    @Test(
        "An address for which the provider does not vouch neither links nor admits, and the mend is said",
        arguments: [
            ("email: preferred_username", "", "traits.email", "remove email"),
            ("email: mail, email_verified: mail_checked", "", "traits.email", "remove email"),
            ("email_verified: user.email_verified", "", "traits.email_verified", "remove email"),
            ("email: preferred_username", "emails: [ada@example.com]", "allow.emails", "allow.groups"),
            ("email: preferred_username", "email_domains: [example.com]", "allow.email_domains", "allow.groups"),
            ("email: mail, email_verified: mail_checked", "email_domains: [example.com]", nil, ""),
            ("email: preferred_username", "groups: [staff]", nil, ""), ("email_verified: checked", "", nil, ""),
            ("email: user.email, email_verified: user.email_verified", "", nil, ""),
        ] as [(String, String, String?, String)]
    )
    func vouching(traits: String, allow: String, key: String?, fix: String) throws {
        let link = "accounts: {link: verified_email, key_file: /etc/sallyport/accounts.key}"
        let more = allow.isEmpty ? "trusted_email: true" : "allow: {\(allow)}"
        let file = Self.linked(link, trusted: ["partner"]).replacing(
            "{issuer: \"https://accounts.google.com\"",
            with: "{claims: {traits: {\(traits)}}, \(more), issuer: \"https://accounts.google.com\""
        )
        let problems = Self.keyed.problems(file)
        let path = "providers[1].oidc." + (key.map { $0.hasPrefix("traits") ? "claims.\($0)" : $0 } ?? "")
        #expect(problems.map(\.key) == (key == nil ? [] : [path]), "\(problems)")
        guard key != nil else { return }
        #expect(problems.first?.line != nil && problems.first?.column != nil)
        #expect("\(problems)".contains(fix), "\(problems)")
    }

    @Test("A kit without a listed provider is refused where it matters at which provider a user is")
    func kits() throws {
        let kit = "\nnative_social: {google: {audiences: [app], issuers: [https://kit.example.com]}}"
        let link = "accounts: {link: verified_email, key_file: /etc/sallyport/accounts.key}"
        let linked = Self.keyed.problems(Self.linked(link + kit))
        #expect(linked.contains { $0.key == "native_social.google" }, "\(linked)")
        let hosts = "{public_url: https://a.example.com, endpoints: true, providers: [google, staff], "
        for (require, isRefused) in [("require: {provider: staff}", true), ("auth: required", false)] {
            let file = Self.file(hosts + "routes: [{path: /**, \(require)}]}") + kit + "\n"
            let problems = SettingsBench().problems(file)
            #expect(problems.contains { $0.key == "native_social.google" } == isRefused, "\(problems)")
        }
    }

    @Test("A kit signs in the users of the provider that its iss names, and nobody has the name of a kit's user")
    func kitIssuers() throws {
        func kit(_ issuers: String) -> String { "\nnative_social: {google: {audiences: [app]\(issuers)}}\n" }
        let hosts = "{public_url: https://a.example.com, endpoints: true, providers: [staff, google, partner], "
        let file = Self.file(hosts + "routes: [{path: /**, auth: required}]}")
        let both = ", issuers: [https://accounts.google.com, https://id.example.com, https://kit.example.com]"
        let owners = try SettingsBench().load(file + kit(both)).get().settings.groups[0].socialOwners
        #expect(
            owners.mapValues(\.name) == ["https://accounts.google.com": "google", "https://id.example.com": "partner"]
        )
        let usual = try SettingsBench().load(file + kit("")).get().settings.groups[0].socialOwners
        #expect(usual.mapValues(\.name) == ["https://accounts.google.com": "google", "accounts.google.com": "google"])
        // An issuer that nobody has is no less refused for another one that somebody has.
        let demanding = file.replacing("auth: required", with: "require: {provider: staff}")
        let problems = SettingsBench().problems(demanding + kit(both))
        #expect(problems.map(\.key) == ["native_social.google"])
        #expect("\(problems)".contains("issuer https://kit.example.com"), "\(problems)")
        // A host that has no provider with the issuer does not take the kit as a user of the first there.
        let alone = "{public_url: https://b.example.com, endpoints: true, provider: staff, routes: [{path: /**}]}"
        let lone = demanding.replacing("hosts:\n", with: "hosts:\n  - \(alone)\n")
        let groups = try SettingsBench().load(lone + kit("")).get().settings.groups
        #expect(groups.map { $0.settings.nativeSocial == nil } == [true, false])
        // Names of users: "google-oauth2|7" would be a user of the provider and another one of the kit.
        let twin = file.replacing("name: partner", with: "name: google-oauth2")
            .replacing(", partner]", with: ", google-oauth2]")
        let taken = SettingsBench().problems(twin + kit(", issuers: https://kit.example.com"))
        #expect(taken.map(\.key) == ["providers[2].name"], "\(taken)")
        #expect(taken.first?.line != nil && "\(taken)".contains("choose another name"))
        #expect(SettingsBench().problems(twin + kit(", issuers: https://id.example.com")).isEmpty)
        #expect(SettingsBench().problems(twin).isEmpty)
    }

    @Test("A route may demand some of the host's providers, and check prints it")
    func demands() throws {
        let hosts = "{public_url: https://a.example.com, endpoints: true, providers: [google, staff], "
        let file = Self.file(hosts + "routes: [{path: /**, require: {provider: staff, aal: aal2}}]}")
        let settings = try SettingsBench().load(file).get().settings
        #expect(settings.hosts[0].routes[0].require.providers == ["staff"])
        #expect(settings.hosts[0].routes[0].require.written == "provider: [staff], aal: aal2")
    }
}
