import Settings
import Testing
import Vocabulary

@Suite("The keys of providers")
struct ProviderTests {
    private static let issuer = "issuer: https://id.example.com"
    private static let secret = "client_secret_file: provider.secret"
    /// All that the providers need, without the closing brace.
    private static let oidc = "{oidc: {\(issuer), client_id: a, \(secret)"
    private static let oauth2 =
        "{oauth2: {name: hub, authorization_url: https://hub/a, token_url: https://hub/t, userinfo_url: https://hub/u, "
        + "client_id: a, \(secret), claims: {subject: id}"
    private static let introspection =
        "{introspection: {url: https://id.example.com/i, client_id: a, \(secret), audiences: [api]"

    private static func file(_ provider: String, _ keys: String = "", _ more: String = "") -> String {
        SettingsBench.file(provider: "\(provider)\(keys.isEmpty ? "" : ", \(keys)")}}", more)
    }

    /// Fails unless there is one problem, with this key, in the first or given line of the provider, and this mend.
    private func expect(_ text: String, _ key: String, _ fix: String = "", line: Int = 3) {
        let problems = SettingsBench().problems(text)
        #expect(problems.map(\.key) == [key], "\(problems)")
        #expect(problems.first?.line == line && problems.first?.column ?? 0 > 1, "\(problems)")
        #expect(problems.first?.fix.contains(fix) == true, "\(problems)")
        #expect(!SettingsFailure([]).description.contains(canary))
        #expect(!problems.description.contains(canary))
    }

    private func openID(_ keys: String) throws -> OpenIDSettings {
        guard
            let settings = try SettingsBench().load(Self.file(Self.oidc, keys)).get().settings.provider
                as? OpenIDSettings
        else { throw SettingsFailure([]) }
        return settings
    }

    // MARK: Which

    @Test("the smallest provider of each kind is accepted, with the documented defaults")
    func smallest() throws {
        let client = ProviderClientSettings(id: "a", secret: Secret(canary), method: .basic)
        let openID = OpenIDSettings(issuer: "https://id.example.com", client: client)
        #expect(try self.openID("") == openID)
        #expect(openID.authorization.scopes == ["openid", "profile", "email"])
        var oauth2 = OAuth2Settings(
            name: "hub",
            authorizationURL: "https://hub/a",
            tokenURL: "https://hub/t",
            userinfoURL: "https://hub/u",
            client: client
        )
        oauth2.claims.subject = ["id"]
        #expect(try SettingsBench().load(Self.file(Self.oauth2)).get().settings.provider as? OAuth2Settings == oauth2)
        let introspection = IntrospectionSettings(url: "https://id.example.com/i", client: client, audiences: ["api"])
        let loaded = try SettingsBench().load(Self.file(Self.introspection)).get()
        #expect(loaded.settings.provider as? IntrospectionSettings == introspection)
        #expect(!loaded.settings.provider!.signsIn)
    }

    @Test("of two providers the second is refused, with the place of the first")
    func exactlyOne() {
        let names = ["oidc", "oauth2", "introspection", "static"]
        for (first, second) in zip(names, names.dropFirst() + ["oidc"]) {
            let bodies = [
                "oidc": String(Self.oidc.dropFirst()), "oauth2": String(Self.oauth2.dropFirst()),
                "introspection": String(Self.introspection.dropFirst()),
                "static": "static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]",
            ]
            let text = SettingsBench.file(provider: "{\(bodies[first]!)}, \(bodies[second]!)}}")
            self.expect(text, "provider.\(second)", "remove one: the other is at \(SettingsBench.path):3:")
        }
    }

    @Test(
        "required keys are told where the provider stands",
        arguments: [
            (oidc, "provider.oidc", ["issuer", "client_id"]),
            (
                oauth2, "provider.oauth2",
                ["name", "authorization_url", "token_url", "userinfo_url", "client_id", "claims"]
            ),
            (introspection, "provider.introspection", ["url", "client_id", "audiences"]),
        ]
    )
    func required(provider: String, key: String, names: [String]) {
        for name in names {
            let text = Self.file(provider).replacing(" \(name): ", with: " x\(name): ").replacing(
                "{\(name): ",
                with: "{x\(name): "
            )
            let problems = SettingsBench().problems(text)
            #expect(problems.contains { $0.key == "\(key).\(name)" && $0.found == "nothing" }, "\(name): \(problems)")
        }
    }

