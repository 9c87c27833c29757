import Cryptography
package import Vocabulary

/// The request that a proof must match.
package struct DPoPDemand: Sendable {
    /// The method of the request as it was sent (`htm`).
    package var method: String
    /// The URL of the request (`htu`).
    package var target: DPoPTarget
    /// The access token that comes with the proof (`ath`); `nil` at the token endpoint.
    package var accessToken: Secret?
    /// The thumbprint of the key that the presented token or code is bound to (`cnf.jkt`); `nil` accepts any key.
    package var thumbprint: String?
    /// True if a proof must have a nonce even if its `iat` is valid.
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

/// Judges proofs (RFC 9449 4.3), without a store. The caller must ensure that a proof is used only once.
package struct DPoPJudge: Sendable {
    /// The maximum length in bytes. Most proofs have about 600, but `htu` may be long.
    package static let longestProof = 8192
    /// The maximum length of a `jti` in bytes. Most clients send 16 to 36 characters.
    package static let longestID = 256
    /// The maximum age of a proof by its `iat`, equal to the maximum age of a nonce.
    package static let greatestAge = Duration.seconds(300)
    /// The maximum time by which `iat` may be ahead, because clocks differ. A longer time would let proofs be made in
    /// advance (RFC 9449 11.2).
    package static let greatestLead = Duration.seconds(60)
    /// The maximum clock difference between gateways. Ids are remembered this much longer than proofs are accepted.
    package static let skew = Duration.seconds(60)

    /// The algorithms that a proof may have.
    package static let algorithms: [JWSAlgorithm] = [.es256, .edDSA]
    private static let allowed = Set(algorithms)

    private let nonces: DPoPNonces

    package init(nonces: DPoPNonces) {
        self.nonces = nonces
    }

    /// Judges one proof. The signature is verified last, because it costs the most.
    ///
    /// - Parameters:
    ///   - keys: The cache of the caller's event loop; `nil` if there is no loop.
    ///   - epoch: The epoch of the nonces (`DPoPNonces.current`).
    /// - Returns: The proof. It is valid only if its id is new (`DPoPProof.onceID`).
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
        // Media types ignore case (RFC 7515 4.1.9).
        guard token.header.type?.lowercased() == "dpop+jwt" else { throw .type }
        return token
    }

    /// The time in which a proof is accepted.
    private struct Span {
        /// The first moment at which the proof is no longer accepted.
        let end: UnixTime
        let hasPresentNonce: Bool
    }

    /// Returns the time in which a proof is accepted. A nonce shows that a proof is recent, even if the device's clock
    /// is wrong. `iat` is checked only if there is no nonce.
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
