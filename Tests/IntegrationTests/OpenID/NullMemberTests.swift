import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// A provider that writes null for everything that it does not know, in front of the built binary.
@Suite("A provider that writes null for what it does not know", .blocking) struct NullMemberTests {
    private static func nulls(_ names: String...) -> OpenIDScript.Alteration {
        { members in for name in names where members[name] == nil { members[name] = .null } }
    }

    private static var script: OpenIDScript {
        var script = OpenIDScript()
        script.methods = nil
        script.accessTokenLifetime = .seconds(2)
        script.alterMetadata = Self.nulls("device_authorization_endpoint", "acr_values_supported", "claims_supported")
        script.alterKeySet = { document in
            guard case .array(let keys)? = document["keys"] else { return }
            document["keys"] = .array(
                keys.map { key in
                    guard case .object(var members) = key else { return key }
                    for name in ["alg", "use", "key_ops", "x5c", "x5t", "d"] { members[name] = .null }
                    return .object(members)
                }
            )
        }
        script.alterIDToken = { claims in
            claims["at_hash"] = .null
            Self.nulls("azp", "nbf", "jti", "acr", "amr", "nonce", "picture", "groups")(&claims)
        }
        script.alterIDTokenHeader = { header in
            header["typ"] = .null
            Self.nulls("cty", "jku", "x5u", "jwk")(&header)
        }
        script.alterAccessToken = Self.nulls("nbf", "cnf", "nonce", "token_use", "azp", "acr", "auth_time", "sid")
        script.alterTokenAnswer = Self.nulls("error", "not-before-policy")
        script.alterUserinfo = Self.nulls("name", "email_verified", "picture")
        script.alterIntrospection = Self.nulls("nbf", "jti", "cnf", "token_use", "typ", "username", "act")
        return script
    }

    private let oidc = "audiences: [api]\nintrospection: {}"

    @Test("Users sign in, are renewed, and are signed out by its logout token") func signIn() throws {
        for (session, subject) in [(true, false), (false, true)] {
            try OpenIDSignInBench.with(Self.script, self.oidc) { (bench) throws in
                var browser = OpenIDBrowser(bench)
                #expect(try browser.open("/x").status == 200)
                let cookie = browser.session
                var user = browser
                #expect(
                    eventually {
                        _ = try? user.load("/x", ["Sec-Fetch-Mode: cors", "Accept: */*"])
                        return bench.provider.refreshes > 0
                    }
                )
                #expect(try browser.load("/x", ["Sec-Fetch-Mode: cors", "Accept: */*"]).status == 200)
                #expect(browser.session == cookie)
                let token = bench.provider.logoutToken(
                    sessionID: session ? bench.provider.sessionID : nil,
                    subject: subject ? "user-1" : nil,
                    type: "JWT",
                    Self.nulls("sid", "sub", "nonce", "nbf", "azp")
                )
                let type = "Content-Type: application/x-www-form-urlencoded"
                let ended = try bench.gateway.request(
                    Request.post("/.sallyport/backchannel-logout", [type], body: "logout_token=\(token)")
                )
                #expect(ended.status == 200, "\(ended.lines) \(ended.text)")
                #expect(
                    eventually {
                        (try? browser.load("/x", ["Sec-Fetch-Mode: cors", "Accept: */*"]).status) == 401
                    }
                )
            }
        }
    }

    @Test("Its access tokens are accepted, signed or opaque; null for what a token must have is refused")
    func accessTokens() throws {
        try OpenIDSignInBench.with(Self.script, self.oidc) { (bench) throws in
            func judge(_ token: String) throws -> Answer {
                try bench.gateway.get("/x", ["Authorization: Bearer \(token)"])
            }
            #expect(try judge(bench.provider.accessToken()).status == 200)
            #expect(try judge(bench.provider.accessToken(type: "JWT")).status == 200)
            #expect(try judge(bench.provider.opaqueAccessToken()).status == 200)
            for name in ["iss", "sub", "aud", "exp"] {
                let answer = try judge(bench.provider.accessToken { $0[name] = .null })
                let same = try judge(bench.provider.accessToken { $0[name] = nil })
                #expect(answer.status == 401 && answer.reason == same.reason, "\(name): \(answer.lines)")
            }
        }
    }
}
