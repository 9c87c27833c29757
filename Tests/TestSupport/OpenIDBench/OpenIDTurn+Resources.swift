import Vocabulary

extension OpenIDTurn {
    /// The userinfo endpoint (OpenID Connect Core 5.3).
    mutating func userinfo(_ call: OpenIDCall) -> OpenIDAnswer {
        let parts = (call.field("authorization") ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2, let token = self.live(parts[1]) else { return Self.invalidToken("Bearer") }
        let grant = self.state.grants[token.grant]
        if let thumbprint = grant.thumbprint {
            guard parts[0] == "DPoP" else { return Self.invalidToken("DPoP") }
            switch self.dpopProof(of: call, at: .userinfo, accessToken: parts[1]) {
            case .success(let proof) where proof?.thumbprint == thumbprint: break
            case .success: return Self.invalidToken("DPoP")
            case .failure(let refusal): return refusal.answer
            }
        } else if parts[0].lowercased() != "bearer" {
            return Self.invalidToken("Bearer")
        }
        let user = self.current(grant.user)
        var members = user.claims.merging(user.userinfo) { $1 }
        if self.script.isOpenID { members["sub"] = .string(user.subject) }
        self.script.alterUserinfo?(&members)
        return .json(200, members)
    }

    private static func invalidToken(_ scheme: String) -> OpenIDAnswer {
        OpenIDAnswer(401, fields: [(name: "www-authenticate", value: "\(scheme) error=\"invalid_token\"")])
    }

    /// Introspection (RFC 7662).
    mutating func introspect(_ call: OpenIDCall) -> OpenIDAnswer {
        guard let client = self.authenticated(call), client.secret != nil || client.keys != nil else {
            return .refusal("invalid_client", status: 401)
        }
        var members: [String: JSONValue] = ["active": false]
        if let token = call["token"].flatMap(self.live) {
            let grant = self.state.grants[token.grant]
            let user = self.current(grant.user)
            members = self.accessClaims(
                subject: user.subject,
                client: grant.client,
                scopes: grant.scopes,
                thumbprint: grant.thumbprint
            )
            members["active"] = true
            members["exp"] = .integer(token.expiresAt.seconds)
            members["token_type"] = grant.thumbprint == nil ? "Bearer" : "DPoP"
            members["username"] = user.claims["name"]
            members["email"] = user.claims["email"]
        } else if let text = call["token"], let token = self.state.refreshTokens[text],
            token.usedAt == nil || self.script.refresh == .kept
        {
            let grant = self.state.grants[token.grant]
            members["active"] = .bool(!grant.isEnded)
            if !grant.isEnded {
                members["iss"] = .string(self.issuer)
                members["sub"] = .string(grant.user.subject)
                members["client_id"] = .string(grant.client)
                members["scope"] = .string(grant.scopes.joined(separator: " "))
                members["token_use"] = "refresh_token"
                members["email"] = self.current(grant.user).claims["email"]
            }
        }
        self.script.alterIntrospection?(&members)
        return .json(200, members)
    }

    /// Revocation (RFC 7009): a refresh token ends its grant, an access token only itself.
    mutating func revoke(_ call: OpenIDCall) -> OpenIDAnswer {
        guard let client = self.authenticated(call) else { return .refusal("invalid_client", status: 401) }
        guard let text = call["token"] else { return .refusal("invalid_request") }
        if let token = self.state.refreshTokens[text], self.state.grants[token.grant].client == client.id {
            self.state.grants[token.grant].isEnded = true
        } else if let token = self.state.accessTokens[text], self.state.grants[token.grant].client == client.id {
            self.state.accessTokens[text]?.isRevoked = true
        }
        return OpenIDAnswer(200)
    }

    /// An access token that is valid now.
    private func live(_ text: String) -> OpenIDState.AccessToken? {
        guard let token = self.state.accessTokens[text], !token.isRevoked, self.now < token.expiresAt,
            !self.state.grants[token.grant].isEnded
        else { return nil }
        return token
    }
}
