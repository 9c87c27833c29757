import AddressIntelligence
import Pages
import Settings
import Testing

@Suite("Settings of the listener at which other proxies ask")
struct AuthorizationSettingsTests {
    private static let needed = "listen: 127.0.0.1:9092, peers: [127.0.0.1]"

    /// The small file, whose proxy is named, with these keys of `authorization`.
    private static func file(_ keys: String = Self.needed, _ more: String = "") -> String {
        SettingsBench.base + "trusted_proxies: [127.0.0.1]\nauthorization: {\(keys)}\n\(more)"
    }

    private func load(_ keys: String = Self.needed, _ more: String = "") throws -> LoadedSettings {
        try SettingsBench().load(Self.file(keys, more)).get()
    }

    /// The first problem with each of these keys of `authorization`, which stands in line 9.
    private func problem(_ keys: String, _ more: String = "") -> SettingsProblem? {
        let problems = SettingsBench().problems(Self.file(keys, more))
        #expect(problems.count == 1, "\(keys)\(more): \(problems)")
        return problems.first
    }

    @Test("The defaults: every dialect, the original URL, cookies on success; nothing without the key")
    func defaults() throws {
        let loaded = try self.load()
        var expected = AuthorizationSettings(
            listen: ListenAddress(host: "127.0.0.1", port: 9092),
            peers: [try #require(CIDRBlock("127.0.0.1"))]
        )
        #expect(loaded.settings.authorization == expected && loaded.warnings.isEmpty, "\(loaded.warnings)")
        #expect(expected.dialects == [.forwardAuth, .authRequest, .extAuthz] && expected.metadata == .original)
        #expect(expected.cookiesOnSuccess && !loaded.settings.oauth2ProxyPaths)
        #expect(try #require(SettingsBench().settings(adding: "")).authorization == nil)

        let other = "\(Self.needed), dialects: auth-request, metadata: forwarded, cookies_on_success: false"
        expected.dialects = [.authRequest]
        expected.metadata = .forwarded
        expected.cookiesOnSuccess = false
        #expect(try self.load(other).settings.authorization == expected)
    }

    @Test(
        "What is missing, empty or twice is reported where it is written",
        arguments: [
            ("peers: [127.0.0.1]", "listen", 16), ("listen: 127.0.0.1:9092", "peers", 16),
            ("listen: 127.0.0.1:9092, peers: []", "peers", 48),
            ("\(needed), dialects: []", "dialects", 71),
            ("\(needed), dialects: [ext-authz, ext-authz]", "dialects", 71),
            ("listen: 9092, peers: [127.0.0.1]", "listen", 25),
            ("\(needed), dialects: [auth-request, digest]", "dialects[1]", 86),
            ("\(needed), metadata: both", "metadata", 71),
        ]
    )
    func wrong(keys: String, key: String, column: Int) {
        let problem = self.problem(keys)
        #expect(problem?.key == "authorization.\(key)" && problem?.line == 9, "\(String(describing: problem))")
        #expect(problem?.column == column, "\(String(describing: problem))")
    }

    @Test(
        "A peer that is larger than any private network is refused, and no flag allows it",
        arguments: ["0.0.0.0/0", "\"::/0\"", "0.0.0.0/1", "\"2000::/3\"", "8.0.0.0/7"]
    )
    func largePeers(block: String) {
        let flags = InsecureFlags(trustAllProxies: true)
        let text = Self.file("listen: 127.0.0.1:9092, peers: [127.0.0.1, \(block)]")
        let problems = SettingsBench(flags: flags).problems(text)
        #expect(problems.map(\.key) == ["authorization.peers[1]"] && problems.first?.column == 60, "\(problems)")
    }

    @Test("A private network may ask", arguments: ["10.0.0.0/8", "\"fc00::/7\"", "192.0.2.1"])
    func privatePeers(block: String) throws {
        #expect(try self.load("listen: 10.0.0.5:9092, peers: [\(block)]").settings.authorization?.peers.count == 1)
    }

    @Test(
        "The listener shares its port with no other, be it written or the default",
        arguments: [
            ("127.0.0.1:8080", "listen has 127.0.0.1:8080 (the default)"),
            ("\":8080\"", "listen has 127.0.0.1:8080 (the default)"),
            ("127.0.0.1:9090", "admin.listen has 127.0.0.1:9090 (the default)"),
            ("\"[::]:9090\"", "admin.listen has 127.0.0.1:9090 (the default)"),
        ]
    )
    func ports(address: String, other: String) {
        let problem = self.problem("listen: \(address), peers: [127.0.0.1]")
        #expect(problem?.key == "authorization.listen" && problem?.found.hasSuffix(other) == true)
        #expect(problem?.line == 9 && problem?.column == 25)
    }

    @Test("An address of listen or admin.listen that is written is named as such")
    func writtenPorts() {
        let keys = "listen: \":9092\", peers: [127.0.0.1]"
        #expect(self.problem(keys, "listen: 127.0.0.1:9092\n")?.found.hasSuffix("listen has 127.0.0.1:9092") == true)
        let admin = self.problem(keys, "admin: {listen: \"127.0.0.1:9092\"}\n")
        #expect(admin?.found.hasSuffix("admin.listen has 127.0.0.1:9092") == true)
    }

    @Test(
        "What would start and do less than it says is warned of",
        arguments: [
            ("listen: 127.0.0.1:9092, peers: [10.0.0.1]", "", "every check is refused"),
            ("listen: \"[::1]:9092\", peers: [10.0.0.1]", "", "every check is refused"),
            ("\(needed), metadata: forwarded, dialects: [ext-authz]", "", "metadata: forwarded has no effect"),
            (needed, "routes: [{path: /**, binding: ip}]\n", "must pass X-Forwarded-For"),
            (
                needed,
                "routes: [{path: /**, client: web}]\nclients: [{client_id: web, session_transfer: "
                    + "{allowed_authentication_methods: [query]}}]\n", "must pass X-Forwarded-For"
            ),
            (
                needed, "compat: {oauth2_proxy: true}\nroutes: [{path: /**}, {path: /**, methods: [POST]}]\n",
                "treated as GET"
            ),
        ]
    )
    func warned(keys: String, more: String, warning: String) throws {
        let warnings = try self.load(keys, more).warnings
        #expect(warnings.count == 1 && warnings[0].contains(warning), "\(warnings)")
    }

    @Test(
        "There is no warning where all is well",
        arguments: [
            ("listen: 127.0.0.1:9092, peers: [127.0.0.0/8]", ""), ("listen: \":9092\", peers: [10.0.0.1]", ""),
            ("listen: \"[::1]:9092\", peers: [\"::1\"]", ""), ("listen: 10.0.0.5:9092, peers: [10.0.0.1]", ""),
            ("\(needed), dialects: [auth-request]", "routes: [{path: /**, binding: ip}]\n"),
            ("\(needed), dialects: [auth-request], metadata: forwarded", ""),
            (needed, "compat: {oauth2_proxy: true}\n"),
        ]
    )
    func calm(keys: String, more: String) throws {
        #expect(try self.load(keys, more).warnings == [])
    }

    @Test("A route needs no app where other proxies ask, and one that is named must exist")
    func routesWithoutApp() throws {
        let apart = SettingsBench.base.replacing("upstream: http://127.0.0.1:3000\n", with: "")
        let authorization = "trusted_proxies: [127.0.0.1]\nauthorization: {\(Self.needed)}\n"
        let routes = "routes: [{path: /**}, {path: /a, upstream: \"http://127.0.0.1:3000\"}]\n"
        let settings = try SettingsBench().load(apart + authorization + routes).get().settings
        #expect(settings.hosts[0].routes.map(\.upstream) == [nil, "http://127.0.0.1:3000"])
        // Without routes all of the host needs a session.
        #expect(try SettingsBench().load(apart + authorization).get().settings.hosts[0].routes.map(\.upstream) == [nil])
        #expect(SettingsBench().problems(apart + routes).map(\.key) == ["routes[0].upstream"])
        let unknown = SettingsBench().problems(apart + authorization + "routes: [{path: /**, upstream: reports}]\n")
        #expect(unknown.map(\.key) == ["routes[0].upstream"], "\(unknown)")
    }

    @Test("The paths of oauth2-proxy need a listener at which its dialect is spoken")
    func oauth2Proxy() throws {
        let compat = "compat: {oauth2_proxy: true}\n"
        let alone = SettingsBench().problems(adding: compat)
        #expect(alone.map(\.key) == ["compat.oauth2_proxy"] && alone.first?.line == 8, "\(alone)")
        #expect(self.problem("\(Self.needed), dialects: [ext-authz]", compat)?.key == "compat.oauth2_proxy")
        let settings = try self.load(Self.needed, compat).settings
        #expect(settings.oauth2ProxyPaths && settings.oauth2ProxyMetadata == nil && settings.pages.base == "/oauth2")
        for metadata in [OriginalMetadata.original, .forwarded] {
            let loaded = try self.load("\(Self.needed), metadata: \(metadata.rawValue)", compat)
            #expect(loaded.settings.oauth2ProxyMetadata == metadata && loaded.warnings.isEmpty)
        }
        let without = try self.load("\(Self.needed), metadata: forwarded").settings
        #expect(without.oauth2ProxyMetadata == nil && without.pages.base.isEmpty)
    }

    @Test("The proxies that ask are those that trusted_proxies should name")
    func unnamedProxy() throws {
        let text = SettingsBench.base + "authorization: {listen: 127.0.0.1:9092, peers: [127.0.0.1, 10.0.0.0/24]}\n"
        let warnings = try SettingsBench().load(text).get().warnings
        #expect(warnings.count == 1 && warnings[0].contains("no device binding matches"), "\(warnings)")
        let problems = SettingsBench().problems(text + "routes: [{path: /**, binding: ip}]\n")
        #expect(problems.count == 1 && problems[0].fix.contains("[127.0.0.1/32, 10.0.0.0/24]"), "\(problems)")
    }
}
