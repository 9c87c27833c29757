import Settings
import Testing

@Suite("Apps behind sockets of the machine") struct AppSocketTests {
    private static func upstreams(_ app: String) -> String { "upstreams: {app: \(app)}\n" }

    private static func file(_ more: String, upstream: String = "app") -> String {
        """
        public_url: https://app.example.com
        trusted_proxies: [10.0.0.1]
        upstream: "\(upstream)"
        provider: {static: {users: [{identifier: ada, password_hash: "\(passwordHash)"}]}}
        \(more)
        """
    }

    /// The warnings about the socket: the file has another one, as it names no proxy.
    private static func warnings(_ loaded: LoadedSettings) -> [String] {
        loaded.warnings.filter { $0.contains("/run/app.sock") }
    }

    @Test(
        "A socket is named by its path, in each of the usual forms",
        arguments: ["unix:/run/app.sock", "unix:///run/app.sock", "UNIX:/run/app.sock"]
    )
    func forms(text: String) throws {
        for file in [
            Self.file(Self.upstreams("{url: \"\(text)\"}")), Self.file(Self.upstreams("{servers: [\"\(text)\"]}")),
            Self.file("", upstream: text),
        ] {
            let loaded = try SettingsBench().load(file).get()
            let app = try #require(loaded.settings.upstreams.first)
            #expect(app.first.socketPath == "/run/app.sock" && !app.isHTTPS)
            #expect(Self.warnings(loaded) == [])
            #expect(app.first.origin == "unix:/run/app.sock" && app.first.urlOrigin == "http://localhost")
        }
        let name = try SettingsBench().load(Self.file("", upstream: text)).get().settings.upstreams.map(\.name)
        #expect(name == ["unix:/run/app.sock"])
    }

    @Test("Sockets and addresses may be servers of one app, each once")
    func servers() throws {
        let list =
            "{servers: [\"unix:/run/a.sock\", {url: \"unix:/run/b.sock\", weight: 2}, \"http://127.0.0.1:3000\"]}"
        let app = try #require(
            try SettingsBench().load(Self.file(Self.upstreams(list))).get().settings.upstreams.first
        )
        #expect(app.servers.map(\.origin) == ["unix:/run/a.sock", "unix:/run/b.sock", "http://127.0.0.1:3000"])
        #expect(app.servers.map(\.weight) == [1, 2, 1])
        let twice = "{servers: [\"unix:/run/a.sock\", \"unix:///run/a.sock\"]}"
        let problems = SettingsBench().problems(Self.file(Self.upstreams(twice)))
        #expect(problems.map(\.key) == ["upstreams.app.servers[1].url"])
        let tls = "{servers: [\"unix:/run/a.sock\", \"https://app-1\"]}"
        #expect(SettingsBench().problems(Self.file(Self.upstreams(tls))).count == 1)
        let key = "{url: \"unix:/run/a.sock\", server_name: app.internal}"
        let keys = SettingsBench().problems(Self.file(Self.upstreams(key))).map(\.key)
        #expect(keys == ["upstreams.app.server_name"])
    }

    @Test(
        "What is no path of a socket is refused with a way to mend it",
        arguments: [
            ("unix:app.sock", "unix:/run/app.sock"), ("unix:/", "unix:/run/app.sock"),
            ("unix://host/app.sock", "unix:/run/app.sock"), ("http://unix:/run/app.sock", "unix:/run/app.sock"),
            ("http+unix://%2Frun%2Fapp.sock", "unix:/run/app.sock"), ("unix//run/app.sock", "unix:/run/app.sock"),
            ("unix:/run/an app.sock", "without spaces"),
            ("unix:/run/\(String(repeating: "a", count: 103))", "108 bytes, and at most 107 are allowed"),
        ]
    )
    func faults(text: String, fix: String) {
        for file in [Self.file(Self.upstreams("{url: \"\(text)\"}")), Self.file("", upstream: text)] {
            let problems = SettingsBench().problems(file)
            #expect(problems.count == 1 && problems.first?.fix.contains(fix) == true, "\(problems)")
        }
        let longest = "unix:/run/\(String(repeating: "a", count: 102))"
        #expect(SettingsBench().problems(Self.file("", upstream: longest)).isEmpty)
    }

    @Test("A socket that is not there or closed to the gateway is a warning, and what is no socket a fault")
    func looks() throws {
        let cases: [(SocketFault, String)] = [
            (.absent, "there is no socket at /run/app.sock"), (.closed, "may not connect to /run/app.sock"),
        ]
        for (fault, words) in cases {
            var bench = SettingsBench()
            bench.socketFaults["/run/app.sock"] = fault
            for (text, key) in [
                (Self.file(Self.upstreams("{url: \"unix:/run/app.sock\"}")), "upstreams.app.url: "),
                (Self.file("", upstream: "unix:/run/app.sock"), "upstream: "),
            ] {
                let warnings = Self.warnings(try bench.load(text).get())
                #expect(warnings.count == 1)
                #expect(warnings.first?.hasPrefix(key) == true)
                #expect(warnings.first?.contains(words) == true)
            }
        }
        var bench = SettingsBench()
        bench.socketFaults["/run/app.sock"] = .otherKind
        let problems = bench.problems(Self.file(Self.upstreams("{servers: [\"unix:/run/app.sock\"]}")))
        #expect(problems.map(\.key) == ["upstreams.app.servers[0].url"])
        #expect(problems.first?.found.contains("not a socket") == true)
    }
}
