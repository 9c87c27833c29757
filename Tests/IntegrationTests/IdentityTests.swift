import Foundation
import GatewayBench
import Testing

/// Only the gateway sets identity fields (T11, T12).
@Suite("Identity headers", .blocking) struct IdentityTests {
    /// Names that a client could try, in spellings that some app reads as an identity field.
    private static let spoofs: [String] = {
        let names = [
            "X-Auth-Subject", "X-Auth-Email", "X-Auth-Groups", "X-Auth-Session-Id", "X-Auth-Aal", "X-Auth-Assertion",
            "X-Auth-Anything-At-All", "X-Auth-Origin", "X-Auth-Name",
        ]
        return names.flatMap { name in
            [
                name, name.lowercased(), name.uppercased(), name.replacing("-", with: "_"),
                name.lowercased().replacing("-", with: "_"), "X-Auth_" + name.dropFirst(7),
                "x_auth-" + name.dropFirst(7).lowercased(),
                // CGI and FastCGI of lighttpd write each of these as `_`.
                name.replacing("-", with: "!"), name.replacing("-", with: "|"), "X.Auth~" + name.dropFirst(7),
                "X-Auth`" + name.dropFirst(7), name.lowercased().replacing("-", with: "^"),
            ]
        }
    }()

    private static let forwarded = [
        "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix",
        "X-Forwarded-Server",
        "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Client-Cert", "X-Forwarded-User", "Forwarded",
        "X-Real-IP",
        "X-Original-URL", "X-Rewrite-URL", "CF-Connecting-IP", "True-Client-IP", "X_Forwarded_Proto", "X_Real_IP",
        "x_forwarded_for", "X!Forwarded!For", "X|Real|IP", "X.Forwarded.Proto", "CF~Connecting~IP",
    ]

