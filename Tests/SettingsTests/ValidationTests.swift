import Settings
import Testing
import Vocabulary

@Suite("How settings fit together")
struct ValidationTests {
    /// A file with `hosts` instead of the shorthand.
    private static func hosts(_ text: String, _ more: String = "") -> String {
        "provider: {static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]}}\nhosts: \(text)\n\(more)"
    }

    private func expect(_ problems: [SettingsProblem], _ key: String, _ fix: String = "", count: Int = 1) {
        #expect(problems.count == count, "\(problems)")
        let problem = problems.first { $0.key == key }
        #expect(problem != nil, "\(key): \(problems)")
        #expect(problem?.fix.contains(fix) ?? true, "\(problems)")
    }

    @Test("each insecure setting is refused with the flag that allows it, and allowed with a warning")
    func insecureSettings() throws {
        let cases: [(text: String, key: String, flag: String, flags: InsecureFlags)] = [
            (
                SettingsBench.base.replacing("https://app", with: "http://app"), "public_url", "--insecure-http",
                InsecureFlags(http: true)
            ),
            (
                SettingsBench.base + "listen: \":8080\"", "provider.static", "--insecure-static-users",
                InsecureFlags(staticUsers: true)
            ),
            (
                SettingsBench.base + "trusted_proxies: [0.0.0.0/0]", "trusted_proxies[0]",
                "--insecure-trust-all-proxies",
                InsecureFlags(trustAllProxies: true)
            ),
            (
                SettingsBench.base + "trusted_proxies: [10.0.0.0/8, \"::/0\"]", "trusted_proxies[1]",
                "--insecure-trust-all-proxies", InsecureFlags(trustAllProxies: true)
            ),
        ]
        for (text, key, flag, flags) in cases {
            self.expect(SettingsBench().problems(text), key, flag)
            let warnings = try SettingsBench(flags: flags).load(text).get().warnings.filter { $0.hasPrefix("--") }
            #expect(warnings.count == 1 && warnings[0].contains(flag), "\(warnings)")
        }
    }

    @Test("plain http on loopback needs no flag")
    func loopback() {
        for host in ["localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "app.localhost"] {
            let text = SettingsBench.base.replacing("https://app.example.com", with: "\"http://\(host)\"")
            #expect(SettingsBench().problems(text).isEmpty, "\(host)")
        }
    }

    @Test("the sessions of a user are not limited unless the settings say so")
    func maxPerUser() throws {
        let plain = try #require(SettingsBench().settings(adding: "")).session
        #expect(plain.maxPerUser == SessionSettings.MaxPerUser() && plain.maxPerUser.browser == nil)
        #expect(plain.maxPerUser.native == nil && plain.onLimit == .endOldest)
        let text = "session: {max_per_user: {browser: 5, native: 100}, on_limit: refuse}"
        let set = try #require(SettingsBench().settings(adding: text)).session
        #expect(set.maxPerUser.browser == 5 && set.maxPerUser.native == 100 && set.onLimit == .refuse)
        for number in ["0", "101"] {
            self.expect(
                SettingsBench().problems(adding: "session: {max_per_user: {browser: \(number)}}"),
                "session.max_per_user.browser"
            )
        }
    }

    @Test("browsers keep the cookie as the settings say, and users are asked only where they see the gateway's page")
    func persistence() throws {
        let plain = try #require(SettingsBench().settings(adding: ""))
        #expect(plain.session.browser.persistence == .never && plain.session.transfer.persistence == .never)
        let set = SettingsBench().settings(adding: "session: {persistent: ask, transfer: {persistent: always}}")
        #expect(set?.session.browser.persistence == .ask && set?.session.transfer.persistence == .always)
        self.expect(
            SettingsBench().problems(adding: "session: {transfer: {persistent: ask}}"),
            "session.transfer.persistent"
        )
        let issuer = "issuer: \"https://id.example.com\""
        let provider = "provider: {oidc: {\(issuer), client_id: a, client_authentication: none}}\n"
        let base = "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\n\(provider)"
        self.expect(SettingsBench().problems(base + "session: {persistent: ask}"), "session.persistent", "always")
        #expect(SettingsBench().problems(base + "session: {persistent: always}").isEmpty)
    }

