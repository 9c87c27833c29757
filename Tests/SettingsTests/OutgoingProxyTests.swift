import Settings
import Testing
import Vocabulary

@Suite("Proxies for calls to providers")
struct OutgoingProxyTests {
    private static let start = [
        "SALLYPORT_UPSTREAM": "http://127.0.0.1:3000", "SALLYPORT_PUBLIC_URL": "https://app.example.com",
        "SALLYPORT_OIDC_URL": "https://id.example.com/", "SALLYPORT_OIDC_CLIENT_ID": "sallyport",
    ]

    private func result(_ variables: [String: String]) -> Result<LoadedSettings, SettingsFailure> {
        SettingsBench(environment: Self.start.merging(variables) { $1 }).load(nil)
    }

    private func proxies(_ variables: [String: String]) throws -> OutgoingProxies {
        try #require(try self.result(variables).get().settings.providers.first).proxies
    }

    private func way(_ variables: [String: String], _ host: String, port: Int = 443, isHTTPS: Bool = true) throws
        -> String?
    {
        try self.proxies(variables).proxy(forHost: host, port: port, isHTTPS: isHTTPS)?.name
    }

    @Test("The variables count as for curl: lower case first, one of all_proxy last, and HTTP_PROXY never")
    func variables() throws {
        let host = "id.example.com"
        #expect(try self.way([:], host) == nil)
        #expect(try self.way(["HTTPS_PROXY": "http://a:1"], host) == "a:1")
        #expect(try self.way(["https_proxy": "http://b:2", "HTTPS_PROXY": "http://a:1"], host) == "b:2")
        #expect(try self.way(["https_proxy": "", "HTTPS_PROXY": "http://a:1"], host) == "a:1")
        #expect(try self.way(["ALL_PROXY": "c:3"], host) == "c:3")
        #expect(try self.way(["all_proxy": "d:4", "HTTPS_PROXY": "http://a:1"], host) == "a:1")
        #expect(try self.way(["http_proxy": "http://e:5"], host) == nil)
        #expect(try self.way(["http_proxy": "http://e:5"], host, port: 80, isHTTPS: false) == "e:5")
        #expect(try self.way(["HTTP_PROXY": "http://e:5"], host, port: 80, isHTTPS: false) == nil)
        #expect(try self.way(["ALL_PROXY": "http://c:3"], host, port: 80, isHTTPS: false) == "c:3")
    }

    @Test(
        "A proxy's URL may leave out scheme, port, user and password",
        arguments: [
            ("http://proxy.example:3128", "proxy.example:3128", nil),
            ("proxy.example:3128/", "proxy.example:3128", nil),
            ("http://Proxy.example", "proxy.example:80", nil), ("HTTP://10.0.0.1:8080/", "10.0.0.1:8080", nil),
            ("http://[fd00::1]:3128", "[fd00::1]:3128", nil), ("http://u:p@h:1", "h:1", "u:p"),
            ("u:p@h:1", "h:1", "u:p"),
            ("http://u@h:1", "h:1", "u:"), ("http://u:p%40%3A%2F@h:1", "h:1", "u:p@:/"),
            ("http://u:a@b@h:1", "h:1", "u:a@b"),
        ] as [(String, String, String?)]
    )
    func urls(text: String, name: String, credentials: String?) throws {
        let proxy = try #require(try self.proxies(["HTTPS_PROXY": text]).secure)
        #expect(proxy.name == name && proxy.credentials == credentials.map { Secret($0) })
    }

    @Test(
        "What cannot be used as a proxy stops the start, and is not shown",
        arguments: [
            "https://h:1", "socks5://h:1", "socks5h://u:\(canary)@h", "http://", "http://h:0", "http://h:65536",
            "http://h:x",
            "http://u:\(canary)%@h:1", "http://u:%0A@h:1", "http://h:1/path", "http://h h:1", "http://\u{E4}:1",
            "http://::1:80",
        ]
    )
    func refused(text: String) {
        for name in ["https_proxy", "HTTPS_PROXY", "ALL_PROXY", "SALLYPORT_PROVIDER_HTTP_PROXY"] {
            guard case .failure(let failure) = self.result([name: text]) else {
                Issue.record("\(name)=\(text) is taken")
                continue
            }
            #expect(failure.problems.allSatisfy { $0.origin == .environment(name) }, "\(failure.problems)")
            #expect(!failure.problems.contains { "\($0)".contains(canary) })
        }
        // Who calls nobody needs none.
        let users = ["SALLYPORT_USERS_FILE": "/etc/sallyport/users.yaml", "HTTPS_PROXY": text]
        let bench = SettingsBench(environment: Self.start.filter { !$0.key.contains("OIDC") }.merging(users) { $1 })
        #expect(bench.problems(nil).isEmpty)
    }

