import Settings
import Testing
import Vocabulary

@Suite("The settings of clients")
struct ClientTests {
    private static let secret = "client_secret_file: web-app.secret"
    private static let keys = "jwks_file: web-app.jwks.json"

    private static func text(_ keys: String...) -> String {
        "clients: [{\((["client_id: web-app"] + keys).joined(separator: ", "))}]"
    }

    private static func client(_ keys: String...) -> ClientSettings? {
        let text = "clients: [{\((["client_id: web-app"] + keys).joined(separator: ", "))}]"
        return SettingsBench().settings(adding: text)?.clients.first
    }

    @Test(
        "grants that need a callback, callbacks with parameters of an answer and scopes of the gateway's own are told"
    )
    func warnings() throws {
        func warnings(_ text: String) throws -> [String] {
            try SettingsBench().load(SettingsBench.base + text).get().warnings.filter {
                $0.contains("clients[") || $0.contains("apis[")
            }
        }
        for grant in ["implicit", "authorization_code"] {
            let lone = try warnings("clients: [{client_id: a, grant_types: [\(grant)]}]")
            #expect(lone == ["clients[0].grant_types has \(grant), which does nothing without callbacks"])
            let callback = "callbacks: [\"https://a.example.com/cb?tenant=1&codes=2\"]"
            #expect(try warnings("clients: [{client_id: a, grant_types: [\(grant)], \(callback)}]").isEmpty)
        }
        #expect(try warnings("clients: [{client_id: a}]").isEmpty)
        let callback = "https://a.example.com/cb?code=1&a=b&state&iss=&error=x"
        #expect(
            try warnings("clients: [{client_id: a, callbacks: [\"\(callback)\"]}]")
                == ["code", "state", "iss", "error"].map {
                    "clients[0].callbacks[0] has the parameter \($0) in its query, which every answer to it has too"
                }
        )
        let scopes = "[openid, profile, email, offline_access, orders]"
        #expect(
            try warnings("apis: [{audience: \"https://api.example.com\", scopes: \(scopes)}]")
                == ["openid", "profile", "email", "offline_access"].map {
                    "apis[0].scopes has \($0), which every client may ask for without an API"
                }
        )
    }

    @Test("clients of one host that bind transfer tokens differently are told: the weakest decides")
    func bindings() throws {
        func warnings(_ second: String, _ routes: String = "a, b") throws -> [String] {
            let names = routes.split(separator: ", ")
            let list = names.map { "{path: /\($0)/**, client: \($0)}" }.joined(separator: ", ")
            let text = """
                trusted_proxies: [10.0.0.0/8]
                routes: [{path: /**}, \(list)]
                clients:
                  - {client_id: a, session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: ip}}
                  - {client_id: b, session_transfer: {\(second)}}
                """
            return try SettingsBench().load(SettingsBench.base + text).get().warnings.filter {
                $0.contains("bind transfer tokens")
            }
        }
        let takes = "allowed_authentication_methods: [cookie]"
        #expect(try warnings("\(takes), enforce_device_binding: ip").isEmpty)
        #expect(try warnings("\(takes), enforce_device_binding: none", "a").isEmpty)
        let none = try warnings("\(takes), enforce_device_binding: none")
        #expect(none.count == 1 && none[0].contains("a: ip; b: none"))
        #expect(
            try warnings("\(takes), enforce_device_binding: ip, binding_dry_run: true").first?.contains("dry run")
                == true
        )
    }

    @Test("a client manages sessions only if its settings say so")
    func manageSessions() {
        #expect(Self.client()?.managesSessions == false)
        #expect(Self.client("manage_sessions: false")?.managesSessions == false)
        #expect(Self.client("manage_sessions: true")?.managesSessions == true)
    }

    @Test("without a method a client may use each for which it has a secret or key; without both it is public")
    func methods() throws {
        let plain = try #require(Self.client())
        #expect(plain.authenticationMethods == [.none] && plain.isPublic)
        let secret = try #require(Self.client(Self.secret))
        #expect(secret.authenticationMethods == [.basic, .post] && !secret.isPublic)
        let keys = try #require(Self.client(Self.keys))
        #expect(keys.authenticationMethods == [.privateKeyJWT] && !keys.isPublic)
        #expect(keys.keySet == SettingsBench().files["/etc/sallyport/web-app.jwks.json"])
        let both = try #require(Self.client(Self.secret, Self.keys))
        #expect(both.authenticationMethods == [.basic, .post, .privateKeyJWT])
    }

    @Test("a method is the only one")
    func method() throws {
        let post = try #require(Self.client(Self.secret, "token_endpoint_auth_method: client_secret_post"))
        #expect(post.authenticationMethods == [.post])
        let signed = try #require(Self.client(Self.keys, "token_endpoint_auth_method: private_key_jwt"))
        #expect(signed.authenticationMethods == [.privateKeyJWT])
        #expect(try #require(Self.client("token_endpoint_auth_method: none")).isPublic)
    }

    @Test(
        "a method, a type or a key that does not fit the rest is refused at its key",
        arguments: [
            (Self.text("token_endpoint_auth_method: client_secret_basic"), "token_endpoint_auth_method"),
            (Self.text(Self.keys, "token_endpoint_auth_method: client_secret_jwt"), "token_endpoint_auth_method"),
            (Self.text("token_endpoint_auth_method: private_key_jwt"), "token_endpoint_auth_method"),
            (Self.text(Self.secret, "token_endpoint_auth_method: none"), "client_secret_file"),
            (
                Self.text(Self.secret, Self.keys, "token_endpoint_auth_method: private_key_jwt"),
                "client_secret_file"
            ),
            (Self.text(Self.secret, Self.keys, "token_endpoint_auth_method: client_secret_post"), "jwks_file"),
            (Self.text(Self.secret, "app_type: native"), "app_type"),
            (Self.text(Self.keys, "app_type: spa"), "app_type"),
            (Self.text("app_type: mobile"), "app_type"), (Self.text("jwks_file: missing.json"), "jwks_file"),
            (Self.text("refresh_token: {rotation_type: non-rotating}"), "refresh_token.rotation_type"),
            (
                Self.text(
                    "refresh_token: {enforce_online_refresh_tokens: true}",
                    "session_transfer: {can_create_session_transfer_token: true}"
                ), "refresh_token.enforce_online_refresh_tokens"
            ),
        ]
    )
    func refused(text: String, key: String) {
        #expect(SettingsBench().problems(adding: text).map(\.key) == ["clients[0].\(key)"])
    }

    @Test("native and spa clients are public; the others may be either")
    func types() throws {
        for type in ["native", "spa", "regular_web", "non_interactive"] {
            #expect(try #require(Self.client("app_type: \(type)")).isPublic)
        }
        for type in ["regular_web", "non_interactive"] {
            #expect(try #require(Self.client(Self.secret, "app_type: \(type)")).isPublic == false)
        }
    }

    @Test("a client may have shorter sessions from transfer tokens than all clients, and no longer ones")
    func lifetimes() throws {
        let client = try #require(Self.client("session_transfer: {lifetimes: {idle: 1m, absolute: 30m}}"))
        #expect(client.transferIdleLifetime == .seconds(60) && client.transferLifetime == .seconds(1800))
        let plain = try #require(Self.client("session_transfer: {lifetimes: {}}"))
        #expect(plain.transferIdleLifetime == nil && plain.transferLifetime == nil)
        for (text, key) in [("idle: 16m", "idle"), ("absolute: 31m", "absolute")] {
            let problems = SettingsBench().problems(adding: Self.text("session_transfer: {lifetimes: {\(text)}}"))
            #expect(problems.map(\.key) == ["clients[0].session_transfer.lifetimes.\(key)"])
            #expect(problems.first?.allowed.contains("session.transfer.\(key)") == true)
        }
        let usual = "session: {transfer: {idle: 1h, absolute: 2h}}\n"
        let long = usual + Self.text("session_transfer: {lifetimes: {idle: 16m, absolute: 2h}}")
        #expect(SettingsBench().problems(adding: long).isEmpty)
    }

    @Test("a key set that JOSE cannot use is refused, and not shown")
    func keySet() {
        var bench = SettingsBench()
        bench.judges.clientKeys = { _ in "key 1: the key is not public" }
        let problems = bench.problems(adding: Self.text(Self.keys))
        #expect(problems.map(\.key) == ["clients[0].jwks_file"])
        #expect(problems.first?.found.contains("not public") == true)
    }

    @Test("allowed origins are whole origins, in the form in which browsers write them")
    func origins() throws {
        let client = try #require(
            Self.client("allowed_origins: [\"https://SPA.example.com:443\", \"http://localhost:3000\"]")
        )
        #expect(client.allowedOrigins == ["https://spa.example.com", "http://localhost:3000"])
        for origin in ["\"*\"", "\"https://spa.example.com/app\"", "spa.example.com", "\"null\""] {
            let problems = SettingsBench().problems(adding: Self.text("allowed_origins: [\(origin)]"))
            #expect(problems.map(\.key) == ["clients[0].allowed_origins[0]"], "\(origin)")
        }
    }

    @Test("a client that signs with its key may do what a client with a secret may")
    func confidential() throws {
        let client = try #require(
            Self.client(
                Self.keys,
                "refresh_token: {rotation_type: non-rotating}",
                "is_token_endpoint_ip_header_trusted: true"
            )
        )
        #expect(client.refreshToken.rotation == .nonRotating && client.trustsAddressField)
    }
}