    @Test("same_site: none needs https; cors.credentials for another site without it is a warning")
    func sameSite() throws {
        let none = try #require(SettingsBench().settings(adding: "same_site: none").map { $0.hosts[0] })
        #expect(none.sameSite == .none && none.cookieReach == .partitioned)
        #expect(SettingsBench().settings(adding: "")?.hosts[0].cookieReach == .site)
        let plain = SettingsBench.base.replacing("https://app.example.com", with: "\"http://localhost:8080\"")
        self.expect(SettingsBench().problems(plain + "same_site: none"), "same_site", "https")
        for (origin, site, isWarned) in [
            ("https://spa.example.org", "lax", true), ("https://spa.example.org", "none", false),
            ("https://spa.example.com", "lax", false), ("http://spa.example.com", "lax", true),
            ("https://app.example.com:8443", "lax", false), ("https://192.0.2.1", "lax", true),
            ("https://[2001:db8::1]:444", "lax", true),
        ] {
            let cors = "routes: [{path: /**, cors: {origins: [\"\(origin)\"], credentials: true}}]"
            let text = SettingsBench.base + "same_site: \(site)\n\(cors)"
            let warnings = try SettingsBench().load(text).get().warnings.filter { $0.contains("same_site: none") }
            #expect(warnings.count == (isWarned ? 1 : 0), "\(origin) \(site)")
        }
    }

    @Test("identity.encoding is percent or utf8")
    func identityEncoding() {
        #expect(SettingsBench().settings(adding: "")?.identity.encoding == .percent)
        for encoding in IdentitySettings.Encoding.allCases {
            let written = SettingsBench().settings(adding: "identity: {encoding: \(encoding.rawValue)}")
            #expect(written?.identity.encoding == encoding)
        }
        self.expect(SettingsBench().problems(adding: "identity: {encoding: utf-8}"), "identity.encoding", "utf8")
    }

    @Test("the session cookie has __Host- unless plain http is allowed")
    func cookieName() throws {
        self.expect(SettingsBench().problems(adding: "session: {cookie: sid}"), "session.cookie", "__Host-sid")
        self.expect(SettingsBench().problems(adding: "session: {cookie: __Host-}"), "session.cookie")
        #expect(SettingsBench().settings(adding: "")?.session.cookieName == "__Host-sallyport")
        let flags = InsecureFlags(http: true)
        #expect(SettingsBench(flags: flags).settings(adding: "session: {cookie: sid}")?.session.cookieName == "sid")
        #expect(SettingsBench(flags: flags).settings(adding: "")?.session.cookieName == "__Host-sallyport")
        // A plain-http host drops the prefix by itself; other https hosts keep it.
        let plain = SettingsBench.base.replacing("https://app.example.com", with: "http://127.0.0.1:8080")
        #expect(try SettingsBench(flags: flags).load(plain).get().settings.session.cookieName == "__Host-sallyport")
    }

    @Test("two hosts with one authority are refused with both places")
    func hostsTwice() {
        for (one, two) in [
            ("https://a.example", "https://A.example:443/"), ("https://a.example", "https://a.example."),
            ("http://localhost", "https://localhost"), ("https://[::1]:1", "https://[0:0::1]:1"),
        ] {
            let routes = "routes: [{upstream: http://127.0.0.1:1}]"
            let text = Self.hosts("[{public_url: \"\(one)\", \(routes)},\n  {public_url: \"\(two)\", \(routes)}]")
            self.expect(SettingsBench().problems(text), "hosts[1].public_url", "sallyport.yaml:2:22")
        }
    }

    @Test("public URLs are an origin in ASCII and nothing else")
    func publicURLs() {
        for url in [
            "app.example.com", "ftp://a.example", "https://", "https://a.example/x", "https://a.example?x",
            "https://a.example#x",
            "https://u:p@a.example", "https://ä.example", "https://a.example:0", "https://a.example:99999",
            "https://a..example",
            "https://1.2.3", "https://0x7f.1", "https://[::1", "https://[fe80::1%25eth0]", "https://a b",
            "https://-a.example",
            "https://a.example:", "https://*.example", "//a.example", "https:a.example",
        ] {
            let text = SettingsBench.base.replacing("https://app.example.com", with: "\"\(url)\"")
            self.expect(SettingsBench().problems(text), "public_url")
        }
    }

