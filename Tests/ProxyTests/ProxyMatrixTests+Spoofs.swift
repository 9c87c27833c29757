import GatewayBench
import Testing

/// What a client sends to be judged for another request than the one that the app gets.
extension ProxyMatrixTests {
    /// Fields by which some proxy describes a request, each saying that it is one for a public path.
    private static let descriptions: [[String]] = [
        ["X-Original-URL: \(Request.origin)/public/x", "X-Original-Method: GET"],
        ["X-Original-URL: \(Request.origin)/public/x", "X-Original-URL: \(Request.origin)/public/x"],
        ["X-Original-URI: /public/x"], ["X-Rewrite-URL: /public/x"], ["X-Original-Uri: /public/x"],
        ["X-Forwarded-Uri: /public/x"], ["X-Forwarded-URI: /public/x", "x-forwarded-uri: /public/x"],
        ["X_Forwarded_Uri: /public/x", "X_Original_Url: \(Request.origin)/public/x"],
        ["X-Forwarded_Uri: /public/x"],
        [
            "X-Forwarded-Method: GET", "X-Forwarded-Proto: http", "X-Forwarded-Host: app.example.com",
            "X-Forwarded-Uri: /public/x", "X-Forwarded-For: 127.0.0.1",
        ],
        ["X-Forwarded-Host: open.example.com"], ["X_Forwarded_Host: open.example.com"], ["X-Host: open.example.com"],
        ["X-Original-Host: open.example.com"], ["Forwarded: for=127.0.0.1;host=open.example.com;proto=http"],
        ["X-Forwarded-Method: OPTIONS"], ["X-HTTP-Method-Override: OPTIONS"], ["X-Original-Method: OPTIONS"],
        ["X-Forwarded-Prefix: /public"], ["X-Envoy-Original-Path: /public/x"],
        ["X-Envoy-Original-Host: open.example.com"],
        ["X-Auth-Request-Redirect: /public/x"], ["X-Forwarded-For: 127.0.0.1"], ["X-Real-IP: 127.0.0.1"],
        ["X-Auth-Subject: root", "Remote-User: root"],
        ["Connection: X-Forwarded-Uri, X-Forwarded-Method, X-Forwarded-Host, X-Original-URL, X-Original-Method"],
        ["Connection: close, X-Forwarded-For", "X-Forwarded-For: 127.0.0.1"],
    ]

    /// Spellings of a protected path that somebody could read as a public one.
    private static let targets = [
        "//page", "//public/../page", "/public/../page", "/public/%2e%2e/page", "/public/..%2fpage",
        "/public/.%2e/page",
        "/public//../page", "/public/..;/page", "/public/..%5cpage", "/public/%252e%252e/page", "/./page", "/%2e/page",
        "/page?x=/public/", "/page?X-Forwarded-Uri=/public/x", "/page#/public/", "/page%23/public/",
        "//open.example.com/page", "/\\open.example.com/page", "http://app.example.com/page",
        "http://open.example.com/page", "http://open.example.com", "http://app.example.com@open.example.com/page",
        "/authz/forward-auth", "/.sallyport-check", "/page%00/public/", "/page%0d%0aX-Forwarded-Uri:%20/public/x",
        "/page HTTP/1.1\r\nX-Forwarded-Uri: /public/x\r\nX-A:", "/p\u{E9}ge", "/page\t/public/", "*", "page",
        "/page?" + String(repeating: "a", count: 7000),
    ]

    func spoofs(_ bench: ProxyBench) throws {
        let cookie = try bench.session()
        let count = bench.app.requests.count
        for fields in Self.descriptions {
            for kind in [Kind.navigation, .fetch, .post] {
                let answer = try bench.ask("/page", kind, fields)
                #expect([303, 400, 401, 403].contains(answer.status), "\(kind) \(fields): \(answer.lines)")
            }
            #expect(bench.app.requests.count == count, "\(fields): \(bench.app.requests.last?.lines ?? [])")
        }
        for target in Self.targets {
            for fields in [[], ["X-Forwarded-Uri: /public/x", "X-Original-URL: \(Request.origin)/public/x"]] {
                try self.expectNoPage(bench, Kind.fetch.request(target, fields), target)
            }
        }
        for method in ["CONNECT", "TRACE", "get", "GET\u{B}", "HEAD", "OPTIONS", "PUT", "DELETE", "PROPFIND", "X"] {
            try self.expectNoPage(bench, Request.get("/page", method: method), method)
        }
        // One of two hosts is protected; so is a request that names both.
        for lines in [
            ["Host: open.example.com", "Host: app.example.com"], ["Host: app.example.com, open.example.com"],
            ["Host: open.example.com@app.example.com"], ["Host: app.example.com:80:80"], ["Host: "], [],
        ] {
            let request = (["GET /page HTTP/1.1"] + lines).joined(separator: "\r\n") + "\r\n\r\n"
            try self.expectNoPage(bench, request, "\(lines)")
        }
        try self.expectOneHost(bench)
        try self.expectNoIdentityButOurs(bench, cookie)
        try self.expectNoOwnPaths(bench, cookie)
        try self.expectWholeIdentity(bench, cookie)
    }

