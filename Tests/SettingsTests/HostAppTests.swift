import Settings
import Testing

@Suite("A host with one app") struct HostAppTests {
    private static func file(_ hosts: String, _ more: String = "") -> String {
        """
        provider: {static: {users: [{identifier: ada, password_hash: "\(passwordHash)"}]}}
        hosts:
          - \(hosts)
        \(more)
        """
    }

    @Test("upstream of a host is one route for all its paths, by the app's name or URL")
    func shorthand() throws {
        let text = Self.file(
            """
            {public_url: https://id.example.com, endpoints: true, upstream: "http://127.0.0.1:3000"}
              - {public_url: https://wiki.example.com, upstream: wiki}
              - {public_url: https://chat.example.com, routes: [{path: /**, upstream: wiki}]}
            """,
            "upstreams: {wiki: {url: http://127.0.0.1:3001}}\nlimits: {body: 5MiB}"
        )
        let settings = try SettingsBench().load(text).get().settings
        #expect(settings.hosts.map { $0.routes.map(\.path) } == [["/**"], ["/**"], ["/**"]])
        #expect(settings.hosts.map { $0.routes[0].upstream } == ["http://127.0.0.1:3000", "wiki", "wiki"])
        #expect(settings.hosts.allSatisfy { $0.routes[0].auth == .required && $0.routes[0].maxBody == 5 << 20 })
        #expect(settings.hosts.map { $0.routes[0].name }.prefix(2) == ["id.example.com/**", "wiki.example.com/**"])
        #expect(Set(settings.upstreams.map(\.name)) == ["wiki", "http://127.0.0.1:3000"])
    }

    @Test("What is written of the routes of a later host stays with them")
    func laterRoutes() throws {
        let text = Self.file(
            """
            {public_url: https://id.example.com, endpoints: true, upstream: "http://127.0.0.1:3000"}
              - public_url: https://wiki.example.com
                routes: [{path: /**, upstream: "http://127.0.0.1:3001", max_body: 1KiB}]
            """
        )
        let settings = try SettingsBench().load(text).get().settings
        #expect(settings.hosts[0].routes[0].maxBody == settings.limits.body)
        #expect(settings.hosts[1].routes[0].maxBody == 1024)
    }

    @Test(
        "Two ways to the app, none, or an unknown one are reported where they are written",
        arguments: [
            ("upstream: \"http://127.0.0.1:1\", routes: [{path: /**}]", "hosts[0].upstream", 52, "at /etc/sallyport"),
            ("endpoints: true", "hosts[0].routes", 5, "upstream"),
            ("upstream: wikki", "hosts[0].upstream", 52, "wiki"),
            ("upstream: \"ftp://x\"", "hosts[0].upstream", 52, "http"),
        ]
    )
    func faults(keys: String, key: String, column: Int, fix: String) throws {
        let text = Self.file(
            "{public_url: https://id.example.com, \(keys)}",
            "upstreams: {wiki: {url: http://127.0.0.1:3001}}"
        )
        let problems = SettingsBench().problems(text)
        let problem = try #require(problems.first { $0.key == key }, "\(problems)")
        #expect(problem.line == 3)
        #expect(problem.column == column, "\(problem)")
        #expect(problem.fix.contains(fix), "\(problem)")
    }
}
