import Cryptography
package import JOSE
import Synchronization
package import Vocabulary

/// A code that Apple gave to an app.
struct AppleCode: Sendable {
    let bundleID: String
    /// Changes of the id_token's claims; `.null` removes one.
    let claims: [String: JSONValue]
    /// nil: Apple's key.
    let key: SigningKey?
    var isUsed = false
}

extension SocialNetwork.Registration {
    /// The key as Apple hands it out: PKCS #8 in PEM.
    package var applePEM: Secret {
        let text = Array(Base64.encode(self.appleKey.pkcs8.bytes))
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
        return Secret("-----BEGIN PRIVATE KEY-----\n\(lines.joined(separator: "\n"))\n-----END PRIVATE KEY-----\n")
    }
}

extension SocialNetwork {
    package static let appleSubject = "001999.0123456789abcdef0123456789abcdef.1234"
    package static let appleIssuer = "https://appleid.apple.com"
    private static let appleAccessToken = "apple-access"

    /// A code for an app, good for one redemption.
    package func appleCode(
        for bundleID: String? = nil,
        claims: [String: JSONValue] = [:],
        by key: SigningKey? = nil
    ) -> Secret {
        self.state.withLock { state in
            let code = "c0de\(state.codes.count).0.msxx.secret-part"
            state.codes[code] = AppleCode(
                bundleID: bundleID ?? self.registration.bundleIDs[0],
                claims: claims,
                key: key
            )
            return Secret(code)
        }
    }

    /// An id_token as Apple's kit gives it to an app.
    ///
    /// - Parameters:
    ///   - changes: Of claims; `.null` removes one.
    ///   - key: nil: Apple's.
    package func appleToken(_ changes: [String: JSONValue] = [:], by key: SigningKey? = nil) -> Secret {
        let now = self.clock.now().seconds
        let claims: [String: JSONValue] = [
            "iss": .string(Self.appleIssuer), "aud": .string(self.registration.bundleIDs[0]),
            "sub": .string(Self.appleSubject), "iat": .integer(now), "exp": .integer(now + 86_400),
            "auth_time": .integer(now), "email": "x7@privaterelay.appleid.com", "email_verified": "true",
        ]
        let key = key ?? self.state.withLock { $0.apple[0] }
        return Secret(Self.signed(claims, changes, by: key, header: []))
    }

    /// The token endpoint (developer.apple.com, "Generate and validate tokens").
    func redeem(_ request: SocialRequest) -> SocialAnswer {
        self.expect(["client_id", "client_secret", "code", "grant_type"], in: request)
        func refusal(_ error: String) -> SocialAnswer {
            .json(400, ["error": .string(error), "error_description": "as scripted"])
        }
        guard request["grant_type"] == "authorization_code" else { return refusal("unsupported_grant_type") }
        guard let client = request["client_id"], self.registration.bundleIDs.contains(client),
            let secret = request["client_secret"]
        else { return refusal("invalid_client") }
        if let fault = self.fault(inClientSecret: secret, of: client) {
            self.complain("client_secret: \(fault)")
            return refusal("invalid_client")
        }
        let redeemed = self.state.withLock { state -> (AppleCode, SigningKey)? in
            guard let name = request["code"], var code = state.codes[name], !code.isUsed, code.bundleID == client,
                // A native app was not redirected: Apple compares the two.
                request["redirect_uri"] == nil
            else { return nil }
            code.isUsed = true
            state.codes[name] = code
            return (code, state.apple[0])
        }
        guard let (code, key) = redeemed else { return refusal("invalid_grant") }
        let now = self.clock.now().seconds
        let claims: [String: JSONValue] = [
            "iss": .string(Self.appleIssuer), "aud": .string(client), "sub": .string(Self.appleSubject),
            "iat": .integer(now), "exp": .integer(now + 86_400), "auth_time": .integer(now),
            "at_hash": .string(Base64URL.encode(SHA2.sha256.digest(of: Array(Self.appleAccessToken.utf8)).prefix(16))),
            "email": "x7@privaterelay.appleid.com", "email_verified": "true", "is_private_email": "true",
        ]
        return .json(
            200,
            [
                "access_token": .string(Self.appleAccessToken), "token_type": "Bearer", "expires_in": 3600,
                "refresh_token": "apple-refresh",
                "id_token": .string(Self.signed(claims, code.claims, by: code.key ?? key, header: [])),
            ]
        )
    }

    /// Which check of a client secret fails; nil: it is good.
    private func fault(inClientSecret text: String, of client: String) -> String? {
        do throws(JOSEError) {
            let token = Array(text.utf8)
            guard try JWS.header(of: token).keyID == self.registration.keyID else { return "kid is not the key's id" }
            // Apple knows the key by its own id, and the set by the thumbprint: the signature alone is verified here.
            let key = self.registration.appleKey.publicKey
            guard case .object(var members) = key.value else { return "the key has no members" }
            members["kid"] = .string(self.registration.keyID)
            let set = JWKSet(keys: [try JWK(.object(members))])
            let claims = try JWTClaims(try JWS.verify(token, with: set, allowing: [.es256]).payload)
            guard claims.issuer == self.registration.teamID else { return "iss is not the team" }
            guard claims.subject == client else { return "sub is not client_id" }
            guard claims.audience == [Self.appleIssuer] else { return "aud is not Apple" }
            let now = self.clock.now()
            guard let begin = claims.issuedAt, let end = claims.expiresAt, begin <= now, end > now,
                end.since(begin) <= .seconds(300)
            else { return "iat or exp" }
            return nil
        } catch {
            return error.detail
        }
    }
}
