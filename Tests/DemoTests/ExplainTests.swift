import Foundation
import GatewayBench
import Testing

/// `explain` from an operator's point of view.
@Suite struct ExplainTests {
    private static let settings = """
        public_url: https://app.example.com
        trusted_proxies: [192.0.2.1]
        upstream: http://127.0.0.1:3000
        routes:
          - path: /**
            client: web
          - path: /public/**
            auth: public
          - path: /admin/**
            require: { groups_any: [admins] }
          - path: /hook
            methods: [POST]
            max_body: 10
            cors: { origins: ["https://b.example"] }
          - path: /bound/**
            binding: asn
          - path: /here/**
            binding: ip
          - path: /report.php
            require: { aal: aal2 }
          - path: /index.php
            require: { aal: aal2 }
            path_info: follow
          - path: /strong/**
            require: { aal: aal2 }
          - path: /deploy/**
            require: { client_certificate: { san_any: [build.example.com] } }
        asn: { csv: asn.csv }
        clients:
          - client_id: web
            session_transfer: { allowed_authentication_methods: [query] }
        provider:
          static:
            users:
              - identifier: ada
                traits: { email: ada@example.com, groups: [staff] }
                password_hash: "scrypt:1024:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        """

    private static func explain(
        _ arguments: [String],
        input: String = "",
        provider: String? = nil,
        status: Int32 = 0
    ) throws -> String {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "settings.yaml")
        let own = self.settings.firstRange(of: "provider:\n").map { self.settings[..<$0.lowerBound] } ?? ""
        try Data((provider.map { "\(own)provider:\n  \($0)\n" } ?? self.settings).utf8).write(to: file)
        try Data("a secret of the client".utf8).write(to: folder.appending(path: "client-secret"))
        try Data("203.0.113.0/24,64500\n".utf8).write(to: folder.appending(path: "asn.csv"))
        let result = try Servers.run(
            Gateway.binary.path,
            ["explain", "--config", file.path] + arguments,
            input: Array(input.utf8)
        )
        #expect(result.status == status, "\(result.output)")
        return result.output
    }

    // MARK: Providers

    private static let oidc = """
        oidc: {issuer: "https://id.example.com", client_id: a, client_secret_file: client-secret, claims: {traits: \
        {groups: realm_access.roles}, acr: {phr: aal2}}, allow: {email_domains: [example.com]}, audiences: [api]}
        """
    private static let claims = #"{"sub": "1815", "email": "ada@example.com", "email_verified": true}"#

    @Test func loginGoesToTheProvider() throws {
        let arguments = ["--url", "\(Self.origin)/x", "--header", "Accept: text/html"]
        let output = try Self.explain(arguments, provider: Self.oidc)
        #expect(output.contains("303 to the login page, credential.missing"), "\(output)")
        #expect(output.contains("that page sends the browser to https://id.example.com\n"), "\(output)")
        #expect(output.contains("the provider sends it back to \(Self.origin)/.sallyport/callback"), "\(output)")
        #expect(try Self.explain(arguments).contains("that page asks for the password"))
    }

    @Test func claimsBecomeAnIdentity() throws {
        let claims =
            #"{"sub": "1815", "email": "ada@example.com", "email_verified": true, "acr": "phr", "#
            + #""realm_access": {"roles": ["admins"]}}"#
        for path in ["/admin/x", "/strong/x"] {
            let arguments = ["--url", "\(Self.origin)\(path)", "--claims", "-"]
            let output = try Self.explain(arguments, input: claims, provider: Self.oidc)
            #expect(output.contains("X-Auth-Subject: 1815") && output.contains("X-Auth-Aal: aal2"), "\(output)")
            #expect(output.contains("X-Auth-Groups: admins"), "\(output)")
        }
        let weak = try Self.explain(
            ["--url", "\(Self.origin)/strong/x", "--claims", "-", "--header", "Accept: text/html"],
            input: Self.claims,
            provider: Self.oidc
        )
        #expect(weak.contains("303 to the login page") && weak.contains("at aal2"), "\(weak)")
    }

    @Test func claimsAreReadAsThoseOfAProvider() throws {
        let claims = "\u{FEFF}" + #"{"sub": "1", "email": "ada@example.com", "email_verified": true, "name": "\ud83d"}"#
        let output = try Self.explain(
            ["--url", "\(Self.origin)/x", "--claims", "-"],
            input: claims,
            provider: Self.oidc
        )
        #expect(output.contains("X-Auth-Subject: 1") && output.contains("X-Auth-Name: %EF%BF%BD"), "\(output)")
    }

    @Test func claimsThatMayNotSignInHaveNoSession() throws {
        for (claims, words) in [
            (#"{"sub": "1", "email": "eve@example.org", "email_verified": true}"#, "signin.not_allowed"),
            (#"{"sub": "1", "email": "ada@example.com"}"#, "email_verified"), (#"{"email": "a"}"#, "there is no sub"),
        ] {
            let arguments = ["--url", "\(Self.origin)/x", "--claims", "-"]
            let output = try Self.explain(arguments, input: claims, provider: Self.oidc)
            #expect(output.contains("sign-in\n  refused: ") && output.contains(words), "\(output)")
            #expect(output.contains("401 Unauthorized, credential.missing"), "\(output)")
        }
    }

    @Test func claimsWithATokenAreThoseOfABearer() throws {
        let token = "eyJhbGciOiJFUzI1NiJ9.e30." + String(repeating: "A", count: 86)
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "token").path
        try Data(token.utf8).write(to: URL(filePath: file))
        let arguments = ["--url", "\(Self.origin)/x", "--token-file", file]
        let unknown = try Self.explain(arguments, provider: Self.oidc)
        #expect(unknown.contains("only the provider can verify the token, and it is not asked"), "\(unknown)")
        let output = try Self.explain(arguments + ["--claims", "-"], input: Self.claims, provider: Self.oidc)
        #expect(output.contains("X-Auth-Origin: native") && !output.contains(token), "\(output)")
        let introspection = """
            introspection: {url: "https://id.example.com/i", client_id: a, client_secret_file: client-secret, audiences: [api], \
            claims: {acr: {phr: aal2}}}
            """.replacing("\n", with: " ")
        let alone = try Self.explain(
            ["--url", "\(Self.origin)/x", "--claims", "-"],
            input: Self.claims,
            provider: introspection
        )
        #expect(alone.contains("X-Auth-Origin: native"), "\(alone)")
    }

    @Test func aCertificateIsAssumedFromAFile() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func certificate(_ name: String, _ form: String) throws -> String {
            let (file, key) = (folder.appending(path: "\(name).\(form)").path, folder.appending(path: "key").path)
            let made = try Servers.run(
                "/usr/bin/openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/O=Example/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-outform", form,
                    "-keyout", key, "-out", file,
                ]
            )
            #expect(made.status == 0, "\(made.output)")
            return file
        }
        let arguments = ["--url", "\(Self.origin)/deploy/x", "--user", "ada"]
        #expect(try Self.explain(arguments).contains("403 Forbidden, require.client_certificate"))
        for form in ["pem", "der"] {
            let file = try certificate("build.example.com", form)
            let output = try Self.explain(arguments + ["--client-certificate", file])
            #expect(output.contains("subject  CN=build.example.com,O=Example"), "\(output)")
            #expect(output.contains("X-Auth-Client-Certificate-Sha256: "), "\(output)")
        }
        let other = try Self.explain(arguments + ["--client-certificate", try certificate("a.example", "pem")])
        #expect(other.contains("403 Forbidden, require.client_certificate"), "\(other)")
        let key = folder.appending(path: "key").path
        #expect(try Self.explain(arguments + ["--client-certificate", key], status: 64).contains("no certificate"))
    }

    @Test func aUserOfLinkedProvidersIsTheAccount() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["accounts.key", "client-secret", "token"] {
            let text = name == "token" ? "eyJhbGciOiJFUzI1NiJ9.e30." + String(repeating: "A", count: 86) : name
            try Data(text.padding(toLength: max(40, text.count), withPad: "k", startingAt: 0).utf8)
                .write(to: folder.appending(path: name))
        }
        func client(_ issuer: String) -> String {
            "oidc: {issuer: \"\(issuer)\", client_id: a, client_secret_file: client-secret, trusted_email: true, audiences: [api]}"
        }
        let settings = """
            accounts: {link: verified_email, key_file: accounts.key}
            providers:
              - {name: staff, \(client("https://id.example.com"))}
              - {name: other, \(client("https://other.example.com"))}
            hosts:
              - {public_url: "\(Self.origin)", endpoints: true, providers: [staff, other], upstream: "http://127.0.0.1:3000"}

            """
        try Data(settings.utf8).write(to: folder.appending(path: "settings.yaml"))
        /// What the app would see of the user, by the way of the request.
        func subject(_ provider: String, _ claims: String, _ more: [String] = []) throws -> String? {
            let file = folder.appending(path: "settings.yaml").path
            let url = ["--url", "\(Self.origin)/x", "--claims", "-", "--provider", provider]
            let result = try Servers.run(
                Gateway.binary.path,
                ["explain", "--config", file] + url + more,
                input: Array(claims.utf8)
            )
            #expect(result.status == 0, "\(result.output)")
            return result.output.firstMatch(of: /X-Auth-Subject: (\S+)/).map { String($0.1) }
        }
        let verified = #"{"sub": "1", "email": "ada@example.com", "email_verified": true}"#
        let account = try #require(try subject("staff", verified))
        #expect(account.hasPrefix("acc_"))
        #expect(try subject("other", verified) == account)
        #expect(try subject("other", #"{"sub": "1", "email": "ada@example.com"}"#) == "other|1")
        // An access token is the user's own.
        let token = ["--token-file", folder.appending(path: "token").path]
        #expect(try subject("other", verified, token) == "other|1")
    }

    @Test func userAndClaimsAreForTheirOwnProviders() throws {
        let user = ["--url", "\(Self.origin)/x", "--user", "ada"]
        #expect(try Self.explain(user, provider: Self.oidc, status: 64).contains("to a file for --claims"))
        let claims = ["--url", "\(Self.origin)/x", "--claims", "-"]
        #expect(try Self.explain(claims, input: Self.claims, status: 64).contains("use --user"))
        #expect(try Self.explain(claims, input: "[]", provider: Self.oidc, status: 64).contains("a JSON object"))
        #expect(try Self.explain(claims + ["--user", "ada"], status: 64).contains("not both"))
    }

    // MARK: Rules

    @Test func eventShowsWhichRulesApply() throws {
        let rules = """
            static: {users: [{identifier: ada, password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"}]}
            rules:
              - {name: trial, when: event.user.email == missing, then: deny, dry_run: true}
              - {name: other, when: 'event.user.email == "b@example.com"', then: deny}
              - {name: network, when: event.session_transfer_token.request.asn != event.request.asn, then: sign_in}
              - {name: later, when: "true", then: deny, text: No}
              - {name: mint, at: mint, when: "true", then: deny, text: Not now}
            """
        let event = #"{"session_transfer_token": {"request": {"ip": "203.0.113.7"}}, "request": {"ip": "192.0.2.1"}}"#
        let consume = try Self.explain(["--event", "-"], input: event, provider: rules)
        for line in [
            #""asn":"64500""#, "rules at consume", "trial: applies as a dry run, otherwise denies",
            "other: does not apply",
            "network: applies; asks the user to sign in", "later: applies; an earlier rule decides",
            "refused, rule.sign_in_required",
        ] { #expect(consume.contains(line), "\(line): \(consume)") }
        #expect(!consume.contains("rules at mint"))
        let mint = try Self.explain(["--event", "-"], input: "{}", provider: rules)
        #expect(mint.contains("mint: applies; denies: Not now"), "\(mint)")
        #expect(mint.contains("rules at sign_in\n  not refused"), "\(mint)")
        #expect(try Self.explain(["--event", "-"], input: "[]", provider: rules, status: 64).contains("a JSON object"))
        #expect(try Self.explain([], provider: rules, status: 64).contains("--url or --event"))
    }

    // MARK: Requests

    private static let origin = "https://app.example.com"

    @Test func anonymousNavigationGoesToLogin() throws {
        let output = try Self.explain(["--url", "\(Self.origin)/x?secret=1", "--header", "Accept: text/html"])
        #expect(output.contains("303 to the login page, credential.missing"), "\(output)")
        #expect(output.contains("path     /x") && !output.contains("secret"), "\(output)")
    }

    @Test func anonymousCallIsUnauthorized() throws {
        #expect(try Self.explain(["--url", "\(Self.origin)/x"]).contains("401 Unauthorized, credential.missing"))
    }

    @Test func assumedUserIsForwardedWithIdentity() throws {
        let output = try Self.explain([
            "--url", "\(Self.origin)/x", "--user", "ada", "--header", "X-Auth-Subject: root",
        ])
        #expect(output.contains("forwarded") && output.contains("X-Auth-Email: ada@example.com"), "\(output)")
        #expect(output.contains("X-Auth-Origin: browser") && !output.contains("root"), "\(output)")
        #expect(!output.contains("sps_"), "\(output)")
    }

    @Test func assumedUserLacksAGroup() throws {
        let output = try Self.explain(["--url", "\(Self.origin)/admin/x", "--user", "ada"])
        #expect(output.contains("403 Forbidden, require.groups"), "\(output)")
    }

    @Test func levelThatNoSignInReachesIsNoReasonToSignIn() throws {
        let arguments = ["--url", "\(Self.origin)/strong/x", "--user", "ada", "--header", "Accept: text/html"]
        #expect(try Self.explain(arguments).contains("403 Forbidden, require.aal"))
    }

    @Test func tokenIsNeverShown() throws {
        let token = "sps_" + String(repeating: "A", count: 55)
        let output = try Self.explain(["--url", "\(Self.origin)/x", "--token-file", "-"], input: "\(token)\n")
        #expect(output.contains("a bearer token") && output.contains("401 Unauthorized"), "\(output)")
        #expect(!output.contains(token), "\(output)")
        let native = try Self.explain(
            ["--url", "\(Self.origin)/x", "--token-file", "-", "--user", "ada"],
            input: token
        )
        #expect(native.contains("X-Auth-Origin: native") && !native.contains("sps_"), "\(native)")
    }

    @Test(arguments: [
        ("/public/%2e%2e/admin", "path.dot_segment"), ("/%61dmin/x", "path.ambiguous"), ("/public//a", "/public/**"),
        ("/.sallyport/login", "/.sallyport/login"),
        ("/oauth/token", "route.method_not_allowed"), ("/a%00", "400 Bad Request"), ("/Admin/x", "path.ambiguous"),
        ("/report.php/x", "path.ambiguous"), ("/index.php/x", "/index.php\n"),
        ("/hook", "405 Method Not Allowed, route.method_not_allowed; Allow: POST"),
    ])
    func pathIsReadAsTheGatewayReadsIt(_ path: String, _ expected: String) throws {
        let output = try Self.explain(["--url", Self.origin + path])
        #expect(output.contains(expected), "\(output)")
    }

    @Test func methodIsJudgedAsTheGatewayJudgesIt() throws {
        let hook = "\(Self.origin)/hook"
        let trace = try Self.explain(["--url", hook, "--method", "TRACE"])
        #expect(trace.contains("405 Method Not Allowed, request.method; Allow: DELETE, GET"), "\(trace)")
        let preflight = ["--header", "Origin: https://b.example", "--header", "Access-Control-Request-Method: POST"]
        let asked = try Self.explain(["--url", hook, "--method", "OPTIONS"] + preflight)
        #expect(asked.contains("as a CORS preflight"), "\(asked)")
        #expect(try Self.explain(["--url", hook, "--method", "OPTIONS"]).contains("Allow: POST"))
    }

    @Test func preflightOfAnotherOriginIsRefused() throws {
        let fields = ["--header", "Origin: https://evil.example", "--header", "Access-Control-Request-Method: POST"]
        let output = try Self.explain(["--url", "\(Self.origin)/hook", "--method", "OPTIONS"] + fields)
        #expect(output.contains("403 Forbidden, request.cross_site"), "\(output)")
    }

    @Test func bodyThatIsTooLargeIsRefused() throws {
        let arguments = ["--url", "\(Self.origin)/hook", "--method", "POST", "--header"]
        let output = try Self.explain(arguments + ["Content-Length: 11"])
        #expect(output.contains("413 Content Too Large, request.body_too_large"), "\(output)")
        #expect(try Self.explain(arguments + ["Content-Length: 10"]).contains("401 Unauthorized"))
    }

    @Test func assumedSessionIsBoundToTheNetworkAndAddressOfItsClient() throws {
        let user = ["--user", "ada"]
        let known = try Self.explain(["--url", "\(Self.origin)/bound/x", "--from", "203.0.113.7"] + user)
        #expect(known.contains("forwarded"), "\(known)")
        let unknown = try Self.explain(["--url", "\(Self.origin)/bound/x"] + user)
        #expect(unknown.contains("401 Unauthorized, binding.asn_unknown"), "\(unknown)")
        let proxied = ["--from", "192.0.2.1", "--header", "X-Forwarded-For: 203.0.113.7"]
        let behind = try Self.explain(["--url", "\(Self.origin)/here/x"] + proxied + user)
        #expect(behind.contains("forwarded") && behind.contains("203.0.113.7, as reported by 192.0.2.1"), "\(behind)")
    }

    @Test func assumedSessionIsThatOfThePublicHost() throws {
        let arguments = ["--url", "\(Self.origin):443/x", "--user", "ada", "--header", "Cookie: theme=dark"]
        let output = try Self.explain(arguments)
        #expect(
            output.contains("X-Auth-Email: ada@example.com") && output.contains("Cookie: theme=dark\n"),
            "\(output)"
        )
    }

    @Test func fieldsOnlyTheGatewayMaySetAreGone() throws {
        let output = try Self.explain([
            "--url", "\(Self.origin)/public/x", "--header", "X!Auth!Email: root", "--header", "X-Kept: 1",
        ])
        #expect(output.contains("X-Kept: 1") && !output.contains("root"), "\(output)")
        #expect(output.contains("Host: app.example.com"), "\(output)")
    }

    @Test func otherHostIsNotFound() throws {
        #expect(try Self.explain(["--url", "https://other.example.com/"]).contains("route.unknown_host"))
    }

    @Test func requestOfHTTP2IsReadAsOne() throws {
        let arguments = ["--url", "\(Self.origin)/public/x", "--http2"]
        let output = try Self.explain(arguments + ["--header", "X-Kept: 1"])
        #expect(
            output.contains("HTTP/2\n  no address of listen accepts it\n") && output.contains("x-kept: 1"),
            "\(output)"
        )
        let refused = try Self.explain(arguments + ["--header", "Transfer-Encoding: chunked"])
        #expect(refused.contains("invalid HTTP/2 request") && !refused.contains("forwarded"), "\(refused)")
        let pseudo = try Self.explain(arguments + ["--header", ":authority: other.example.com"])
        #expect(pseudo.contains("route.unknown_host"), "\(pseudo)")
        let socket = try Self.explain(arguments + ["--method", "CONNECT", "--header", ":protocol: websocket"])
        #expect(socket.contains("forwarded") && socket.contains("Upgrade: websocket"), "\(socket)")
        #expect(try Self.explain(arguments + ["--via", "nginx"], status: 64).contains("--http2 needs --url"))
    }

    @Test func addressesOfHTTP2AreNamed() throws {
        let listen = "listen: [{address: \"127.0.0.1:8081\", protocols: [h2c]}, \"127.0.0.1:8080\"]\n"
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "settings.yaml")
        try Data((listen + Self.settings).utf8).write(to: file)
        try Data("203.0.113.0/24,64500\n".utf8).write(to: folder.appending(path: "asn.csv"))
        // The proxy in front has TLS, and the connection to the gateway has none.
        // The file is a word of its own, as with `run` and `check`.
        let arguments = ["explain", file.path, "--http2", "--url", "\(Self.origin)/public/x"]
        let result = try Servers.run(Gateway.binary.path, arguments)
        #expect(try Servers.run(Gateway.binary.path, arguments + ["--config", file.path]).status == 64)
        #expect(result.output.contains("HTTP/2\n  accepted at 127.0.0.1:8081\n"), "\(result.output)")
        #expect(result.output.contains("forwarded"), "\(result.output)")
    }

    @Test func transferTokenOfAFileIsPutIntoTheRequest() throws {
        let token = "spt_" + String(repeating: "A", count: 55)
        let arguments = ["--url", "\(Self.origin)/x?a=1", "--token-file", "-"]
        let output = try Self.explain(arguments, input: "\(token)\n")
        // The client takes tokens in the query only.
        #expect(output.contains("the token in the query would be consumed first"), "\(output)")
        #expect(
            output.contains("transfer token\n  this command cannot see the memory of the gateway that minted it"),
            "\(output)"
        )
        #expect(output.contains("which is another process:"), "\(output)")
        #expect(!output.contains(token) && !output.contains("Authorization"), "\(output)")
        let open = try Self.explain(["--url", "\(Self.origin)/public/x", "--token-file", "-"], input: token)
        #expect(!open.contains("transfer token\n") && open.contains("forwarded"), "\(open)")
    }

    @Test func transferTokenIsNotConsumed() throws {
        let output = try Self.explain(["--url", "\(Self.origin)/x?session_transfer_token=spt_x&a=1"])
        #expect(output.contains("a transfer token in the query") && !output.contains("spt_x"), "\(output)")
    }
}
