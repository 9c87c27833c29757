import Settings
import Testing
import Vocabulary

@Suite("Several providers") struct ProvidersTests {
    private static let kratos = "{name: customers, kratos: {public_url: \"http://127.0.0.1:4433\"}}"
    private static func oidc(_ name: String, issuer: String = "https://id.example.com") -> String {
        "{name: \(name), oidc: {issuer: \"\(issuer)\", client_id: gateway, client_authentication: none}}"
    }
    private static let users = "{name: demo, static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]}}"

    private static func file(
        _ providers: [String],
        staff: String = "provider: staff",
        client: String = "provider: staff",
        _ more: String = ""
    ) -> String {
        """
        upstream: http://127.0.0.1:3000
        hosts:
          - public_url: https://shop.example.com
            endpoints: true
            routes: [{path: /**}]
          - public_url: https://staff.example.com
            endpoints: true
            \(staff)
            routes: [{path: /**}]
          - public_url: https://office.example.com
            \(staff)
            routes: [{path: /**, client: office}]
        clients:
          - client_id: office
            \(client)
            session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
          - client_id: shop
        providers: [\(providers.joined(separator: ", "))]
        \(more)

        """
    }

    @Test("Hosts and clients choose by name, and have the first where they choose none")
    func chosen() throws {
        let settings = try SettingsBench().load(Self.file([Self.kratos, Self.oidc("staff")])).get().settings
        #expect(settings.providers.map(\.name) == ["customers", "staff"])
        #expect(settings.hosts.map(\.providers) == [["customers"], ["staff"], ["staff"]])
        #expect(settings.clients.map(\.providers) == [["staff"], ["customers"]])
        #expect(settings.provider(named: "staff")?.redirects == true && settings.provider(named: "x") == nil)
        #expect(settings.provider?.credentialCookie == "ory_kratos_session")
    }

    @Test("Each provider's hosts have settings of their own: its hosts, its clients, its issuer, its way to sign in")
    func scopes() throws {
        let settings = try SettingsBench().load(Self.file([Self.kratos, Self.oidc("staff")])).get().settings
        let (customers, staff) = (settings.groups[0].settings, settings.groups[1].settings)
        #expect(settings.groups.map(\.providers) == [["customers"], ["staff"]])
        #expect(customers.issuer == "https://shop.example.com" && staff.issuer == "https://staff.example.com")
        #expect(customers.clients.map(\.clientID) == ["shop"] && staff.clients.map(\.clientID) == ["office"])
        #expect(staff.hosts.count == 2 && staff.provider?.redirects == true)
        #expect(staff.exchange.providers.map(\.id) == ["oidc"] && customers.exchange.providers.isEmpty)
        let hosts = SignInHosts(settings.hosts)
        #expect(hosts.signInHost(of: "office.example.com")?.authority == "staff.example.com")
    }

    @Test("One provider without a name is called default, and so are its hosts and clients")
    func single() throws {
        let settings = try SettingsBench().load(SettingsBench.base + "clients: [{client_id: app}]\n").get().settings
        #expect(settings.providers.map(\.name) == ["default"] && settings.hosts.map(\.providers) == [["default"]])
        #expect(settings.clients.map(\.providers) == [["default"]] && settings.groups.count == 1)
        #expect(settings.groups[0].realms == .default && settings.groups[0].settings == settings)
    }

