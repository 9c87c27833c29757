import Cryptography
import GatewayBench
import JOSE
package import Vocabulary

extension OpenIDProvider {
    /// A logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4) for the user of the script.
    ///
    /// - Parameters:
    ///   - sessionID: `sid`; nil: none.
    ///   - subject: `sub`; nil: none.
    package func logoutToken(
        for client: String = "gateway",
        sessionID: String?,
        subject: String?,
        type: String = "logout+jwt",
        _ alter: (inout [String: JSONValue]) -> Void = { _ in }
    ) -> String {
        var claims: [String: JSONValue] = [
            "aud": .string(client), "jti": .string(Random.base64URL(12)),
            "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
        ]
        claims["sid"] = sessionID.map(JSONValue.string)
        claims["sub"] = subject.map(JSONValue.string)
        return self.signed(claims, lifetime: .seconds(120), type: type, alter)
    }

    /// A JWT access token (RFC 9068) for a subject, without a sign-in. Introspection does not know it.
    package func accessToken(
        for subject: String = "user-1",
        scopes: [String] = ["openid"],
        type: String = "at+jwt",
        _ alter: (inout [String: JSONValue]) -> Void = { _ in }
    ) -> String {
        let claims = self.withState {
            $0.accessClaims(subject: subject, client: "native-app", scopes: scopes, thumbprint: nil)
        }
        return self.signed(claims, lifetime: nil, type: type, alter)
    }

    /// A token of the provider with `iss`, and with `iat` and `exp` if it has a lifetime.
    private func signed(
        _ claims: [String: JSONValue],
        lifetime: Duration?,
        type: String,
        _ alter: (inout [String: JSONValue]) -> Void
    ) -> String {
        var claims = claims
        let (issuer, now) = (self.issuer, self.clock.now())
        claims["iss"] = .string(issuer)
        if let lifetime {
            claims["iat"] = .integer(now.seconds)
            claims["exp"] = .integer(now.advanced(by: lifetime).seconds)
        }
        alter(&claims)
        return self.withState { [claims] in $0.signed(claims, type: type) }
    }

    /// An opaque access token of a new grant, which introspection knows, without a sign-in.
    package func opaqueAccessToken(
        for user: OpenIDScript.User? = nil,
        scopes: [String] = ["openid"],
        lifetime: Duration = .seconds(300)
    ) -> String {
        self.withState { turn in
            let token = "access-" + Random.base64URL(24)
            turn.state.grants.append(
                OpenIDState.Grant(
                    client: "native-app",
                    user: user ?? turn.script.user,
                    scopes: scopes,
                    sessionID: "",
                    authenticatedAt: turn.now
                )
            )
            turn.state.accessTokens[token] = OpenIDState.AccessToken(
                grant: turn.state.grants.count - 1,
                expiresAt: turn.now.advanced(by: lifetime)
            )
            return token
        }
    }

    /// A refresh token of a new grant to a native app, which introspection knows, without a sign-in.
    package func refreshToken(of client: String = "native-app", scopes: [String] = ["openid", "email"]) -> String {
        let token = "refresh-" + Random.base64URL(24)
        Secrets.shared.note(token)
        self.withState { turn in
            turn.state.grants.append(
                OpenIDState.Grant(
                    client: client,
                    user: turn.script.user,
                    scopes: scopes,
                    sessionID: "",
                    authenticatedAt: turn.now
                )
            )
            turn.state.refreshTokens[token] = OpenIDState.RefreshToken(grant: turn.state.grants.count - 1)
        }
        return token
    }

    /// Follows a redirect to the authorization endpoint, as a browser does, and returns the URL to which the provider
    /// sends the browser back; nil if it shows a page instead.
    package func follow(_ url: String) -> String? {
        guard url.hasPrefix(self.issuer) else { return nil }
        return self.answer(to: OpenIDCall("GET", String(url.dropFirst(self.issuer.count))))?.field("location")
    }
}
