import Settings
import Testing

@Suite("How clients follow their users")
struct FollowedUsersTests {
    private static func followed(_ provider: String, _ client: String, _ more: String = "") throws -> FollowedUsers {
        FollowedUsers(
            try SettingsBench().load(
                """
                public_url: https://app.example.com
                upstream: http://127.0.0.1:3000
                secret_file: secret
                provider: {\(provider)}
                clients: [{client_id: ios\(client)}]
                \(more)
                """
            ).get().settings
        )
    }

    private static func oidc(_ issuer: String = "https://id.example.com", _ more: String = "") -> String {
        "oidc: {issuer: \"\(issuer)\", client_id: a, client_authentication: none\(more)}"
    }

    private static let google = "https://accounts.google.com"
    private static let hub =
        "name: hub, authorization_url: \"https://hub.example.com/a\", token_url: \"https://hub.example.com/t\", "
        + "userinfo_url: \"https://hub.example.com/u\", client_id: a, client_authentication: none, claims: {subject: id}"

    /// Providers, and how their users are followed.
    private static let ways: [(String, String)] = [
        (Self.oidc(), "by refresh token if the provider issues one, otherwise by userinfo until the token ends"),
        (Self.oidc("https://id.example.com", ", scopes: [openid, offline_access]"), "by refresh token"),
        (
            Self.oidc("https://id.example.com", ", userinfo: off"),
            "by refresh token if the provider issues one, otherwise not at all"
        ),
        (Self.oidc(Self.google, ", parameters: {access_type: offline}"), "by refresh token"),
        (
            "oauth2: {\(Self.hub)}",
            "by refresh token if the provider issues one, otherwise by userinfo until the token ends"
        ),
        ("kratos: {public_url: \"https://kratos.example.com\"}", "by whoami"),
        ("static: {users: [{identifier: ada, password_hash: \"\(passwordHash)\"}]}", "by the static file"),
    ]

    @Test("The way of each provider is listed", arguments: ways)
    func listed(provider: String, way: String) throws {
        let followed = try Self.followed(provider, "")
        #expect(followed.lines == ["ios: \(way)"] && followed.warnings.isEmpty)
        #expect(followed.providers == ["default"])
        let ignoring = try Self.followed(provider, ", refresh_token: {provider: ignore}")
        #expect(ignoring.lines == ["ios: not at all (refresh_token.provider: ignore)"])
        #expect(ignoring.warnings.isEmpty && ignoring.providers.isEmpty)
        #expect(try Self.followed(provider, ", grant_types: [authorization_code]").lines.isEmpty)
    }

    @Test("Google without access_type: offline is warned of, as long as a client follows its users")
    func unaskedGoogle() throws {
        let followed = try Self.followed(Self.oidc(Self.google), "")
        #expect(followed.lines == ["ios: by userinfo until the token ends"])
        #expect(followed.warnings.count == 1 && followed.warnings[0].contains("{access_type: offline}"))
        #expect(try Self.followed(Self.oidc(Self.google), ", refresh_token: {provider: ignore}").warnings.isEmpty)
    }

    @Test("Users about whom nobody can be asked are warned of, unless confirm_within limits them")
    func unasked() throws {
        let provider = Self.oidc(Self.google, ", userinfo: off")
        let followed = try Self.followed(provider, "")
        #expect(followed.lines == ["ios: not at all"])
        #expect(followed.warnings.contains { $0.hasPrefix("clients[0].refresh_token: users keep") })
        let limited = try Self.followed(provider, ", refresh_token: {confirm_within: 1d}")
        #expect(limited.lines == followed.lines && limited.warnings.count == followed.warnings.count - 1)
    }

    @Test("Users of a kit are not followed, and are warned of, unless confirm_within limits them")
    func kits() throws {
        let kit = ", native_social_login: {google: {enabled: true}}"
        let more = "native_social: {google: {audiences: [web]}}"
        let followed = try Self.followed(Self.oidc(), kit, more)
        #expect(followed.lines.last == "ios, users of google-oauth2 (native_social): not at all")
        #expect(followed.warnings.count == 1 && followed.warnings[0].contains("confirm_within"))
        let limited = try Self.followed(Self.oidc(), "\(kit), refresh_token: {confirm_within: 1d}", more)
        #expect(limited.lines == followed.lines && limited.warnings.isEmpty)
    }

    @Test("Each provider of a client has a line, and an online client is followed with the browser's session")
    func several() throws {
        let text = """
            public_url: https://app.example.com
            upstream: http://127.0.0.1:3000
            secret_file: secret
            providers:
              - {name: staff, \(Self.oidc())}
              - {name: hub, oauth2: {\(Self.hub), scopes: [offline_access]}}
            clients:
              - {client_id: ios, providers: [staff, hub]}
              - {client_id: spa, providers: [hub], refresh_token: {enforce_online_refresh_tokens: true}}
            """
        let followed = FollowedUsers(try SettingsBench().load(text).get().settings)
        let lines = followed.lines
        #expect(lines.count == 3 && lines[0].hasPrefix("ios, users of staff: by refresh token if"))
        #expect(lines[1] == "ios, users of hub: by refresh token")
        #expect(lines[2] == "spa, users of hub: with the browser's session (enforce_online_refresh_tokens)")
        #expect(followed.warnings.isEmpty)
    }
}
