import Settings
import Testing
import Vocabulary

@Suite("Hosts with a wildcard in the settings") struct WildcardSettingsTests {
    private static func file(_ hosts: String, _ more: String = "") -> String {
        """
        upstream: http://127.0.0.1:3000
        provider: {static: {users: [{identifier: ada, password_hash: "\(passwordHash)"}]}}
        hosts:
          - \(hosts)
        \(more)
        """
    }

    private static let two = """
        {public_url: "https://*.Example.com.", routes: [{path: /**}]}
          - {public_url: https://id.example.com, endpoints: true, routes: [{path: /**}]}
        """

    private func settings(_ hosts: String, _ more: String = "") throws -> Settings {
        try SettingsBench().load(Self.file(hosts, more)).get().settings
    }

    @Test("A wildcard has no endpoints; the issuer and the sign-in page of its names are those of the host that has")
    func names() throws {
        let settings = try self.settings(Self.two)
        #expect(settings.hosts.map(\.publicURL.description) == ["https://*.example.com", "https://id.example.com"])
        #expect(settings.hosts.map(\.endpoints) == [false, true])
        #expect(settings.hosts[0].routes[0].name == "*.example.com/**")
        #expect(settings.issuer == "https://id.example.com")
        let hosts = SignInHosts(settings.hosts)
        #expect(hosts.isShared)
        let a = try #require(hosts.host("a.example.com"))
        #expect(a.authority == "a.example.com" && a.origin == "https://a.example.com" && !a.hasEndpoints)
        #expect(hosts.signInHost(of: "a.example.com")?.origin == "https://id.example.com")
        #expect(hosts.host("id.example.com")?.hasEndpoints == true && hosts.signInHost(of: "id.example.com") == nil)
        for name in [
            "*.example.com", "example.com", ".example.com", "a.b.example.com", "A.example.com", "a.example.com.",
            "a.example.com:443", "a_b.example.com", "-a.example.com", "xn--a.example.com", "a.example.com/x", "",
            "a@b.example.com", "https://a.example.com",
        ] {
            #expect(hosts.host(name) == nil, "\(name)")
        }
    }

    @Test("The origins of a wildcard are those of its names, to the letter")
    func origins() throws {
        let origins = ServedOrigins(try self.settings(Self.two).hosts)
        for origin in ["https://a.example.com", "https://id.example.com"] {
            #expect(origins.contains(origin))
            #expect(origins.origin(of: "\(origin)/x?u=https://evil.test/") == origin)
            #expect(origins.origin(of: origin) == nil, "an origin without a path is no URL of a page")
        }
        for origin in [
            "https://*.example.com", "http://a.example.com", "https://a.b.example.com", "https://example.com",
            "https://a.example.com:443", "https://a.example.com:8443", "https://evil.test", "https://A.example.com",
            "https://u@a.example.com", "https://a.example.com.evil.test", "a.example.com", "", "https://",
        ] {
            #expect(!origins.contains(origin), "\(origin)")
            #expect(origins.origin(of: "\(origin)/x") == nil, "\(origin)")
        }
    }

    @Test(
        "A wildcard that cannot be served as meant is refused where it is written",
        arguments: [
            ("{public_url: \"https://*\", routes: [{path: /}]}", "public_url", "first label"),
            ("{public_url: \"https://a.*.com\", routes: [{path: /}]}", "public_url", "first label"),
            ("{public_url: \"https://*.*.com\", routes: [{path: /}]}", "public_url", "first label"),
            ("{public_url: \"https://a*.example.com\", routes: [{path: /}]}", "public_url", "first label"),
            ("{public_url: \"https://*.\", routes: [{path: /}]}", "public_url", "host name"),
            ("{public_url: \"https://*.192.0.2.1\", routes: [{path: /}]}", "public_url", "domain"),
            ("{public_url: \"https://*.[2001:db8::1]\", routes: [{path: /}]}", "public_url", "domain"),
            ("{public_url: \"https://*.example.com/x\", routes: [{path: /}]}", "public_url", "path"),
            ("{public_url: \"https://u@*.example.com\", routes: [{path: /}]}", "public_url", "first label"),
            ("{public_url: \"https://*.example.com\", endpoints: true, \(Self.app)}", "endpoints", "id.example.com"),
            ("{public_url: \"https://*.example.com\", \(Self.app)}", "public_url", "id.example.com"),
            ("{public_url: \"http://*.example.com\", \(Self.app)}\n  - \(Self.id)", "public_url", "--insecure-http"),
            ("\(Self.wildcard)\n  - \(Self.wildcard)\n  - \(Self.id)", "hosts[1].public_url", "merge"),
        ]
    )
    func faults(hosts: String, key: String, fix: String) throws {
        let problems = SettingsBench().problems(Self.file(hosts))
        let problem = try #require(problems.first, "\(problems)")
        #expect(problem.key.hasSuffix(key), "\(problems)")
        #expect(problem.fix.contains(fix), "\(problems)")
        #expect(problem.line != nil)
    }

