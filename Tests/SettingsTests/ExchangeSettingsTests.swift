import Settings
import Testing

@Suite("Settings of web to native and of operators")
struct ExchangeSettingsTests {
    private static let base = """
        public_url: https://app.example.com
        upstream: http://127.0.0.1:3000
        provider: {oidc: {issuer: "https://id.example.com", client_id: g, client_authentication: none}}

        """

    private func load(_ more: String) throws -> LoadedSettings { try SettingsBench().load(Self.base + more).get() }

    @Test("The defaults: nothing to go back to, ten minutes, one provider")
    func defaults() throws {
        let exchange = try self.load("").settings.exchange
        #expect(exchange.returnTo.isEmpty && exchange.lifetime == .seconds(600) && exchange.dialect == .current)
        #expect(exchange.providers.map(\.id) == ["oidc"])
    }

    @Test("Places are compared character by character, on loopback with any port")
    func places() throws {
        let more =
            "exchange: {return_to: [\"com.example.app:/in\", \"http://127.0.0.1/in\"], providers: {a: One, b: Two}}"
        let exchange = try self.load(more).settings.exchange
        for good in ["com.example.app:/in", "http://127.0.0.1/in", "http://127.0.0.1:4711/in"] {
            #expect(exchange.allows(good), "\(good)")
        }
        for bad in ["com.example.app:/in/", "COM.EXAMPLE.APP:/in", "http://127.0.0.1:4711/in?x", "http://[::1]/in", ""]
        {
            #expect(!exchange.allows(bad), "\(bad)")
        }
        #expect(exchange.providers.map(\.label) == ["One", "Two"])
    }

    @Test("A scheme that any app can register is warned of")
    func schemes() throws {
        let warned = try self.load("exchange: {return_to: [\"myapp://in\"]}").warnings
        #expect(warned.contains { $0.contains("myapp:") })
        let calm = try self.load("exchange: {return_to: [\"com.example.app:/in\", \"https://a.example.com/in\"]}")
        #expect(!calm.warnings.contains { $0.contains("exchange.return_to") })
    }

    @Test("Without a provider at which users sign in, there is nobody to send back")
    func nobody() {
        let problems = SettingsBench().problems(
            """
            public_url: https://app.example.com
            upstream: http://127.0.0.1:3000
            exchange: {return_to: ["com.example.app:/in"]}
            """
        )
        #expect(problems.map(\.key).contains("exchange.return_to"))
    }

    // MARK: Operators

    @Test("A file of operators' tokens has a name, scopes and a hash in each line")
    func tokens() throws {
        let hash = String(repeating: "0A", count: 32)
        let file = "# who\n\nops read,sessions \(hash)\n  ops\tread  \(hash.lowercased())\r\ndesk clients \(hash)\n"
        let tokens = try OperatorToken.all(in: Array(file.utf8))
        #expect(tokens.map(\.name) == ["ops", "ops", "desk"])
        #expect(
            tokens[0].scopes == [.read, .sessions] && tokens[1].scopes == [.read] && tokens[2].scopes == [.clients]
        )
        #expect(tokens.allSatisfy { $0.digest == [UInt8](repeating: 10, count: 32) })
    }

    @Test(
        "Anything else in it is refused, and not shown",
        arguments: [
            "", "# none\n", "ops read", "ops all 00", "ops read \(String(repeating: "0", count: 63))",
            "ops read \(String(repeating: "+0", count: 32))", "ops , \(String(repeating: "00", count: 32))",
            "o/s read \(String(repeating: "00", count: 32))", "ops read \(String(repeating: "00", count: 32)) more",
        ]
    )
    func faults(file: String) {
        #expect(throws: OperatorToken.Fault.self) { try OperatorToken.all(in: Array(file.utf8)) }
        var bench = SettingsBench()
        bench.files["/etc/sallyport/operator-tokens"] = Array(file.utf8)
        let problems = bench.problems(Self.base + "admin: {tokens_file: /etc/sallyport/operator-tokens}\n")
        #expect(problems.map(\.key) == ["admin.tokens_file"])
    }
}
