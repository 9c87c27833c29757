import Settings
import Testing

/// What people write in a settings file, and the sentence that each mistake gets.
@Suite("Mistakes in the settings") struct MistakeTests {
    /// A mistake in a line below the small file, or in a file of its own.
    struct Row: CustomTestStringConvertible, Sendable {
        var text: String
        var key: String
        var sentence: String
        var isWhole = false

        init(_ text: String, _ key: String, _ sentence: String, isWhole: Bool = false) {
            self.text = isWhole ? text : SettingsBench.base + text + "\n"
            self.key = key
            self.sentence = sentence
            self.isWhole = isWhole
        }

        var testDescription: String { "\(self.key): \(self.sentence)" }
    }

    private static let rows = [
        Row("routes: [{path: /admin/**, groups: [admins]}]", "routes[0].groups", "write require: {groups_any: [...]}"),
        Row("routes: [{path: /a, role: x}]", "routes[0].role", "write require: {groups_any: [...]}"),
        Row("routes: [{path: /a, roles: [x]}]", "routes[0].roles", "write require: {groups_any: [...]}"),
        Row(
            "routes: [{path: /a, require: {users: [x]}}]",
            "routes[0].require.users",
            "write groups_any: [...]: routes ask for groups of the user"
        ),
        Row("routes: [{path: /a, public: true}]", "routes[0].public", "write auth: public"),
        Row("routes: [{path: /a, auth: none}]", "routes[0].auth", "write public"),
        Row("routes: [{path: /a, auth: false}]", "routes[0].auth", "write public"),
        Row("routes: [{path: /a, auth: Anonymous}]", "routes[0].auth", "write public"),
        Row("routes: [{path: /a, auth: yes}]", "routes[0].auth", "write required"),
        Row("routes: [{path: /a, auth: nowhere}]", "routes[0].auth", "write one of these words"),
        Row("routes: [{path: /a, methods: [get]}]", "routes[0].methods[0]", "CONNECT and TRACE are never served"),
        Row("routes: [{path: a}]", "routes[0].path", "begin with /"),
        Row(
            "routes: [{path: /a, upstream: nowhere}]",
            "routes[0].upstream",
            "add it to upstreams, or write the app's URL"
        ),
        Row("routes: [{path: \"/a/*.js\"}]", "routes[0].path", "use * only as a whole segment"),
        Row("routes: [{path: /a}, {path: /a}]", "routes[1].path", "merge the two routes: the other one is at"),
        Row(
            "routes: [{path: \"/a?b\"}]",
            "routes[0].path",
            "write a path without ?, #, ;, \\ and %, which no route can have"
        ),
        Row("routes: [{path: /a%3Fb}]", "routes[0].path", "write a path without ?, #, ;, \\ and %"),
        Row("routes: [{path: /100%25}]", "routes[0].path", "write a path without ?, #, ;, \\ and %"),
        Row("routes: [{path: /a%0Ab}]", "routes[0].path", "write a path without ?, #, ;, \\ and %"),
        Row("routes: [{path: /a%2e%2e/%2E%2e/b}]", "routes[0].path", "remove the segments . and .."),
        Row("routes: [{path: /a%2Fb}]", "routes[0].path", "and none for / or *"),
        Row("routes: [{path: /%2A}]", "routes[0].path", "and none for / or *"),
        Row("routes: [{path: /100%}]", "routes[0].path", "write each escape as % and two digits"),
        Row("routes: [{path: /%FC}]", "routes[0].path", "write each escape as % and two digits"),
        Row("routes: [{path: /%2Esallyport/x}]", "routes[0].path", "/.sallyport belongs to the gateway"),
        Row(
            "routes: [{path: /.sallyport/x}]",
            "routes[0].path",
            "choose another path: /.sallyport belongs to the gateway on every host"
        ),
        Row("routes: [{path: /app/**, strip_prefix: app}]", "routes[0].strip_prefix", "begin with /"),
        Row(
            "routes: [{path: /x, strip_prefix: /app}]",
            "routes[0].strip_prefix",
            "write path: /app/**, or another prefix"
        ),
        Row("routes: [{path: /a, client: nobody}]", "routes[0].client", "add it to clients"),
        Row("routes: [{path: /a, require: {aal: 2}}]", "routes[0].require.aal", "write one of these words"),
        Row(
            "routes: [{path: /a, require: {max_age: 5}}]",
            "routes[0].require.max_age",
            "add the unit: 5s for seconds, 5m for minutes"
        ),
        Row("routes: {path: /a}", "routes", "write a list: one element per line after \"- \""),
        Row("session: {lifetime: 1h}", "session.lifetime", "write absolute"),
        Row(
            "session: {absolute: 5 minutes}",
            "session.absolute",
            "use exactly one of the units ms, s, m, h, d: 90m, not 1h30m"
        ),
        Row("session: {idle: 90}", "session.idle", "add the unit: 90s for seconds, 90m for minutes"),
        Row("session: {idle: 48h, absolute: 24h}", "session.idle", "write a shorter idle, or a longer absolute"),
        Row(
            "session: {cookie: session}",
            "session.cookie",
            "write __Host-session, or use --insecure-http for plain http"
        ),
        Row("session: {domain: example.com}", "session.domain", "write an element of hosts for each name"),
        Row("headers: {X-User: email}", "headers", "write identity.headers"),
        Row(
            "identity: {headers: {X-User: mail}}",
            "identity.headers.X-User",
            "for a trait of the user write identity.traits.<name>"
        ),
        Row("identity: {headers: {Host: subject}}", "identity.headers.Host", "choose a name such as X-Auth-Host"),
        Row("cookie_domain: example.com", "cookie_domain", "write an element of hosts for each name"),
        Row(
            "cookie_secret: abc",
            "cookie_secret",
            "put the secret into its own file, and set secret_file to the path of that file"
        ),
        Row(
            "redirect_url: https://x",
            "redirect_url",
            "remove it: register the URL /.sallyport/callback of each host at the provider"
        ),
        Row(
            "redirect_uri: https://x",
            "redirect_uri",
            "remove it: register the URL /.sallyport/callback of each host at the provider"
        ),
        Row("issuer_url: https://x", "issuer_url", "write provider.oidc with issuer and client_id"),
        Row("metrics: true", "metrics", "write admin.listen, which has /metrics, /healthz and /readyz"),
        Row("websocket: true", "websocket", "remove it: WebSockets pass wherever the route lets the request pass"),
        Row(
            "forward_auth: true",
            "forward_auth",
            "write authorization.listen and authorization.peers: the guide Run/BesideAProxy.md"
        ),
        Row(
            "auth_request: true",
            "auth_request",
            "write authorization.listen and authorization.peers: the guide Run/BesideAProxy.md"
        ),
        Row(
            "wildcard: true",
            "wildcard",
            "write an element of hosts for each name, or one for all of a domain: public_url: \"https://*.example.com\""
        ),
        Row(
            "redis: {url: \"redis://x\"}",
            "redis",
            "the key is store.redis: write store.redis.url_file, or set SALLYPORT_REDIS_URL"
        ),
        Row("store: redis", "store", "write key: value, one per line, indented"),
        Row(
            "store: {redis: {url: \"host:6379\"}}",
            "store.redis.url",
            "write redis://user:password@host:6379, or rediss:// for TLS"
        ),
        Row(
            "store: {redis: {}}",
            "store.redis.url",
            "add url_file, or set SALLYPORT_REDIS_URL or SALLYPORT_REDIS_URL_FILE"
        ),
        Row("listen: 8080", "listen", "write \":8080\" for every address, or \"127.0.0.1:8080\" for this machine only"),
        Row(
            "listen: localhost:8080",
            "listen",
            "write an IP address instead of a name, or only the port (\":8080\") to listen on every address"
        ),
        Row("listen: \"127.0.0.1\"", "listen", "add the port: \":8080\""),
        Row("listen: \"::1:8080\"", "listen", "put the IPv6 address in brackets: \"[::1]:8080\""),
        Row("listen: \"127.0.0.1:99999\"", "listen", "end with a port from 0 to 65535, e.g. \"127.0.0.1:8080\""),
        Row(
            "trusted_proxies: [0.0.0.0/0]",
            "trusted_proxies[0]",
            "list the proxies, or accept forged addresses with --insecure-trust-all-proxies"
        ),
        Row("trusted_proxies: [10.0.0.1/8]", "trusted_proxies[0]", "all bits after the length must be 0"),
        Row("trusted_proxies: 10.0.0.300", "trusted_proxies", "all bits after the length must be 0"),
        Row("upsteam: http://127.0.0.1:3000", "upsteam", "did you mean upstream?"),
        Row("log: {format: txt}", "log.format", "did you mean text?"),
        Row("log: {level: verbose}", "log.level", "write debug"),
        Row("log: {format: pretty}", "log.format", "write text"),
        Row("logging: {level: debug}", "logging", "write log, with level, format and access"),
        Row("cookie: {domain: example.com}", "cookie", "write session.cookie for its name, same_site for the host"),
        Row("cookies: {secure: true}", "cookies", "write session.cookie for its name, same_site for the host"),
        Row("redirect_uris: [https://x]", "redirect_uris", "remove it: register the URL /.sallyport/callback"),
        Row("rate_limit: 10", "rate_limit", "remove it: sign-ins are always limited"),
        Row("basic_auth: true", "basic_auth", "write provider.static.users_file"),
        Row("csp: x", "csp", "write response_headers for a route"),
        Row("trust_proxy: true", "trust_proxy", "write trusted_proxies"),
        Row("tracing: true", "tracing", "write telemetry.endpoint"),
        Row("limits: {max_sessions: 5}", "limits.max_sessions", "move it: the key is store.memory.max_sessions"),
        Row(
            "clients: [{client_id: a, redirect_uris: [\"https://a.example/x\"]}]",
            "clients[0].redirect_uris",
            "write callbacks"
        ),
        Row(
            "clients: [{client_id: a, callbacks: [\"http://a.example/x\"]}]",
            "clients[0].callbacks[0]",
            "plain http only on loopback"
        ),
        Row(
            "clients: [{client_id: a, callbacks: [\"https://a.example/*\"]}]",
            "clients[0].callbacks[0]",
            "plain http only on loopback"
        ),
        Row(
            "clients: [{callbacks: []}]",
            "clients[0].client_id",
            "add the key client_id: The client's id, as the client sends it."
        ),
        Row(
            "clients: [{client_id: a}, {client_id: a}]",
            "clients[1].client_id",
            "merge the two clients: the other one is at"
        ),
        Row("secret_file: missing", "secret_file", "check the path and the file's permissions"),
        Row("secret: abc", "secret", "put the secret into its own file, and set secret_file to the path of that file"),
        Row("secret_file: /nowhere/secret", "secret_file", "check the path and the file's permissions"),
        Row("tls: {certificate_file: /nowhere/a.pem}", "tls.key_file", "add key_file"),
        Row(
            "hosts: [{public_url: \"https://b.example.com\", upstream: \"http://127.0.0.1:1\"}]",
            "public_url",
            "move it into an element of hosts"
        ),
        Row("pages: {colour: blue}", "pages.colour", "write it in this form, in quotes"),
        Row(
            "pages: {templates_dir: /nowhere}",
            "pages.templates_dir",
            "check the path and the names, or remove the key"
        ),
        Row(
            "timeouts: {header: fast}",
            "timeouts.header",
            "write a whole number and a unit: 250ms, 30s, 5m, 12h or 7d"
        ),
        Row("drain: {delay: -1s}", "drain.delay", "write a whole number and a unit: 250ms, 30s, 5m, 12h or 7d"),
        Row("event_loops: many", "event_loops", "write a whole number in decimal digits"),
        Row("ldap: {}", "ldap", "remove it: use an OpenID provider that knows these users"),
        Row("port: 80", "port", "write listen"),
    ]