    @Test("what a route or client names must exist")
    func names() {
        self.expect(
            SettingsBench().problems(adding: "routes: [{path: /, upstream: rports}]"),
            "routes[0].upstream",
            "add it to upstreams"
        )
        let upstreams = "upstreams: {reports: {url: http://127.0.0.1:1}}\n"
        self.expect(
            SettingsBench().problems(adding: upstreams + "routes: [{path: /, upstream: rports}]"),
            "routes[0].upstream",
            "did you mean reports?"
        )
        self.expect(
            SettingsBench().problems(adding: "routes: [{path: /, client: app}]"),
            "routes[0].client",
            "add it to clients"
        )
        self.expect(
            SettingsBench().problems(adding: "routes: [{path: /, handoff: true}]"),
            "routes[0].handoff",
            "client"
        )
        self.expect(
            SettingsBench().problems(adding: "clients: [{client_id: app}]\nroutes: [{path: /, client: app}]"),
            "routes[0].client",
            "add cookie or query"
        )
        self.expect(
            SettingsBench().problems(adding: "clients: [{client_id: a}, {client_id: a}]"),
            "clients[1].client_id",
            "merge the two"
        )
    }

    @Test("a binding to networks needs a source of their numbers, and both are named")
    func asnBinding() {
        let client = "clients: [{client_id: a, session_transfer: {enforce_device_binding: ip_or_asn}}]\n"
        self.expect(
            SettingsBench().problems(adding: client),
            "clients[0].session_transfer.enforce_device_binding",
            "asn.database"
        )
        let route = "routes: [{binding: asn}]\n"
        let proxies = "trusted_proxies: [127.0.0.1]\n"
        self.expect(SettingsBench().problems(adding: proxies + route), "routes[0].binding", "asn.database")
        for mode in ["asn", "ip_dual_stack", "ip_or_asn"] {
            let text = proxies + "routes: [{binding: \(mode)}]\n"
            self.expect(SettingsBench().problems(adding: text), "routes[0].binding", "asn.database")
        }
        let source = proxies + "asn: {database: /var/lib/sallyport/GeoLite2-ASN.mmdb}\n"
        #expect(SettingsBench().problems(adding: client + route + source).isEmpty)
        self.expect(SettingsBench().problems(adding: "asn: {csv: /missing}\n"), "asn.csv", "check the path")
        self.expect(SettingsBench().problems(adding: "asn: {}\n"), "asn", "add one")
        let both = "asn: {database: /etc/sallyport/ca.pem, csv: /etc/sallyport/ca.pem}\n"
        self.expect(SettingsBench().problems(adding: both), "asn", "remove one")
    }

    @Test("The binding of delegated tokens counts where the client takes them")
    func delegation() {
        let inert =
            "enforce_cascade_revocation: true, allow_refresh_token: true, enforce_online_refresh_tokens: true, "
            + "delegation: {allow_delegated_access: false, enforce_device_binding: asn}"
        func file(_ text: String) -> String { "clients: [{client_id: a, session_transfer: {\(text)}}]\n" }
        #expect(SettingsBench().problems(adding: file(inert)).isEmpty)
        #expect(SettingsBench().problems(adding: file("delegation: {allow_delegated_access: true}")).isEmpty)
        self.expect(
            SettingsBench().problems(
                adding: file("delegation: {allow_delegated_access: true, enforce_device_binding: asn}")
            ),
            "clients[0].session_transfer.delegation.enforce_device_binding",
            "add asn.database or asn.csv"
        )
        self.expect(
            SettingsBench().problems(adding: file("delegation: {enforce_device_binding: none}")),
            "clients[0].session_transfer.delegation.enforce_device_binding",
            "one of these words"
        )
        #expect(SettingsBench().problems(adding: file("enforce_cascade_revocation: false")).isEmpty)
        #expect(SettingsBench().problems(adding: file("enforce_online_refresh_tokens: false")).isEmpty)
    }

