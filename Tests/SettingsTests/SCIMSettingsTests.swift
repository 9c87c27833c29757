import Settings
import Testing

@Suite("A provider that deactivates users by SCIM")
struct SCIMSettingsTests {
    private static let base = """
        public_url: https://app.example.com
        upstream: http://127.0.0.1:3000
        secret_file: /etc/sallyport/secret
        store: {redis: {url: "redis://127.0.0.1"}}

        """
    private static let tokens = "tokens_file: /etc/sallyport/operator-tokens"

    private static func openID(_ name: String, _ more: String = "") -> String {
        """
        {issuer: "https://\(name).example.com", client_id: app, client_secret_file: /etc/sallyport/provider.secret\(more)}
        """
    }

    private static let one = "provider: {oidc: \(openID("id", ", claims: {traits: {oid: oid}}"))}\n"
    private static let two =
        "providers: [{name: staff, oidc: \(openID("staff"))}, {name: guests, oidc: \(openID("guests"))}]\n"

    @Test("The provider and the match are read")
    func read() throws {
        for (more, scim, provider, trait) in [
            (Self.one, "{}", "default", nil), (Self.one, "{match: {externalId: sub}}", "default", nil),
            (Self.one, "{match: {externalId: oid}}", "default", "oid"), (Self.two, "{provider: guests}", "guests", nil),
        ] {
            let loaded = try SettingsBench().load(
                Self.base + more + "admin: {\(Self.tokens), scim: \(scim)}\n"
            ).get()
            #expect(loaded.settings.scim?.provider == provider && loaded.settings.scim?.trait == trait, "\(scim)")
            #expect(loaded.warnings.allSatisfy { !$0.contains("scim") })
        }
    }

    private static let fixed =
        "provider: {static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]}}\n"

    @Test(
        "What could match nobody is refused",
        arguments: [
            (two, "\(tokens), scim: {}", "admin.scim.provider"),
            (two, "\(tokens), scim: {provider: nobody}", "admin.scim.provider"),
            (fixed, "\(tokens), scim: {match: {externalId: oid}}", "admin.scim.match"), (one, "scim: {}", "admin.scim"),
            (one, "\(tokens), scim: {match: {externalId: eid}}", "admin.scim.match"),
            (one, "\(tokens), scim: {match: {userName: sub}}", "admin.scim.match.userName"),
        ]
    )
    func refused(provider: String, admin: String, key: String) {
        let problems = SettingsBench().problems(Self.base + provider + "admin: {\(admin)}\n")
        #expect(problems.map(\.key) == [key], "\(problems)")
    }

    @Test("Without Redis, a warning says what a restart loses")
    func memory() throws {
        let text = Self.base.replacing("store: {redis: {url: \"redis://127.0.0.1\"}}\n", with: "")
        let loaded = try SettingsBench().load(text + Self.one + "admin: {\(Self.tokens), scim: {}}\n").get()
        #expect(loaded.warnings.contains { $0.contains("admin.scim") && $0.contains("store.redis") })
    }
}
