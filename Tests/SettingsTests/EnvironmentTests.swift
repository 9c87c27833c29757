import AddressIntelligence
import Settings
import Testing
import Vocabulary

@Suite("The environment")
struct EnvironmentTests {
    /// Four variables and no file.
    private static let start = [
        "SALLYPORT_UPSTREAM": "http://127.0.0.1:3000", "SALLYPORT_PUBLIC_URL": "https://app.example.com",
        "SALLYPORT_SECRET_FILE": "/etc/sallyport/secret", "SALLYPORT_USERS_FILE": "/etc/sallyport/users.yaml",
    ]

    private func load(_ environment: [String: String], _ text: String? = nil) -> Result<LoadedSettings, SettingsFailure>
    {
        SettingsBench(environment: environment).load(text)
    }

    private func problems(_ environment: [String: String], _ text: String? = nil) -> [SettingsProblem] {
        SettingsBench(environment: environment).problems(text)
    }

    @Test("four variables start a gateway without a file")
    func startsWithoutFile() throws {
        let settings = try self.load(Self.start).get().settings
        #expect(settings.hosts.count == 1)
        #expect(settings.hosts[0].endpoints)
        #expect(settings.hosts[0].publicURL.description == "https://app.example.com")
        #expect(settings.hosts[0].routes.map(\.path) == ["/**"])
        #expect(settings.hosts[0].routes.map(\.auth) == [.required])
        #expect(settings.upstreams.map(\.host) == ["127.0.0.1"])
        #expect(settings.upstreams.map(\.port) == [3000])
        #expect(settings.secrets?.current.bytes == Array(canary.utf8))
        guard let users = (settings.provider as? FixedUsersSettings)?.users else {
            Issue.record("no users")
            return
        }
        #expect(users.map(\.identifier) == ["ada"])
    }

    /// Five variables and no file.
    private static let provider = [
        "SALLYPORT_UPSTREAM": "http://127.0.0.1:3000", "SALLYPORT_PUBLIC_URL": "https://app.example.com",
        "SALLYPORT_OIDC_URL": "https://id.example.com/", "SALLYPORT_OIDC_CLIENT_ID": "sallyport",
        "SALLYPORT_OIDC_CLIENT_SECRET_FILE": "/etc/sallyport/provider.secret",
    ]

    @Test("five variables start a gateway for an OpenID provider without a file")
    func startsForProvider() throws {
        let loaded = try self.load(Self.provider).get()
        #expect(loaded.settings.hosts.map(\.endpoints) == [true])
        #expect(loaded.settings.secrets == nil)
        guard let provider = loaded.settings.provider as? OpenIDSettings else {
            Issue.record("no provider")
            return
        }
        var expected = OpenIDSettings(
            issuer: "https://id.example.com/",
            client: ProviderClientSettings(id: "sallyport", secret: Secret(canary), method: .basic)
        )
        #expect(provider == expected)
        #expect(loaded.describe().contains("provider.oidc.issuer: https://id.example.com/  # SALLYPORT_OIDC_URL"))
        expected.authorization.scopes = ["openid", "groups"]
        expected.allow.emailDomains = ["example.com", "example.org"]
        let more = [
            "SALLYPORT_SECRET_FILE": "/etc/sallyport/secret", "SALLYPORT_PROVIDER_OIDC_SCOPES": "openid, groups",
            "SALLYPORT_PROVIDER_OIDC_ALLOW_EMAIL_DOMAINS": "example.com,Example.ORG",
        ]
        let settings = try self.load(Self.provider.merging(more) { $1 }).get().settings
        #expect(settings.provider as? OpenIDSettings == expected)
        #expect(settings.secrets != nil)
    }

    @Test("each of the five variables is told when it is missing", arguments: provider.keys.sorted())
    func tellsWhichIsMissing(name: String) {
        var environment = Self.provider
        environment[name] = nil
        guard name != "SALLYPORT_OIDC_CLIENT_SECRET_FILE" else {
            let warnings = (try? self.load(environment).get().warnings) ?? []
            #expect(warnings.contains { $0.contains("client_secret_file") }, "\(warnings)")
            return
        }
        let problems = self.problems(environment)
        #expect(problems.count == 1 && problems.first?.fix.contains(name) == true, "\(problems)")
    }

