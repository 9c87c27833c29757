import Settings
import Testing
import Vocabulary

@Suite("The keys of provider.kratos")
struct KratosTests {
    private static let url = "public_url: \"http://127.0.0.1:4433\""

    private func load(_ keys: String, _ environment: [String: String] = [:]) throws -> Settings {
        let file = SettingsBench.file(provider: "{kratos: {\(keys)}}")
        return try SettingsBench(environment: environment).load(file).get().settings
    }

    @Test("One key is enough, and Kratos is reached as an app is")
    func smallest() throws {
        let settings = try self.load(Self.url)
        let url = PublicURL(isHTTPS: false, host: "127.0.0.1", port: 4433)
        #expect(settings.provider as? KratosSettings == KratosSettings(publicURL: url))
        let upstream = try #require(settings.upstreams.first { $0.name == KratosSettings.upstream })
        #expect(upstream.host == "127.0.0.1" && upstream.port == 4433 && !upstream.isHTTPS && upstream.caFile == nil)
        #expect(settings.provider?.signsIn == true && settings.provider?.redirects == false)
        #expect(settings.provider?.credentialCookie == "ory_kratos_session")
    }

    @Test("Every key is read")
    func all() throws {
        let settings = try self.load(
            "public_url: https://kratos.internal, admin_url: \"http://k:4434\", cookie: sid, cache: 10s, stale_if_error: 0s"
        )
        var expected = KratosSettings(publicURL: PublicURL(isHTTPS: true, host: "kratos.internal", port: nil))
        expected.adminURL = PublicURL(isHTTPS: false, host: "k", port: 4434)
        expected.cookieName = "sid"
        expected.cacheLifetime = .seconds(10)
        expected.staleLifetime = .zero
        #expect(settings.provider as? KratosSettings == expected)
        #expect(settings.upstreams.first { $0.name == KratosSettings.upstream }?.isHTTPS == true)
    }

    @Test("A variable names Kratos without a file")
    func variable() throws {
        let bench = SettingsBench(environment: [
            "SALLYPORT_UPSTREAM": "http://127.0.0.1:3000", "SALLYPORT_PUBLIC_URL": "https://app.example.com",
            "SALLYPORT_KRATOS_URL": "http://kratos:4433",
        ])
        let loaded = try bench.load(nil).get()
        let url = PublicURL(isHTTPS: false, host: "kratos", port: 4433)
        #expect(loaded.settings.provider as? KratosSettings == KratosSettings(publicURL: url))
        #expect(loaded.warnings.contains { $0.hasPrefix("provider.kratos.public_url is plain http") })
    }

    @Test("Its cookie may not have the name that session.cookie gives to the gateway's")
    func configuredCookie() {
        let file = SettingsBench.file(
            provider: "{kratos: {\(Self.url), cookie: __Host-mine}}",
            "session: {cookie: __Host-mine}\n"
        )
        #expect(SettingsBench().problems(file).map(\.key) == ["provider.kratos.cookie"])
    }

    @Test(
        "What cannot work is refused",
        arguments: [
            ("{kratos: {}}", "provider.kratos.public_url"),
            ("{kratos: {public_url: kratos}}", "provider.kratos.public_url"),
            ("{kratos: {public_url: \"http://k/path\"}}", "provider.kratos.public_url"),
            ("{kratos: {\(url), cookie: __Host-sallyport-x}}", "provider.kratos.cookie"),
            ("{kratos: {\(url), cookie: \"a b\"}}", "provider.kratos.cookie"),
            ("{kratos: {\(url), cache: 10m}}", "provider.kratos.cache"),
            ("{kratos: {\(url), ca_file: /nowhere}}", "provider.kratos.ca_file"),
            ("{kratos: {\(url)}, static: {users: []}}", "provider.static"),
        ]
    )
    func refused(provider: String, key: String) {
        let problems = SettingsBench().problems(SettingsBench.file(provider: provider))
        #expect(problems.contains { $0.key == key }, "\(problems)")
    }

    @Test("It needs a host on which it is reached")
    func endpoints() {
        let file = """
            upstream: http://127.0.0.1:3000
            hosts: [{public_url: "https://app.example.com", endpoints: false, routes: [{path: /**}]}]
            provider: {kratos: {\(Self.url)}}

            """
        let problems = SettingsBench().problems(file)
        #expect(problems.map(\.key) == ["provider.kratos"], "\(problems)")
        #expect(problems.first?.fix.contains("serve.public.base_url") == true)
    }
}
