import GatewayBench
import Testing

/// The authorization listener on the wire, asked by hand.
@Suite("The authorization listener", .blocking) struct ListenerTests {
    private struct Bench {
        let gateway: Gateway
        let port: Int

        static func with(more: String = "", _ body: (Bench) throws -> Void) throws {
            let app = try FakeUpstream()
            defer { app.stop() }
            let port = try ServerPorts.take()
            let settings = Config.file(
                upstream: app.port,
                // Minting is limited for each client.
                clients: Config.clients(
                    more: (0..<5).map { number in
                        """
                          - client_id: native-\(number)
                            session_transfer: {can_create_session_transfer_token: true}
                        """
                    }.joined(separator: "\n")
                ),
                more: """
                    trusted_proxies: [127.0.0.1]
                    authorization:
                      listen: 127.0.0.1:\(port)
                      peers: [127.0.0.1]
                    \(more)
                    """
            )
            try Gateway.with(settings) { gateway in
                try body(Bench(gateway: gateway, port: port))
                #expect(app.requests.isEmpty)
            }
        }

        func send(_ text: String, from source: String? = nil) throws -> Answer {
            try Wire(to: self.port, from: source).request(latin1: text)
        }

        func ask(_ lines: [String], from source: String? = nil) throws -> Answer {
            try self.send(lines.joined(separator: "\r\n") + "\r\n\r\n", from: source)
        }
    }

    /// What each dialect sends for a path, as lines.
    private static func checks(_ path: String) -> [[String]] {
        [
            [
                "GET /authz/forward-auth HTTP/1.1", "Host: checks", "X-Forwarded-Method: GET",
                "X-Forwarded-Proto: http",
                "X-Forwarded-Host: \(Request.host)", "X-Forwarded-Uri: \(path)", "X-Forwarded-For: 127.0.0.7",
            ],
            [
                "GET /authz/auth-request HTTP/1.0", "Host: checks", "X-Original-URL: \(Request.origin)\(path)",
                "X-Original-Method: GET", "X-Forwarded-For: 127.0.0.7",
            ],
            ["GET /authz/ext-authz\(path) HTTP/1.1", "Host: \(Request.host)", "X-Forwarded-For: 127.0.0.7"],
        ].flatMap { lines in
            let other = lines[0].replacing("/authz/", with: "/api/authz/").replacing("/ext-authz", with: "/ext-authz/")
            return [lines, [other] + lines.dropFirst()]
        }
    }

    @Test("Nobody but the named peers is answered, whatever he says about himself")
    func peers() throws {
        try Bench.with { bench in
            let credential = "X-Session-Token: \(try bench.gateway.native(from: "127.0.0.7"))"
            for lines in Self.checks("/page") + Self.checks("/public/x") {
                #expect(try bench.ask(lines + [credential]).status == 200, "\(lines)")
                for fields in [
                    [], ["X-Forwarded-For: 127.0.0.1"], ["X-Real-IP: 127.0.0.1"], ["Forwarded: for=127.0.0.1"],
                ] {
                    let answer = try bench.ask(lines + [credential] + fields, from: "127.0.0.2")
                    #expect(answer.status == 403 && answer.reason == "authz.peer", "\(lines): \(answer.lines)")
                    #expect(answer.lines.allSatisfy { !$0.lowercased().hasPrefix("x-auth-") }, "\(answer.lines)")
                }
            }
            // Nor does it serve anything but checks.
            for path in ["/", "/page", "/public/x", "/.sallyport/login", "/metrics", "/readyz", "/oauth2/auth"] {
                let answer = try bench.ask(["GET \(path) HTTP/1.1", "Host: \(Request.host)", credential])
                #expect(answer.status == 404 && answer.reason == "authz.dialect", "\(path): \(answer.lines)")
            }
            // And `listen` answers no checks: there they are requests like others.
            for lines in Self.checks("/public/x") {
                let answer = try Wire(to: bench.gateway.port).request(lines.joined(separator: "\r\n") + "\r\n\r\n")
                #expect(answer.status != 200, "\(lines): \(answer.lines)")
            }
        }
    }

    @Test("A check that cannot be read is answered in its dialect, says why, and is the last one of its connection")
    func unreadable() throws {
        try Bench.with { bench in
            for lines in Self.checks("/public/x") {
                for (bad, reason) in [
                    (lines + ["Host: other"], "request.host"), (lines + ["X A: b"], "request.malformed"),
                    (lines + (0..<300).map { "X-\($0): b" }, "request.fields_too_large"),
                    ([lines[0].replacing("GET", with: "TRACE")] + lines.dropFirst(), "request.method"),
                    ([lines[0].replacing(" HTTP", with: "#y HTTP")] + lines.dropFirst(), "request.target"),
                ] {
                    let wire = try Wire(to: bench.port)
                    wire.send(latin1: bad.joined(separator: "\r\n") + "\r\n\r\n")
                    let answer = try wire.answer()
                    let isNginx = lines[0].contains("auth-request") && reason != "request.target"
                    #expect(answer.status == 403 || !isNginx, "\(bad.prefix(2)): \(answer.lines)")
                    #expect(answer.status >= 400 && answer.value("x-sallyport-reason") == reason, "\(answer.lines)")
                    #expect(answer.value("cache-control") == "no-store", "\(answer.lines)")
                    wire.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
                    #expect((try? wire.answer(seconds: 1)) == nil, "\(bad.prefix(2))")
                }
            }
        }
    }

