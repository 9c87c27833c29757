import Settings
import Testing
import Vocabulary

@Suite("The settings of native social sign-in")
struct NativeSocialTests {
    private static let google = "native_social: {google: {audiences: [web]"
    private static let apple =
        "native_social: {apple: {bundle_ids: [com.example.app], team_id: AAAAAAAAAA, key_id: BBBBBBBBBB, private_key_file: apple.p8"
    private static let facebook = "native_social: {facebook: {app_id: \"12\", app_secret_file: facebook.secret"

    @Test("nothing is accepted unless it is configured")
    func absent() throws {
        let settings = try #require(SettingsBench().settings(adding: ""))
        #expect(settings.nativeSocial == nil)
    }

    @Test("the required keys suffice: all else is what Google, Apple and Facebook publish")
    func defaults() throws {
        let google = try #require(SettingsBench().settings(adding: Self.google + "}}")?.nativeSocial)
        #expect(google == NativeSocialSettings(google: GoogleSettings(audiences: ["web"])))
        #expect(google.google?.issuers == ["https://accounts.google.com", "accounts.google.com"])
        let apple = try #require(SettingsBench().settings(adding: Self.apple + "}}")?.nativeSocial?.apple)
        #expect(apple.bundleIDs == ["com.example.app"] && apple.teamID == "AAAAAAAAAA" && apple.keyID == "BBBBBBBBBB")
        #expect(apple.privateKey.bytes.starts(with: "-----BEGIN".utf8))
        #expect(apple.tokenURL == "https://appleid.apple.com/auth/token" && apple.issuer == "https://appleid.apple.com")
        let facebook = try #require(SettingsBench().settings(adding: Self.facebook + "}}")?.nativeSocial?.facebook)
        #expect(facebook == FacebookSettings(appID: "12", appSecret: Secret(canary)))
    }

    @Test("URLs, issuers and authorized parties can be set, also to a server on loopback")
    func written() throws {
        let text =
            Self.google
            + ", authorized_parties: [android, ios], issuers: http://127.0.0.1:1, jwks_url: http://127.0.0.1:1/k}}"
        let google = try #require(SettingsBench().settings(adding: text)?.nativeSocial?.google)
        #expect(google.authorizedParties == ["android", "ios"] && google.issuers == ["http://127.0.0.1:1"])
        #expect(google.keysURL == "http://127.0.0.1:1/k")
        let urls = ", token_url: \"http://[::1]:1/t\", jwks_url: http://localhost/k, issuer: http://localhost}}"
        let apple = try #require(SettingsBench().settings(adding: Self.apple + urls)?.nativeSocial?.apple)
        #expect(apple.tokenURL == "http://[::1]:1/t" && apple.keysURL == "http://localhost/k")
        #expect(apple.issuer == "http://localhost")
        let facebook = Self.facebook + ", debug_url: http://127.0.0.1:1/d}}"
        #expect(SettingsBench().settings(adding: facebook)?.nativeSocial?.facebook?.debugURL == "http://127.0.0.1:1/d")
    }

    @Test(
        "what cannot be meant is refused at its key",
        arguments: [
            ("native_social: {}", "native_social"),
            ("native_social: {google: {}}", "native_social.google.audiences"),
            ("native_social: {google: {audiences: []}}", "native_social.google.audiences"),
            ("native_social: {google: {audiences: [a, a]}}", "native_social.google.audiences[1]"),
            ("\(Self.google), issuers: []}}", "native_social.google.issuers"),
            ("\(Self.google), jwks_url: http://www.example.com/k}}", "native_social.google.jwks_url"),
            ("\(Self.google), jwks_url: \"https://u@www.example.com/k\"}}", "native_social.google.jwks_url"),
            ("\(Self.google), algorithms: [HS256]}}", "native_social.google.algorithms"),
            ("\(Self.apple), token_url: http://appleid.apple.com/auth/token}}", "native_social.apple.token_url"),
            ("\(Self.apple), issuer: \"https://appleid.apple.com?x\"}}", "native_social.apple.issuer"),
            ("\(Self.apple), client_secret: x}}", "native_social.apple.client_secret"),
            (
                "\(Self.facebook), debug_url: http://graph.facebook.com/debug_token}}",
                "native_social.facebook.debug_url"
            ),
            ("\(Self.facebook), app_secret: x}}", "native_social.facebook.app_secret"),
            ("native_social: {facebook: {app_id: \"12\"}}", "native_social.facebook.app_secret_file"),
            (
                "native_social: {facebook: {app_id: a, app_secret_file: facebook.secret}}",
                "native_social.facebook.app_id"
            ),
            (
                "native_social: {apple: {bundle_ids: [a b], team_id: AAAAAAAAAA, key_id: BBBBBBBBBB, private_key_file: apple.p8}}",
                "native_social.apple.bundle_ids[0]"
            ),
            (
                "native_social: {apple: {bundle_ids: [a], team_id: short, key_id: BBBBBBBBBB, private_key_file: apple.p8}}",
                "native_social.apple.team_id"
            ),
            (
                "native_social: {apple: {bundle_ids: [a], team_id: AAAAAAAAAA, key_id: BBBBBBBBBB, private_key_file: no.p8}}",
                "native_social.apple.private_key_file"
            ),
        ]
    )
    func refused(text: String, key: String) {
        let problems = SettingsBench().problems(adding: text)
        #expect(problems.map(\.key) == [key], "\(problems)")
    }

    @Test("a key that is not on P-256 and a secret of several lines are refused, and neither file is shown")
    func files() throws {
        var bench = SettingsBench()
        bench.judges.p256Key = { $0.bytes.starts(with: "-----BEGIN".utf8) ? "it is for RS256" : nil }
        bench.files["/etc/sallyport/facebook.secret"] = Array("\(canary)\n\(canary)".utf8)
        for (text, key) in [
            (Self.apple, "native_social.apple.private_key_file"),
            (Self.facebook, "native_social.facebook.app_secret_file"),
        ] {
            let problems = bench.problems(adding: text + "}}")
            #expect(problems.map(\.key) == [key])
            #expect(!SettingsFailure(problems).description.contains(canary))
        }
        let loaded = try SettingsBench().load(SettingsBench.base + Self.apple + "}}").get()
        #expect(!loaded.describe().contains(canary) && !"\(loaded.settings)".contains(canary))
    }

    @Test("whoever limits who may sign in at the provider learns that this does not limit native social sign-in")
    func admission() throws {
        let provider =
            "{oidc: {issuer: https://id.example.com, client_id: a, client_secret_file: provider.secret, allow: {groups: [a]}}}"
        let limited = try SettingsBench().load(SettingsBench.file(provider: provider, Self.google + "}}")).get()
        #expect(limited.warnings.contains { $0.contains("provider.oidc.allow") })
        let open = try SettingsBench().load(SettingsBench.base + Self.google + "}}").get()
        #expect(!open.warnings.contains { $0.contains("native_social") })
    }
}
