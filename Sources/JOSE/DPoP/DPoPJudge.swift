import Cryptography
package import Vocabulary

/// What a proof must be for.
package struct DPoPDemand: Sendable {
    /// The method of the request as it was sent (`htm`).
    package var method: String
    /// The URL of the request (`htu`).
    package var target: DPoPTarget
    /// The access token that comes with the proof (`ath`); nil at the token endpoint.
    package var accessToken: Secret?
    /// The thumbprint of the key that the presented token or code is bound to (`cnf.jkt`); nil: any key.
    package var thumbprint: String?
    /// Whether a proof without a nonce is sent back even if its `iat` is good.
    package var requiresNonce: Bool

    package init(
        method: String,
        target: DPoPTarget,
        accessToken: Secret? = nil,
        thumbprint: String? = nil,
        requiresNonce: Bool = false
    ) {
        self.method = method
        self.target = target
        self.accessToken = accessToken
        self.thumbprint = thumbprint
        self.requiresNonce = requiresNonce
    }
}

/// Judges proofs (RFC 9449 4.3), without a store: that a proof is used once is for the caller to see to.
package struct DPoPJudge: Sendable {
    /// In bytes. A proof has about 600; `htu` and an RSA key may be long.
    package static let longestProof = 8192
    /// The longest `jti` in bytes. Usual ones have 16 to 36 characters.
    package static let longestID = 256
    /// A proof without a nonce may be so old, by its `iat`: as old as one with a nonce. What is older may have been
    /// made by somebody who had the key for a moment only, or have left the store's memory of ids.
    package static let greatestAge = Duration.seconds(300)
    /// `iat` may be so far in the future, as a clock may be a little ahead. More would let proofs be made in advance (RFC
    /// 9449 11.2).
    package static let greatestLead = Duration.seconds(60)
    /// How far the clocks of gateways may differ: an id is remembered for so much longer than its proof is accepted.
    package static let skew = Duration.seconds(60)

    /// Those that a proof may have.
    package static let algorithms: [JWSAlgorithm] = [.es256, .edDSA]
    private static let allowed = Set(algorithms)

    private let nonces: DPoPNonces

    package init(nonces: DPoPNonces) {
        self.nonces = nonces
    }

    /// Judges one proof. The signature, which costs the most, is verified last: what is said before that is good only to
    /// refuse.
    ///
    /// - Parameters:
    ///   - keys: The keys that the caller's event loop knows; nil where there is no loop.
    ///   - epoch: That of the nonces (`DPoPNonces.current`).
    /// - Returns: The proof, which is good once its id is known to be new (`DPoPProof.onceID`).
    package func judge(
        _ proof: [UInt8],
        for demand: DPoPDemand,
        keys: DPoPKeyCache? = nil,
        now: UnixTime,
        epoch: UInt64
    ) throws(DPoPRefusal) -> DPoPProof {
        let token = try self.token(proof, keys)
        if let expected = demand.thumbprint, token.key.thumbprint != expected { throw .otherKey }
        let claims = try ProofClaims(token)
        try claims.check(demand)
        let span = try self.span(of: claims, demand, now, epoch)
        do throws(JOSEError) { try token.verify() } catch { throw .signature }
        keys?.remember(token)
        return DPoPProof(
            thumbprint: token.key.thumbprint,
            onceID: SHA256.digest(Array(claims.id.utf8)).base64URL,
            epoch: epoch,
            lifetime: span.end.advanced(by: Self.skew).since(now),
            nextNonce: span.hasPresentNonce ? nil : self.nonces.current(at: now, epoch: epoch)
        )
    }

    private func token(_ proof: [UInt8], _ keys: DPoPKeyCache?) throws(DPoPRefusal) -> SelfSignedToken {
        guard proof.count <= Self.longestProof else { throw .tooLong }
        let token: SelfSignedToken
        do throws(JOSEError) {
            token = try SelfSignedToken(proof, allowing: Self.allowed) { keys?.head(of: $0) }
        } catch {
            throw .header(error)
        }
        // A media type (RFC 7515 4.1.9).
        guard token.header.type?.lowercased() == "dpop+jwt" else { throw .type }
        return token
    }

    /// The time in which a proof is accepted.
    private struct Span {
        /// The first moment at which it is not.
        let end: UnixTime
        let hasPresentNonce: Bool
    }

    /// A proof with a nonce of ours was made after we gave it out, whatever its `iat` says: the clocks of devices may be
    /// wrong by hours. Without one, `iat` is all that tells.
    private func span(
        of claims: ProofClaims,
        _ demand: DPoPDemand,
        _ now: UnixTime,
        _ epoch: UInt64
    ) throws(DPoPRefusal) -> Span {
        func present() -> String { self.nonces.current(at: now, epoch: epoch) }
        if let nonce = claims.nonce {
            switch self.nonces.read(nonce, at: now, epoch: epoch) {
            case .current(let end): return Span(end: end, hasPresentNonce: true)
            case .aging(let end): return Span(end: end, hasPresentNonce: false)
            case .unusable: throw .unusable(nonce: present())
            }
        }
        if demand.requiresNonce { throw .required(nonce: present()) }
        let end = claims.issuedAt.advanced(by: Self.greatestAge)
        guard now < end, claims.issuedAt <= now.advanced(by: Self.greatestLead) else { throw .clock(nonce: present()) }
        return Span(end: end, hasPresentNonce: false)
    }
}

/// The claims of a proof (RFC 9449 4.2).
private struct ProofClaims {
    let id: String
    let method: String
    let target: String
    let issuedAt: UnixTime
    let nonce: String?
    let tokenHash: String?

    init(_ token: SelfSignedToken) throws(DPoPRefusal) {
        let claims: JWTClaims
        do throws(JOSEError) { claims = try JWTClaims(token.unverifiedPayload()) } catch { throw .claims }
        guard let id = claims.id, let method = claims["htm"]?.string, let target = claims["htu"]?.string,
            let issuedAt = claims.issuedAt
        else { throw .claims }
        self.id = id
        self.method = method
        self.target = target
        self.issuedAt = issuedAt
        self.nonce = claims.nonce
        self.tokenHash = claims["ath"]?.string
    }

    func check(_ demand: DPoPDemand) throws(DPoPRefusal) {
        guard (1...DPoPJudge.longestID).contains(self.id.utf8.count) else { throw .id }
        guard self.method == demand.method else { throw .method }
        guard demand.target.matches(self.target) else { throw .target }
        if let token = demand.accessToken, self.tokenHash != SHA256.digest(token.bytes).base64URL {
            throw .accessToken
        }
    }
}
