import Cryptography
import JOSE
import Vocabulary

/// Checks the claims of an id_token with a valid signature (OpenID Connect Core 3.1.3.7, 12.2).
struct IDTokenCheck: Sendable {
    /// The maximum difference between the clocks of the issuer and the gateway.
    private static let leeway: Duration = .seconds(60)

    let issuer: String
    let clientID: String
    let now: UnixTime
    /// The nonce of the authorization request; `nil` if no nonce was sent, as for a refresh.
    var nonce: String?
    /// The access token issued with the id_token; `nil` to skip `at_hash`.
    var accessToken: Secret?

    /// Returns the subject and the claims.
    ///
    /// - Throws: `ProviderFault` of the first check that fails.
    func claims(of token: JWS) throws(ProviderFault) -> (subject: String, claims: JWTClaims) {
        if let type = token.type, Self.isOfAnotherKind(type) {
            throw ProviderFault("typ is that of another kind of token")
        }
        let claims: JWTClaims
        do throws(JOSEError) {
            claims = try JWTClaims(token.payload, loneSurrogates: .replaced)
            try claims.check(issuer: self.issuer, audience: [self.clientID], now: self.now, leeway: Self.leeway)
        } catch {
            throw ProviderFault(error.detail, isForeign: error.kind == .issuer || error.kind == .audience)
        }
        guard claims.issuer?.isExactly(self.issuer) == true else {
            throw ProviderFault("iss is not the issuer", isForeign: true)
        }
        guard claims.audience.contains(where: { $0.isExactly(self.clientID) }) else {
            throw ProviderFault("aud is not the client", isForeign: true)
        }
        // Amazon Cognito signs access tokens with the keys of its id_tokens.
        if let use = claims["token_use"], use != "id" {
            throw ProviderFault("token_use is that of another kind of token")
        }
        try self.checkAuthorizedParty(claims)
        guard claims.issuedAt != nil else { throw ProviderFault("iat is missing") }
        if let nonce {
            guard let stated = claims.nonce else { throw ProviderFault("nonce is missing") }
            guard stated.isExactly(nonce) else { throw ProviderFault("nonce is not the one that was sent") }
        }
        try self.checkAccessTokenHash(claims, token.algorithm)
        guard let subject = claims.subject else { throw ProviderFault("sub is missing") }
        do throws(ClaimsError) {
            return (try ClaimsMapping.subject(.string(subject)), claims)
        } catch {
            throw ProviderFault(error.detail)
        }
    }

    /// Returns whether `typ` names another kind of token, such as `at+jwt` or `logout+jwt` (RFC 8725 3.11).
    static func isOfAnotherKind(_ type: String) -> Bool {
        let type = type.lowercased()
        return type.hasSuffix("+jwt") && type != "id_token+jwt"
    }

    /// Checks `azp`. It may be missing, even if there are several audiences (OpenID Connect Core 3.1.3.7, errata 2).
    private func checkAuthorizedParty(_ claims: JWTClaims) throws(ProviderFault) {
        guard let party = claims["azp"] else { return }
        guard party.string?.isExactly(self.clientID) == true else {
            throw ProviderFault("azp is not the client", isForeign: true)
        }
    }

    /// Checks `at_hash`, the left half of the access token's hash (OpenID Connect Core 3.1.3.6).
    private func checkAccessTokenHash(_ claims: JWTClaims, _ algorithm: JWSAlgorithm) throws(ProviderFault) {
        guard let hash = claims["at_hash"], let accessToken else { return }
        let digest = Self.hash(of: algorithm).digest(of: accessToken.bytes)
        guard hash.string?.isExactly(Base64URL.encode(digest.prefix(digest.count / 2))) == true else {
            throw ProviderFault("at_hash is not that of the access token")
        }
    }

    private static func hash(of algorithm: JWSAlgorithm) -> SHA2 {
        switch algorithm {
        case .rs256, .ps256, .es256, .hs256: .sha256
        case .rs384, .ps384, .es384, .hs384: .sha384
        // Ed25519 uses SHA-512.
        case .rs512, .ps512, .es512, .hs512, .edDSA: .sha512
        }
    }
}
