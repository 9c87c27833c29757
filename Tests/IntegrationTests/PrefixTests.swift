import GatewayBench
import TestSupport
import Testing

/// What an app and its clients learn of each other's paths, on a route with a prefix.
@Suite("An app below a prefix", .blocking) struct PrefixTests {
    private static let routes = """
          - path: /**
            auth: public
          - path: /app/**
            auth: public
            strip_prefix: /app
          - path: /told/**
            auth: public
            strip_prefix: /told
            request_headers: {set: {X-Script-Name: /told, X-Real-IP: "{client_address}", X-Forwarded-Port: "8443"}}
          - path: /plain/**
            auth: public
            strip_prefix: /plain
            request_headers: {remove: [X-Script-Name]}
            response_headers: {remove: [Refresh]}
        """

    private func with(
        _ answer: @escaping @Sendable (Link, Received) -> Void,
        more: String = "",
        _ body: (Gateway, FakeUpstream) throws -> Void
    ) throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering(answer))
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: Self.routes, more: more)) { try body($0, app) }
    }

    @Test("Cookies and references in the app's answers become public; on other routes nothing changes")
    func answers() throws {
        let fields = [
            ("Set-Cookie", "JSESSIONID=1; Path=/examples; HttpOnly", "JSESSIONID=1; Path=/app/examples; HttpOnly"),
            ("set-cookie", "a=b; Path=/", "a=b; Path=/app"),
            ("Set-Cookie", "__Host-c=d; Secure; Path=/", "__Host-c=d; Secure; Path=/"),
            ("Content-Location", "/x.en", "/app/x.en"),
            ("Link", "</a>; rel=next, </b>", "</app/a>; rel=next, </app/b>"),
            ("link", "</c>", "</app/c>"), ("Refresh", "5; url=/x", "5; url=/app/x"), ("HX-Redirect", "/y", "/app/y"),
            ("HX-Location", "{\"path\":\"/y\"}", "{\"path\":\"/y\"}"), ("SourceMap", "/y.map", "/app/y.map"),
            ("X-Other", "/x", "/x"),
        ]
        let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
        try self.with({ link, _ in link.answer("200 OK", lines, body: "ok") }) { gateway, _ in
            let below = try gateway.get("/app/x")
            let beside = try gateway.get("/x")
            for (name, written, expected) in fields {
                #expect(below.lines.contains("\(name): \(expected)"), "\(name): \(below.lines)")
                #expect(beside.lines.contains("\(name): \(written)"), "\(name): \(beside.lines)")
            }
            #expect(below.text == "ok")
            let edited = try gateway.get("/plain/x")
            #expect(
                edited.values("refresh") == []
                    && edited.values("link") == ["</plain/a>; rel=next, </plain/b>", "</plain/c>"]
            )
        }
    }

    @Test("Early hints name public paths")
    func earlyHints() throws {
        try self.with({ link, _ in
            link.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload, </a.js>\r\n\r\n")
            link.answer()
        }) { gateway, _ in
            let wire = try Wire(to: gateway.port)
            wire.send(Request.get("/app/x", ["Connection: close"]))
            let text = String(decoding: wire.receiveAll().bytes, as: UTF8.self)
            #expect(text.contains("\r\nLink: </app/style.css>; rel=preload, </app/a.js>\r\n"), "\(text)")
        }
    }

    @Test("The app learns its prefix, and a client can neither say nor hide it")
    func told() throws {
        try self.with({ link, _ in link.answer() }) { gateway, app in
            let forged = [
                "X-Script-Name: //evil.example", "x_script_name: /e", "X-Forwarded-Prefix: /e", "X-Real-IP: 1.2.3.4",
            ]
            for (path, script, prefix, address, port) in [
                ("/app/x", ["/app"], ["/app"], [String](), [String]()), ("/x", [], [], [], []),
                ("/told/x", ["/told"], ["/told"], ["127.0.0.1"], ["8443"]), ("/plain/x", [], ["/plain"], [], []),
            ] {
                for fields in [[], forged] {
                    #expect(try gateway.get(path, fields).status == 200)
                    let request = try #require(app.requests.last)
                    #expect(
                        request.values("x-script-name") == script && request.values("x_script_name") == [],
                        "\(path)"
                    )
                    #expect(request.values("x-forwarded-prefix") == prefix, "\(path)")
                    #expect(
                        request.values("x-real-ip") == address && request.values("x-forwarded-port") == port,
                        "\(path)"
                    )
                }
            }
            #expect(try gateway.get("/app/x", ["Connection: X-Script-Name"]).status == 400)
        }
    }

    @Test("A field with the client's address has the one that a trusted proxy names")
    func address() throws {
        let trust = "trusted_proxies: [127.0.0.1/32]"
        try self.with({ link, _ in link.answer() }, more: trust) { gateway, app in
            _ = try gateway.get("/told/x", ["X-Forwarded-For: 2001:db8::7", "X-Real-IP: 1.2.3.4"])
            #expect(app.requests.last?.values("x-real-ip") == ["2001:db8::7"])
        }
    }

    @Test("Destination and If get the app's paths, unless the app is told its prefix by the route itself")
    func requests() throws {
        try self.with({ link, _ in link.answer("201 Created") }) { gateway, app in
            func move(_ path: String, _ fields: [String]) throws -> Answer {
                try gateway.request(Request.get(path, fields, method: "MOVE"))
            }
            let origin = Request.origin
            let condition = "<\(origin)/app/x> (<urn:uuid:1> [\"e\"]) (Not <DAV:no-lock>)"
            _ = try move("/app/x", ["Destination: \(origin)/app/y%20z", "If: \(condition)", "Overwrite: F"])
            let request = try #require(app.requests.last)
            #expect(request.target == "/x" && request.values("destination") == ["\(origin)/y%20z"])
            #expect(request.values("if") == ["<\(origin)/x> (<urn:uuid:1> [\"e\"]) (Not <DAV:no-lock>)"])
            #expect(request.values("overwrite") == ["F"])
            _ = try move("/told/x", ["Destination: \(origin)/told/y", "If: </told/x> (<a>)"])
            #expect(app.requests.last?.values("destination") == ["\(origin)/told/y"])
            #expect(app.requests.last?.values("if") == ["</told/x> (<a>)"])
            _ = try move("/x", ["Destination: /app/y", "If: </x> (<a>)"])
            #expect(
                app.requests.last?.values("destination") == ["/app/y"]
                    && app.requests.last?.values("if") == ["</x> (<a>)"]
            )
            _ = try move("/app/x", ["Destination: https://other.example/app/y"])
            #expect(app.requests.last?.values("destination") == ["https://other.example/app/y"])
            let count = app.requests.count
            for destination in [
                "/y", "\(origin)/y", "/%61pp/y", "/app//y", "///app/y", "http://APP.example.com/told/y",
            ] {
                let answer = try move("/app/x", ["Destination: \(destination)"])
                #expect(answer.status == 400 && answer.reason == "path.ambiguous", "\(destination)")
            }
            #expect(try move("/app/x", ["Destination: /app/y", "Destination: /app/z"]).status == 400)
            #expect(app.requests.count == count)
        }
    }

    private static let hrefs =
        "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>@/x</D:href></D:response></D:multistatus>"

    @Test(
        "Hrefs of a 207 answer become public, and its length is right in every framing",
        arguments: ["length", "chunked", "close"]
    )
    func multistatus(framing: String) throws {
        let written = Self.hrefs.replacing("@", with: "")
        try self.with({ link, _ in
            let head = "HTTP/1.1 207 Multi-Status\r\nContent-Type: application/xml; charset=\"utf-8\"\r\n"
            switch framing {
            case "length": link.send(head + "Content-Length: \(written.utf8.count)\r\n\r\n" + written)
            case "chunked":
                let chunks = written.map { "1\r\n\($0)\r\n" }.joined()
                link.send(head + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n")
            default:
                link.send(head + "Connection: close\r\n\r\n" + written)
                link.wire.close()
            }
        }) { gateway, _ in
            let expected = Self.hrefs.replacing("@", with: "/app")
            let question = Request.get("/app/", method: "PROPFIND")
            let wire = try Wire(to: gateway.port)
            for _ in 1...2 {
                let answer = try wire.request(question)
                #expect(answer.status == 207 && answer.text == expected && answer.isWhole, "\(answer.text)")
                #expect(answer.values("content-length") == [])
            }
            let old = try Wire(to: gateway.port)
            old.send(question.replacing("HTTP/1.1", with: "HTTP/1.0"))
            #expect(String(decoding: old.receiveAll().bytes, as: UTF8.self).hasSuffix("\r\n\r\n" + expected))
            let beside = try gateway.request(Request.get("/", method: "PROPFIND"))
            #expect(beside.status == 207 && beside.text == written)
        }
    }

    @Test(
        "Content that is no readable answer of WebDAV stays, with its length",
        arguments: [
            ("207 Multi-Status", "Content-Type: application/xml\r\nContent-Encoding: gzip\r\n"),
            ("207 Multi-Status", "Content-Type: application/json\r\n"), ("207 Multi-Status", ""),
            ("207 Multi-Status", "Content-Type: text/xml\r\nContent-Digest: sha-256=:YQ==:\r\n"),
            ("200 OK", "Content-Type: application/xml\r\n"), ("200 OK", "Content-Type: text/xml\r\n"),
        ]
    )
    func others(status: String, fields: String) throws {
        let written = Self.hrefs.replacing("@", with: "")
        try self.with({ link, _ in link.answer(status, fields, body: written) }) { gateway, _ in
            let answer = try gateway.request(Request.get("/app/", method: "PROPFIND"))
            #expect(answer.text == written && answer.values("content-length") == ["\(written.utf8.count)"])
        }
    }

    @Test("An answer with hrefs that breaks off is not ended as if it were whole")
    func broken() throws {
        try self.with({ link, _ in
            link.send(
                "HTTP/1.1 207 Multi-Status\r\nContent-Type: text/xml\r\nContent-Length: 900\r\n\r\n<multistatus><href>/x"
            )
            link.wire.close()
        }) { gateway, _ in
            let answer = try gateway.request(Request.get("/app/", method: "PROPFIND"))
            #expect(answer.status == 207 && !answer.isWhole)
        }
    }
}