    @Test("An app has one address or a list of servers, each once and all with the same scheme")
    func servers() {
        func file(_ text: String) -> String { "upstreams: {a: {\(text)}}\n" }
        func problems(_ text: String) -> [SettingsProblem] { SettingsBench().problems(adding: file(text)) }
        self.expect(problems("balance: sticky"), "upstreams.a.url", "add url, the address of the app")
        self.expect(problems("url: http://a, servers: [http://b]"), "upstreams.a.url", "move the URL into servers")
        self.expect(problems("servers: []"), "upstreams.a.servers", "add a server")
        let many = (1...65).map { "http://a\($0)" }.joined(separator: ", ")
        self.expect(problems("servers: [\(many)]"), "upstreams.a.servers", "load balancer")
        self.expect(problems("servers: [http://a, {url: http://a:80}]"), "upstreams.a.servers[1].url", "weight")
        self.expect(problems("servers: [http://a, https://b]"), "upstreams.a.servers[1].url", "the same scheme")
        self.expect(
            problems("servers: [http://a, {url: http://b, server_name: c}]"),
            "upstreams.a.servers[1].server_name",
            "https"
        )
        self.expect(problems("servers: [http://a, {url: http://b, weight: 0}]"), "upstreams.a.servers[1].weight")
        self.expect(problems("url: http://192.0.2.1, health: {path: /}"), "upstreams.a.health", "add another server")
        self.expect(
            problems("servers: [\"http://[::1]\"], slow_start: 30s"),
            "upstreams.a.slow_start",
            "add another server"
        )
        self.expect(problems("servers: [http://a, http://b], health: {path: healthz}"), "upstreams.a.health.path", "/")
        let odd = problems("servers: [http://a, http://b], health: {path: \"/a b\"}")
        self.expect(odd, "upstreams.a.health.path", "percent-encode")
        for client in ["client", "Client"] {
            // As a route's host it is the public name, and a check has no public name.
            let found = problems("servers: [http://a, http://b], health: {host: \(client)}")
            self.expect(found, "upstreams.a.health.host", "write the name itself, such as app.example.com")
        }
        let socket = problems("url: \"unix:/run/a.sock\", retry_on: [503]")
        self.expect(socket, "upstreams.a.retry_on", "add another server")
        // A name may have several addresses.
        #expect(SettingsBench().settings(adding: file("url: http://a, health: {path: /}, retry_on: [503]")) != nil)
        self.expect(
            problems("servers: [http://a, http://b], retry_on: [404]"),
            "upstreams.a.retry_on[0]",
            "in this range"
        )
        let few = problems("servers: [http://a, http://b], max_connections: 1")
        self.expect(few, "upstreams.a.max_connections", "larger number")
        let settings = SettingsBench().settings(
            adding: file("servers: [http://a:3000, {url: http://b, weight: 3}], balance: round_robin")
        )
        let app = settings?.upstreams.first { $0.name == "a" }
        #expect(app?.servers.map(\.origin) == ["http://a:3000", "http://b"])
        #expect(app?.servers.map(\.weight) == [1, 3])
        #expect(app?.balance == .roundRobin)
    }

    @Test("TLS files towards the app must be readable and belong to an https URL")
    func upstreamTLS() {
        func file(_ text: String) -> String { "upstreams: {a: {\(text)}}\n" }
        self.expect(SettingsBench().problems(adding: file("url: https://a, ca_file: /missing")), "upstreams.a.ca_file")
        self.expect(
            SettingsBench().problems(adding: file("url: http://a, ca_file: /etc/sallyport/ca.pem")),
            "upstreams.a.ca_file",
            "https"
        )
        self.expect(
            SettingsBench().problems(adding: file("url: https://a, certificate_file: /etc/sallyport/ca.pem")),
            "upstreams.a.key_file",
            "add key_file"
        )
        #expect(SettingsBench().problems(adding: file("url: https://a, ca_file: ca.pem")).isEmpty)
    }

