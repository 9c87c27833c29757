import Settings
import Testing

@Suite("Secrets are never shown")
struct SecretTests {
    @Test("a secret in the place of a file's name, of a mapping, of a URL or under a wrong key is never shown")
    func misplacedSecrets() {
        let texts = [
            "secret_file: \(canary)", "secret: \(canary)", "secret:\(canary)", "secret_file: {\(canary): 1}",
            "session: \(canary)",
            "clients: [{client_id: a, client_secret_file: \(canary)}]",
            "clients: [{client_id: a, client_secret: \(canary)}]",
            "identity: {basic: {username: subject, password_file: \(canary)}}",
            "identity: {basic: {username: subject, password: \(canary)}}", "identity: {basic: \(canary)}",
            "upstreams: {a: {url: https://a, key_file: \(canary)}}", "upstreams: {a: {url: \"http://u:\(canary)@h\"}}",
            "routes: [{upstream: \"http://u:\(canary)@h\"}]", "routes: [{trusted_origins: [\"https://\(canary)@h\"]}]",
            "clients: \(canary)", "\(canary)", "- \(canary)", "log: {\(canary)", "drain: \"\(canary)",
            "limits: &a \(canary)",
            "asn: !x \(canary)", "log: [\(canary)]", "store: {memory: {max_sessions: [\(canary)]}}",
        ]
        for text in texts {
            let problems = SettingsBench().problems(adding: text + "\n")
            #expect(!problems.isEmpty, "\(text)")
            #expect(!SettingsFailure(problems).description.contains(canary), "\(problems)")
        }
        for hash in [canary, "scrypt:\(canary)", "\(passwordHash):\(canary)", "{a: \(canary)}", "[\(canary)]"] {
            let problems = SettingsBench().problems(SettingsBench.base.replacing(passwordHash, with: hash))
            #expect(!problems.isEmpty)
            #expect(!SettingsFailure(problems).description.contains(canary), "\(problems)")
        }
    }

    @Test("a secret in a variable is never shown")
    func secretVariables() {
        for name in ["SECRET", "SECRET_FILE", "CLIENT_SECRET", "REDIS_URL", "IDENTITY_BASIC_PASSWORD_FILE", "X"] {
            let problems = SettingsBench(environment: ["SALLYPORT_\(name)": canary]).problems(SettingsBench.base)
            #expect(!problems.isEmpty, "\(name)")
            #expect(!SettingsFailure(problems).description.contains(canary), "\(problems)")
        }
        let url = SettingsBench(environment: ["SALLYPORT_UPSTREAM": "http://u:\(canary)@h"]).problems(
            SettingsBench.base
        )
        #expect(!SettingsFailure(url).description.contains(canary))
    }

    @Test("a file with a secret that every user of the machine can read is a warning, another file is none")
    func openFiles() throws {
        let yaml = """
            public_url: https://app.example.com
            upstream: http://127.0.0.1:3000
            secret_file: secret
            clients: [{client_id: web-app, client_secret_file: web-app.secret}]
            provider: {static: {users_file: users.yaml}}

            """
        var bench = SettingsBench()
        #expect(try !bench.load(yaml).get().warnings.contains { $0.contains("can read") })
        bench.openToAll = ["secret", "web-app.secret", "users.yaml", "ca.pem"]
            .reduce(into: []) { $0.insert("/etc/sallyport/\($1)") }
        let warnings = try bench.load(yaml).get().warnings.filter { $0.contains("can read") }
        #expect(
            warnings.map { $0.prefix { $0 != ":" } }
                == ["provider.static.users_file", "secret_file", "clients[0].client_secret_file"]
        )
    }

    @Test("what check prints has every effective value with its origin, and no secret")
    func description() throws {
        let loaded = try SettingsBench(environment: ["SALLYPORT_DRAIN_DELAY": "9s"])
            .load(
                try SettingsBench.config("sallyport.reference.yaml").replacing(
                    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    with: canary
                )
            )
            .get()
        let text = loaded.describe()
        #expect(!text.contains(canary))
        #expect(!String(describing: loaded).contains(canary))
        #expect(!String(reflecting: loaded.settings).contains(canary))
        let lines = text.split(separator: "\n")
        #expect(lines.contains("drain.delay: 9s  # SALLYPORT_DRAIN_DELAY"))
        #expect(lines.contains { $0.hasPrefix("session.idle: 30m  # /etc/sallyport/sallyport.yaml:") })
        #expect(lines.contains { $0.hasPrefix("provider.static.users[0].password_hash: <redacted>") })
        #expect(lines.contains { $0.hasPrefix("identity.headers.X-User-Email: identity.traits.email  # /") })
        let implied = try SettingsBench().load(SettingsBench.base).get().describe().split(separator: "\n")
        #expect(implied.contains("session.idle: 30m  # default"))
        #expect(implied.contains("public_url: https://app.example.com  # /etc/sallyport/sallyport.yaml:1:13"))
    }

    @Test("what check prints has values in place of words that describe them")
    func valuesInUse() throws {
        let user = "{identifier: ada, password_hash: \"\(passwordHash)\"}"
        let route = "routes: [{path: /x}, {path: /y, upstream: a}]"
        let text = """
            upstream: http://127.0.0.1:3000
            upstreams: {a: {url: https://a.internal}}
            hosts:
              - {public_url: https://app.example.com, \(route)}
              - {public_url: http://localhost:8080, \(route)}
            providers: [{name: staff, static: {users: [\(user)]}}]
            clients: [{client_id: app}]

            """
        let loaded = try SettingsBench().load(text).get()
        let values = Dictionary(loaded.entries.map { ($0.key, $0.value) }) { first, _ in first }
        let expected = [
            "event_loops": "\(loaded.settings.eventLoops)",
            "session.cookie": "__Host-sallyport, on plain http sallyport",
            "hosts[0].endpoints": "false", "hosts[0].provider": "staff", "clients[0].provider": "staff",
            "hosts[0].routes[0].name": "app.example.com/x", "hosts[1].routes[0].name": "localhost:8080/x",
            "hosts[0].routes[0].upstream": "http://127.0.0.1:3000", "hosts[0].routes[1].upstream": "a",
            "hosts[0].routes[0].audience": "https://app.example.com",
            "hosts[1].routes[1].audience": "http://localhost:8080",
            "upstreams.a.server_name": "a.internal",
        ]
        for (key, value) in expected { #expect(values[key] == value, "\(key)") }
        #expect(!loaded.entries.contains { $0.isChanged && $0.origin == .builtIn })
    }
}
