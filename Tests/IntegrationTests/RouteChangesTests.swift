import GatewayBench
import Testing

/// The path and the fields that a route changes for its app.
@Suite("Changes of a route", .blocking) struct RouteChangesTests {
    private static let routes = """
          - path: /**
          - path: /app/**
            client: web
            strip_prefix: /app
            request_headers: {set: {X-Edition: internal}, remove: [Accept-Encoding, X-Old]}
            response_headers: {set: {X-Frame-Options: DENY}, remove: [Server]}
          - path: /old/**
            auth: public
            strip_prefix: /old
            add_prefix: /v2
          - path: /new/**
            auth: public
            add_prefix: /base
          - path: /named/**
            auth: public
            host: wiki.internal:8080
        """

    @Test("The app gets the path without its prefix, on every way, and the token of a handoff is removed as well")
    func paths() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let session = "Cookie: sallyport=\(try gateway.browser())"
            for (target, expected) in [
                ("/app/x?y=/app/z", "/x?y=/app/z"), ("/app", "/"), ("/app?a", "/?a"), ("/app/", "/"),
                ("/app/app/", "/app/"),
                ("/app/a%20b;c=d?%2F", "/a%20b;c=d?%2F"), ("/old/x?y", "/v2/x?y"), ("/old", "/v2"), ("/old?y", "/v2?y"),
                ("/new/x", "/base/new/x"), ("/x", "/x"), ("http://\(Request.host)/app/x?y", "/x?y"),
            ] {
                #expect(try gateway.get(target, [session]).status == 200)
                let request = try #require(app.requests.last)
                #expect(request.target == expected, "\(target)")
                let prefix = target.contains("/app") ? ["/app"] : target.hasPrefix("/old") ? ["/old"] : []
                #expect(request.values("x-forwarded-prefix") == prefix)
            }
            #expect(try gateway.get("/%61pp/x", [session]).reason == "path.ambiguous")
            _ = try gateway.get("/old/x?a=b&session_transfer_token=spt_x&c")
            #expect(app.requests.last?.target == "/v2/x?a=b&c")
            let token = try gateway.mint(try gateway.native())
            let answer = try gateway.get("/app/in?a=b&session_transfer_token=\(token)&c")
            #expect(answer.sessionCookie != nil && answer.values("location").first?.hasSuffix("/app/in?a=b&c") == true)
        }
    }

    @Test("Fields that are set replace those of the client and of the app in every spelling; others stay")
    func fields() throws {
        let app = try FakeUpstream { link in
            while link.next() != nil {
                link.answer(
                    "200 OK",
                    "Server: x\r\nX-Frame-Options: ALLOW\r\nx-frame-options: b\r\nX-Kept: 1\r\n",
                    body: "ok"
                )
            }
        }
        defer { app.stop() }
        try Gateway.with(
            Config.file(upstream: app.port, routes: Self.routes, more: "identity: {strip_underscore_fields: false}")
        ) { gateway throws in
            let session = "Cookie: sallyport=\(try gateway.browser())"
            let answer = try gateway.get(
                "/app/x",
                [session, "X-Edition: root", "X_EDITION: root", "Accept-Encoding: br", "x-old: 1", "X-Kept: 1"]
            )
            #expect(answer.values("x-frame-options") == ["DENY"] && answer.values("server") == [])
            #expect(answer.values("x-kept") == ["1"] && answer.text == "ok")
            let request = try #require(app.requests.last)
            #expect(request.values("x-edition") == ["internal"] && request.values("x_edition") == [])
            #expect(
                request.values("accept-encoding") == [] && request.values("x-old") == []
                    && request.values("x-kept") == ["1"]
            )
            let other = try gateway.get("/x", [session, "X-Edition: mine"])
            #expect(other.values("server") == ["x"] && app.requests.last?.values("x-edition") == ["mine"])
        }
    }

    @Test("A Location of the app gets the prefix back, once, and other places stay as they are")
    func locations() throws {
        let app = try FakeUpstream { link in
            while let request = link.next() {
                let place = request.values("x-to").first ?? ""
                link.answer("302 Found", "Location: \(place)\r\n")
            }
        }
        defer { app.stop() }
        let origin = Request.origin
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let session = "Cookie: sallyport=\(try gateway.browser())"
            for (path, place, expected) in [
                ("/app/", "/login?a=/b", "/app/login?a=/b"), ("/app/", "/", "/app/"),
                ("/app/", "/app/login", "/app/login"),
                ("/app/", "/apple", "/app/apple"), ("/app/", "login", "login"), ("/app/", "../x", "../x"),
                ("/app/", "?a", "?a"),
                ("/app/", "#a", "#a"), ("/app/", "//other.example/x", "//other.example/x"),
                ("/app/", "https://other.example/x", "https://other.example/x"),
                ("/app/", "\(origin)/x", "\(origin)/app/x"),
                ("/app/", origin, "\(origin)/app"), ("/app/", "\(origin)/app/x", "\(origin)/app/x"),
                ("/app/", "http://127.0.0.1:\(app.port)/x", "\(origin)/app/x"),
                ("/app/", "http://127.0.0.1:\(app.port)?x", "\(origin)/app?x"),
                ("/old/", "/v2/login", "/old/login"), ("/old/", "/v2", "/old"), ("/old/", "/v2?a", "/old?a"),
                ("/old/", "/v23/login", "/v23/login"), ("/old/", "/old/x", "/old/x"), ("/old/", "/other", "/other"),
                ("/new/", "/base/x", "/x"), ("/new/", "/base", "/"), ("/new/", "/base?a", "/?a"), ("/new/", "/x", "/x"),
                // Without the added prefix, browsers would read the name of another host.
                ("/new/", "/base//evil.example/", "/base//evil.example/"),
                ("/new/", "/base/\\evil.example", "/base/\\evil.example"),
                ("/new/", "/base/\t/evil.example", "/base/\t/evil.example"),
                ("/old/", "/v2//evil.example", "/old//evil.example"),
                ("/x", "/login", "/login"),
                // Schemes and hosts are equal in any case, an app may not know of TLS, and it may know itself by another name.
                ("/x", "HTTP://127.0.0.1:\(app.port)/x", "\(origin)/x"),
                ("/app/", origin.uppercased() + "/X", "\(origin)/app/X"),
                ("/app/", "http://\(Request.host)/x", "\(origin)/app/x"),
                ("/app/", "http://\(Request.host).evil.example/x", "http://\(Request.host).evil.example/x"),
                ("/named/", "http://wiki.internal:8080/x", "\(origin)/x"),
                ("/named/", "https://Wiki.internal:8080?a", "\(origin)?a"),
                ("/named/", "http://wiki.internal:8080@evil.example/", "http://wiki.internal:8080@evil.example/"),
                ("/named/", "http://wiki.internal:80801/", "http://wiki.internal:80801/"),
                // Other spellings of the same origins.
                ("/app/", "\(origin):80/x", "\(origin)/app/x"), ("/app/", "//\(Request.host)/x", "\(origin)/app/x"),
                ("/app/", "//127.0.0.1:\(app.port)/x", "\(origin)/app/x"), ("/x", "//\(Request.host)/x", "\(origin)/x"),
                ("/x", "\(origin):80/x", "\(origin)/x"), ("/named/", "//wiki.internal:8080/x", "\(origin)/x"),
                ("/old/", "\(origin):/v2/x", "\(origin)/old/x"),
                ("/named/", "/x", "/x"), ("/x", "http://wiki.internal:8080/x", "http://wiki.internal:8080/x"),
            ] {
                let answer = try gateway.get(path, [session, "X-To: \(place)"])
                #expect(answer.values("location") == [expected], "\(path) \(place)")
            }
        }
    }
}
