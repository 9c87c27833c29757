import AddressIntelligence
import Settings
import Testing

@Suite("Settings of the listeners for clients")
struct ListenerSettingsTests {
    private func problem(_ text: String) -> SettingsProblem? {
        SettingsBench(flags: InsecureFlags(staticUsers: true)).problems(adding: text).first
    }

    private func load(_ text: String, environment: [String: String] = [:]) throws -> LoadedSettings {
        let bench = SettingsBench(flags: InsecureFlags(staticUsers: true), environment: environment)
        return try bench.load(SettingsBench.base + text).get()
    }

    @Test("An address stands for the mapping with this address, alone, in a list and in a variable")
    func forms() throws {
        let plain = [ListenerSettings(ListenAddress(host: "127.0.0.1", port: 8443))]
        for text in [
            "listen: 127.0.0.1:8443", "listen: [127.0.0.1:8443]", "listen: {address: 127.0.0.1:8443}",
            "listen:\n  - {address: 127.0.0.1:8443, protocols: http/1.1, tls: false, client_certificates: none}",
        ] {
            #expect(try self.load(text).settings.listen == plain, "\(text)")
        }
        let mixed = try self.load("listen: [127.0.0.1:8443, {address: \":81\"}]").settings.listen
        #expect(mixed.map(\.address.port) == [8443, 81])
        let variable = ["SALLYPORT_LISTEN": "127.0.0.1:1, 127.0.0.1:2"]
        let named = try self.load("listen: {address: 127.0.0.1:8443}", environment: variable)
        #expect(named.settings.listen.map(\.address.port) == [1, 2])
        #expect(named.describe().contains("listen: [127.0.0.1:1, 127.0.0.1:2]  # "), "\(named.describe())")
    }

    @Test("check shows a listener as it is written")
    func shown() throws {
        let text = "listen: [127.0.0.1:1, {address: 127.0.0.1:2, proxy_protocol: {from: [10.0.0.1], others: plain}}]"
        let line =
            "listen: [127.0.0.1:1, {address: 127.0.0.1:2, proxy_protocol: {from: [10.0.0.1], others: plain}}]  # "
        #expect(try self.load(text).describe().contains(line))
    }

    @Test("The peers that name clients are read")
    func proxies() throws {
        let text = "listen: {address: 127.0.0.1:1, proxy_protocol: {from: [10.0.0.0/8, \"fd00::/8\"]}}"
        var expected = ProxyProtocolSettings(
            from: [try #require(CIDRBlock("10.0.0.0/8")), try #require(CIDRBlock("fd00::/8"))]
        )
        #expect(try self.load(text).settings.listen[0].proxyProtocol == expected)
        expected.others = .plain
        let plain = try self.load(text.replacing("\"]}}", with: "\"], others: plain}}"))
        #expect(plain.settings.listen[0].proxyProtocol == expected)
    }

    @Test(
        "What a listener cannot be is refused where it is written",
        arguments: [
            ("{tls: false}", "listen[0].address", 10), ("{address: 8443}", "listen[0].address", 20),
            ("{address: 127.0.0.1:1, adress: x}", "listen[0].adress", 33),
            ("{address: 127.0.0.1:1, protocols: []}", "listen[0].protocols", 44),
            ("{address: 127.0.0.1:1, protocols: [http/1.1, http/1.1]}", "listen[0].protocols", 44),
            ("{address: 127.0.0.1:1, protocols: [h2]}", "listen[0].protocols", 44),
            ("{address: 127.0.0.1:1, protocols: [spdy]}", "listen[0].protocols[0]", 45),
            ("{address: 127.0.0.1:1, protocols: [h2, http/1.1]}", "listen[0].protocols", 44),
            ("{address: 127.0.0.1:1, proxy_protocol: {}}", "listen[0].proxy_protocol.from", 49),
            ("{address: 127.0.0.1:1, proxy_protocol: {from: []}}", "listen[0].proxy_protocol.from", 56),
            ("{address: 127.0.0.1:1, proxy_protocol: true}", "listen[0].proxy_protocol", 49),
            (
                "{address: 127.0.0.1:1, proxy_protocol: {from: [10.0.0.1], others: x}}",
                "listen[0].proxy_protocol.others", 76
            ),
            (
                "{address: 127.0.0.1:1, proxy_protocol: {from: [10.0.0.1, 0.0.0.0/0]}}",
                "listen[0].proxy_protocol.from[1]", 67
            ),
            ("{address: 127.0.0.1:1, proxy_protocol: {from: [0.0.0.0/1]}}", "listen[0].proxy_protocol.from[0]", 57),
            ("{address: 127.0.0.1:1, proxy_protocol: {from: [\"::/0\"]}}", "listen[0].proxy_protocol.from[0]", 57),
        ]
    )
    func refused(element: String, key: String, column: Int) throws {
        let problem = try #require(self.problem("listen: [\(element)]"))
        #expect(problem.key == key && problem.line == 8 && problem.column == column, "\(problem)")
    }

    @Test("Two listeners do not share a port, and admin.listen has its own, whatever their form")
    func ports() throws {
        let twice = try #require(self.problem("listen: [127.0.0.1:1, {address: \":1\"}]"))
        #expect(twice.key == "listen[1]" && twice.line == 8 && twice.column == 23, "\(twice)")
        let admin = try #require(self.problem("listen: {address: 127.0.0.1:9090}"))
        #expect(admin.key == "admin.listen", "\(admin)")
    }

    @Test(
        "A proxy names its clients in one way",
        arguments: [
            ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.0/24", true), ("10.0.0.0/24", "10.0.0.1", true),
            ("\"::ffff:10.0.0.1\"", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false),
            ("10.0.0.0/25", "10.0.0.128/25", false), ("\"fd00::1\"", "10.0.0.0/8", false),
        ]
    )
    func onlyOneWay(from: String, trusted: String, isRefused: Bool) {
        let text =
            "trusted_proxies: [192.0.2.9, \(trusted)]\nlisten: {address: 127.0.0.1:1, proxy_protocol: {from: [\(from)]}}"
        let problem = self.problem(text)
        #expect((problem != nil) == isRefused)
        if let problem {
            #expect(problem.key == "listen[0].proxy_protocol.from[0]" && problem.line == 9, "\(problem)")
            #expect(problem.found.contains("trusted_proxies has"))
        }
    }

    @Test("Where every listener is behind named proxies, no unnamed one hides the clients")
    func namedProxies() throws {
        let bound = """
            clients:
              - client_id: web
                session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: ip}
            routes: [{path: /**, client: web}]

            """
        let listen = "listen: [{address: 127.0.0.1:1, proxy_protocol: {from: [10.0.0.1]}}]\n"
        #expect(try !self.load(bound + listen).warnings.contains { $0.contains("trusted_proxies is empty") })
        let open = listen.replacing("}]\n", with: "}, 127.0.0.1:2]\n")
        let problem = try #require(self.problem(bound + open))
        #expect(problem.key == "clients[0].session_transfer.enforce_device_binding", "\(problem)")
        #expect(
            problem.found.contains("listen is 127.0.0.1:2") && problem.fix.contains("proxy_protocol"),
            "\(problem)"
        )
    }