    @Test(
        "no_proxy names hosts with all below them, addresses, blocks, ports, or everything",
        arguments: [
            ("*", "id.example.com", true), ("id.example.com", "id.example.com", true),
            ("example.com", "id.example.com", true),
            (".example.com", "id.example.com", true), (".example.com", "example.com", true),
            ("*.example.com", "id.example.com", true),
            ("EXAMPLE.com", "id.example.com", true), ("example.com.", "id.example.com", true),
            ("ample.com", "id.example.com", false),
            ("id.example.com", "example.com", false), ("a.test, example.com", "id.example.com", true),
            ("a.test example.com", "id.example.com", true), ("a.test,,example.org", "id.example.com", false),
            ("example.com:443", "id.example.com", true), ("example.com:8443", "id.example.com", false),
            ("10.0.0.1", "10.0.0.1", true), ("10.0.0.0/8", "10.1.2.3", true), ("10.1.2.3/8", "10.9.9.9", true),
            ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/33", "10.0.0.1", false), ("0.0.1", "10.0.0.1", false),
            ("10.0.0.1:443", "10.0.0.1", true), ("10.0.0.1:80", "10.0.0.1", false), ("fd00::/8", "fd12::1", true),
            ("[fd12::1]", "fd12::1", true), ("[fd12::1]:443", "fd12::1", true), ("fd12::1", "fd12::1", true),
            ("fd12::1", "fd12::2", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true), ("com", "id.example.com", true), (":", "id.example.com", false),
            (".", "a", false),
        ] as [(String, String, Bool)]
    )
    func exceptions(text: String, host: String, isExcepted: Bool) throws {
        for name in ["no_proxy", "NO_PROXY"] {
            let way = try self.way(["HTTPS_PROXY": "http://p:1", name: text], host)
            #expect((way == nil) == isExcepted, "\(name)")
        }
    }

    @Test(
        "This machine is called directly, unless the settings name the proxy",
        arguments: ["localhost", "a.localhost", "127.0.0.1", "127.8.9.1", "::1"]
    )
    func loopback(host: String) throws {
        #expect(try self.way(["HTTPS_PROXY": "http://p:1"], host) == nil)
        #expect(try self.way(["SALLYPORT_PROVIDER_HTTP_PROXY": "http://p:1"], host) == "p:1")
    }

    @Test("provider.http_proxy counts whatever the environment says, also to use none")
    func settings() throws {
        let environment = ["HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"]
        #expect(
            try self.way(environment.merging(["SALLYPORT_PROVIDER_HTTP_PROXY": "http://q:2"]) { $1 }, "id.example.com")
                == "q:2"
        )
        #expect(
            try self.way(["HTTPS_PROXY": "http://p:1", "SALLYPORT_PROVIDER_HTTP_PROXY": "none"], "id.example.com")
                == nil
        )
        var bench = SettingsBench(environment: ["HTTPS_PROXY": "http://p:1"])
        bench.files["/etc/sallyport/proxy"] = Array("http://u:\(canary)@q:2\n".utf8)
        let base = "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\n"
        func file(_ more: String) -> String {
            base
                + "provider: {\(more)oidc: {issuer: https://id.example.com, client_id: a, client_authentication: none}}\n"
        }
        let loaded = try bench.load(file("http_proxy_file: proxy, ")).get()
        #expect(loaded.settings.providers.first?.proxies.secure?.credentials == Secret("u:\(canary)"))
        #expect(!loaded.describe(changedOnly: false).contains(canary))
        #expect(
            bench.problems(file("http_proxy_file: proxy, http_proxy: none, ")).map(\.key) == [
                "provider.http_proxy_file"
            ]
        )
        #expect(bench.problems(file("http_proxy: \"https://q\", ")).map(\.key) == ["provider.http_proxy"])
        let several =
            base + "hosts: []\n" + "providers: [{name: a, http_proxy: \"http://u:\(canary)@q:2\", "
            + "oidc: {issuer: https://id.example.com, client_id: a, client_authentication: none}}]\n"
        #expect(!bench.problems(several).contains { "\($0)".contains(canary) })
    }
}