    /// That a client cannot keep from the app who it is, or who acts for it, by naming fields that end at the next hop.
    private func expectWholeIdentity(_ bench: ProxyBench, _ cookie: String) throws {
        for lines in [
            ["Connection: keep-alive, X-Auth-Subject, X-Auth-Actor"], ["Connection: x-auth-subject"],
            ["Connection: keep-alive", "Connection: X-AUTH-SUBJECT"], ["Connection: close,X-Auth-Subject,Upgrade"],
        ] {
            let count = bench.app.requests.count
            let answer = try bench.ask("/page", .fetch, lines + [cookie])
            guard answer.status != 400 else {
                #expect(bench.app.requests.count == count)
                continue
            }
            let got = try #require(bench.app.requests.last)
            #expect(
                bench.app.requests.count == count + 1 && got.values("x-auth-subject") == [User.ada.id],
                "\(got.lines)"
            )
            #expect(!got.values("connection").contains { $0.lowercased().contains("x-auth") }, "\(got.lines)")
        }
        // Others may be named.
        for line in ["Connection: keep-alive, X-Own-Field", "Connection: TE, close"] {
            #expect(try bench.ask("/page", .fetch, [line, cookie]).status == 200, "\(line)")
        }
    }

    /// That the app got nothing of a protected path: either no request, or one that it reads as a public path like the
    /// gateway does.
    private func expectNoPage(_ bench: ProxyBench, _ request: String, _ what: String) throws {
        let count = bench.app.requests.count
        let wire = try bench.connect()
        wire.send(latin1: request)
        // Some of these requests are so broken that the connection ends without an answer.
        _ = try? wire.answer(to: request.hasPrefix("HEAD ") ? "HEAD" : "GET", seconds: 2)
        for got in bench.app.requests.dropFirst(count) {
            let isOpen = got.values("host") == ["open.example.com"]
            let path = got.target.prefix { $0 != "?" }
            let isPublic = path.hasPrefix("/public/") && !path.contains("..") && !path.lowercased().contains("%2e")
            #expect(isOpen || isPublic, "\(bench.proxy) let \(what.debugDescription) pass: \(got.lines)")
        }
    }

    /// That the host for which a request is judged is the one that the app sees.
    private func expectOneHost(_ bench: ProxyBench) throws {
        #expect(try bench.connect().request(Self.open("/page")).status == 200)
        for (target, host) in [
            ("http://open.example.com/page", "app.example.com"), ("http://app.example.com/page", "open.example.com"),
        ] {
            let count = bench.app.requests.count
            let answer = try bench.connect().request("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let got = bench.app.requests.dropFirst(count)
            #expect(got.allSatisfy { $0.values("host") == ["open.example.com"] }, "\(got.map(\.lines))")
            #expect([200, 400, 401, 421].contains(answer.status), "\(answer.lines)")
        }
        // Of a host that nobody serves, the app gets nothing.
        let count = bench.app.requests.count
        let other = try bench.connect().request("GET /page HTTP/1.1\r\nHost: unknown.example.com\r\n\r\n")
        #expect(bench.app.requests.count == count, "\(other.lines)")
    }

    private static func open(_ target: String) -> String { "GET \(target) HTTP/1.1\r\nHost: open.example.com\r\n\r\n" }

    /// That no spelling of an identity's name survives, for whom there is an identity and for whom there is none.
    private func expectNoIdentityButOurs(_ bench: ProxyBench, _ cookie: String) throws {
        let names = Proxy.identity.flatMap { name in
            let underscores = name.replacing("-", with: "_")
            return [
                name, name.uppercased(), underscores, underscores.lowercased(),
                name.replacing("X-Auth-", with: "X_Auth-"),
            ]
        }
        let forged = names.map { "\($0): forged" }
        for (target, fields) in [("/public/x", forged), ("/public/x", [cookie] + forged), ("/page", [cookie] + forged)]
        {
            let answer = try bench.ask(target, .fetch, fields)
            #expect(answer.status == 200, "\(answer.lines)")
            let got = try #require(bench.app.requests.last)
            #expect(!got.text.contains("forged"), "\(target): \(got.lines.filter { $0.contains("forged") })")
        }
        // Hop-by-hop fields take no identity away.
        let connection = "Connection: keep-alive, X-Auth-Subject, X-Auth-Groups, Cookie"
        let answer = try bench.ask("/page", .fetch, [cookie, connection])
        guard answer.status == 200 else { return }
        #expect(bench.app.requests.last?.values("x-auth-subject") == [User.ada.id])
    }

    /// That the gateway's own paths never reach the app.
    private func expectNoOwnPaths(_ bench: ProxyBench, _ cookie: String) throws {
        let count = bench.app.requests.count
        for path in [
            "/.sallyport/login", "/.SALLYPORT/login", "/%2esallyport/login", "/.sallyport%2Flogin",
            "/x/../.sallyport/login",
            "//.sallyport/login", "/.sallyport//login", "/.sallyport/session", "/oauth/token", "/OAUTH/token",
        ] {
            let wire = try bench.connect()
            wire.send(Kind.fetch.request(path, [cookie]))
            _ = try? wire.answer(seconds: 2)
            let got = bench.app.requests.dropFirst(count).filter { request in
                request.target == "/.sallyport/login" || request.target == "/.sallyport/session"
                    || request.target == "/oauth/token"
            }
            #expect(got.isEmpty, "\(path): \(got.map(\.lines))")
        }
    }
}