    @Test(
        "What cannot work is refused, with its place",
        arguments: [
            (Self.file([Self.kratos, Self.oidc("staff")], staff: "provider: stuff"), "hosts[1].provider", "staff"),
            (Self.file([Self.kratos, Self.oidc("staff")], client: "provider: x"), "clients[0].provider", "customers"),
            (
                Self.file([Self.kratos, Self.oidc("staff"), Self.oidc("staff", issuer: "https://b.example.com")]),
                "providers[2].name", "each name once"
            ),
            (
                Self.file([Self.kratos, Self.oidc("staff"), Self.oidc("b")]), "providers[2]",
                "identifies the sessions and tokens of a provider"
            ),
            (
                Self.file([Self.kratos, Self.oidc("staff"), Self.kratos.replacing("customers", with: "k")]),
                "providers[2]", "one Kratos"
            ),
            (
                Self.file([Self.users, Self.oidc("staff"), Self.users.replacing("demo", with: "d")]),
                "providers[2]", "one static"
            ),
            (Self.file([Self.kratos, Self.oidc("Staff")]), "providers[1].name", "a-z"),
            (Self.file([Self.kratos, "{name: staff}"]), "providers[1]", "oidc"),
            (
                Self.file([Self.kratos, "{name: staff, oidc: {issuer: \"https://id.example.com\"}}"]),
                "providers[1].oidc.client_id", "add the key client_id"
            ),
            (Self.file([]), "providers", "one or more"),
            (
                Self.file([Self.kratos, Self.oidc("staff")], client: "provider: customers"),
                "hosts[2].routes[0].client", "clients"
            ),
            (
                Self.file([Self.kratos, Self.oidc("staff")], "provider: {static: {users_file: users.yaml}}"),
                "providers", "either"
            ),
        ]
    )
    func refused(file: String, key: String, words: String) {
        let problems = SettingsBench().problems(file)
        let problem = problems.first { $0.key == key }
        #expect(problem?.line != nil && problem?.column != nil, "\(problems)")
        #expect("\(problem.map { "\($0)" } ?? "")".contains(words), "\(problems)")
    }

    @Test("A variable for the only provider does not mix with a list of them")
    func variable() {
        let bench = SettingsBench(environment: ["SALLYPORT_KRATOS_URL": "http://kratos:4433"])
        let problems = bench.problems(Self.file([Self.kratos, Self.oidc("staff")]))
        #expect(problems.contains { $0.key == "providers" && "\($0)".contains("SALLYPORT_KRATOS_URL") }, "\(problems)")
    }

    @Test("A provider that no host has is named in a warning, and one without its sign-in host is refused")
    func unused() throws {
        let loaded = try SettingsBench().load(
            Self.file([Self.kratos, Self.oidc("staff"), Self.oidc("third", issuer: "https://c.example.com")])
        ).get()
        #expect(loaded.warnings.contains { $0.contains("providers[2]") && $0.contains("third") })
        let file = Self.file([Self.kratos, Self.oidc("staff")]).replacing(
            "endpoints: true\n    provider: staff",
            with: "provider: staff"
        )
        #expect(SettingsBench().problems(file).contains { $0.key == "providers[1].oidc" })
        let demo = Self.file([Self.oidc("staff"), Self.users], staff: "provider: demo", client: "provider: demo")
        let apart = try SettingsBench().load(
            demo.replacing("endpoints: true\n    provider: demo", with: "provider: demo")
        ).get()
        #expect(apart.warnings.contains { $0.contains("demo has endpoints: true") }, "\(apart.warnings)")
    }

    @Test("The kits of native_social sign users of the first provider in, and no others")
    func social() {
        let google = "native_social: {google: {audiences: [app]}}"
        let client = "provider: staff\n    native_social_login: {google: {enabled: true}}"
        let problems = SettingsBench().problems(Self.file([Self.kratos, Self.oidc("staff")], client: client, google))
        #expect(problems.contains { $0.key == "clients[0].native_social_login" }, "\(problems)")
    }

    @Test("every kind of provider is read as settings of its own")
    func kinds() throws {
        let client = "client_id: a, client_secret_file: provider.secret"
        let smallest = [
            "oidc": "{issuer: \"https://id.example.com\", \(client)}",
            "kratos": "{public_url: \"http://127.0.0.1:4433\"}",
            "oauth2": "{name: hub, authorization_url: \"https://hub/a\", token_url: \"https://hub/t\", "
                + "userinfo_url: \"https://hub/u\", \(client), claims: {subject: id}}",
            "introspection": "{url: \"https://id.example.com/i\", \(client), audiences: [api]}",
            "static": "{users_file: users.yaml}",
        ]
        #expect(smallest.keys.sorted() == ProviderKind.all.map(\.key).sorted())
        for (key, keys) in smallest {
            let settings = try SettingsBench().load(SettingsBench.file(provider: "{\(key): \(keys)}")).get().settings
            let provider = try #require(settings.provider)
            #expect(type(of: provider).key == key)
        }
    }
}