    @Test("settings without an effect are refused")
    func ineffective() {
        for (text, key) in [
            ("routes: [{auth: public, require: {aal: aal2}}]", "routes[0].require"),
            ("routes: [{auth: public, binding: ip}]", "routes[0].binding"),
            ("routes: [{auth: public, unauthenticated: login}]", "routes[0].unauthenticated"),
            ("log: {audit: false, audit_on_full: refuse}", "log.audit_on_full"),
            ("session: {idle: 1h, absolute: 30m}", "session.idle"), ("session: {absolute: 10m}", "session.idle"),
            ("limits: {field: 128KiB}", "limits.field"), ("identity: {headers: {}}", "identity.headers"),
            ("routes: []", "routes"), ("handoff: {cookies: []}", "handoff.cookies"),
            ("handoff: {cookies: [__Host-sallyport-attempt]}", "handoff.cookies"),
            ("handoff: {cookies: [__Host-sallyport-handled]}", "handoff.cookies"),
            ("handoff: {cookies: [__Host-sallyport-x]}", "handoff.cookies"),
            ("handoff: {cookies: [sallyport]}", "handoff.cookies"), ("listen: []", "listen"),
            ("admin: {listen: \"127.0.0.1:8080\"}", "admin.listen"),
            ("routes: [{cors: {origins: [\"*\"], credentials: true}}]", "routes[0].cors.credentials"),
        ] {
            self.expect(SettingsBench().problems(adding: text), key)
        }
    }

    @Test("identity fields are valid names that HTTP and the gateway do not use, in any spelling")
    func identityFields() {
        for name in [
            "Host", "content-length", "Transfer_Encoding", "CONNECTION", "Cookie", "Set-Cookie", "Authorization",
            "Forwarded", "Content.Length", "X~Forwarded~For",
            "X-Forwarded-For", "X_Forwarded_Host", "Proxy-Authorization", "Sec-Fetch-Site", "Upgrade",
        ] {
            self.expect(
                SettingsBench().problems(adding: "identity: {headers: {\(name): subject}}"),
                "identity.headers.\(name)"
            )
        }
        for name in ["X Y", "X:Y", "\"\"", "\"X\\r\\nY\"", "Ü"] {
            #expect(!SettingsBench().problems(adding: "identity: {headers: {\(name): subject}}").isEmpty, "\(name)")
        }
        for path in ["", "x", "identity", "identity.traits.", "identity.traits..a", "Subject", "session", "a b"] {
            #expect(!SettingsBench().problems(adding: "identity: {headers: {X-A: \"\(path)\"}}").isEmpty, "\(path)")
        }
        self.expect(
            SettingsBench().problems(adding: "identity: {headers: {X-User: subject, x_user: aal}}"),
            "identity.headers.x_user",
            "remove one"
        )
        self.expect(
            SettingsBench().problems(adding: "identity: {headers: {X-User: subject, X.User: aal}}"),
            "identity.headers.X.User",
            "remove one"
        )
        let fields = SettingsBench().settings(adding: "identity: {headers: {X-B: subject, X-A: identity.traits.a}}")?
            .identity
            .fields
        #expect(fields?.map(\.name) == ["X-B", "X-A"])
    }

    @Test(
        "paths that no request can match are refused",
        arguments: [
            "x", "//a", "/a//b", "/a/../b", "/./a", "/**/a", "/a*", "/*a/b", "/a?b", "/a#b", "/a;b", "/%6", "/%2F",
            "/%C3", "/a\\\\b",
            "/.sallyport/x",
        ]
    )
    func paths(path: String) {
        self.expect(SettingsBench().problems(adding: "routes: [{path: \"\(path)\"}]"), "routes[0].path")
    }

    @Test("path_info can be set only on an exact path")
    func pathInfo() {
        let follow = SettingsBench().settings(adding: "routes: [{path: /a.php, path_info: follow}, {path: /**}]")
        #expect(follow?.hosts[0].routes.map(\.pathInfo) == [.follow, .refuse])
        self.expect(
            SettingsBench().problems(adding: "routes: [{path: /a/**, path_info: follow}]"),
            "routes[0].path_info",
            "remove it"
        )
        self.expect(SettingsBench().problems(adding: "routes: [{path_info: follow}]"), "routes[0].path_info")
        self.expect(SettingsBench().problems(adding: "routes: [{path: /a, path_info: ignore}]"), "routes[0].path_info")
    }

    @Test("case_sensitive is set on a host, or at the top level for the only host")
    func caseSensitive() {
        #expect(SettingsBench().settings(adding: "")?.hosts.map(\.caseSensitive) == [false])
        #expect(SettingsBench().settings(adding: "case_sensitive: true")?.hosts.map(\.caseSensitive) == [true])
        let hosts = Self.hosts(
            "[{public_url: https://b.example, case_sensitive: true, routes: [{path: /, upstream: \"http://127.0.0.1:1\"}]}]"
        )
        #expect((try? SettingsBench().load(hosts).get().settings.hosts.map(\.caseSensitive)) == [true])
        self.expect(SettingsBench().problems(hosts + "case_sensitive: true\n"), "case_sensitive", "move it")
    }