    @Test("a variable may set what the file leaves out, also where it is required")
    func completesFile() throws {
        let text = SettingsBench.file(provider: "{oidc: {client_id: other, issuer: https://id.example.com}}")
        let settings = try self.load(["SALLYPORT_OIDC_CLIENT_ID": "one"], text).get().settings
        #expect(settings == (try self.load([:], text.replacing("other", with: "one")).get().settings))
        let short = SettingsBench.file(provider: "{oidc: {issuer: https://id.example.com}}")
        #expect(settings == (try self.load(["SALLYPORT_OIDC_CLIENT_ID": "one"], short).get().settings))
        #expect(self.problems([:], short).map(\.key) == ["provider.oidc.client_id"])
        let users = self.problems(["SALLYPORT_OIDC_URL": "https://id.example.com"], SettingsBench.base)
        #expect(users.map(\.key).contains("provider.oidc"), "\(users)")
    }

    @Test("without anything every missing key is told with the variable that sets it")
    func tellsWhatIsMissing() {
        let problems = self.problems([:])
        #expect(problems.map(\.key) == ["public_url", "upstream", "provider"])
        for (problem, name) in zip(problems, ["SALLYPORT_PUBLIC_URL", "SALLYPORT_UPSTREAM", "SALLYPORT_OIDC_URL"]) {
            #expect(problem.fix.contains(name))
        }
    }

    @Test("Defaults of a provider or store that is not configured are not shown")
    func optionsThatAreOff() throws {
        let off = try self.load([:], SettingsBench.base).get().entries.map(\.key)
        #expect(!off.contains { $0.hasPrefix("provider.oidc") || $0.hasPrefix("store.redis") })
        #expect(off.contains("session.idle") && off.contains("store.memory.max_sessions"))
    }

    @Test("a variable beats the file, and the origin says so")
    func beatsFile() throws {
        let loaded = try self.load(
            ["SALLYPORT_SESSION_IDLE": "10m", "SALLYPORT_TRUSTED_PROXIES": "10.0.0.0/8, 192.168.0.1"],
            SettingsBench.base + "session: {idle: 20m, absolute: 1h}\n"
        ).get()
        #expect(loaded.settings.session.browser.idle == .seconds(600))
        #expect(loaded.settings.session.browser.absolute == .seconds(3600))
        #expect(loaded.settings.trustedProxies.map(\.description) == ["10.0.0.0/8", "192.168.0.1/32"])
        let origins = Dictionary(uniqueKeysWithValues: loaded.entries.map { ($0.key, $0.origin) })
        #expect(origins["session.idle"] == .environment("SALLYPORT_SESSION_IDLE"))
        #expect(origins["session.absolute"] == .file(path: SettingsBench.path, line: 8, column: 32))
        #expect(origins["session.cookie"] == .builtIn)
    }

    @Test("SALLYPORT_CONFIG names the file, and a file on the command line beats it")
    func namesFile() throws {
        var bench = SettingsBench(environment: ["SALLYPORT_CONFIG": "/etc/other.yaml"])
        #expect(bench.problems(nil).first?.origin == .environment("SALLYPORT_CONFIG"))
        bench.files["/etc/other.yaml"] = Array(SettingsBench.base.utf8)
        #expect(bench.problems(nil).isEmpty)
        bench.files["/etc/other.yaml"] = Array("nonsense".utf8)
        #expect(bench.problems(SettingsBench.base).isEmpty)
    }

