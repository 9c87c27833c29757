import GatewayBench
import Testing

/// Which methods reach an app, and on which route.
@Suite("Methods", .blocking) struct MethodTests {
    @Test("P25: CONNECT, TRACE and methods that a route does not accept get 405, and an override changes nothing")
    func methods() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes =
            "  - path: /**\n    auth: public\n    methods: [GET, POST]\n  - path: /private/**\n    methods: [POST]\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let connect = "CONNECT app.example.com:80 HTTP/1.1\r\nHost: app.example.com:80\r\n\r\n"
            for request in [
                connect, Request.get("/", method: "TRACE"), Request.get("/nowhere", method: "TRACE"),
                Request.get("/", method: "Trace"), Request.get("/", method: "connect"),
            ] {
                let answer = try gateway.request(request)
                #expect(answer.status == 405 && answer.reason == "request.method", "\(answer.lines)")
                #expect(answer.values("allow") == ["DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"], "\(answer.lines)")
            }
            for method in ["TRACE", "PUT", "PROPFIND", "get"] {
                let answer = try gateway.request(Request.get("/", method: method))
                #expect([400, 405, 501].contains(answer.status), "\(method): \(answer.lines)")
            }
            #expect(app.requests.isEmpty)
            #expect(try gateway.get("/", ["X-HTTP-Method-Override: DELETE"]).status == 200)
            let answer = try gateway.request(
                Request.post("/private/x?_method=GET", ["X-HTTP-Method-Override: GET"], body: "a")
            )
            #expect(answer.status == 401)
        }
    }

    @Test(
        "A route without methods passes every method on as it came, and one that names a method of its own takes that"
    )
    func anyToken() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
                auth: public
              - path: /own
                auth: public
                methods: [PURGE, "M-SEARCH", x_y.z~1]
            """
        let methods = [
            "PURGE", "M-SEARCH", "SUBSCRIBE", "NOTIFY", "BPROPFIND", "PROPFIND", "BAN", "get", "x_y.z~1",
            "!#$%&'*+-.^_`|~",
            String(repeating: "M", count: 200),
        ]
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            for method in methods {
                #expect(try gateway.request(Request.get("/", method: method)).status == 200, "\(method)")
            }
            #expect(app.requests.map(\.method) == methods)
            for (method, status) in [("PURGE", 200), ("M-SEARCH", 200), ("x_y.z~1", 200), ("GET", 405), ("purge", 405)]
            {
                let answer = try gateway.request(Request.get("/own", method: method))
                #expect(answer.status == status, "\(method): \(answer.lines)")
                #expect(
                    answer.values("allow") == (status == 405 ? ["M-SEARCH, PURGE, x_y.z~1"] : []),
                    "\(answer.lines)"
                )
            }
            // With a body, and with one that has no length yet.
            #expect(try gateway.request(Request.post("/", body: "a").replacing("POST ", with: "BAN ")).status == 200)
            let chunked = Request.get("/", ["Transfer-Encoding: chunked"], method: "BAN") + "1\r\na\r\n0\r\n\r\n"
            #expect(try gateway.request(chunked).status == 200)
            #expect(app.requests.suffix(2).allSatisfy { $0.method == "BAN" && $0.body == Array("a".utf8) })
        }
    }

    @Test(
        "A method that a route names reaches no other route of its path in other letters, for apps that ignore their case"
    )
    func respelt() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /item
                auth: public
                name: read
              - path: /item
                methods: [DELETE, purge]
                name: write
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            for method in ["delete", "Delete", "PURGE"] {
                let answer = try gateway.request(Request.get("/item", method: method))
                #expect(
                    answer.status == 405 && answer.reason == "route.method_not_allowed",
                    "\(method): \(answer.lines)"
                )
                #expect(answer.values("allow") == ["DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, purge"])
            }
            #expect(app.requests.isEmpty)
            #expect(try gateway.request(Request.get("/item", method: "DELETE")).status == 401)
            #expect(try gateway.request(Request.get("/item", method: "purge")).status == 401)
            #expect(try gateway.request(Request.get("/item", method: "get")).status == 200)
        }
    }

    @Test(
        "A method that the most specific path does not accept gets 405 with Allow, even if a less specific path accepts it"
    )
    func methodOfNoRoute() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
                auth: public
              - path: /hook
                auth: public
                methods: [POST]
              - path: /item
                auth: public
                methods: [GET]
                name: read
              - path: /item
                methods: [PUT, DELETE]
                name: write
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            for method in ["PUT", "GET", "OPTIONS"] {
                let answer = try gateway.request(Request.get("/hook", method: method))
                #expect(answer.status == 405 && answer.values("allow") == ["POST"], "\(method): \(answer.lines)")
            }
            #expect(try gateway.request(Request.post("/hook", body: "a")).status == 200)
            #expect(try gateway.get("/item").status == 200)
            #expect(try gateway.request(Request.get("/item", method: "DELETE")).status == 401)
            let patch = try gateway.request(Request.get("/item", method: "PATCH"))
            #expect(patch.status == 405 && patch.values("allow") == ["DELETE, GET, HEAD, PUT"], "\(patch.lines)")
            #expect(try gateway.request(Request.get("/other", method: "PUT")).status == 200)
            #expect(app.requests.map(\.target) == ["/hook", "/item", "/other"])
        }
    }

    @Test("A method-override field does not reach an app if methods of the path have different routes")
    func methodOverride() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
                auth: public
              - path: /item
                auth: public
                methods: [GET, POST]
              - path: /item
                name: write
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let fields = ["X-HTTP-Method-Override: DELETE", "x-http-method: PUT", "X-METHOD-OVERRIDE: PATCH"]
            let other = ["X.HTTP.Method.Override: DELETE", "X!Method!Override: PUT"]
            #expect(try gateway.request(Request.post("/item", fields + other, body: "a")).status == 200)
            let token = "Authorization: Bearer \(try gateway.native())"
            #expect(try gateway.request(Request.get("/item", fields + [token], method: "PUT")).status == 200)
            #expect(try gateway.get("/other", fields).status == 200)
            #expect(app.requests.map(\.target) == ["/item", "/item", "/other"])
            let overrides = app.requests.map { request in
                request.lines.filter { $0.lowercased().hasPrefix("x") && $0.contains(/(?i)method(.override)?:/) }.count
            }
            #expect(overrides == [0, 0, 3])
        }
    }

    @Test("OPTIONS * is answered by the gateway, for hosts that it serves")
    func optionsAsterisk() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            let answer = try wire.request(Request.get("*", method: "OPTIONS"))
            #expect(answer.status == 204 && answer.body.isEmpty && answer.value("content-length") == nil)
            #expect(answer.values("allow") == ["DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"])
            // The connection is kept.
            #expect(try wire.request(Request.get("*", ["Content-Length: 0"], method: "OPTIONS")).status == 204)
            #expect(try wire.request("OPTIONS * HTTP/1.1\r\nHost: other.example\r\n\r\n").status == 404)
            #expect(try gateway.get("*").status == 400)
            #expect(app.requests.isEmpty)
        }
    }
}