    @Test("users have a hash by scrypt, bcrypt or argon2, and identifiers and ids that differ")
    func users() {
        func file(_ users: String) -> String {
            "public_url: https://a.example\nupstream: http://127.0.0.1:1\nprovider: {static: {users: [\(users)]}}\n"
        }
        func user(_ name: String, _ more: String = "") -> String {
            "{identifier: \(name), password_hash: \"\(passwordHash)\"\(more)}"
        }
        self.expect(
            SettingsBench().problems(file(user("ada") + ", " + user("ADA"))),
            "provider.static.users[1].identifier"
        )
        for twins in [("ada", "' ada'"), ("ada", "\"ada\u{200B}\""), ("zo\u{EB}", "zoe\u{308}"), ("\u{E9}", "\u{C9}")] {
            self.expect(
                SettingsBench().problems(file(user(twins.0) + ", " + user(twins.1, ", id: other"))),
                "provider.static.users[1].identifier"
            )
        }
        self.expect(
            SettingsBench().problems(file(user("ada") + ", " + user("\" \"", ", id: x"))),
            "provider.static.users[1].identifier",
            "what the user types"
        )
        self.expect(
            SettingsBench().problems(file(user("a", ", id: x") + ", " + user("b", ", id: x"))),
            "provider.static.users[1].id"
        )
        let bcrypt = "./AAAAAAAA\(canary.prefix(43))"
        for hash in [
            "hunter2", "scrypt:16384:8:5:AAAA:AAAA", "scrypt:16383:8:5:AAAAAAAAAAA:\(canary)", "$2y$10$abc",
            "scrypt:2:8:5:AAAAAAAAAAA:\(canary)", "scrypt:16777216:64:64:AAAAAAAAAAA:\(canary)",
            "scrypt:16384:8:5:AAAAAAAAAA=:\(canary)",
            "$scrypt$ln=4,r=8,p=5$AAAAAAAAAAA$\(canary)", "$scrypt$ln=16384,r=8,p=5$AAAAAAAAAAA$\(canary)",
            "$scrypt$r=8,ln=14,p=5$AAAAAAAAAAA$\(canary)", "$scrypt$ln=14,r=8,p=5$AAAAAAAAAA-$\(canary)",
            "$2b$12$\(bcrypt.dropLast())", "$2b$12$\(bcrypt)a", "$2b$12$\(bcrypt.dropLast())+", "$2b$12\(bcrypt)$",
            "$2x$12$\(bcrypt)", "$2$12$\(bcrypt)", "$2b$03$\(bcrypt)", "$2b$17$\(bcrypt)", "$2b$5$\(bcrypt)",
            "$2b$00$\(bcrypt)", "$2b$+4$\(bcrypt)", "$y$j9T$\(bcrypt)",
        ] {
            let problems = SettingsBench().problems(file("{identifier: ada, password_hash: \"\(hash)\"}"))
            self.expect(problems, "provider.static.users[0].password_hash")
            #expect(problems.first?.found == "a text (not shown)")
        }
        for hash in [
            "$scrypt$ln=14,r=8,p=5$AAAAAAAA+/A$\(canary)", "$2a$04$\(bcrypt)", "$2b$12$\(bcrypt)", "$2y$16$\(bcrypt)",
            "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAA$\(canary)", "$argon2i$m=1024,t=1024,p=1$AAAAAAAAAAA$\(canary)",
            "$argon2id$v=16$m=262144,t=4,p=64$AAAAAAAA+/A$\(canary)",
        ] {
            #expect(SettingsBench().problems(file("{identifier: ada, password_hash: \"\(hash)\"}")).isEmpty, "\(hash)")
        }
        for (hash, words) in [
            ("$argon2d$v=19$m=65536,t=3,p=4$AAAAAAAAAAA$\(canary)", "write a hash by argon2id or argon2i"),
            ("$argon2id$v=18$m=65536,t=3,p=4$AAAAAAAAAAA$\(canary)", "only v=19 and v=16"),
            ("$argon2id$v=19$m=1023,t=3,p=4$AAAAAAAAAAA$\(canary)", "choose m from 1024 to 262144"),
            ("$argon2id$v=19$m=262145,t=1,p=4$AAAAAAAAAAA$\(canary)", "choose m from 1024 to 262144"),
            ("$argon2id$v=19$m=2097152,t=1,p=4$AAAAAAAAAAA$\(canary)", "choose m from 1024 to 262144"),
            ("$argon2id$v=19$m=262144,t=5,p=4$AAAAAAAAAAA$\(canary)", "m*t is at most 1048576"),
            ("$argon2id$v=19$m=65536,t=0,p=4$AAAAAAAAAAA$\(canary)", "write m, t and p"),
            ("$argon2id$v=19$m=4294967296,t=1,p=4$AAAAAAAAAAA$\(canary)", "write m, t and p"),
            ("$argon2id$v=19$t=3,m=65536,p=4$AAAAAAAAAAA$\(canary)", "write m, t and p"),
            ("$argon2id$v=19$m=65536,t=3,p=4,data=AA$AAAAAAAAAAA$\(canary)", "write m, t and p"),
            ("$argon2id$v=19$m=65536,t=3,p=65$AAAAAAAAAAA$\(canary)", "choose p from 1 to 64"),
            ("$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAA$\(canary)", "8 to 64 bytes of salt"),
            ("$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAA$\(canary)=", "base64 without padding"),
            ("$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAA", "write m, t and p"),
            ("$2b$17$\(bcrypt)", "choose a cost from 04 to 16"),
        ] {
            let problems = SettingsBench().problems(file("{identifier: ada, password_hash: \"\(hash)\"}"))
            self.expect(problems, "provider.static.users[0].password_hash", words)
        }
        self.expect(SettingsBench().problems(file("")), "provider.static.users", "users_file")
    }