    @Test("unknown, misspelt, empty and wrong variables are errors")
    func refusesUnknown() {
        let cases = [
            ("SALLYPORT_SESION_IDLE", "5m", "did you mean SALLYPORT_SESSION_IDLE?"),
            ("SALLYPORT_SESSION_IDLE", "", "unset"),
            ("SALLYPORT_SESSION_IDLE", "5", "add the unit"),
            ("SALLYPORT_HOSTS", "x", "hosts is a list of mappings: write it in the file"),
            ("SALLYPORT_ZZZZZZ", "x", "unset it"),
            ("SALLYPORT_KRATOS_COOKIE", "k", "did you mean SALLYPORT_PROVIDER_KRATOS_COOKIE?"),
            ("SALLYPORT_OIDC_ISSUER", "https://k", "did you mean SALLYPORT_OIDC_URL?"),
            ("SALLYPORT_OIDC_SCOPES", "openid", "did you mean SALLYPORT_PROVIDER_OIDC_SCOPES?"),
            (
                "SALLYPORT_PROVIDER_OIDC_ISSUER", "https://k",
                "the variable of provider.oidc.issuer is SALLYPORT_OIDC_URL"
            ),
            (
                "SALLYPORT_OIDC_CLIENT_SECRET", "x",
                "a variable must not hold this secret: put the secret into its own file"
            ),
            ("SALLYPORT_REDIS_URL", "http://r", "write redis://user:password@host:6379"),
            ("SALLYPORT_REDIS_URL", "redis://a b", "write it on one line"),
            ("SALLYPORT_INSECURE_HTTP", "true", "use the command line flag --insecure-http"),
            ("SALLYPORT_", "x", "unset it"),
        ]
        for (name, value, fix) in cases {
            let problems = self.problems(Self.start.merging([name: value]) { $1 })
            #expect(problems.count == 1, "\(name): \(problems)")
            #expect(problems.first?.origin == .environment(name))
            #expect(problems.first?.fix.hasPrefix(fix) == true, "\(problems)")
        }
    }