    @Test("without endpoints on any host a provider that sends browsers back is refused, and introspection is not")
    func needsEndpoints() throws {
        func hosts(_ provider: String, _ endpoints: Bool) -> String {
            "provider: \(provider)}}\nhosts: [{public_url: https://a.example, endpoints: \(endpoints), "
                + "routes: [{upstream: http://127.0.0.1:1}]}]\n"
        }
        for (provider, name) in [(Self.oidc, "oidc"), (Self.oauth2, "oauth2")] {
            self.expect(hosts(provider, false), "provider.\(name)", "endpoints: true", line: 1)
            #expect(SettingsBench().problems(hosts(provider, true)).isEmpty)
        }
        let warnings = try SettingsBench().load(hosts(Self.introspection, false)).get().warnings
        #expect(warnings.filter { !$0.hasPrefix("trusted_proxies") } == [])
    }

    @Test("a route may not send browsers to a login that does not exist")
    func noLogin() {
        let text = Self.file(Self.introspection, "", "routes: [{unauthenticated: login}]\n")
        self.expect(text, "routes[0].unauthenticated", "remove it", line: 4)
        #expect(
            SettingsBench().problems(Self.file(Self.introspection, "", "routes: [{unauthenticated: auto}]\n")).isEmpty
        )
    }

    // MARK: URLs

    @Test(
        "an issuer is kept byte for byte",
        arguments: [
            "https://id.example.com", "https://id.example.com/", "https://ID.example.com:443/realms/Main",
            "https://id.example.com//x/",
            "http://localhost:8080/a", "http://127.0.0.1", "http://[::1]:8080", "https://[2001:db8::1]/x",
            "https://login.microsoftonline.com/8f5b0f0e-6c0f-4a53-9d0e-1c1f8f1f6a01/v2.0",
        ]
    )
    func issuers(text: String) throws {
        let provider = "{oidc: {issuer: \"\(text)\", client_id: a, \(Self.secret)"
        guard let settings = try SettingsBench().load(Self.file(provider)).get().settings.provider as? OpenIDSettings
        else {
            Issue.record("no provider")
            return
        }
        #expect(settings.issuer == text)
    }

    @Test(
        "what cannot be an issuer is refused with what to change",
        arguments: [
            ("http://id.example.com", "write https"), ("http://localhost.example.com", "write https"),
            ("http://app.localhost", "write https"), ("http://10.0.0.1", "write https"),
            ("id.example.com", "begin with https://"), ("ftp://id.example.com", "begin with https://"),
            ("HTTPS://id.example.com", "begin with https://"), ("https://id.example.com?x=1", "remove the query"),
            ("https://id.example.com/#a", "remove the fragment"), ("https://u:p@id.example.com", "leave out the user"),
            ("https://id.example.com/.well-known/openid-configuration", "remove /.well-known/openid-configuration"),
            ("https://", "write a host name"), ("https://a b", "visible ASCII"), ("https://ä.example", "visible ASCII"),
            ("https://id.example.com:0", "a port"), ("https://id.example.com:x", "a port"),
            ("https://id.example.com\\\\@evil", "visible ASCII"),
        ]
    )
    func badIssuers(text: String, fix: String) {
        self.expect(
            Self.file("{oidc: {issuer: \"\(text)\", client_id: a, \(Self.secret)"),
            "provider.oidc.issuer",
            fix
        )
    }

    @Test("endpoints may have a query, and are https but on loopback")
    func endpoints() {
        for name in ["authorization_url", "token_url", "userinfo_url"] {
            let letter = name.first!
            func file(_ url: String) -> String { Self.file(Self.oauth2).replacing("https://hub/\(letter)", with: url) }
            #expect(SettingsBench().problems(file("https://hub/x?api=2")).isEmpty)
            #expect(SettingsBench().problems(file("http://127.0.0.1:9/x")).isEmpty)
            self.expect(file("http://hub/x"), "provider.oauth2.\(name)", "write https")
            self.expect(file("\"https://hub/x#y\""), "provider.oauth2.\(name)", "remove the fragment")
        }
        let text = Self.file(Self.introspection).replacing("https://id.example.com/i", with: "http://hydra:4445/i")
        self.expect(text, "provider.introspection.url", "write https")
    }

    @Test("ca_file must be readable")
    func authorities() throws {
        #expect(try self.openID("ca_file: ca.pem").caFile == "/etc/sallyport/ca.pem")
        for (provider, name) in [(Self.oidc, "oidc"), (Self.oauth2, "oauth2"), (Self.introspection, "introspection")] {
            self.expect(Self.file(provider, "ca_file: missing.pem"), "provider.\(name).ca_file", "check the path")
        }
    }

    // MARK: The gateway as a client

    @Test(
        "the gateway proves itself with what is given",
        arguments: [
            ("client_secret_file: provider.secret", ClientAuthenticationMethod.basic),
            ("client_secret_file: provider.secret, client_authentication: client_secret_post", .post),
            ("client_secret_file: provider.secret, client_authentication: client_secret_basic", .basic),
            ("client_key_file: provider.key", .privateKeyJWT),
            ("client_key_file: provider.key, client_authentication: private_key_jwt", .privateKeyJWT),
            ("client_authentication: none", .none), ("scopes: [openid]", .none),
        ]
    )
    func methods(keys: String, method: ClientAuthenticationMethod) throws {
        let loaded = try SettingsBench().load(
            SettingsBench.file(provider: "{oidc: {\(Self.issuer), client_id: a, \(keys)}}")
        ).get()
        guard let settings = loaded.settings.provider as? OpenIDSettings else {
            Issue.record("no provider")
            return
        }
        #expect(settings.client.method == method)
        #expect((settings.client.secret != nil) == keys.contains("secret_file"))
        #expect((settings.client.privateKey != nil) == keys.contains("key_file"))
        let isWarnedOf = loaded.warnings.contains { $0.contains("public client") }
        #expect(isWarnedOf == (method == .none && !keys.contains("client_authentication")), "\(loaded.warnings)")
        #expect(!loaded.describe().contains(canary))
    }

    @Test(
        "a method without what it needs, and a secret that it does not use, are refused",
        arguments: [
            ("client_authentication: client_secret_basic", "client_authentication", "add client_secret_file"),
            ("client_authentication: client_secret_post", "client_authentication", "add client_secret_file"),
            ("client_authentication: private_key_jwt", "client_authentication", "add client_key_file"),
            ("client_authentication: none, client_secret_file: provider.secret", "client_secret_file", "remove it"),
            ("client_authentication: none, client_key_file: provider.key", "client_key_file", "remove it"),
            ("client_secret_file: provider.secret, client_key_file: provider.key", "client_key_file", "remove the one"),
            (
                "client_authentication: private_key_jwt, client_key_file: provider.key, client_secret_file: provider.secret",
                "client_secret_file", "remove it"
            ),
            (
                "client_authentication: client_secret_post, client_key_file: provider.key, client_secret_file: provider.secret",
                "client_key_file", "remove it"
            ),
            ("client_authentication: tls_client_auth", "client_authentication", "write one of these words"),
            ("client_secret_file: missing", "client_secret_file", "check the path"),
            ("client_secret_file: empty", "client_secret_file", "write a longer one"),
            ("client_secret_file: provider.key", "client_secret_file", "remove the line ends"),
            ("client_key_file: provider.secret", "client_key_file", "openssl genpkey"),
            ("client_secret: x", "client_secret", "client_secret_file"),
            ("client_id: \"a b\"", "client_id", "copy it"),
        ]
    )
    func badMethods(keys: String, name: String, fix: String) {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/empty"] = [0x0A]
        bench.judges.privateKey = { $0.bytes.starts(with: "-----BEGIN".utf8) ? nil : "this is no key" }
        let id = keys.hasPrefix("client_id") ? "" : "client_id: a, "
        let problems = bench.problems(SettingsBench.file(provider: "{oidc: {\(Self.issuer), \(id)\(keys)}}"))
        #expect(problems.map(\.key) == ["provider.oidc.\(name)"], "\(problems)")
        #expect(problems.first?.fix.contains(fix) == true && problems.first?.line == 3, "\(problems)")
        #expect(!problems.description.contains(canary))
    }

    // MARK: What it asks for

    @Test("scopes have openid")
    func scopes() throws {
        #expect(try self.openID("scopes: [openid, offline_access, \"urn:x:y\"]").authorization.scopes.count == 3)
        self.expect(Self.file(Self.oidc, "scopes: [profile]"), "provider.oidc.scopes", "add openid")
        self.expect(Self.file(Self.oidc, "scopes: []"), "provider.oidc.scopes", "add openid")
        self.expect(Self.file(Self.oidc, "scopes: [openid, \"a b\"]"), "provider.oidc.scopes[1]", "as an element")
        self.expect(Self.file(Self.oidc, "scopes: openid profile"), "provider.oidc.scopes", "as an element")
        #expect(SettingsBench().problems(Self.file(Self.oauth2, "scopes: [\"read:user\"]")).isEmpty)
    }

    @Test("prompt is never none, because nobody could sign in")
    func prompt() throws {
        #expect(try self.openID("prompt: login consent").authorization.prompt == "login consent")
        for text in ["none", "login none"] {
            self.expect(Self.file(Self.oidc, "prompt: \(text)"), "provider.oidc.prompt", "remove none")
        }
        for text in ["Login", "\"login,consent\"", "\"login  consent\"", "\" login\""] {
            self.expect(Self.file(Self.oidc, "prompt: \(text)"), "provider.oidc.prompt", "lower-case words")
        }
    }

    @Test(
        "parameters of the provider keep their order, and those of the gateway are refused in any case",
        arguments: [
            "client_id", "redirect_uri", "state", "nonce", "response_type", "response_mode", "code_challenge",
            "code_challenge_method", "scope", "prompt", "max_age", "acr_values", "login_hint", "request", "request_uri",
            "client_secret", "client_assertion", "dpop_jkt", "id_token_hint", "Redirect_URI",
        ]
    )
    func parameters(name: String) throws {
        let settings = try self.openID("parameters: {kc_idp_hint: staff, audience: \"https://api\", claims: \"{}\"}")
        #expect(settings.authorization.parameters.map(\.name) == ["kc_idp_hint", "audience", "claims"])
        #expect(settings.authorization.parameters.map(\.value) == ["staff", "https://api", "{}"])
        for (provider, key) in [(Self.oidc, "oidc"), (Self.oauth2, "oauth2")] {
            let text = Self.file(provider, "parameters: {a: b, \(name): x}")
            self.expect(text, "provider.\(key).parameters.\(name)", "remove it")
        }
    }

    // MARK: Claims

    @Test(
        "a path of a claim has steps, escapes, or is a URL",
        arguments: [
            ("email", ["email"]), ("realm_access.roles", ["realm_access", "roles"]),
            ("https://example.com/groups", ["https://example.com/groups"]), ("a\\.b.c", ["a.b", "c"]),
            ("a\\\\b", ["a\\b"]),
            ("a b", ["a b"]), ("grüppe", ["grüppe"]), ("", nil), (".a", nil), ("a.", nil), ("a..b", nil), ("a\\b", nil),
            ("a\\", nil), ("a\u{1}", nil), (String(repeating: "a", count: 257), nil),
            ("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17", nil),
        ] as [(String, [String]?)]
    )
    func paths(text: String, steps: [String]?) {
        #expect(ClaimSettings.path(text) == steps)
    }

    @Test("traits are added to the usual ones, or replace one of the same name")
    func traits() throws {
        let claims = try self.openID("claims: {traits: {groups: realm_access.roles, team: \"https://e.example/team\"}}")
            .claims
        let usual = ClaimSettings().traits.filter { $0.name != "groups" }
        #expect(claims.traits.filter { usual.contains($0) } == usual)
        #expect(claims.traits.count == usual.count + 2)
        #expect(claims.traits.contains(ClaimSettings.Trait(name: "groups", path: ["realm_access", "roles"])))
        #expect(claims.traits.contains(ClaimSettings.Trait(name: "team", path: ["https://e.example/team"])))
        #expect(claims.subject == ["sub"])
        for (path, steps) in [
            ("groups.name", ["groups", "name"]), ("groups[].name", ["groups", "name"]), ("groups[]", ["groups"]),
            ("a[].b[].c", ["a", "b", "c"]), (#"a\[0].b"#, ["a[0]", "b"]), ("cognito:groups", ["cognito:groups"]),
            ("https://e.example/g[].name", ["https://e.example/g", "name"]),
            ("https://e.example/g[]", ["https://e.example/g"]),
            (#"a\.b\\.c"#, [#"a.b\"#, "c"]),
            (#"https://x\.test/groups"#, ["https://x.test/groups"]), ("https://[::1]/g", ["https://[::1]/g"]),
            (#"https://x\.test/groups[].name"#, ["https://x.test/groups", "name"]),
            (#"https://x.test/g\[].name"#, ["https://x.test/g[].name"]), ("http://x.test/a.b", ["http://x.test/a.b"]),
            (#"https://x.test/a\\b[].c\.d"#, [#"https://x.test/a\b"#, "c.d"]), (#"a\{}.b"#, ["a{}", "b"]),
            (#"a\{}"#, ["a{}"]), ("a{b}", ["a{b}"]), (#"a\{}b"#, ["a{}b"]),
        ] {
            #expect(ClaimSettings.path(path) == steps, "\(path)")
        }
        for path in [
            "a[", "a[0]", "a[]b", "[]", "[].a", "a[].", ".a", "a..b", "a[][]", #"a\b"#, "https://e.example/g[]x",
            #"https://x.test/a\b"#, #"https://x.test/a\"#, "a{}", "https://x.test/a{}", #"a\\{}"#,
        ] {
            #expect(ClaimSettings.path(path) == nil, "\(path)")
        }
        for path in [
            ["groups"], ["a.b", "c"], ["a[]", "b{}"], [#"a\"#, "b"], ["https://x.test/g.h", "n.m"],
            ["https://x.test/a[]b{}", "c"], [#"https://x.test/a\b"#],
        ] {
            #expect(ClaimSettings.path(ClaimSettings.text(of: path)) == path, "\(path)")
        }
        for (text, path) in [
            ("roles{}", ["roles"]), ("a.roles{}", ["a", "roles"]), ("a[].roles{}", ["a", "roles"]), ("a[]{}", ["a"]),
            ("https://x.test/roles{}", ["https://x.test/roles"]), (#"a\\{}"#, [#"a\"#]),
        ] {
            let names = ClaimSettings.Trait(name: "groups", path: path, takesNames: true)
            #expect(ClaimSettings.Trait(name: "groups", at: text) == names, "\(text)")
        }
        for text in ["{}", "a.{}", "a[].{}", "[]{}", "a{}.b", "a{}b", "a{}[]", "a{}{}"] {
            #expect(ClaimSettings.Trait(name: "groups", at: text) == nil, "\(text)")
        }
        let roles = try self.openID("claims: {traits: {groups: \"urn:x:roles{}\"}}").claims.trait("groups")
        #expect(roles == ClaimSettings.Trait(name: "groups", path: ["urn:x:roles"], takesNames: true))
        let lists = try self.openID(
            "claims: {traits: {teams: \"custom:teams\"}, text_lists: {groups: comma, teams: space}, groups_only: [app-*, b]}"
        ).claims
        #expect(lists.trait("groups") == ClaimSettings.Trait(name: "groups", path: ["groups"], textList: .comma))
        #expect(lists.trait("teams").textList == .space && lists.trait("email").textList == nil)
        #expect(lists.groupsOnly == ["app-*", "b"])
        self.expect(
            Self.file(Self.oidc, "claims: {text_lists: {team: comma}}"),
            "provider.oidc.claims.text_lists.team",
            "add it to traits"
        )
        self.expect(
            Self.file(Self.oidc, "claims: {text_lists: {groups: tab}}"),
            "provider.oidc.claims.text_lists.groups",
            "write one of these words"
        )
        self.expect(
            Self.file(Self.oidc, "claims: {groups_only: []}"),
            "provider.oidc.claims.groups_only",
            "add an element"
        )
        self.expect(
            Self.file(Self.oidc, "claims: {traits: {a: b..c}}"),
            "provider.oidc.claims.traits.a",
            "joined by dots"
        )
        self.expect(
            Self.file(Self.oidc, "claims: {traits: {a.b: c}}"),
            "provider.oidc.claims.traits.a.b",
            "these characters"
        )
        self.expect(Self.file(Self.oidc, "claims: {subject: oid}"), "provider.oidc.claims.subject")
        self.expect(
            Self.file(Self.oauth2).replacing("subject: id", with: "subject: a..b"),
            "provider.oauth2.claims.subject",
            "joined by dots"
        )
    }

    @Test("values of acr and amr have levels, and those of acr are asked for where a route requires the level")
    func levels() throws {
        let settings = try self.openID(
            "claims: {acr: {\"urn:x:silver\": aal2, phr: aal3, \"0\": aal1}, amr: {mfa: aal2}}"
        )
        #expect(settings.claims.levels.map(\.value) == ["urn:x:silver", "phr", "0", "mfa"])
        #expect(settings.claims.levels.map(\.level) == [.aal2, .aal3, .aal1, .aal2])
        #expect(settings.claims.levels.map(\.claim) == [.acr, .acr, .acr, .amr])
        #expect(settings.authorization.acrValues == [.aal2: "urn:x:silver phr", .aal3: "phr"])
        let own = try self.openID("acr_values: {aal2: a b}, claims: {acr: {a: aal2, b: aal2, c: aal3}}")
        #expect(own.authorization.acrValues == [.aal2: "a b", .aal3: "c"])
        self.expect(
            Self.file(Self.oidc, "claims: {acr: {a: aal4}}"),
            "provider.oidc.claims.acr.a",
            "one of these words"
        )
        self.expect(Self.file(Self.oidc, "claims: {amr: {\"a b\": aal1}}"), "provider.oidc.claims.amr.(not shown)")
        self.expect(
            Self.file(Self.oidc, "acr_values: {aal9: a}"),
            "provider.oidc.acr_values.aal9",
            "one of these words"
        )
        self.expect(Self.file(Self.oidc, "acr_values: {aal2: \"a  b\"}"), "provider.oidc.acr_values.aal2", "copy")
    }

    @Test("a level that no sign-in reaches is refused at the route that requires it")
    func unreachableLevels() {
        let route = "routes: [{require: {aal: aal2}}]\n"
        self.expect(Self.file(Self.oidc, "", route), "routes[0].require.aal", "provider.oidc.claims.acr", line: 4)
        self.expect(Self.file(Self.oauth2, "", route), "routes[0].require.aal", "require less", line: 4)
        self.expect(
            Self.file(Self.introspection, "", route),
            "routes[0].require.aal",
            "provider.introspection.claims.acr",
            line: 4
        )
        self.expect(
            Self.file(Self.oidc, "claims: {acr: {a: aal2}}", route.replacing("2", with: "3")),
            "routes[0].require.aal",
            line: 4
        )
        for claims in ["claims: {acr: {a: aal2}}", "claims: {amr: {a: aal3}}"] {
            #expect(SettingsBench().problems(Self.file(Self.oidc, claims, route)).isEmpty)
            #expect(SettingsBench().problems(Self.file(Self.introspection, claims, route)).isEmpty)
        }
        #expect(SettingsBench().problems(Self.file(Self.oauth2, "", route.replacing("2", with: "1"))).isEmpty)
    }

    // MARK: Who may sign in

    @Test("addresses, domains and groups are admitted")
    func admission() throws {
        let allow = try self.openID(
            "allow: {emails: [Ada@Example.com, \"o'k+x@b.example\"], email_domains: Example.ORG, groups: [staff, \"a b\"]}"
        ).allow
        #expect(allow.emails == ["ada@example.com", "o'k+x@b.example"])
        #expect(allow.emailDomains == ["example.org"])
        #expect(allow.groups == ["staff", "a b"])
    }

    @Test(
        "an entry that could admit others than it says is refused",
        arguments: [
            ("emails: [ada]", "emails[0]", "one @"), ("emails: [\"a@b@c.example\"]", "emails[0]", "one @"),
            ("emails: [\"@c.example\"]", "emails[0]", "one @"), ("emails: [\"a@\"]", "emails[0]", "one @"),
            ("emails: [\"a b@c.example\"]", "emails[0]", "one @"), ("emails: [\"a@c..example\"]", "emails[0]", "one @"),
            ("email_domains: \"*\"", "email_domains", "remove allow"),
            ("email_domains: [\"@example.com\"]", "email_domains[0]", "follows the @"),
            ("email_domains: [.example.com]", "email_domains[0]", "list each domain"),
            ("email_domains: [\"*.example.com\"]", "email_domains[0]", "list each domain"),
            ("email_domains: [com]", "email_domains[0]", "such as example.com"),
            ("email_domains: [exämple.com]", "email_domains[0]", "punycode"),
            ("email_domains: []", "email_domains", "add an element"), ("emails: []", "emails", "add an element"),
            ("groups: []", "groups", "add an element"), ("", "", "add one"), ("users: [ada]", "users", ""),
        ]
    )
    func badAdmission(keys: String, name: String, fix: String) {
        let key = "provider.oidc.allow" + (name.isEmpty ? "" : ".\(name)")
        self.expect(Self.file(Self.oidc, "allow: {\(keys)}"), key, fix)
    }

    // MARK: Tokens

    @Test(
        "algorithms are known and asymmetric",
        arguments: [
            ("HS256", "private key"), ("none", "private key"), ("hs512", "private key"),
            ("rs256", "did you mean RS256?"),
            ("ES256K", "did you mean ES256?"),
            ("[RS256, RS256]", "remove one"), ("[]", "add an element"), ("[RS256, A128KW]", "one of these words"),
        ]
    )
    func algorithms(text: String, fix: String) throws {
        let key = "provider.oidc.algorithms" + (text.hasPrefix("[RS") ? "[1]" : "")
        self.expect(Self.file(Self.oidc, "algorithms: \(text)"), key, fix)
        #expect(try self.openID("algorithms: [EdDSA, ES512]").algorithms == ["EdDSA", "ES512"])
    }

    @Test("introspection without an audience refuses to start")
    func introspectionNeedsAudience() throws {
        self.expect(Self.file(Self.oidc, "introspection: {}"), "provider.oidc.audiences", "in aud")
        self.expect(
            Self.file(Self.oidc, "audiences: [], introspection: {}"),
            "provider.oidc.audiences",
            "add an element"
        )
        let alone = Self.file(Self.introspection)
        self.expect(alone.replacing("[api]", with: "[]"), "provider.introspection.audiences", "add an element")
        self.expect(alone.replacing(", audiences: [api]", with: ""), "provider.introspection.audiences", "audiences")
    }

    @Test("introspection at the provider has its client, URL and claims, unless others are written")
    func introspectionInherits() throws {
        let shared = try self.openID("audiences: [api], ca_file: ca.pem, claims: {traits: {a: b}}, introspection: {}")
        var expected = IntrospectionSettings(url: nil, client: shared.client, audiences: ["api"])
        (expected.caFile, expected.issuer, expected.claims) = (shared.caFile, shared.issuer, shared.claims)
        #expect(shared.introspection == expected)
        let own = try self.openID(
            "audiences: [api], introspection: {url: https://id.example.com/i, client_id: b, client_key_file: provider.key}"
        ).introspection
        #expect(own?.url == "https://id.example.com/i")
        #expect(own?.client.id == "b" && own?.client.method == .privateKeyJWT && own?.client.secret == nil)
    }

    @Test("userinfo and audience_claim are of few words, and introspection at the provider has the same audience_claim")
    func userinfoAndAudienceClaim() throws {
        let usual = try self.openID("audiences: [api], introspection: {}")
        #expect(usual.userinfo == .auto && usual.audienceClaim == .audience)
        #expect(usual.introspection?.audienceClaim == .audience)
        for use in UserInfoUse.allCases { #expect(try self.openID("userinfo: \(use.rawValue)").userinfo == use) }
        let told = try self.openID("audiences: [app], audience_claim: client_id, introspection: {}")
        #expect(told.audienceClaim == .clientID && told.introspection?.audienceClaim == .clientID)
        self.expect(Self.file(Self.oidc, "userinfo: never"), "provider.oidc.userinfo")
        self.expect(Self.file(Self.oidc, "audience_claim: azp"), "provider.oidc.audience_claim")
    }

    @Test("refresh tokens count for the clients that are listed, also where no access token does")
    func refreshTokenClients() throws {
        let key = "provider.oidc.introspection.refresh_token_clients"
        let alone = try self.openID(
            "allow: {groups: [staff]}, introspection: {refresh_token_clients: [mobile, tablet]}"
        ).introspection
        #expect(alone?.allow.groups == ["staff"])
        #expect(alone?.refreshTokenClients == ["mobile", "tablet"] && alone?.audiences == [])
        #expect(try self.openID("audiences: [api], introspection: {}").introspection?.refreshTokenClients == [])
        let none = "audiences: [api], introspection: {refresh_token_clients: []}"
        self.expect(Self.file(Self.oidc, none), key, "add an element")
        let twice = "audiences: [api], introspection: {refresh_token_clients: [a, a]}"
        self.expect(Self.file(Self.oidc, twice), key + "[1]", "remove one")
    }

    @Test("an introspection endpoint must know who asks, unless the settings say otherwise")
    func introspectionNeedsProof() {
        let without = Self.file(Self.introspection).replacing(", \(Self.secret)", with: "")
        self.expect(without, "provider.introspection.client_secret_file", "client_authentication: none")
        let none = without.replacing("client_id: a", with: "client_id: a, client_authentication: none")
        #expect(SettingsBench().problems(none).isEmpty)
        let own = "audiences: [api], introspection: {client_id: b}"
        self.expect(Self.file(Self.oidc, own), "provider.oidc.introspection.client_secret_file")
        // The provider's secret is for the provider's client and method only.
        let basic = own.replacing("client_id: b", with: "client_authentication: client_secret_basic")
        self.expect(Self.file(Self.oidc, basic), "provider.oidc.introspection.client_authentication")
    }

    // MARK: Fields and assertions

    @Test("a field for a token of the provider needs a provider that gives it")
    func tokenFields() {
        func identity(_ token: String) -> String { "identity: {headers: {X-Token: provider.\(token)}}\n" }
        #expect(SettingsBench().problems(Self.file(Self.oidc, "", identity("access_token"))).isEmpty)
        #expect(SettingsBench().problems(Self.file(Self.oidc, "", identity("id_token"))).isEmpty)
        #expect(SettingsBench().problems(Self.file(Self.oauth2, "", identity("access_token"))).isEmpty)
        #expect(SettingsBench().problems(Self.file(Self.introspection, "", identity("access_token"))).isEmpty)
        for text in [
            Self.file(Self.oauth2, "", identity("id_token")),
            Self.file(Self.introspection, "", identity("id_token")),
        ] {
            self.expect(text, "identity.headers.X-Token", "remove the field", line: 4)
        }
        #expect(SettingsBench().problems(adding: identity("access_token")).map(\.key) == ["identity.headers.X-Token"])
        self.expect(Self.file(Self.oidc, "", identity("refresh_token")), "identity.headers.X-Token", line: 4)
        // Only fields may have one.
        let basic = "identity: {basic: {username: provider.id_token, password_file: app-password}}\n"
        self.expect(Self.file(Self.oidc, "", basic), "identity.basic.username", line: 4)
    }

    @Test("apps that come from oauth2-proxy get its field for the access token; fields of the way stay the gateway's")
    func fieldsOfOAuth2Proxy() {
        func field(_ name: String) -> String {
            Self.file(Self.oidc, "", "identity: {headers: {\(name): provider.access_token}}\n")
        }
        #expect(SettingsBench().problems(field("X-Forwarded-Access-Token")).isEmpty)
        self.expect(field("X-Forwarded-Host"), "identity.headers.X-Forwarded-Host", "choose a name", line: 4)
    }

    @Test("a handoff is shared only if the settings say so")
    func sharing() {
        #expect(SettingsBench().settings(adding: "")?.handoff.isShared == false)
        #expect(SettingsBench().settings(adding: "handoff: {share: true}")?.handoff.isShared == true)
    }
}
