import JOSE
import Providers
import Settings
import Testing
import Vocabulary

@Suite("Which signed tokens are access tokens (RFC 9068 4)")
struct AccessTokenKindTests {
    struct Token: Sendable, CustomTestStringConvertible {
        let description: String
        let type: JSONValue?
        let claims: [String: JSONValue]
        let isAccepted: Bool

        init(_ description: String, _ type: JSONValue?, _ claims: [String: JSONValue], _ isAccepted: Bool) {
            (self.description, self.type, self.claims, self.isAccepted) = (description, type, claims, isAccepted)
        }

        var testDescription: String { self.description }
    }

    private static let own = JSONValue.string(OpenIDProviderBench.clientID)
    /// What the good token has, removed.
    private static let bare: [String: JSONValue] = ["scope": .null, "client_id": .null, "jti": .null]

    private static func bare(_ claims: [String: JSONValue]) -> [String: JSONValue] { bare.merging(claims) { $1 } }

    static let tokens: [Token] = [
        Token("at+jwt", "at+jwt", bare, true),
        Token("application/at+jwt in capitals", "application/AT+JWT", bare, true),
        Token("JWT, as Keycloak and Entra write", "JWT", [:], true),
        Token("jwt in small letters", "jwt", [:], true),
        Token("no typ, as Okta writes", nil, [:], true),
        Token("no typ, nothing but an audience of an app", nil, bare, true),
        Token("a logout token", "logout+jwt", [:], false),
        Token("a security event", "secevent+jwt", [:], false),
        Token("a DPoP proof", "dpop+jwt", [:], false),
        Token("an encrypted token", "JWE", [:], false),
        Token("an empty typ", "", [:], false),

        Token("Keycloak: an access token, even with nonce", "JWT", ["typ": "Bearer", "nonce": "n"], true),
        Token("Keycloak: an id_token", "JWT", ["typ": "ID"], false),
        Token("Keycloak: a refresh token", "JWT", ["typ": "Refresh"], false),
        Token("Keycloak: an offline token", "JWT", ["typ": "Offline"], false),
        Token("Keycloak: a logout token", "JWT", ["typ": "Logout"], false),
        Token("Cognito: an access token", nil, ["token_use": "access"], true),
        Token("Cognito: an id_token", nil, ["token_use": "id"], false),

        Token("an id_token with nonce", "JWT", ["nonce": "n"], false),
        Token("an id_token with at_hash", nil, ["at_hash": "h"], false),
        Token("an id_token with c_hash", "JWT", ["c_hash": "h"], false),
        Token("an id_token with s_hash", "JWT", ["s_hash": "h"], false),
        Token("a logout token of an older kind", "JWT", ["events": [:]], false),

        Token("a bare id_token for the client, which is an audience too", "JWT", bare(["aud": own]), false),
        Token("the same with azp", "JWT", bare(["aud": own, "azp": own]), false),
        Token("the same for several", "JWT", bare(["aud": [own, .string(BearerBench.audience)], "azp": own]), false),
        Token("an access token for the client itself, with scope", "JWT", bare(["aud": own, "scope": "a"]), true),
        Token("an access token for the client itself, with scp", nil, bare(["aud": own, "scp": ["a"]]), true),
        Token("an access token of another client for this one", "JWT", bare(["aud": own, "azp": "app"]), true),
    ]

    @Test("An id_token or logout token never passes as an access token", arguments: tokens)
    func kind(token: Token) async throws {
        let bench = try BearerBench { $0.audiences.append(OpenIDProviderBench.clientID) }
        let verdict = await bench.judge(bench.token(token.claims, type: token.type))
        #expect((verdict.known != nil) == token.isAccepted)
        if !token.isAccepted { #expect(verdict == .unknown(.credentialInvalidToken)) }
    }
}