    @Test("other variables are ignored")
    func ignoresOthers() {
        #expect(
            self.problems(Self.start.merging(["PATH": "/bin", "sallyport_x": "1", "SALLYPORT": "2"]) { $1 }).isEmpty
        )
    }

    /// What Kubernetes sets for a service with two ports, IPv4 and IPv6, after the service's name.
    private static let serviceLinks: [(name: String, value: String)] = [
        ("SERVICE_HOST", "10.0.0.1"), ("SERVICE_HOST", "fd00::1"), ("SERVICE_PORT", "6379"),
        ("SERVICE_PORT_HTTP", "8080"), ("SERVICE_PORT_HTTP_ALT", "8081"), ("SERVICE_PORT_2ND", "8082"),
        ("SERVICE_PORT_HTTP_METRICS_INTERNAL", "8083"), ("SERVICE_PORT_8080", "8080"), ("SERVICE_PORT__8080", "8080"),
        ("SERVICE_PORT_A__B", "8084"), ("SERVICE_PORT_\(String(repeating: "A", count: 63))", "8085"),
        ("PORT", "tcp://10.0.0.1:8080"), ("PORT", "tcp://[fd00::1]:8080"), ("PORT", "udp://10.0.0.1:53"),
        ("PORT_8080_TCP", "tcp://10.0.0.1:8080"), ("PORT_8080_TCP_PROTO", "tcp"), ("PORT_8080_TCP_PORT", "8080"),
        ("PORT_8080_TCP_ADDR", "10.0.0.1"), ("PORT_53_UDP", "udp://[fd00::1]:53"), ("PORT_53_UDP_PROTO", "udp"),
        ("PORT_53_UDP_PORT", "53"), ("PORT_53_UDP_ADDR", "fd00::1"), ("PORT_9_SCTP", "sctp://10.0.0.1:9"),
        ("PORT_9_SCTP_PROTO", "sctp"), ("PORT_9_SCTP_PORT", "9"), ("PORT_9_SCTP_ADDR", "10.0.0.1"),
    ]

    /// The names of services as Kubernetes writes them in variables: `sallyport`, `sallyport-redis` and so on.
    private static let services = [
        "SALLYPORT", "SALLYPORT_REDIS", "SALLYPORT_2", "SALLYPORT_PORT", "SALLYPORT_SERVICE_HOST", "SALLYPORT_SERVICE",
        "SALLYPORT_OIDC_PROVIDER", "SALLYPORT__X", "SALLYPORT_PORT_80_TCP",
    ]

    @Test("what a Kubernetes service link injects is ignored with a warning", arguments: Self.services)
    func serviceLinks(service: String) throws {
        for (rest, value) in Self.serviceLinks {
            let name = "\(service)_\(rest)"
            let loaded = try self.load(Self.start.merging([name: value]) { $1 }).get()
            let warnings = loaded.warnings.filter { !$0.hasPrefix("trusted_proxies is empty") }
            #expect(warnings.count == 1, "\(name)=\(value)")
            #expect(warnings.first?.hasPrefix("\(name) is ignored") == true, "\(warnings)")
        }
    }

    @Test("all service links together are one warning")
    func serviceLinksTogether() throws {
        let links = [
            "SALLYPORT_REDIS_PORT": "tcp://10.0.0.1:6379", "SALLYPORT_REDIS_SERVICE_HOST": "10.0.0.1",
            "SALLYPORT_SERVICE_HOST": "10.0.0.2",
        ]
        let loaded = try self.load(Self.start.merging(links) { $1 }).get()
        let warnings = loaded.warnings.filter { !$0.hasPrefix("trusted_proxies is empty") }
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasPrefix("SALLYPORT_REDIS_PORT and 2 more like it are ignored") == true)
    }

    @Test(
        "a name that only resembles a service link is an error",
        arguments: [
            "SERVICE", "SERVICE_HOSTS", "SERVICE_PORT_", "SERVICE_PORT_http", "SERVICE_PORT_X_", "SERVICE_PORT__",
            "PORTS", "PORT_8080", "PORT_8080_DCCP", "PORT_8080_TCP_", "PORT_8080_TCP_X", "PORT_TCP", "PORT_99999_TCP",
            "PORT_080_TCP", "PORT_8080_TCP_PORT_X", "PORT_8080_tcp", "_SERVICE_HOST", "redis_SERVICE_HOST",
            "SERVICE_PORT___X", "SERVICE_PORT_A_NAME_THAT_IS_TOO_LONG_\(String(repeating: "A", count: 40))",
        ]
    )
    func almostServiceLinks(name: String) {
        for value in ["1", "8080", "10.0.0.1", "tcp", "tcp://10.0.0.1:8080"] {
            #expect(
                self.problems(Self.start.merging(["SALLYPORT_\(name)": value]) { $1 }).count == 1,
                "\(name)=\(value)"
            )
        }
    }

    @Test(
        "a service link's name with another value is an error, because it may be a misspelt setting",
        arguments: [
            ("SERVICE_HOST", "redis"), ("SERVICE_HOST", ""), ("SERVICE_HOST", "10.0.0.1:80"), ("SERVICE_PORT", "http"),
            ("SERVICE_PORT", "0"), ("SERVICE_PORT", "65536"), ("SERVICE_PORT", "+80"), ("SERVICE_PORT_HTTP", ":80"),
            ("SERVICE_PORT_8080", "http"), ("SERVICE_PORT_A__B", "0"),
            ("PORT", "8080"), ("PORT", ":8080"), ("PORT", "tcp://redis:80"), ("PORT", "http://10.0.0.1:80"),
            ("PORT", "tcp://10.0.0.1"), ("PORT", "tcp://fd00::1:80"), ("PORT", "tcp://[10.0.0.1]:80"),
            ("PORT_80_TCP", "tcp://10.0.0.1:81"), ("PORT_80_TCP", "udp://10.0.0.1:80"), ("PORT_80_TCP_PROTO", "udp"),
            ("PORT_80_TCP_PROTO", "TCP"), ("PORT_80_TCP_PORT", "81"), ("PORT_80_TCP_ADDR", "tcp"),
        ]
    )
    func otherValues(name: String, value: String) {
        for service in ["SALLYPORT", "SALLYPORT_REDIS"] {
            #expect(self.problems(Self.start.merging(["\(service)_\(name)": value]) { $1 }).count == 1)
        }
    }
}