    @Test("T11: a client's identity field does not reach the app in any spelling on any route")
    func stripped() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
              - path: /public/**
                auth: public
              - path: /optional/**
                auth: optional
              - path: /cors/**
                auth: public
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            let spoofed = Self.spoofs.map { "\($0): root" }
            let wire = try gateway.connect()
            for part in stride(from: 0, to: spoofed.count, by: 20).map({
                Array(spoofed[$0..<min($0 + 20, spoofed.count)])
            }) {
                for request in [
                    Request.get("/", part + [token]), Request.get("/public/", part), Request.get("/optional/", part),
                    Request.get("/optional/", part + [token]),
                    Request.get(
                        "/cors/",
                        part + ["Origin: http://a.example", "Access-Control-Request-Method: GET"],
                        method: "OPTIONS"
                    ),
                    Request.get("/", part + [token], method: "OPTIONS"),
                    Request.get("/public/", part, method: "PROPFIND"),
                    Request.post("/public/", part, body: "hello"),
                ] {
                    #expect(try wire.request(request).status == 200)
                }
            }
            for part in stride(from: 0, to: spoofed.count, by: 20).map({
                Array(spoofed[$0..<min($0 + 20, spoofed.count)])
            }) {
                _ = try gateway.request(
                    Request.get(
                        "/public/ws",
                        part + ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: a"]
                    )
                )
            }
            #expect(app.requests.count > 30)
            for request in app.requests {
                #expect(!request.text.contains("root"), "\(request.text)")
                let subject = request.values("x-auth-subject")
                #expect(
                    request.text.contains("/public/") || request.target == "/cors/" ? subject == [] : subject.count <= 1
                )
            }
            #expect(
                app.requests.filter { $0.target == "/" }.allSatisfy { $0.values("x-auth-subject") == ["user-1815"] }
            )
        }
    }

    @Test(
        "CVE-2026-40575, CVE-2026-35051, CVE-2026-54764: an untrusted client's forwarding fields are replaced"
    )
    func forwardedFamily() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            #expect(try gateway.get("/public/", Self.forwarded.map { "\($0): spoofed" }).status == 200)
            let request = try #require(app.requests.first)
            #expect(!request.text.contains("spoofed"), "\(request.text)")
            #expect(request.values("x-forwarded-for") == ["127.0.0.1"])
            #expect(
                request.values("x-forwarded-proto") == ["http"] && request.values("x-forwarded-host") == [Request.host]
            )
        }
    }

    @Test("T12: a Connection field cannot remove the gateway's fields, in any letter case")
    func connectionNominates() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            for value in [
                "X-Auth-Subject", "x-auth-subject", "close, X-AUTH-Email", "keep-alive,x_auth_subject",
                "x-real-ip, close", "X-Forwarded-For",
                "forwarded", "X!Auth!Email", "x|real|ip, close", "X.Forwarded.For",
            ] {
                for name in ["Connection", "connection", "CONNECTION"] {
                    let answer = try gateway.get("/", [token, "\(name): \(value)"])
                    #expect(
                        answer.status == 400 && answer.reason == "request.connection_names_identity",
                        "\(value): \(answer.lines)"
                    )
                }
            }
            // Other fields that it names are hop-by-hop.
            #expect(try gateway.get("/", [token, "Connection: X-Mine, close", "X-Mine: 1"]).status == 200)
            #expect(
                app.requests.last?.values("x-mine") == []
                    && app.requests.last?.values("x-auth-subject") == ["user-1815"]
            )
        }
    }

    @Test("CVE-2026-54763, CVE-2026-33433: a preset's names and configured names are protected as well")
    func ownNames() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = { (identity: String) in Config.file(upstream: app.port, more: "identity:\n" + identity) }
        try Gateway.with(settings("  headers:\n    x-my-user: subject\n    X-My-Mail: identity.traits.email\n")) {
            gateway throws in
            let token = "Authorization: Bearer \(try gateway.native(.mary))"
            _ = try gateway.get(
                "/",
                [token, "X-My-User: root", "X_MY_USER: root", "x-my-mail: root", "X-My_Mail: root"]
            )
            _ = try gateway.get("/public/", ["X-My-User: root", "x-my-mail: root"])
            #expect(app.requests.map { $0.values("x-my-user") } == [["user-1647"], []])
            #expect(
                app.requests.allSatisfy { $0.values("x-my-mail") == [] && !$0.text.contains("root") },
                "Mary has no email"
            )
        }
        for (preset, name) in [
            ("authelia", "Remote-User"), ("remote-user", "Remote-User"), ("oauth2-proxy", "X-Forwarded-User"),
        ] {
            try gatewayWithPreset(settings("  preset: \(preset)\n"), name, app)
        }
    }

    private func gatewayWithPreset(_ settings: String, _ name: String, _ app: FakeUpstream) throws {
        try Gateway.with(settings) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            _ = try gateway.get("/preset", [token, "\(name): root", "\(name.replacing("-", with: "_")): root"])
            _ = try gateway.get("/public/", ["\(name): root", "\(name.lowercased()): root"])
            #expect(app.requests.suffix(2).allSatisfy { !$0.text.contains("root") }, "\(name)")
            #expect(
                app.requests.suffix(2).first?.values(name).count == 1,
                "\(name): \(app.requests.suffix(2).first?.text ?? "")"
            )
        }
    }

    @Test("CVE-2026-30851: a user without an email has no email field, whatever the client sends")
    func absentValue() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native(.mary))"
            #expect(try gateway.get("/", [token, "X-Auth-Email: root@example.com"]).status == 200)
            #expect(app.requests.first?.values("x-auth-email") == [])
            #expect(app.requests.first?.values("x-auth-name") == ["M%C3%A1ry %E2%9C%93 100%25"])
        }
    }

    /// Lists of groups as users' traits have them, and the field's value for each; nil: there is no field.
    private static let oddLists: [(written: String, field: String?)] = [
        ("[staff, \"\"]", "staff"), ("[\"\", staff]", "staff"), ("[\"\", \"\", a]", "a"), ("[null, a]", "a"),
        ("[a, null, \"\", b]", "a,b"), ("[a, \"\", \"\"]", "a"), ("[]", nil), ("[\"\"]", nil), ("[null, null]", nil),
        ("[\"\", null, \"\"]", nil), ("[[staff, \"\"], \"\", [[a]]]", "staff,a"),
    ]

    @Test("A list with empty and null elements gives a field without them, and does not end the process")
    func emptyElements() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        // What no field can have is refused (`nested`), and the next user is served all the same.
        let nested = ["[[staff, {}], \"\"]", "[staff, {a: [\"\"]}, \"\"]", "{a: \"\"}"].map { ($0, String?.none) }
        let users = (Self.oddLists.map { ($0.written, $0.field) } + nested).enumerated().map { index, list in
            """
                  - identifier: user-\(index)
                    id: user-\(index)
                    password_hash: "\(User.graceHash)"
                    traits: {groups: \(list.0)}

            """
        }
        let settings = Config.file(upstream: app.port)
        let file = settings.replacing(Config.users, with: Config.users + "\n" + users.joined())
        try Gateway.with(file) { gateway throws in
            for (index, list) in Self.oddLists.enumerated() {
                let cookie = try gateway.browser("user-\(index)", User.grace.password)
                let answer = try gateway.get("/", ["Cookie: sallyport=\(cookie)"])
                #expect(answer.status == 200, "\(list.written): \(answer.lines)")
                let request = try #require(app.requests.last)
                #expect(request.values("x-auth-subject") == ["user-\(index)"])
                #expect(request.values("x-auth-groups") == (list.field.map { [$0] } ?? []), "\(list.written)")
            }
            for index in nested.indices.map({ $0 + Self.oddLists.count }) {
                let cookie = try gateway.browser("user-\(index)", User.grace.password)
                _ = try gateway.get("/", ["Cookie: sallyport=\(cookie)"])
                #expect(try gateway.get("/public/").status == 200)
            }
        }
    }

    @Test("With encoding: utf8 a name beyond ASCII arrives as it is")
    func plainUTF8() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: "identity: {encoding: utf8}")) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native(.mary))"
            #expect(try gateway.get("/", [token, "X-Auth-Name: root"]).status == 200)
            let request = try #require(app.requests.first)
            #expect(request.head.firstRange(of: Array("X-Auth-Name: Máry ✓ 100%\r\n".utf8)) != nil)
            #expect(!request.text.contains("root"), "\(request.text)")
        }
    }

    @Test("Each app gets the identity in the encoding of its route, request after request")
    func encodingOfTheRoute() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
              - {path: /utf8/**, identity_encoding: utf8}
              - {path: /percent/**, identity_encoding: percent}
            """
        let encoded = (percent: "M%C3%A1ry %E2%9C%93 100%25", utf8: "Máry ✓ 100%")
        for (common, ofAll) in [("percent", encoded.percent), ("utf8", encoded.utf8)] {
            let more = "identity: {encoding: \(common)}"
            try Gateway.with(Config.file(upstream: app.port, routes: routes, more: more)) { gateway throws in
                let token = "Authorization: Bearer \(try gateway.native(.mary))"
                let before = app.requests.count
                let paths = ["/x", "/utf8/x", "/percent/x", "/utf8/y", "/x"]
                let names = [ofAll, encoded.utf8, encoded.percent, encoded.utf8, ofAll]
                for path in paths { #expect(try gateway.get(path, [token]).status == 200, "\(path)") }
                let requests = app.requests.dropFirst(before)
                #expect(requests.count == paths.count)
                for (request, name) in zip(requests, names) {
                    #expect(
                        request.head.firstRange(of: Array("X-Auth-Name: \(name)\r\n".utf8)) != nil,
                        "\(request.text)"
                    )
                }
            }
        }
    }

    @Test("CVE-2026-26308, CVE-2026-31838: repeated credentials are refused")
    func repeated() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = try gateway.native()
            for fields in [
                ["Authorization: Bearer \(token)", "Authorization: Bearer \(token)"],
                ["Authorization: Bearer \(token)", "authorization: Basic eDp5"],
                ["X-Session-Token: \(token)", "X-Session-Token: \(token)"],
                ["X-Session-Token: \(token)", "Authorization: Bearer \(token)"],
            ] {
                let answer = try gateway.get("/", fields)
                #expect(answer.status == 400, "\(fields): \(answer.lines)")
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("CVE-2023-27488: bytes that are not UTF-8 cause no crash and are not read as something else")
    func oddBytes() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(
                Array("GET /private HTTP/1.1\r\nHost: \(Request.host)\r\nX-Foo: ".utf8) + [0xFF, 0xFE]
                    + Array("\r\n\r\n".utf8)
            )
            #expect(try wire.answer().status == 401)
            wire.send(
                Array("GET /public/ HTTP/1.1\r\nHost: \(Request.host)\r\nX-Foo: ".utf8) + [0xFF, 0xFE]
                    + Array("\r\n\r\n".utf8)
            )
            #expect(try wire.answer().status == 200)
            #expect(app.requests.first?.head.firstRange(of: [0xFF, 0xFE]) != nil)
            for name in [[UInt8(0xFF)], Array("X-Auth-Subject".utf8) + [0xFF]] {
                let odd = try gateway.connect()
                odd.send(
                    Array("GET /public/ HTTP/1.1\r\nHost: \(Request.host)\r\n".utf8) + name
                        + Array(": root\r\n\r\n".utf8)
                )
                #expect(try odd.answer().status == 400)
            }
        }
    }

    @Test("Credentials that the gateway uses do not reach the app, and credentials for the app do")
    func credentials() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = Config.routes + "\n  - path: /app/**\n    auth: public\n    bearer: app\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let token = try gateway.native()
            _ = try gateway.get("/", ["Authorization: Bearer \(token)"])
            _ = try gateway.get("/", ["X-Session-Token: \(token)"])
            _ = try gateway.get("/", ["X-Session-Token: \(token)", "Authorization: Basic eDp5"])
            _ = try gateway.get("/app/", ["Authorization: Bearer the-apps-own", "DPoP: proof"])
            #expect(
                app.requests.map { $0.values("authorization") } == [[], [], ["Basic eDp5"], ["Bearer the-apps-own"]]
            )
            #expect(app.requests.last?.values("dpop") == ["proof"])
            #expect(app.requests.allSatisfy { !$0.text.contains(token) })
        }
    }
}
