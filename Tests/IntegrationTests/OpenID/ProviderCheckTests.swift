import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// What `check --network` says about a provider.
@Suite("check --network: providers", .blocking) struct ProviderCheckTests {
    /// A mistake at the provider or in the settings, and what is said about it: the beginning of each line that is not
    /// `ok`, without the port.
    private struct Mistake: Sendable {
        let name: String
        var script = OpenIDScript()
        /// Lines of `provider.oidc`.
        var keys = ""
        /// Changes the issuer in the settings.
        var issuer: @Sendable (String) -> String = { $0 }
        var prepare: @Sendable (OpenIDProvider) -> Void = { _ in }
        let says: [String]
    }

    private static func script(_ change: (inout OpenIDScript) -> Void) -> OpenIDScript {
        var script = OpenIDScript()
        change(&script)
        return script
    }

    private static func lines(_ output: String) -> [(level: String, finding: String)] {
        output.split(separator: "\n").drop { $0 != "network:" }.dropFirst().compactMap { line in
            let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
            guard words.count == 2 else { return nil }
            let finding = String(words[1].drop { $0 == " " }).replacing(/127\.0\.0\.1:\d+/, with: "HOST")
            return (String(words[0]), finding)
        }
    }

    /// Runs `check --network` with this `provider`, which a file holds.
    private static func check(
        _ provider: String,
        publicURL: String = Request.origin,
        more: String = "",
        secret: String = "a secret of the client gateway"
    ) throws -> (status: Int32, lines: [(level: String, finding: String)], output: String) {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "check.yaml")
        let settings = """
            public_url: \(publicURL)
            trusted_proxies: [127.0.0.1]
            upstream: http://127.0.0.1:1
            provider:
            \(provider)
            \(more)

            """
        try Data(settings.utf8).write(to: file)
        try Data(secret.utf8).write(to: folder.appending(path: "client-secret"))
        let (status, output) = try Servers.run(
            Gateway.binary.path,
            ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
        )
        #expect(!output.contains(secret), "\(output)")
        return (status, Self.lines(output), output)
    }

    private static func oidc(
        _ issuer: String,
        _ keys: String = "",
        secret: String = "client_secret_file: client-secret"
    )
        -> String
    {
        let lines = ["issuer: \(issuer)", "client_id: gateway", secret] + keys.split(separator: "\n").map(String.init)
        return "  oidc:\n" + lines.filter { !$0.isEmpty }.map { "    \($0)" }.joined(separator: "\n")
    }

    private static func expect(_ mistake: Mistake) throws {
        let provider = try OpenIDProvider(mistake.script)
        defer { provider.stop() }
        mistake.prepare(provider)
        let (status, lines, output) = try Self.check(Self.oidc(mistake.issuer(provider.issuer), mistake.keys))
        let told = lines.filter { $0.level != "ok" }
        #expect(told.count == mistake.says.count, "\(mistake.name): \(output)")
        for (line, beginning) in zip(told, mistake.says) {
            #expect("\(line.level) \(line.finding)".hasPrefix(beginning), "\(mistake.name): \(output)")
        }
        #expect(status == (told.contains { $0.level == "error" } ? 1 : 0), "\(mistake.name): \(output)")
    }

    private static let introspection = "audiences: [api]\nintrospection: {}"

    @Test("a provider that is set up well has no finding, and says what was checked")
    func well() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let (status, lines, output) = try Self.check(Self.oidc(provider.issuer, Self.introspection))
        #expect(status == 0 && lines.allSatisfy { $0.level == "ok" }, "\(output)")
        let subjects = lines.map { $0.finding.prefix { $0 != ":" } }
        #expect(
            subjects == [
                "provider metadata", "provider keys", "provider algorithms", "provider PKCE", "provider sign-out",
                "provider redirect", "provider client", "provider introspection",
            ],
            "\(output)"
        )
        #expect(output.contains("it accepts \(Request.origin)/.sallyport/callback"))
        // Nobody is signed in, and nothing is left behind.
        #expect(provider.grantCount == 0 && provider.sessionID == nil)
    }

    @Test("a provider whose users clients follow, and that offers offline_access, is to be asked for it")
    func offline() throws {
        let provider = try OpenIDProvider(
            Self.script { $0.alterMetadata = { $0["scopes_supported"] = ["openid", "offline_access"] } }
        )
        defer { provider.stop() }
        func told(_ keys: String = "", _ client: String = "client_id: ios") throws -> [String] {
            try Self.check(Self.oidc(provider.issuer, keys), more: "clients: [{\(client)}]").lines
                .filter { $0.level == "warning" }.map(\.finding)
        }
        #expect(try told().contains { $0.hasPrefix("provider scopes: it offers offline_access") })
        #expect(try told("scopes: [openid, offline_access]").isEmpty)
        #expect(try told("", "client_id: ios, refresh_token: {provider: ignore}").isEmpty)
    }

    @Test("a provider of every kind is made and checked")
    func kinds() throws {
        let client = "client_id: gateway, client_secret_file: client-secret"
        let url = "http://127.0.0.1:1"
        let users = "[{identifier: ada, password_hash: \"\(User.graceHash)\"}]"
        let smallest = [
            "oidc": "{issuer: \"\(url)\", \(client)}", "kratos": "{public_url: \"\(url)\"}",
            "oauth2":
                "{name: hub, authorization_url: \"\(url)/a\", token_url: \"\(url)/t\", userinfo_url: \"\(url)/u\", \(client), claims: {subject: id}}",
            "introspection": "{url: \"\(url)/i\", \(client), audiences: [api]}", "static": "{users: \(users)}",
        ]
        // Without a provider, the kinds are named.
        let kinds = Set(try Self.check("  {}").output.matches(of: /provider\.(\w+)/).map { String($0.output.1) })
        #expect(kinds == Set(smallest.keys))
        for (kind, keys) in smallest {
            let (status, lines, output) = try Self.check("  \(kind): \(keys)")
            if kind == "static" {
                #expect(status == 0 && output.contains("nothing to connect to"), "\(output)")
            } else {
                // Nothing listens there, and that is found out by asking.
                #expect(status == 1 && !lines.isEmpty && !output.contains("no provider of the kind"), "\(output)")
            }
        }
    }

    @Test("each mistake of the issuer is named", arguments: 0..<17)
    func issuer(number: Int) throws {
        let mistakes = [
            Mistake(
                name: "an answer in a form that it does not give",
                script: Self.script { $0.alterMetadata = { $0["response_modes_supported"] = ["query", "fragment"] } },
                keys: "response_mode: form_post",
                says: [
                    "error provider response mode: it announces query, fragment and not form_post: write another "
                        + "provider.oidc.response_mode"
                ]
            ),
            Mistake(
                name: "an answer in a form that it gives",
                script: Self.script { $0.alterMetadata = { $0["response_modes_supported"] = ["query", "form_post"] } },
                keys: "response_mode: form_post",
                says: []
            ),
            Mistake(
                name: "a slash at the end",
                issuer: { "\($0)/" },
                says: [
                    "error provider metadata: the document at http://HOST/.well-known/openid-configuration cannot be used: "
                        + "issuer is http://HOST, but the configured one is http://HOST/: the slash at the end counts"
                ]
            ),
            Mistake(
                name: "another host",
                issuer: { $0.replacing("127.0.0.1", with: "localhost") },
                says: ["error provider metadata: the document at http://localhost:"]
            ),
            Mistake(
                name: "a wrong path",
                issuer: { "\($0)/realms/other" },
                says: [
                    "error provider metadata: http://HOST/realms/other/.well-known/openid-configuration answers with status "
                        + "404: is the issuer complete"
                ]
            ),
            Mistake(
                name: "stopped",
                prepare: { $0.stop() },
                says: [
                    "error provider metadata: 127.0.0.1 cannot be connected to: Connection refused: are host and port"
                ]
            ),
            Mistake(
                name: "no JSON",
                prepare: { $0.breakDown(.discovery, with: .answer(status: 200, body: "<html>")) },
                says: [
                    "error provider metadata: the document at http://HOST/.well-known/openid-configuration cannot be used"
                ]
            ),
            Mistake(
                name: "a redirect",
                prepare: {
                    $0.breakDown(
                        .discovery,
                        with: .answer(status: 301, fields: [("location", "https://id.example.com/x")])
                    )
                },
                says: [
                    "error provider metadata: http://HOST/.well-known/openid-configuration answers with status 301: it "
                        + "redirects to https://id.example.com/x, which is not followed"
                ]
            ),
            Mistake(
                name: "not an OpenID provider",
                script: Self.script { script in
                    script.alterMetadata = { metadata in
                        for name in ["authorization_endpoint", "jwks_uri"] { metadata[name] = nil }
                    }
                },
                says: [
                    "error provider metadata: the document at http://HOST/.well-known/openid-configuration cannot be used: "
                        + "authorization_endpoint, jwks_uri are missing: is it an OpenID provider?"
                ]
            ),
            Mistake(
                name: "silent",
                prepare: { $0.breakDown(.discovery, with: .closes) },
                says: ["error provider metadata: 127.0.0.1 closed the connection"]
            ),
            Mistake(
                name: "no common algorithm",
                keys: "algorithms: [RS256, PS512]",
                says: [
                    "error provider keys: http://HOST/jwks.json has only keys for ES256, which provider.oidc.algorithms",
                    "error provider algorithms: it signs id_tokens with ES256, but provider.oidc.algorithms allows RS256, PS512: "
                        + "add ES256",
                ]
            ),
            Mistake(
                name: "keys that cannot be read",
                prepare: { $0.breakDown(.keys, with: .answer(status: 500)) },
                says: ["error provider keys: http://HOST/jwks.json answers with status 500: see its log"]
            ),
            Mistake(
                name: "no key",
                script: Self.script { $0.alterKeySet = { $0["keys"] = [] } },
                says: ["error provider keys: http://HOST/jwks.json has no key"]
            ),
            Mistake(
                name: "endpoints that cannot be used",
                script: Self.script { script in
                    script.alterMetadata = { metadata in
                        metadata["end_session_endpoint"] = ""
                        metadata["userinfo_endpoint"] = ["https://id.example.com/userinfo"]
                        metadata["revocation_endpoint"] = "/revoke"
                    }
                },
                says: [
                    "warning provider metadata: http://HOST/.well-known/openid-configuration: userinfo_endpoint is not a text; "
                        + "it is ignored",
                    "warning provider metadata: http://HOST/.well-known/openid-configuration: end_session_endpoint cannot be used",
                    "warning provider metadata: http://HOST/.well-known/openid-configuration: revocation_endpoint cannot be used",
                ]
            ),
            Mistake(
                name: "introspection cannot be used",
                script: Self.script { $0.alterMetadata = { $0["introspection_endpoint"] = 1 } },
                keys: Self.introspection,
                says: [
                    "warning provider metadata: http://HOST/.well-known/openid-configuration: introspection_endpoint is not a text",
                    "error provider introspection: its metadata contain no introspection_endpoint",
                ]
            ),
            Mistake(
                name: "no userinfo where it is required",
                script: Self.script { $0.missing = [.userinfo] },
                keys: "userinfo: required",
                says: ["error provider userinfo: its metadata contain no usable userinfo_endpoint"]
            ),
            Mistake(
                name: "no PKCE",
                script: Self.script { $0.alterMetadata = { $0["code_challenge_methods_supported"] = nil } },
                says: ["warning provider PKCE: it does not announce S256"]
            ),
        ]
        #expect(mistakes.count == 17)
        try Self.expect(mistakes[number])
    }

    @Test("each mistake of the client is named", arguments: 0..<9)
    func client(number: Int) throws {
        let secret = "a secret of the client gateway"
        let callback = "\(Request.origin)/.sallyport/callback"
        let mistakes = [
            Mistake(
                name: "the redirect URI is not registered",
                script: OpenIDScript(clients: [
                    .init(id: "gateway", secret: secret, redirectURIs: ["https://old.example.com/callback"])
                ]),
                says: ["error provider redirect: it refuses the redirect URI: register \(callback)"]
            ),
            Mistake(
                name: "the client is unknown",
                script: OpenIDScript(clients: [.init(id: "other", secret: secret)]),
                says: [
                    "error provider redirect: it refuses",
                    "error provider client: it refuses the credentials of gateway",
                ]
            ),
            Mistake(
                name: "the secret is wrong",
                script: OpenIDScript(clients: [.init(id: "gateway", secret: "another secret of the client")]),
                says: ["error provider client: it refuses the credentials of gateway"]
            ),
            Mistake(
                name: "a scope is not allowed",
                script: Self.script { $0.authorizationError = "invalid_scope" },
                says: [
                    "error provider redirect: it accepts \(callback), but answers a sign-in with invalid_scope: write scopes"
                ]
            ),
            Mistake(
                name: "every user is refused",
                script: Self.script { $0.authorizationError = "access_denied" },
                says: ["error provider redirect: it accepts \(callback), but answers a sign-in with access_denied"]
            ),
            Mistake(
                name: "an error page without a reason",
                prepare: { $0.breakDown(.authorization, with: .answer(status: 400, body: "Bad Request")) },
                says: ["warning provider redirect: it answers a sign-in with status 400 and does not say why"]
            ),
            Mistake(
                name: "the token endpoint fails",
                prepare: { $0.breakDown(.token, with: .answer(status: 503)) },
                says: ["error provider client: http://HOST/token answers with status 503: see its log"]
            ),
            Mistake(
                name: "introspection refuses its own client",
                keys: "audiences: [api]\nintrospection: {client_id: other, client_secret_file: client-secret}",
                says: ["error provider introspection: it refuses the credentials of other"]
            ),
            Mistake(
                name: "there is no introspection",
                script: Self.script { $0.missing = [.introspection] },
                keys: Self.introspection,
                says: ["error provider introspection: its metadata contain no introspection_endpoint"]
            ),
        ]
        #expect(mistakes.count == 9)
        try Self.expect(mistakes[number])
    }

    @Test(
        "a clock that differs by more than a minute is an error",
        arguments: [(-300, true), (300, true), (20, false)]
    )
    func clock(seconds: Int, isWrong: Bool) throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let metadata = try Wire(to: provider.port).request(
            "GET /.well-known/openid-configuration HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Date(timeIntervalSinceNow: Double(seconds)))
        provider.breakDown(.discovery, with: .answer(status: 200, body: metadata.text, fields: [("date", date)]))
        let (status, lines, output) = try Self.check(Self.oidc(provider.issuer))
        let line = lines.first { $0.finding.hasPrefix("provider clock: ") }
        #expect(line?.level == (isWrong ? "error" : "ok") && status == (isWrong ? 1 : 0), "\(output)")
        let words = seconds > 0 ? "s ahead of this machine's clock" : "s behind this machine's clock"
        #expect(line?.finding.contains(words) == isWrong, "\(output)")
    }

    @Test("each callback of a gateway with several hosts is asked for")
    func severalHosts() throws {
        let secret = "a secret of the client gateway"
        let provider = try OpenIDProvider(
            OpenIDScript(clients: [
                .init(id: "gateway", secret: secret, redirectURIs: ["http://a.example/.sallyport/callback"])
            ])
        )
        defer { provider.stop() }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let hosts = ["a", "b", "c"].map {
            "  - {public_url: http://\($0).example, endpoints: \($0 != "c"), routes: [{upstream: http://127.0.0.1:1}]}"
        }
        let file = folder.appending(path: "check.yaml")
        try Data("provider:\n\(Self.oidc(provider.issuer))\nhosts:\n\(hosts.joined(separator: "\n"))\n".utf8).write(
            to: file
        )
        try Data(secret.utf8).write(to: folder.appending(path: "client-secret"))
        let (status, output) = try Servers.run(
            Gateway.binary.path,
            ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
        )
        let lines = Self.lines(output).filter { $0.finding.hasPrefix("provider redirect: ") }
        #expect(lines.map(\.level) == ["ok", "error"] && status == 1, "\(output)")
        #expect(lines.last?.finding.contains("http://b.example/.sallyport/callback") == true, "\(output)")
    }

    @Test("a provider of plain OAuth 2.0 is asked at its URLs")
    func oauth2() throws {
        let provider = try OpenIDProvider(Self.script { $0.isOpenID = false })
        defer { provider.stop() }
        func settings() -> String {
            """
              oauth2:
                name: hub
                authorization_url: \(provider.issuer)/authorize
                token_url: \(provider.issuer)/token
                userinfo_url: \(provider.issuer)/userinfo
                client_id: gateway
                client_secret_file: client-secret
                claims: {subject: id}
            """
        }
        let (status, lines, output) = try Self.check(settings())
        #expect(status == 0 && lines.allSatisfy { $0.level == "ok" } && lines.count == 3, "\(output)")
        provider.breakDown(.userinfo, with: .answer(status: 200, body: "{}"))
        let open = try Self.check(settings())
        #expect(
            open.lines.last?.finding.hasPrefix("provider userinfo: http://HOST/userinfo answers without a token")
                == true
        )
        #expect(open.status == 1 && open.lines.last?.level == "error", "\(open.output)")
    }

    @Test(
        "introspection alone is asked with its credentials",
        arguments: ["a secret of the client gateway", "a wrong one"]
    )
    func introspectionAlone(secret: String) throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let settings = """
              introspection:
                url: \(provider.issuer)/introspect
                client_id: gateway
                client_secret_file: client-secret
                audiences: [api]
            """
        let (status, lines, output) = try Self.check(settings, secret: secret)
        let isRight = secret.hasPrefix("a secret")
        #expect(lines.map(\.level) == [isRight ? "ok" : "error"] && status == (isRight ? 0 : 1), "\(output)")
        #expect(lines.first?.finding.hasPrefix("provider introspection: ") == true, "\(output)")
    }

    @Test("a certificate that is not trusted is told with ca_file, and one of another name with the name")
    func certificates() throws {
        guard let openssl = Servers.find(["/usr/bin/openssl"]) else { try Servers.missing("openssl") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificate, key) = (folder.appending(path: "server.pem").path, folder.appending(path: "server.key").path)
        func make(_ name: String, days: Int) throws {
            let arguments = [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                "/CN=\(name)",
                "-days", "\(days)", "-addext", "subjectAltName=DNS:\(name)", "-keyout", key, "-out", certificate,
            ]
            #expect(try Servers.run(openssl, arguments).status == 0)
        }
        func finding(_ keys: String = "") throws -> String {
            let port = try ServerPorts.take()
            let server = try Servers.Running(
                openssl,
                ["s_server", "-accept", "\(port)", "-cert", certificate, "-key", key, "-www", "-quiet"],
                in: folder,
                port: port
            )
            defer { server.stop() }
            let (status, lines, output) = try Self.check(Self.oidc("https://localhost:\(port)", keys))
            #expect(status == 1 && lines.map(\.level) == ["error"], "\(output)")
            return lines.first?.finding.replacing(/localhost:\d+/, with: "HOST") ?? ""
        }
        try make("localhost", days: 2)
        #expect(
            try finding()
                == "provider metadata: TLS with localhost failed: its certificate is not trusted: set ca_file to its "
                + "authority"
        )
        // It is trusted now, and what answers is no provider.
        #expect(try !finding("ca_file: \(certificate)").contains("certificate"))
        try make("elsewhere.example", days: 2)
        #expect(
            try finding("ca_file: \(certificate)")
                == "provider metadata: TLS with localhost failed: its certificate is for another name: write the name in the "
                + "certificate, or give the server a certificate for this name"
        )
    }
}