    @Test("the problems of a users file name that file")
    func usersFile() {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/users.yaml"] = Array("- identifier: ada\n  pasword_hash: x\n".utf8)
        let text =
            "public_url: https://a.example\nupstream: http://127.0.0.1:1\n"
            + "provider: {static: {users_file: users.yaml}}\n"
        let problems = bench.problems(text)
        self.expect(problems, "users[0].pasword_hash", "did you mean password_hash?", count: 2)
        #expect(problems.contains { $0.origin == .file(path: "/etc/sallyport/users.yaml", line: 2, column: 3) })
    }

    @Test("the shorthand and hosts exclude each other")
    func shorthand() {
        let hosts = "hosts: [{public_url: https://b.example, routes: [{path: /}]}]\n"
        self.expect(SettingsBench().problems(adding: hosts), "public_url", "move it")
        #expect(SettingsBench().settings(adding: "")?.hosts.first?.endpoints == true)
        let two = Self.hosts(
            "[{public_url: https://a.test, endpoints: true, routes: []}, {public_url: https://b.test, routes: [{}]}]",
            "upstream: http://[::1]:3000\n"
        )
        let settings = try? SettingsBench().load(two).get().settings
        #expect(settings?.hosts.map(\.endpoints) == [true, false])
        #expect(settings?.upstreams.map(\.host) == ["[::1]"])
    }

    @Test(
        "A path that is refused brings no further problem that is not true",
        arguments: [
            "[{path: a}, {path: b}]", "[{path: a}, {path: /**}]", "[{path: /**}, {path: /a//b}]", "[{path: a}, {}]",
            "[{path: a, path_info: follow}]", "[{path: a, methods: [GET]}, {path: /x/../y, methods: [GET]}]",
        ]
    )
    func refusedPaths(_ routes: String) {
        let problems = SettingsBench().problems(adding: "routes: \(routes)\n")
        #expect(!problems.isEmpty)
        #expect(problems.allSatisfy { $0.key.hasSuffix(".path") && $0.found.hasPrefix("\"") }, "\(problems)")
    }

    @Test("A path that is there twice is a problem, also where it is the default")
    func twins() {
        for routes in ["[{path: /a}, {path: /a}]", "[{}, {}]", "[{}, {path: /**}]"] {
            let problems = SettingsBench().problems(adding: "routes: \(routes)\n")
            self.expect(problems, "routes[1].path", "merge the two routes")
        }
    }
}
