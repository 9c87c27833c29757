import Foundation
import GatewayBench
import Testing

/// Other origins: what their scripts may read, and which requests they may cause.
@Suite("Cross-origin", .blocking) struct CrossOriginTests {
    private static let routes = """
          - path: /**
            cors:
              origins: [https://static.example.com]
              methods: [GET, PUT]
              headers: [X-Custom]
              credentials: true
              max_age: 5m
          - path: /plain/**
          - path: /any/**
            auth: public
            cors:
              origins: ["*"]
          - path: /mixed/**
            auth: public
            cors:
              origins: [https://static.example.com, "*"]
          - path: /trusting/**
            trusted_origins: [https://static.example.com]
        """

    private static let static_ = "Origin: https://static.example.com"

    @Test("A preflight is answered without a session, for the configured origins and no others")
    func preflight() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let ask = ["Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: x-custom"]
            let answer = try gateway.request(Request.get("/x", [Self.static_] + ask, method: "OPTIONS"))
            #expect(answer.status == 204)
            #expect(answer.value("access-control-allow-origin") == "https://static.example.com")
            #expect(answer.value("access-control-allow-credentials") == "true")
            #expect(answer.value("access-control-allow-methods")?.contains("PUT") == true)
            #expect(answer.value("access-control-allow-headers")?.lowercased().contains("x-custom") == true)
            #expect(answer.value("access-control-max-age") == "300" && answer.value("vary") == "Origin")
            for origin in [
                "https://evil.example", "https://static.example.com.evil.example", "http://static.example.com",
                "https://static.example.com:8443",
                "null", "https://evilstatic.example.com", "https://static.example.com, https://static.example.com",
            ] {
                let refused = try gateway.request(Request.get("/x", ["Origin: \(origin)"] + ask, method: "OPTIONS"))
                #expect(
                    refused.value("access-control-allow-origin") == nil && refused.status == 403,
                    "\(origin): \(refused.lines)"
                )
            }
            for origin in [
                "https://static.example.com:443", "https://static.example.com/", "HTTPS://STATIC.example.com",
            ] {
                let same = try gateway.request(Request.get("/x", ["Origin: \(origin)"] + ask, method: "OPTIONS"))
                #expect(same.status == 204 && same.values("access-control-allow-origin") == [origin], "\(same.lines)")
            }
            #expect(app.requests.isEmpty)
            // Without CORS settings a preflight is judged like any request, and then forwarded.
            #expect(try gateway.request(Request.get("/plain/x", [Self.static_] + ask, method: "OPTIONS")).status == 401)
            let open = try gateway.request(
                Request.get("/any/x", ["Origin: https://a.example"] + ask, method: "OPTIONS")
            )
            #expect(
                open.value("access-control-allow-origin") == "*"
                    && open.value("access-control-allow-credentials") == nil
            )
        }
    }

    @Test("An origin in another spelling is the same origin, for reading, for writing and for a WebSocket")
    func spellings() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let same = [":443", "/", ":443/"].map { "https://static.example.com\($0)" } + ["HTTPS://Static.Example.com"]
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let cookie = try gateway.browser()
            for origin in same {
                let read = try gateway.get("/mixed/x", ["Origin: \(origin)"])
                #expect(read.status == 200 && read.values("access-control-allow-origin") == [origin], "\(read.lines)")
                let refused = try gateway.get("/x", ["Origin: \(origin)"])
                #expect(refused.status == 401 && refused.values("access-control-allow-origin") == [origin])
                let fields = ["Cookie: sallyport=\(cookie)", "Origin: \(origin)"]
                #expect(try gateway.request(Request.post("/trusting/x", fields, body: "a")).status == 200, "\(origin)")
                #expect(try gateway.request(Request.post("/plain/x", fields, body: "a")).status == 403, "\(origin)")
            }
            let port = Request.origin.hasPrefix("https") ? "443" : "80"
            for own in [Request.origin + "/", Request.origin.uppercased(), "\(Request.origin):\(port)"] {
                let fields = ["Cookie: sallyport=\(cookie)", "Origin: \(own)"]
                #expect(try gateway.request(Request.post("/plain/x", fields, body: "a")).status == 200, "\(own)")
                let ws = ["Connection: Upgrade", "Upgrade: websocket"]
                #expect(try gateway.get("/plain/ws", fields + ws).status == 200, "\(own)")
                #expect(
                    try gateway.get("/plain/ws", ["Cookie: sallyport=\(cookie)", "Origin: null"] + ws).status == 403
                )
            }
        }
    }

    @Test("If the route does not accept OPTIONS, a preflight is judged for the method that it asks about")
    func preflightOfMethod() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
                auth: public
              - path: /api/x
                methods: [POST]
                cors:
                  origins: [https://static.example.com]
                  methods: [POST]
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            func ask(_ fields: String...) throws -> Answer {
                try gateway.request(Request.get("/api/x", fields, method: "OPTIONS"))
            }
            let answer = try ask(Self.static_, "Access-Control-Request-Method: POST")
            #expect(answer.status == 204 && answer.value("access-control-allow-methods") == "POST", "\(answer.lines)")
            #expect(try ask("Origin: https://evil.example", "Access-Control-Request-Method: POST").status == 403)
            #expect(try ask(Self.static_, "Access-Control-Request-Method: PUT").status == 405)
            #expect(try ask("Access-Control-Request-Method: POST").status == 405)
            #expect(try ask(Self.static_).status == 405)
            #expect(app.requests.isEmpty)
        }
    }

    @Test("Refusals carry the CORS fields, so that a script can read the reason")
    func refusals() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let answer = try gateway.get("/x", [Self.static_])
            #expect(answer.status == 401 && answer.value("access-control-allow-origin") == "https://static.example.com")
            #expect(answer.value("access-control-expose-headers")?.contains("WWW-Authenticate") == true)
            #expect(answer.values("vary").joined().contains("Origin"))
            #expect(try gateway.get("/x", ["Origin: https://evil.example"]).value("access-control-allow-origin") == nil)
            #expect(try gateway.get("/plain/x", [Self.static_]).value("access-control-allow-origin") == nil)
        }
    }

    @Test("The app's answers carry the CORS fields for the configured origins, and Vary for caches")
    func answers() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.answer("200 OK", "Vary: Accept-Encoding\r\n", body: "ok")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            let answer = try gateway.get("/x", [token, Self.static_])
            #expect(answer.status == 200 && answer.text.contains("ok"))
            #expect(answer.values("access-control-allow-origin") == ["https://static.example.com"])
            #expect(answer.values("access-control-allow-credentials") == ["true"])
            #expect(answer.values("vary") == ["Accept-Encoding", "Origin"])
            for other in [["Origin: https://evil.example"], ["Origin: null"], []] {
                let plain = try gateway.get("/x", [token] + other)
                #expect(plain.status == 200 && plain.value("access-control-allow-origin") == nil, "\(other)")
                #expect(plain.value("access-control-allow-credentials") == nil, "\(other)")
                #expect(plain.values("vary") == ["Accept-Encoding", "Origin"], "\(other)")
            }
            for fields in [["Origin: https://a.example"], []] {
                let open = try gateway.get("/any/x", fields)
                #expect(open.values("access-control-allow-origin") == ["*"], "\(fields)")
                #expect(open.value("access-control-allow-credentials") == nil)
                #expect(open.values("vary") == ["Accept-Encoding"], "the same for every origin")
            }
            for (field, allowed) in [(Self.static_, "https://static.example.com"), ("Origin: https://a.example", "*")] {
                let mixed = try gateway.get("/mixed/x", [field])
                #expect(mixed.values("access-control-allow-origin") == [allowed])
                #expect(mixed.values("vary") == ["Accept-Encoding", "Origin"])
            }
            #expect(try gateway.get("/plain/x", [token, Self.static_]).value("access-control-allow-origin") == nil)
        }
    }

    @Test("An answer that the gateway gives in the app's place also carries the CORS fields")
    func upstreamFailures() throws {
        let app = try FakeUpstream()
        app.stop()
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            let answer = try gateway.get("/x", [token, Self.static_])
            #expect(answer.status == 502, "\(answer.lines)")
            #expect(answer.values("access-control-allow-origin") == ["https://static.example.com"])
        }
    }

    @Test("If the app sets CORS fields itself, they are not changed")
    func appFields() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.answer("200 OK", "Access-Control-Allow-Origin: https://a.example\r\nVary: Origin\r\n", body: "ok")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let token = "Authorization: Bearer \(try gateway.native())"
            let answer = try gateway.get("/x", [token, Self.static_])
            #expect(answer.values("access-control-allow-origin") == ["https://a.example"])
            #expect(answer.value("access-control-allow-credentials") == nil && answer.values("vary") == ["Origin"])
        }
        // A second `true` would make the field invalid.
        let partial = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.answer("200 OK", "access-control-Allow-Credentials: true\r\n", body: "ok")
            }
        )
        defer { partial.stop() }
        try Gateway.with(Config.file(upstream: partial.port, routes: Self.routes)) { gateway throws in
            let answer = try gateway.get("/x", ["Authorization: Bearer \(try gateway.native())", Self.static_])
            #expect(answer.values("access-control-allow-credentials") == ["true"])
            #expect(answer.value("access-control-allow-origin") == nil)
        }
    }

    @Test("An unsafe method with a cookie needs proof that the request comes from this origin or from a trusted one")
    func unsafe() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes)) { gateway throws in
            let cookie = "Cookie: sallyport=\(try gateway.browser())"
            for method in ["POST", "PUT", "DELETE", "PATCH", "PROPPATCH"] {
                for fields in [
                    [], ["Origin: https://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"],
                    ["Sec-Fetch-Site: same-site"],
                    ["Origin: \(Request.origin)", "Sec-Fetch-Site: cross-site"], ["Origin: \(Request.origin):81"],
                    [Self.static_],
                    ["Referer: \(Request.origin)/x"],
                ] {
                    let answer = try gateway.request(
                        Request.get("/plain/x", [cookie, "Content-Length: 0"] + fields, method: method)
                    )
                    #expect(
                        answer.status == 403 && answer.reason == "request.cross_site",
                        "\(method) \(fields): \(answer.lines)"
                    )
                }
            }
            #expect(app.requests.isEmpty)
            for (target, fields) in [
                ("/plain/x", ["Origin: \(Request.origin)"]), ("/plain/x", ["Sec-Fetch-Site: same-origin"]),
                ("/trusting/x", [Self.static_]), ("/trusting/x", [Self.static_, "Sec-Fetch-Site: cross-site"]),
            ] {
                #expect(
                    try gateway.request(Request.post(target, [cookie] + fields, body: "a")).status == 200,
                    "\(fields)"
                )
            }
            // Reading needs no proof, and browsers do not add explicit credentials by themselves.
            #expect(try gateway.get("/plain/x", [cookie, "Origin: https://evil.example"]).status == 200)
            let token = "Authorization: Bearer \(try gateway.native())"
            #expect(
                try gateway.request(Request.post("/plain/x", [token, "Origin: https://evil.example"], body: "a")).status
                    == 200
            )
            // A public route uses no session, so there is nothing to protect.
            #expect(
                try gateway.request(Request.post("/any/x", [cookie, "Origin: https://evil.example"], body: "a")).status
                    == 200
            )
        }
    }
}
