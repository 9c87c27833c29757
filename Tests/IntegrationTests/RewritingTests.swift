import Foundation
import GatewayBench
import Testing

/// The gateway changes certain parts of messages, and no others.
@Suite("Rewriting", .blocking) struct RewritingTests {
    @Test(
        "oathkeeper#1269: targets reach the app byte for byte",
        arguments: [
            "/", "/foo/", "/a//b", "/a/;x=1", "/a%3Ab", "/a:b@c", "/%41dmin", "/caf%C3%A9", "/a%20b", "/a+b", "/~x",
            "/%7Ex",
            "/a?b=c&d=%20&&e", "/a?", "/a?b=/../c", "/a?x=%00", "/a?b=c?d", "/a/.b/..c/d..", "//cdn//x", "/*", "/a|b",
            "/{id}",
            "/a?q=[1]&r={2}|^`\"<>", "/a%2fb", "/a%2Fb", "/%E2%82%AC",
        ]
    )
    func targets(target: String) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, "allow_encoded_slashes: true")) { gateway throws in
            let answer = try gateway.get(target)
            // A target that the grammar forbids may be refused, but is never changed.
            if answer.status == 400 {
                #expect(target.contains { "|{}^`\"<>[]".contains($0) }, "\(target) is refused: \(answer.text)")
                #expect(app.requests.isEmpty)
            } else {
                #expect(app.requests.map(\.target) == [target])
            }
        }
    }

    @Test("oathkeeper#1269: targets also reach the app byte for byte on protected routes")
    func protectedTargets() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = "  - path: /**\n    allow_encoded_slashes: true\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let token = try gateway.native()
            let targets = ["/foo/", "/a%2Fb", "/a%3Ab", "/a//b", "/a/;x=1", "/?x=/status", "//cdn//x"]
            for target in targets {
                #expect(try gateway.get(target).status == 401)
                #expect(try gateway.get(target, ["Authorization: Bearer \(token)"]).status == 200)
            }
            #expect(app.requests.map(\.target) == targets)
        }
    }

    @Test("The app sees the public Host or the route's; absolute-form becomes origin-form")
    func host() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
                auth: public
              - path: /literal/**
                auth: public
                host: internal.example:8080
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            _ = try gateway.get("/x")
            _ = try gateway.get("/literal/x")
            _ = try gateway.request("GET http://\(Request.host)/y HTTP/1.1\r\nHost: \(Request.host)\r\n\r\n")
            #expect(
                app.requests.map { $0.values("host") } == [[Request.host], ["internal.example:8080"], [Request.host]]
            )
            #expect(app.requests.map(\.target) == ["/x", "/literal/x", "/y"])
            let odd = try gateway.request("GET http://evil.example/y HTTP/1.1\r\nHost: \(Request.host)\r\n\r\n")
            #expect(odd.status == 400)
        }
    }

    @Test("CVE-2026-48794: a host matches in any case, with its port and with a final dot; no other host is served")
    func hostSpellings() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            for host in ["app.example.com", "APP.Example.COM", "app.example.com:80", "app.example.com:8080"] {
                let text = "GET /private HTTP/1.1\r\nHost: \(host)\r\n\r\n"
                #expect(try gateway.request(text).status == 401, "\(host)")
                #expect(try gateway.request("GET /public/ HTTP/1.1\r\nHost: \(host)\r\n\r\n").status == 200)
            }
            for host in [
                "app.example.com.", "evil.example", "app.example.com.evil.example", "xapp.example.com", "127.0.0.1",
            ] {
                let status = try gateway.request("GET /public/ HTTP/1.1\r\nHost: \(host)\r\n\r\n").status
                #expect(status == 404 || status == 400 || (host.hasSuffix(".") && status == 200), "\(host): \(status)")
            }
            for head in [
                "Host: app.example.com\r\nHost: app.example.com", "Host: app.example.com\r\nHost: evil.example", "X: y",
                "Host:",
                "Host: app.example.com, evil.example", "Host: app.example.com/x", "Host: user@app.example.com",
                "Host: app example",
            ] {
                #expect(try gateway.request("GET /public/ HTTP/1.1\r\n\(head)\r\n\r\n").status == 400, "\(head)")
            }
            #expect(app.requests.allSatisfy { $0.target == "/public/" })
            // The app sees the same host for every spelling.
            #expect(app.requests.count >= 4 && app.requests.allSatisfy { $0.values("host") == [Request.host] })
        }
    }

    @Test("A Location on the app's own origin gets the public origin; any other stays as it is")
    func location() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                let location = request.values("x-location").first ?? ""
                link.answer("302 Found", "Location: \(location)\r\n")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let own = "http://127.0.0.1:\(app.port)"
            for (sent, expected) in [
                ("\(own)/next?a=b", "\(Request.origin)/next?a=b"), (own, Request.origin),
                ("\(own)?a", "\(Request.origin)?a"),
                ("\(own)1/next", "\(own)1/next"), ("\(own).evil.example/", "\(own).evil.example/"),
                ("\(own)@evil.example/", "\(own)@evil.example/"), ("/relative", "/relative"),
                ("//other/x", "//other/x"),
                ("https://other.example/?u=\(own)/", "https://other.example/?u=\(own)/"), ("", ""),
            ] {
                let answer = try gateway.get("/", ["X-Location: \(sent)"])
                #expect(answer.values("location") == [expected], "\(sent): \(answer.lines)")
            }
        }
    }

    @Test("The app's Set-Cookie fields pass byte for byte and in order, except those with the gateway's cookie names")
    func setCookie() throws {
        let lines = [
            "Set-Cookie: a=b; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "set-cookie:c=d",
            "Set-Cookie: e=\"f; g\"; HttpOnly",
            "SET-COOKIE:   h=i;SameSite=None;Secure", "Set-Cookie: =odd", "Set-Cookie: sallyportx=1",
            "Set-Cookie: x=sallyport",
        ]
        let ours = [
            "Set-Cookie: sallyport=fixed; Path=/", "set-cookie:sallyport=", "Set-Cookie:  sallyport = spaced",
            "Set-Cookie: session_transfer_token=x", "Set-Cookie: auth0_session_transfer_token=y",
            "Set-Cookie: sallyport-attempt=z",
        ]
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                let all = zip(lines, ours + ["X: 1", "X: 2"]).flatMap { [$0, $1] }
                link.answer("200 OK", all.map { $0 + "\r\n" }.joined())
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let seen = try gateway.get().lines.filter { $0.lowercased().hasPrefix("set-cookie") }
            #expect(seen == lines)
        }
    }

    @Test("All other fields of an answer pass in order and byte for byte, except hop-by-hop fields")
    func answerFields() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.send(
                    "HTTP/1.1 299 Odd  Phrase\r\nserver:x\r\nX-A:  spaced  \r\nx-a: twice\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
                        + "Proxy-Authenticate: Basic\r\nX-B: \u{e9}\r\nX_C: 1\r\nContent-Length: 2\r\nETag: W/\"a\"\r\n\r\nok"
                )
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let answer = try gateway.get()
            #expect(answer.status == 299 && answer.text == "ok")
            #expect(answer.lines.first == "HTTP/1.1 299 Odd  Phrase")
            let kept = ["server:x", "X-A:  spaced  ", "x-a: twice", "X_C: 1", "ETag: W/\"a\""]
            #expect(answer.lines.filter { line in kept.contains(line) } == kept, "\(answer.lines)")
            for name in ["x-hop", "keep-alive", "connection"] { #expect(answer.values(name) == [], "\(name)") }
        }
    }

    @Test(
        "The gateway's cookies are removed from the Cookie field, and every other byte of it stays",
        arguments: [
            ("a=1; sallyport=TOKEN; b=2", "a=1; b=2"), ("sallyport=TOKEN; b=\"x; y\"", "b=\"x; y\""),
            ("a=1;sallyport=TOKEN", "a=1"),
            ("a=1; =; ; b; sallyport=TOKEN", "a=1; =; ; b"),
            ("xsallyport=1; sallyport=TOKEN; sallyportx=2", "xsallyport=1; sallyportx=2"),
            ("Sallyport=1; sallyport=TOKEN", "Sallyport=1"),
        ]
    )
    func cookies(sent: String, expected: String) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = try gateway.browser()
            let fields = ["Cookie: \(sent.replacing("TOKEN", with: token))"]
            #expect(try gateway.get("/", fields).status == 200)
            #expect(try gateway.get("/public/", fields).status == 200)
            #expect(app.requests.map { $0.values("cookie") } == [[expected], [expected]])
            #expect(try gateway.get("/", ["Cookie: sallyport=\(token)"]).status == 200)
            #expect(app.requests.last?.values("cookie") == [])
        }
    }

    @Test(
        "Several Cookie lines are one for the gateway and for the app",
        arguments: [
            (["a=1", "sallyport=TOKEN", "b=2; c"], ["a=1; b=2; c"]), (["sallyport=TOKEN", "a=1"], ["a=1"]),
            (["a=1; sallyport=TOKEN; b=2", "", "c=3"], ["a=1; b=2; c=3"]), (["a=1", "sallyport=TOKEN"], ["a=1"]),
            (["", "sallyport=TOKEN", " "], []),
            (["a=1", "b=2", "x=3; sallyport=TOKEN; sallyport=TOKEN"], ["a=1; b=2; x=3"]),
        ]
    )
    func cookieLines(sent: [String], expected: [String]) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = try gateway.browser()
            let fields = sent.map { "Cookie: \($0.replacing("TOKEN", with: token))" }
            #expect(try gateway.get("/", fields).status == 200)
            #expect(try gateway.get("/public/", fields).status == 200)
            #expect(app.requests.map { $0.values("cookie") } == [expected, expected])
            #expect(app.requests[0].values("x-auth-subject") == ["user-1815"])
            #expect(try gateway.get("/.sallyport/session", fields).text.contains("user-1815"))
        }
    }

    @Test("Two Cookie lines with cookies of the gateway are refused, on routes and at endpoints")
    func doubledCookieLines() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let (ada, grace) = (try gateway.browser(), try gateway.browser(.grace))
            for other in [
                "sallyport=\(ada)", "sallyport=\(grace)", "x=1; session_transfer_token=y", "sallyport-native=1",
                "sallyport-attempt=z",
            ] {
                let fields = ["Cookie: a=1", "Cookie: sallyport=\(ada); b=2", "Cookie: \(other)"]
                for path in ["/", "/public/", "/.sallyport/session"] {
                    let answer = try gateway.get(path, fields)
                    #expect(answer.status == 400 && answer.reason == "credential.repeated", "\(path): \(answer.lines)")
                }
            }
            #expect(app.requests.isEmpty)
            // Together they are as large as one may be.
            let long = String(repeating: "x", count: 9000)
            let large = try gateway.get("/public/", ["Cookie: a=\(long)", "Cookie: b=\(long)"])
            #expect(large.status == 431 && large.reason == "request.fields_too_large")
            #expect(try gateway.get("/public/", ["Cookie: a=\(long)", "Cookie: b=1"]).status == 200)
        }
    }

    @Test("Fields that tell only some caches how long to keep an answer do not reach them with a user's identity")
    func targetedCacheControl() throws {
        let names = [
            "CDN-Cache-Control", "Surrogate-Control", "Cloudflare-CDN-Cache-Control", "vercel-cdn-cache-control",
        ]
        let lines = names.map { "\($0): max-age=600\r\n" }.joined()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                // Some caches take the fields of an early answer for those of the final one.
                link.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nCache-Control: public\r\n\(lines)\r\n")
                link.answer("200 OK", lines)
            }
        )
        defer { app.stop() }
        let routes = Config.routes + "\n  - path: /app/**\n    cache: app\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            for (path, fields, stay) in [("/", [token], false), ("/app/", [token], true), ("/public/", [], true)] {
                let wire = try gateway.connect()
                wire.send(Request.get(path, fields))
                let early = String(latin1: try #require(wire.receive(through: "\r\n\r\n")))
                let answer = try wire.answer()
                #expect(answer.status == 200)
                for name in names { #expect(answer.values(name) == (stay ? ["max-age=600"] : []), "\(path) \(name)") }
                #expect(early.contains("Link: </a>") && early.contains("Cache-Control: public") == stay, "\(early)")
                #expect(early.contains("max-age=600") == stay, "\(early)")
            }
        }
    }

    @Test("T36: answers with a user's identity are private; stricter directives of the app stay")
    func cacheControl() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                let value = request.values("x-cache").first
                link.answer("200 OK", value.map { "Cache-Control: \($0)\r\n" } ?? "")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            #expect(try gateway.get("/", [token]).values("cache-control") == ["private"])
            #expect(try gateway.get("/", [token, "X-Cache: no-store"]).values("cache-control") == ["no-store"])
            let changed = try gateway.get("/", [token, "X-Cache: public, max-age=60, s-maxage=600"])
            #expect(changed.value("cache-control")?.contains("private") == true)
            #expect(
                changed.value("cache-control")?.contains("public") == false
                    && changed.value("cache-control")?.contains("s-maxage") == false
            )
            #expect(changed.value("cache-control")?.contains("max-age=60") == true)
            #expect(try gateway.get("/public/", ["X-Cache: public"]).values("cache-control") == ["public"])
            #expect(try gateway.get("/public/").values("cache-control") == [])
        }
    }

    @Test("Every answer has a request id, the app sees the same one, and a client cannot choose it")
    func requestID() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let answer = try gateway.get("/public/", ["X-Request-Id: mine"])
            let id = try #require(answer.value("x-request-id"))
            #expect(id.count == 32 && app.requests.first?.values("x-request-id") == [id])
            let refused = try gateway.get("/private")
            #expect(refused.value("x-request-id").map { refused.text.contains($0) } == true)
        }
    }
}
