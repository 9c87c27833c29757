import JOSE
package import Settings
package import Vocabulary

/// Verifies access tokens that an OpenID issuer signs (RFC 9068), with the issuer's keys.
package struct BearerProvider: TokenProvider {
    /// The time after which a token in use is verified again, because the issuer may have withdrawn its key. Key sets
    /// are fetched again after the same time.
    private static let verdictLifetime = Duration.seconds(600)

    private let issuer: OpenIDIssuer
    private let demands: AccessTokenClaims.Demands
    /// The accepted algorithms. HMACs are excluded: the key that verifies an HMAC also makes one.
    private let algorithms: Set<JWSAlgorithm>
    private let kind: AccessTokenKind
    private let mapping: ClaimsMapping
    private let admission: Admission
    private let clock: Clock
    package let configuration: String

    /// Creates the provider; `nil` if no audience is configured, so that no access token is accepted.
    package init?(_ settings: OpenIDSettings, issuer: OpenIDIssuer, clock: Clock) {
        guard !settings.audiences.isEmpty else { return nil }
        self.issuer = issuer
        self.demands = AccessTokenClaims.Demands(
            issuer: issuer.name,
            recipients: AccessTokenClaims.Demands.Recipients(settings.audiences, in: settings.audienceClaim),
            isComplete: true
        )
        self.algorithms = issuer.algorithms.intersection(JWSAlgorithm.asymmetric)
        self.kind = AccessTokenKind(clientID: settings.client.id)
        self.mapping = ClaimsMapping(settings.claims, names: settings.names)
        self.admission = Admission(settings.allow, settings.claims)
        self.clock = clock
        self.configuration = VerdictConfiguration.text(
            [
                "jwt", issuer.name, settings.client.id, "\(settings.audiences)", "\(settings.algorithms)",
                "\(settings.claims)", "\(settings.allow)", settings.audienceClaim.rawValue,
            ] + settings.names.marks
        )
    }

    package var name: String { self.issuer.name }
    package var verifiesLocally: Bool { true }

    package func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { TokenSyntax.isJWT(token) }

    package func judge(_ token: Secret) -> TokenVerdict? {
        do throws(JOSEError) {
            return try self.issuer.keys.verifyAtOnce(token.bytes, allowing: self.algorithms).map { self.judge($0) }
        } catch {
            return .unknown(.credentialInvalidToken)
        }
    }

    package func introspect(_ presented: PresentedToken) async -> TokenVerdict {
        do throws(JOSEError) {
            let token = presented.token.bytes
            guard let verified = try await self.issuer.keys.verify(token, allowing: self.algorithms) else {
                return .unavailable
            }
            return self.judge(verified)
        } catch {
            // `keyFetchDenied`: no known key verifies the token, and the keys cannot be fetched again now. The token is
            // rejected, because issuers publish a key before they use it, and anybody can invent a key id.
            return .unknown(.credentialInvalidToken)
        }
    }

    /// Judges a token whose signature is verified.
    private func judge(_ token: JWS) -> TokenVerdict {
        guard let claims = try? JWTClaims(token.payload, loneSurrogates: .replaced), self.kind.accepts(token, claims)
        else {
            return .unknown(.credentialInvalidToken)
        }
        let access = AccessTokenClaims(claims: claims, mapping: self.mapping)
        let now = self.clock.now()
        do throws(Reason) {
            try access.check(self.demands, now: now)
        } catch {
            return .unknown(error)
        }
        // The token is accepted until its expiry plus the leeway, as the check above allows.
        let end = (claims.expiresAt ?? now).advanced(by: AccessTokenClaims.leeway)
        let known = try? access.known(
            expiresAt: end,
            cacheLifetime: Self.verdictLifetime,
            admission: self.admission,
            now: now
        )
        return known.map(TokenVerdict.known) ?? .unknown(.credentialInvalidToken)
    }
}