    @Test("redirect_http is an address or a mapping, and needs a host with https")
    func redirect() throws {
        for text in ["redirect_http: \":80\"", "redirect_http: {address: \":80\"}"] {
            #expect(try self.load(text).settings.redirectListen == ListenerSettings(ListenAddress(host: "", port: 80)))
        }
        let variable = try self.load("", environment: ["SALLYPORT_REDIRECT_HTTP": "127.0.0.1:80"])
        #expect(variable.settings.redirectListen?.address.port == 80)
        let proxied = try self.load("redirect_http: {address: \":80\", proxy_protocol: {from: [10.0.0.1]}}")
        #expect(proxied.settings.redirectListen?.proxyProtocol?.from.count == 1)
        for (text, key) in [
            ("redirect_http: \":8080\"", "redirect_http"), ("redirect_http: {}", "redirect_http.address"),
            ("redirect_http: {address: \":80\", tls: true}", "redirect_http.tls"),
            ("redirect_http: \":9090\"", "admin.listen"),
            (
                "authorization: {listen: 127.0.0.1:80, peers: [127.0.0.1]}\nredirect_http: \":80\"",
                "authorization.listen"
            ),
            (
                "trusted_proxies: [10.0.0.1]\nredirect_http: {address: \":80\", proxy_protocol: {from: [10.0.0.1]}}",
                "redirect_http.proxy_protocol.from[0]"
            ),
        ] {
            #expect(self.problem(text)?.key == key, "\(text)")
        }
        let plain = SettingsBench.base.replacing("https://app.example.com", with: "http://localhost:8080")
        let problems = SettingsBench().problems(plain + "redirect_http: \":80\"")
        #expect(problems.map(\.key) == ["redirect_http"] && problems.first?.line == 8, "\(problems)")
    }

    @Test("strict_transport_security has a time, and is off without it")
    func strictTransport() throws {
        #expect(try self.load("").settings.strictTransport == nil)
        let text = "strict_transport_security: {max_age: 365d, include_subdomains: true}"
        #expect(try self.load(text).settings.strictTransport?.text == "max-age=31536000; includeSubDomains")
        #expect(try self.load("strict_transport_security: {max_age: 0s}").settings.strictTransport?.text == "max-age=0")
        for wrong in ["{}", "{include_subdomains: true}", "{max_age: 1000d}", "true"] {
            #expect(self.problem("strict_transport_security: \(wrong)") != nil, "\(wrong)")
        }
    }
}
