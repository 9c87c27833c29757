import JOSE
import Settings
import Synchronization
import Vocabulary

/// What this process knows of a provider's userinfo endpoint.
final class UserInfoHistory: Sendable {
    private let accepted = Atomic(false)

    /// True if userinfo has accepted an access token of this client.
    var isAccepted: Bool { self.accepted.load(ordering: .relaxed) }

    func noteAccepted() { self.accepted.store(true, ordering: .relaxed) }
}

/// Adds claims from userinfo that the id_token lacks (OpenID Connect Core 5.3).
extension OpenIDProvider {
    /// The claims after userinfo was asked, if it had to be asked.
    enum Completed: Sendable {
        case whole(UserClaims)
        /// Userinfo gave no usable answer, so these are the former claims.
        case part(UserClaims, ProviderFault)
        /// Userinfo answered about another user (OpenID Connect Core 5.3.4).
        case foreign
    }

    /// Adds the claims of userinfo if the settings or missing traits require them.
    ///
    /// - Parameters:
    ///   - claims: The claims of the verified id_token; empty if there is none.
    ///   - subject: The user whom userinfo must describe.
    ///   - key: The key that the access token is bound to; `nil` for a bearer token.
    ///   - isAsked: True to ask userinfo even if no trait is missing.
    func completed(
        _ claims: UserClaims,
        of subject: String,
        _ accessToken: Secret,
        type: String,
        key: SigningKey?,
        isAsked: Bool = false,
        within timeLimit: Duration = .seconds(5),
        _ metadata: ProviderMetadata
    ) async -> Completed {
        let isWanted =
            switch self.settings.userinfo {
            case .auto: metadata.userinfoEndpoint != nil && self.mapping.lacksTraits(claims)
            case .required: true
            case .off: false
            }
        guard isWanted || isAsked else { return .whole(claims) }
        do throws(ProviderFault) {
            guard let url = metadata.userinfoEndpoint else {
                throw ProviderFault("the issuer's metadata name no userinfo_endpoint that can be used")
            }
            let document: JSONValue
            let userinfo = UserInfo(url: url, proofs: self.proofs, timeLimit: timeLimit)
            switch try await userinfo.ask(accessToken, type: type, key: key) {
            case .claims(let value): document = value
            case .token(let token): document = try await self.claims(ofUserInfo: token)
            }
            guard let stated = document["sub"]?.string else { throw ProviderFault("userinfo: sub is missing") }
            self.userInfoHistory.noteAccepted()
            guard stated.isExactly(subject) else { return .foreign }
            var whole = claims
            whole.append(userInfo: document)
            return .whole(whole)
        } catch {
            return .part(claims, error)
        }
    }

    /// Verifies a signed userinfo answer and returns its claims. Issuer and audience must match.
    private func claims(ofUserInfo token: [UInt8]) async throws(ProviderFault) -> JSONValue {
        let verified: JWS
        do throws(ProviderFault) {
            verified = try await self.issuer.verify(token, sharedSecret: self.settings.client.secret)
        } catch {
            throw ProviderFault("userinfo: \(error.detail)", isOutage: error.isOutage)
        }
        if let type = verified.type, IDTokenCheck.isOfAnotherKind(type) {
            throw ProviderFault("userinfo: typ is that of another kind of token")
        }
        do throws(JOSEError) {
            let claims = try JWTClaims(verified.payload, loneSurrogates: .replaced)
            guard claims.issuer?.isExactly(self.name) == true else { throw JOSEError("iss is not the issuer") }
            guard claims.audience.contains(where: { $0.isExactly(self.client.clientID) }) else {
                throw JOSEError("aud is not the client")
            }
            // Some issuers write no expiry into this answer.
            if claims.expiresAt != nil { try claims.checkTimes(now: self.clock.now()) }
            return claims.value
        } catch {
            throw ProviderFault("userinfo: \(error.detail)")
        }
    }
}
