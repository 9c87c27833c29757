import RequestPath
import Settings
import Testing
import Vocabulary

/// Requests on plain http for hosts that have https.
@Suite("Redirecting to https") struct RedirectingTests {
    private func ask(_ text: String, _ change: (inout Settings) -> Void = { _ in }) throws -> String {
        let bench = try ExchangeBench(service: .redirects, change)
        try bench.begin(text)
        return bench.client.sent
    }

    private func location(_ answer: String) -> Substring? {
        answer.split(separator: "\r\n").first { $0.hasPrefix("location: ") || $0.hasPrefix("Location: ") }?.dropFirst(
            10
        )
    }

    @Test(
        "Every request is sent to the same path and query of the public URL, whatever its method",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: app.example.com", "/"),
            ("GET /a/b%20c?d=%2F&e HTTP/1.1\r\nHost: app.example.com", "/a/b%20c?d=%2F&e"),
            ("POST /app HTTP/1.1\r\nHost: APP.example.com.\r\nContent-Length: 0", "/app"),
            ("GET //evil.example/x HTTP/1.1\r\nHost: app.example.com", "//evil.example/x"),
            ("GET /@evil.example HTTP/1.1\r\nHost: app.example.com", "/@evil.example"),
            ("GET /.sallyport/login HTTP/1.0\r\nHost: app.example.com", "/.sallyport/login"),
            ("GET http://app.example.com/x?y HTTP/1.1\r\nHost: app.example.com", "/x?y"),
            ("OPTIONS * HTTP/1.1\r\nHost: app.example.com", "/"),
        ]
    )
    func places(request: String, target: String) throws {
        let answer = try self.ask(request + "\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 308 "), "\(answer)")
        #expect(self.location(answer) == "https://app.example.com\(target)", "\(answer)")
        #expect(answer.lowercased().contains("\r\ncache-control: no-store\r\n"))
        #expect(!answer.lowercased().contains("strict-transport-security"))
    }

    @Test("The public URL's port is in the place, and the port of the request is not")
    func ports() throws {
        let answer = try self.ask("GET /a HTTP/1.1\r\nHost: app.example.com\r\n\r\n") {
            $0.hosts[0].publicURL.port = 8443
        }
        #expect(self.location(answer) == "https://app.example.com:8443/a")
        let other = try self.ask("GET /a HTTP/1.1\r\nHost: app.example.com:80\r\n\r\n")
        #expect(self.location(other) == "https://app.example.com/a")
    }

    @Test("A name of a wildcard is redirected to itself, in lower case")
    func wildcard() throws {
        for name in ["acme.example.com", "Acme.Example.com.", "acme.example.com:80"] {
            let answer = try self.ask("GET /a HTTP/1.1\r\nHost: \(name)\r\n\r\n") {
                $0.hosts[0].publicURL.host = "*.example.com"
            }
            #expect(self.location(answer) == "https://acme.example.com/a")
        }
    }

    @Test("A host that is not served is not found")
    func unknownHost() throws {
        for host in ["evil.example", "app.example.com.evil.example", "192.0.2.1"] {
            let answer = try self.ask("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 404 ") && answer.contains(Reason.routeUnknownHost.rawValue), "\(answer)")
            #expect(self.location(answer) == nil)
        }
    }

    @Test("A host that is not served by https is not redirected")
    func plainHost() throws {
        let answer = try self.ask("GET / HTTP/1.1\r\nHost: app.example.com\r\n\r\n") {
            $0.hosts[0].publicURL.isHTTPS = false
        }
        #expect(answer.hasPrefix("HTTP/1.1 421 ") && answer.contains(Reason.requestMisdirected.rawValue), "\(answer)")
    }
}

/// `Strict-Transport-Security`.
@Suite("Strict transport security") struct StrictTransportTests {
    private static let field = "strict-transport-security: max-age=31536000; includesubdomains\r\n"

    private func bench(isHTTPS: Bool = true, isSet: Bool = true) throws -> ExchangeBench {
        try ExchangeBench { settings in
            settings.hosts[0].publicURL.isHTTPS = isHTTPS
            guard isSet else { return }
            var strict = StrictTransportSettings()
            strict.maxAge = .seconds(31_536_000)
            strict.includesSubdomains = true
            settings.strictTransport = strict
        }
    }

    private func answer(_ bench: ExchangeBench, path: String = "/app/x") throws -> String {
        let app = ScriptedApp()
        bench.pool.kept = [app]
        try bench.begin(ExchangeBench.request(path: path))
        if path.hasPrefix("/app") {
            app.send()
            _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        return bench.client.sent.lowercased()
    }

    @Test("Each answer of a host with https has the field once, the app's and the gateway's")
    func isSent() throws {
        for path in ["/app/x", "/none"] {
            let text = try self.answer(self.bench(), path: path)
            #expect(text.contains(Self.field), "\(text)")
            #expect(text.components(of: "strict-transport-security") == 1, "\(text)")
        }
    }

    @Test("Without the key, and with plain http, nobody sends one")
    func isOff() throws {
        #expect(try !self.answer(self.bench(isSet: false), path: "/none").contains("strict-transport-security"))
        #expect(try !self.answer(self.bench(isHTTPS: false)).contains("strict-transport-security"))
    }
}

extension String {
    /// How often a text is in it.
    fileprivate func components(of text: String) -> Int { self.ranges(of: text).count }
}
