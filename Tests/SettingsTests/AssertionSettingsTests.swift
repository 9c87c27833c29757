import Settings
import Testing
import Vocabulary

@Suite("The settings of assertions")
struct AssertionSettingsTests {
    private static let on = "identity: {assertion: {enabled: true}}\n"

    @Test("no assertion is sent unless it is enabled")
    func enabling() throws {
        for (text, claims) in [
            ("", nil), ("identity: {assertion: {}}", nil), ("identity: {assertion: {enabled: false}}", nil),
            ("identity: {assertion: {enabled: false, claims: {email: identity.traits.email}}}", nil),
            (Self.on, []), ("identity: {assertion: {enabled: true, claims: {}}}", []),
            (
                "identity: {assertion: {enabled: true, claims: {email: identity.traits.email, \"https://e.example/g\": methods}}}",
                [("email", "identity.traits.email"), ("https://e.example/g", "methods")]
            ),
        ] as [(String, [(String, String)]?)] {
            let settings = try #require(SettingsBench().settings(adding: text), "\(text)")
            let expected = claims.map { $0.map { IdentitySettings.Claim(name: $0.0, path: $0.1) } }
            #expect(settings.identity.assertion?.claims == expected, "\(text)")
        }
        let variable = SettingsBench(environment: ["SALLYPORT_IDENTITY_ASSERTION_ENABLED": "true"])
        #expect(variable.settings(adding: "")?.identity.assertion != nil)
    }

    @Test(
        "what would have no effect, or would change what an assertion means, is refused",
        arguments: [
            ("identity: {assertion: {claims: {email: identity.traits.email}}}", "identity.assertion.claims"),
            ("identity: {assertion: {enabled: true, claims: {sub: aal}}}", "identity.assertion.claims.sub"),
            ("identity: {assertion: {enabled: true, claims: {jti: aal}}}", "identity.assertion.claims.jti"),
            ("identity: {assertion: {enabled: true, claims: {\"a b\": aal}}}", "identity.assertion.claims.(not shown)"),
            ("identity: {assertion: {enabled: true, claims: {a: nowhere}}}", "identity.assertion.claims.a"),
            ("identity: {headers: {x_auth.assertion: subject}}", "identity.headers.x_auth.assertion"),
            ("routes: [{audience: a}]", "routes[0].audience"),
            ("\(Self.on)routes: [{path: /a, audience: a, auth: public}]", "routes[0].audience"),
        ]
    )
    func refused(text: String, key: String) {
        let problems = SettingsBench().problems(adding: text)
        #expect(problems.map(\.key) == [key], "\(problems)")
    }

    @Test("a route's audience is kept, and is no problem while assertions are switched off")
    func audiences() throws {
        let routes = "routes: [{path: /a, audience: urn:a}, {path: /b}]"
        let settings = try #require(SettingsBench().settings(adding: Self.on + routes))
        #expect(settings.hosts[0].routes.map(\.audience) == ["urn:a", nil])
        #expect(SettingsBench().settings(adding: "identity: {assertion: {enabled: false}}\n" + routes) != nil)
    }

    @Test("the issuer is the origin of the first host with endpoints, else of the first host")
    func issuer() {
        func settings(_ hosts: [(name: String, endpoints: Bool)]) -> Settings {
            Settings(
                hosts: hosts.map {
                    HostSettings(
                        publicURL: PublicURL(isHTTPS: true, host: $0.name, port: 8443),
                        endpoints: $0.endpoints,
                        routes: []
                    )
                },
                upstreams: []
            )
        }
        #expect(settings([("a", false), ("b", true), ("c", true)]).issuer == "https://b:8443")
        #expect(settings([("a", false), ("b", false)]).issuer == "https://a:8443")
    }

    @Test("the content of signing_key_file is read and never shown")
    func keyFile() throws {
        var bench = SettingsBench()
        bench.files["/etc/sallyport/keys.pem"] = Array("-----BEGIN \(canary)".utf8)
        let loaded = try bench.load(SettingsBench.base + "signing_key_file: keys.pem\n").get()
        #expect(loaded.settings.signingKeys == Secret("-----BEGIN \(canary)"))
        #expect(!loaded.describe().contains(canary))
        let problems = bench.problems(adding: "signing_key_file: nowhere.pem")
        #expect(problems.map(\.key) == ["signing_key_file"])
    }
}
