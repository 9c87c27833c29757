import Cryptography
import GatewayBench
import JOSE
import Vocabulary

extension OpenIDTurn {
    /// The token endpoint (RFC 6749 3.2).
    mutating func token(_ call: OpenIDCall) -> OpenIDAnswer {
        guard let client = self.authenticated(call) else { return .refusal("invalid_client", status: 401) }
        let proof: DPoPProof?
        switch self.dpopProof(of: call, at: .token) {
        case .success(let found): proof = found
        case .failure(let refusal): return refusal.answer
        }
        switch call["grant_type"] {
        case "authorization_code": return self.exchange(call, client, proof)
        case "refresh_token": return self.refresh(call, client, proof)
        default: return .refusal("unsupported_grant_type")
        }
    }

    private mutating func exchange(_ call: OpenIDCall, _ client: OpenIDScript.Client, _ proof: DPoPProof?)
        -> OpenIDAnswer
    {
        guard let text = call["code"], let code = self.state.codes[text],
            self.state.grants[code.grant].client == client.id
        else { return .refusal("invalid_grant") }
        guard !code.isUsed else {
            // RFC 6749 4.1.2: a second use ends what the first one gave.
            self.state.grants[code.grant].isEnded = true
            return .refusal("invalid_grant")
        }
        self.state.codes[text]?.isUsed = true
        guard self.now < code.expiresAt, call["redirect_uri"] == code.redirectURI, Self.verifies(call, code) else {
            return .refusal("invalid_grant")
        }
        self.state.grants[code.grant].thumbprint = proof?.thumbprint
        return self.tokens(of: code.grant, nonce: code.nonce)
    }

    /// RFC 7636 4.6
    private static func verifies(_ call: OpenIDCall, _ code: OpenIDState.Code) -> Bool {
        guard let challenge = code.challenge else { return call["code_verifier"] == nil }
        guard let verifier = call["code_verifier"], (43...128).contains(verifier.utf8.count) else { return false }
        return SHA256.digest(Array(verifier.utf8)).base64URL == challenge
    }

    private mutating func refresh(_ call: OpenIDCall, _ client: OpenIDScript.Client, _ proof: DPoPProof?)
        -> OpenIDAnswer
    {
        guard let text = call["refresh_token"], var token = self.state.refreshTokens[text],
            self.state.grants[token.grant].client == client.id
        else { return .refusal("invalid_grant") }
        let grant = self.state.grants[token.grant]
        if let bound = grant.thumbprint, bound != proof?.thumbprint { return .refusal("invalid_dpop_proof") }
        if let usedAt = token.usedAt, case .rotating(let overlap) = self.script.refresh {
            guard !token.hasUsedOverlap, self.now.since(usedAt) < overlap else {
                self.state.reuses += 1
                self.state.grants[token.grant].isEnded = true
                return .refusal("invalid_grant")
            }
            token.hasUsedOverlap = true
        }
        guard !grant.isEnded else { return .refusal("invalid_grant") }
        token.usedAt = token.usedAt ?? self.now
        self.state.refreshTokens[text] = token
        return self.tokens(of: token.grant, nonce: nil, kept: self.script.refresh == .kept ? text : nil)
    }

    /// - Parameter kept: A refresh token that stays the same, and is not sent again.
    private mutating func tokens(of index: Int, nonce: String?, kept: String? = nil) -> OpenIDAnswer {
        let grant = self.state.grants[index]
        let expiresAt = self.now.advanced(by: self.script.accessTokenLifetime)
        let accessToken = self.accessToken(of: grant)
        self.state.accessTokens[accessToken] = OpenIDState.AccessToken(grant: index, expiresAt: expiresAt)
        var members: [String: JSONValue] = [
            "access_token": .string(accessToken), "token_type": grant.thumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": .integer(self.script.accessTokenLifetime.components.seconds),
            "scope": .string(grant.scopes.joined(separator: " ")),
        ]
        if self.script.refresh != .none, kept == nil {
            let refreshToken = "refresh-" + Random.base64URL(24)
            self.state.refreshTokens[refreshToken] = OpenIDState.RefreshToken(grant: index)
            members["refresh_token"] = .string(refreshToken)
        }
        if self.script.isOpenID, grant.scopes.contains("openid") {
            members["id_token"] = .string(self.idToken(of: grant, nonce: nonce, accessToken: accessToken))
        }
        for name in ["access_token", "refresh_token", "id_token"] {
            if let token = members[name]?.string { Secrets.shared.note(token) }
        }
        self.script.alterTokenAnswer?(&members)
        return .json(200, members)
    }

    private func idToken(of grant: OpenIDState.Grant, nonce: String?, accessToken: String) -> String {
        // The user's claims are those of now, so that a refresh brings new ones.
        var claims = self.current(grant.user).claims
        claims["iss"] = .string(self.issuer)
        claims["sub"] = .string(grant.user.subject)
        claims["aud"] = .string(grant.client)
        claims["iat"] = self.seconds()
        claims["exp"] = self.seconds(after: .seconds(300))
        claims["auth_time"] = .integer(grant.authenticatedAt.seconds)
        claims["sid"] = .string(grant.sessionID)
        claims["nonce"] = nonce.map(JSONValue.string)
        claims["acr"] = grant.level.map(JSONValue.string)
        claims["amr"] = grant.methods.map { .array($0.map(JSONValue.string)) }
        // OpenID Connect Core 3.1.3.6, for the algorithms with SHA-256.
        if self.state.signingKey.algorithm.rawValue.hasSuffix("256") {
            let hash = SHA256.digest(Array(accessToken.utf8)).bytes.prefix(16)
            claims["at_hash"] = .string(Base64URL.encode(hash))
        }
        self.script.alterIDToken?(&claims)
        return self.signed(claims, type: "JWT", alterHeader: self.script.alterIDTokenHeader)
    }

    private func accessToken(of grant: OpenIDState.Grant) -> String {
        guard self.script.accessTokenForm == .jwt else { return "access-" + Random.base64URL(24) }
        return self.signed(
            self.accessClaims(
                subject: grant.user.subject,
                client: grant.client,
                scopes: grant.scopes,
                thumbprint: grant.thumbprint
            ),
            type: "at+jwt"
        )
    }

    /// The claims of an access token (RFC 9068 2.2).
    func accessClaims(subject: String, client: String, scopes: [String], thumbprint: String?) -> [String: JSONValue] {
        let audience = self.script.accessTokenAudience
        var claims: [String: JSONValue] = [
            "iss": .string(self.issuer), "sub": .string(subject), "client_id": .string(client),
            "aud": audience.count == 1 ? .string(audience[0]) : .array(audience.map(JSONValue.string)),
            "iat": self.seconds(), "exp": self.seconds(after: self.script.accessTokenLifetime),
            "jti": .string(Random.base64URL(12)), "scope": .string(scopes.joined(separator: " ")),
        ]
        if let thumbprint { claims["cnf"] = ["jkt": .string(thumbprint)] }
        self.script.alterAccessToken?(&claims)
        return claims
    }

    /// The user as the script has that user now.
    func current(_ user: OpenIDScript.User) -> OpenIDScript.User {
        let all = [self.script.user] + self.script.users.values
        return all.first { $0.subject == user.subject } ?? user
    }
}