    private static let files = [
        Row(
            "public_url: app.example.com\nupstream: http://127.0.0.1:3000\n",
            "public_url",
            "begin with https:// or http://",
            isWhole: true
        ),
        Row(
            "public_url: http://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: {static: {users: []}}\n",
            "public_url",
            "write https, or accept readable cookies and tokens with --insecure-http",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com/app\nupstream: http://127.0.0.1:3000\n",
            "public_url",
            "remove the path, the query and the fragment",
            isWhole: true
        ),
        Row(
            "public_url: https://*.example.com\nupstream: http://127.0.0.1:3000\n",
            "public_url",
            "only the public_url of an element of hosts may have a wildcard",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: 127.0.0.1:3000\nprovider: {oidc: {issuer: https://id.example.com, client_id: a}}\n",
            "upstream",
            "begin with https:// or http://",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000/app\nprovider: {oidc: {issuer: id.example.com, client_id: a}}\n",
            "upstream",
            "remove the path, the query and the fragment",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: {oidc: {issuer: https://id.example.com/, clientid: a}}\n",
            "provider.oidc.client_id",
            "add the key client_id: The gateway's client id at the provider.",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: {keycloak: {}}\n",
            "provider.keycloak",
            "write provider.oidc with its issuer and client_id",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: {static: {users: [{identifier: ada, password: x}]}}\n",
            "provider.static.users[0].password_hash",
            "add the key password_hash: A hash of the password, as `sallyport hash-password` prints it, or a scrypt, bcrypt or argon2id hash from another program.",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: {static: {users: [{identifier: ada, password_hash: x}]}}\n",
            "provider.static.users[0].password_hash",
            "write what `sallyport hash-password` prints, never the password itself",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: {static: {users: [{email: ada, password_hash: x}]}}\n",
            "provider.static.users[0].email",
            "write identifier, and what apps learn about the user below traits",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\n\tupstream: x\n",
            "public_url",
            "check the indentation, the space after each colon and the quotes around this line",
            isWhole: true
        ),
        Row(
            "public_url: https://app.example.com\npublic_url: https://b.example.com\nupstream: http://127.0.0.1:3000\n",
            "public_url",
            "remove one: the other is at",
            isWhole: true
        ),
        Row(
            "",
            "public_url",
            "write the URL with which clients reach the gateway (public_url or SALLYPORT_PUBLIC_URL), or hosts",
            isWhole: true
        ),
        Row("[]", "(top level)", "write key: value, one per line, indented", isWhole: true),
        Row(
            "public_url: [a\n",
            "public_url",
            "check the indentation, the space after each colon and the quotes around this line",
            isWhole: true
        ),
    ]

    @Test("Each mistake is answered with its key and what to write instead", arguments: rows + files)
    func mistakes(row: Row) {
        let problems = SettingsBench().problems(row.text)
        let own = problems.filter { $0.description.contains(row.sentence) }
        #expect(own.contains { $0.key == row.key }, "\(problems)")
        // Nobody has to look for it: but for variables, each names its line.
        #expect(problems.allSatisfy { $0.line != nil }, "\(problems)")
        #expect(problems.count <= 3, "one mistake is not told many times: \(problems)")
    }

    @Test("In a pipeline the files that the settings name are not asked for, and everything else is judged")
    func withoutFiles() throws {
        for name in ["sallyport.reference.yaml", "sallyport.yaml", "sallyport.hosts.yaml"] {
            var bench = SettingsBench()
            bench.files = [:]
            #expect(!bench.problems(try SettingsBench.config(name)).isEmpty || name != "sallyport.reference.yaml")
            bench.lacksFiles = true
            #expect(bench.problems(try SettingsBench.config(name)).map(\.description) == [], "\(name)")
        }
        var bench = SettingsBench()
        bench.files = [:]
        bench.lacksFiles = true
        let text = SettingsBench.base + "secret_file: secret\nsession: {idle: 90}\npages: {logo: a.png}\nsecret: x\n"
        #expect(Set(bench.problems(text).map(\.key)) == ["session.idle", "secret"])
        let provider = "{oidc: {issuer: https://id.example.com, client_id: a, client_secret_file: s}}"
        #expect(
            try !bench.load(SettingsBench.file(provider: provider)).get().warnings.contains {
                $0.contains("_secret_file")
            }
        )
    }

    @Test("A file that exists is no secret: it is named, and one that does not exist may be the secret itself")
    func names() throws {
        var bench = SettingsBench()
        bench.openToAll = ["/etc/sallyport/secret"]
        let loaded = try bench.load(SettingsBench.base + "secret_file: secret\n").get()
        #expect(loaded.warnings.contains("secret_file: every user of this machine can read secret; chmod o-rwx it"))
        bench.files["/etc/sallyport/short"] = Array("abc\n".utf8)
        bench.files["/etc/sallyport/long"] = Array(repeating: 0x61, count: 1 << 20)
        let long = bench.problems(SettingsBench.base + "secret_file: long\n")
        #expect(long.count == 1 && long[0].found.hasSuffix(" at long"), "\(long)")
        let absent = bench.problems(SettingsBench.base + "secret_file: \(canary)\n")
        #expect(absent.count == 1 && !absent[0].description.contains(canary), "\(absent)")
    }

    @Test(
        "An absent file with a name as files of secrets have is named; what may be a secret is not",
        arguments: [
            ("client-secret", true), ("keys/redis-url.txt", true), ("the.secret", true), ("app_secret.key", true),
            ("correct-horse-battery", false), ("secret1", false), ("Secret", false), ("secretary", false),
            ("hunter2", false), ("c2VjcmV0LWtleQ==", false),
        ]
    )
    func namesAbsentFiles(name: String, isNamed: Bool) {
        let problems = SettingsBench().problems(SettingsBench.base + "secret_file: \"\(name)\"\n")
        #expect(problems.count == 1 && problems[0].description.contains(name) == isNamed, "\(problems)")
    }
}
