import Settings
import Testing
import Vocabulary

@Suite("What a route requires of a client's certificate")
struct CertificateRequirementTests {
    private static func requirement(_ text: String) -> CertificateRequirement? {
        let settings = SettingsBench().settings(
            adding: "routes: [{path: /**, require: {client_certificate: \(text)}}]\n"
        )
        return settings?.hosts[0].routes[0].require.clientCertificate
    }

    @Test("names are kept in the form in which they are compared, and each key may be left out")
    func read() throws {
        let both = try #require(Self.requirement("{san_any: [CI.Example.com, Ops@EXAMPLE.com], issuer: 'CN=A,O=B'}"))
        #expect(both.names.map(\.text) == ["ci.example.com", "Ops@example.com"] && both.issuer == "CN=A,O=B")
        #expect(Self.requirement("{san_any: 'spiffe://a/B'}")?.names.map(\.text) == ["spiffe://a/B"])
        #expect(Self.requirement("{}") == CertificateRequirement())
        let settings = try #require(SettingsBench().settings(adding: "routes: [{path: /**}]\n"))
        #expect(settings.hosts[0].routes[0].require.clientCertificate == nil)
    }

    @Test(
        "what would match nothing or everything by mistake is refused",
        arguments: [
            ("{san_any: ['*.example.com']}", "san_any[0]"), ("{san_any: ['a b']}", "san_any[0]"),
            ("{san_any: ['@example.com']}", "san_any[0]"), ("{san_any: []}", "san_any"),
            ("{issuer: Clients}", "issuer"),
            ("{issuer: 'CN=J\u{E4}'}", "issuer"), ("{subject: 'CN=a'}", "subject"),
        ]
    )
    func refused(text: String, key: String) {
        let problems = SettingsBench().problems(
            adding: "routes: [{path: /**, require: {client_certificate: \(text)}}]\n"
        )
        #expect(problems.map(\.key) == ["routes[0].require.client_certificate.\(key)"], "\(problems)")
    }

    @Test("where no address asks for certificates, the operator is told that nobody passes")
    func unasked() throws {
        let text = SettingsBench.base + "routes: [{path: /**, name: deploy, require: {client_certificate: {}}}]\n"
        let warnings = try SettingsBench().load(text).get().warnings
        #expect(warnings.contains { $0.contains("deploy requires a client's certificate") }, "\(warnings)")
    }

    @Test("it is refused where no session is required, as other requirements are")
    func openRoute() {
        let problems = SettingsBench().problems(
            adding: "routes: [{path: /**, auth: public, require: {client_certificate: {}}}]\n"
        )
        #expect(problems.map(\.key) == ["routes[0].require"])
    }
}