    @Test("What a reload adds is told and takes effect at the next start")
    func added() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let settings = Config.file(upstream: app.port)
        try Gateway.with(settings) { gateway in
            try gateway.reload("\(settings)\nauthorization: {listen: \"127.0.0.1:\(port)\", peers: [127.0.0.1]}\n")
            #expect(gateway.output.contains("authorization.listen: takes effect at the next start"))
            #expect((try? Wire(to: port)) == nil)
        }
    }

    @Test("A check never allows a protected path to nobody, however it is written")
    func spellings() throws {
        let long = "/" + String(repeating: "a", count: 60_000)
        let paths = [
            "//page", "/./page", "/public/../page", "/public/%2e%2e/page", "/public/..%2fpage", "/public/..;/page",
            "/public%2f..%2fpage", "/public/%252e%252e/page", "/public/..\\page", "/public/..%5cpage",
            "/page%00/public/",
            "/page#/public/", "/page /public/", "/page\t/public/", "/p\u{E9}ge", "/\u{FF}\u{FE}",
            "http://open/public/x",
            "\(Request.origin)/public/x", "//\(Request.host)/public/x", "*", "public/x", "@open/public/x",

            "?/public/x", ".evil.example/public/x", long, "/page?" + long, "/public/../../page", "/PAGE", "/%70age",
        ]
        try Bench.with { bench in
            for path in paths {
                for lines in Self.checks(path) {
                    let wire = try Wire(to: bench.port)
                    wire.send(latin1: lines.joined(separator: "\r\n") + "\r\n\r\n")
                    guard let answer = try? wire.answer(seconds: 2) else { continue }
                    #expect(
                        (400..<500).contains(answer.status),
                        "\(lines[0].prefix(80)) \(path.prefix(80)): \(answer.lines)"
                    )
                }
            }
            #expect(try bench.ask(Self.checks("/public/x")[0]).status == 200)
        }
    }

    @Test("Bodies of checks are not read as further checks, and the connection goes on after each")
    func bodies() throws {
        try Bench.with { bench in
            let smuggled = Self.checks("/public/x")[0].joined(separator: "\r\n") + "\r\n\r\n"
            for lines in Self.checks("/page") {
                let post =
                    [lines[0].replacing("GET ", with: "POST ").replacing("HTTP/1.0", with: "HTTP/1.1")]
                    + lines.dropFirst()
                for framing in [
                    "Content-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)",
                    "Transfer-Encoding: chunked\r\n\r\n\(String(smuggled.utf8.count, radix: 16))\r\n\(smuggled)\r\n0\r\n\r\n",
                ] {
                    let wire = try Wire(to: bench.port)
                    wire.send(post.joined(separator: "\r\n") + "\r\n" + framing)
                    let answer = try wire.answer()
                    #expect((400..<500).contains(answer.status), "\(post[0]): \(answer.lines)")
                    // Either this connection is over, or what comes next on it is the next check.
                    wire.send(smuggled)
                    if let next = try? wire.answer() {
                        #expect(next.status == 200, "\(next.lines)")
                        #expect(wire.receive(seconds: 0.1) == .silence)
                    }
                }
                let wire = try Wire(to: bench.port)
                for _ in 0..<3 {
                    wire.send(Self.checks("/public/x")[0].joined(separator: "\r\n") + "\r\n\r\n")
                    #expect(try wire.answer().status == 200)
                    wire.send(Self.checks("/page")[0].joined(separator: "\r\n") + "\r\n\r\n")
                    #expect(try wire.answer().status == 401)
                }
            }
        }
    }

    @Test(
        "The client is the right-most address that is no proxy, in any form of the field, and never one in front of it"
    )
    func addresses() throws {
        try Bench.with { bench in
            // Minting is limited for each user, too.
            let natives = try [User.ada, .grace, .mary].map { try bench.gateway.native($0, from: "127.0.0.7") }
            let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
            var count = 0
            func ask(_ forwarded: [String]) throws -> Answer {
                count += 1
                let token = try bench.gateway.mint(
                    natives[count % 3],
                    client: "native-\(count % 5)",
                    from: "127.0.0.7"
                )
                var lines = Self.checks("/page?session_transfer_token=\(token)")[0]
                lines.removeAll { $0.hasPrefix("X-Forwarded-For") }
                return try bench.ask(lines + forwarded.map { "X-Forwarded-For: \($0)" } + navigation)
            }
            for good in [
                ["127.0.0.7"], ["10.9.9.9, 127.0.0.7"], ["10.9.9.9", "127.0.0.7"], ["10.9.9.9,127.0.0.7, 127.0.0.1"],
                ["junk, 127.0.0.7"],
            ] {
                let answer = try ask(good)
                #expect(answer.status == 303 && answer.sessionCookie != nil, "\(good): \(answer.lines)")
            }
            for bad in [
                ["127.0.0.8"], ["127.0.0.7, 127.0.0.8"], ["127.0.0.7", "127.0.0.8"],
                ["127.0.0.7, 127.0.0.8, 127.0.0.1"],
                ["127.0.0.7, junk"], ["junk"], [], ["127.0.0.7 127.0.0.8"], ["::1"], ["127.0.0.1"],
            ] {
                let answer = try ask(bad)
                #expect(answer.sessionCookie == nil && answer.status != 200, "\(bad): \(answer.lines)")
            }
        }
    }
}