    private static let app = "upstream: \"http://127.0.0.1:1\""
    private static let id = "{public_url: https://id.example.com, endpoints: true, \(app)}"
    private static let wildcard = "{public_url: \"https://*.EXAMPLE.com:443\", \(app)}"

    @Test("Only hosts may have a wildcard, and loopback names need no https")
    func others() throws {
        let single = SettingsBench.base.replacing("https://app.example.com", with: "\"https://*.example.com\"")
        #expect(SettingsBench().problems(single).first?.fix.contains("element of hosts") == true)
        let local = try self.settings(
            "{public_url: \"http://*.localhost:8080\", upstream: \"http://127.0.0.1:1\"}\n"
                + "  - {public_url: \"http://localhost:8080\", endpoints: true, upstream: \"http://127.0.0.1:1\"}"
        )
        #expect(local.hosts[0].publicURL.named("a")?.description == "http://a.localhost:8080")
    }

    @Test("A wildcard needs a certificate with the wildcard: names in certificates do not cover it")
    func covering() {
        func facts(_ names: [String]) -> CertificateFacts {
            CertificateFacts(
                names: names,
                from: UnixTime(seconds: 0),
                until: UnixTime(seconds: 4_000_000_000),
                key: "P-256",
                isECDSA: true
            )
        }
        #expect(facts(["*.example.com"]).covers("*.example.com"))
        for names in [["a.example.com"], ["example.com"], ["*.a.example.com"], ["*.com"], []] {
            #expect(!facts(names).covers("*.example.com"))
        }
    }

    @Test("The name of an operators' address is no name of a wildcard to anybody")
    func operatorsNames() throws {
        let more = """
            admin: {tokens_file: operator-tokens}
            listen: ["127.0.0.1:1", {address: "127.0.0.1:2", role: management, public_url: "https://Ops.example.com"}]
            """
        let settings = try self.settings(Self.two, more)
        #expect(settings.hosts.map(\.reservedNames) == [["ops.example.com"], []])
        let (hosts, origins) = (SignInHosts(settings.hosts), ServedOrigins(settings.hosts))
        #expect(hosts.host("a.example.com") != nil && origins.contains("https://a.example.com"))
        #expect(hosts.host("ops.example.com") == nil && hosts.signInHost(of: "ops.example.com") == nil)
        #expect(!origins.contains("https://ops.example.com"))
        #expect(origins.origin(of: "https://ops.example.com/x") == nil)
    }

    @Test("A wildcard names the apps of clients that have a callback on one of its names, and is not warned of")
    func apps() throws {
        func warnings(_ callback: String) throws -> [String] {
            let client =
                "clients: [{client_id: app, callbacks: [\"\(callback)\"], ios_app_ids: ABCDE12345.com.example.app}]"
            let hosts = Self.two.replacing(
                "routes: [{path: /**}]}\n",
                with: "well_known: true, routes: [{path: /**}]}\n"
            )
            return try SettingsBench().load(Self.file(hosts, client)).get().warnings.filter {
                $0.contains("well_known") || $0.contains("ios_app_ids")
            }
        }
        #expect(try warnings("https://a.example.com/in") == [])
        #expect(try warnings("https://a.b.example.com/in").count == 2)
        #expect(try warnings("https://id.example.com/in").count == 2)
    }
}
