import RequestPath
import Settings
import Testing

/// Exchanges with the names of a wildcard, which no configuration keeps.
@Suite("An exchange for one name of a wildcard") struct NamedHostTests {
    private let bench: ExchangeBench
    private let app = ScriptedApp()

    init() throws {
        self.bench = try ExchangeBench { settings in
            settings.hosts[0].publicURL.host = "*.example.com"
            settings.hosts[0].routes[0].addPrefix = "/v2"
        }
    }

    private func send(to host: String) throws {
        self.bench.pool.kept = [self.app]
        try self.bench.begin("GET /app/x HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        self.app.send()
    }

    @Test("The app gets the name once, in lower case and without what the client wrote around it")
    func head() throws {
        try self.send(to: "Acme.Example.com.:443")
        #expect(self.app.headText.hasPrefix("GET /v2/app/x HTTP/1.1\r\nHost: acme.example.com\r\n"))
        #expect(self.app.headText.contains("\r\nX-Forwarded-Host: acme.example.com\r\nX-Forwarded-Proto: https\r\n"))
        #expect(self.app.headText.split(separator: "\r\n").count { $0.lowercased().hasPrefix("host:") } == 1)
    }

    @Test("The host that the app chooses on a route is left alone")
    func ownHost() throws {
        let bench = try ExchangeBench { settings in
            settings.hosts[0].publicURL.host = "*.example.com"
            settings.hosts[0].routes[0].hostHeader = "app.internal:8080"
        }
        bench.pool.kept = [self.app]
        try bench.begin("GET /app/x HTTP/1.1\r\nHost: acme.example.com\r\n\r\n")
        self.app.send()
        #expect(self.app.headText.hasPrefix("GET /app/x HTTP/1.1\r\nHost: app.internal:8080\r\n"))
        #expect(self.app.headText.contains("\r\nX-Forwarded-Host: acme.example.com\r\n"))
        #expect(self.app.headText.split(separator: "\r\n").count { $0.lowercased().hasPrefix("host:") } == 1)
    }

    @Test("An answer that comes after a reload, when the loop has let go of the name, is still for it")
    func reload() throws {
        try self.send(to: "acme.example.com")
        try self.bench.reload { $0.hosts[0].routes = [] }
        _ = self.app.answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/v2/app/y\r\nContent-Length: 0\r\n\r\n")
        #expect(self.bench.client.sent.contains("\r\nLocation: https://acme.example.com/app/y\r\n"))
        #expect(self.bench.client.ends == [.next])
    }
}
