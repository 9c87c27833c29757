package import NIOCore
package import Sessions
package import Vocabulary

/// Judges DPoP proofs. The store remembers the id of each redeemed proof, so that no gateway of the deployment accepts
/// it again. `now` is the time by the store's clock, which all gateways share.
package final class DPoPGate: Sendable {
    private let judge: DPoPJudge
    private let nonces: DPoPNonces
    private let onces: any OnceStore

    package init(_ secrets: SecretRing, onces: any OnceStore) {
        self.nonces = DPoPNonces(secrets)
        self.judge = DPoPJudge(nonces: self.nonces)
        self.onces = onces
    }

    /// The parts of a request to a resource that show whether the sender may use its access token.
    package struct Presentation: Sendable {
        /// The key that the token is bound to (`cnf.jkt`); `nil` for an unbound token.
        package var thumbprint: String?
        /// True if the token came as `Authorization: DPoP`.
        package var isProofScheme: Bool
        /// The value of the field `DPoP`; `nil` if it is missing.
        package var proof: [UInt8]?

        package init(thumbprint: String?, isProofScheme: Bool, proof: [UInt8]?) {
            self.thumbprint = thumbprint
            self.isProofScheme = isProofScheme
            self.proof = proof
        }
    }

    /// Judges the token and proof of a request to a resource, without the store.
    ///
    /// - Returns: The proof, which must be redeemed before the request is authenticated; `nil` if no proof is needed.
    package func judge(
        _ presentation: Presentation,
        for demand: @autoclosure () -> DPoPDemand,
        keys: DPoPKeyCache?,
        now: UnixTime
    ) throws(DPoPRefusal) -> DPoPProof? {
        guard let thumbprint = presentation.thumbprint else {
            // A proof with an unbound token is ignored, because some clients send a proof with every request.
            if presentation.isProofScheme { throw .notBound }
            return nil
        }
        guard presentation.isProofScheme else { throw .bound }
        guard let proof = presentation.proof else { throw .missing }
        var demand = demand()
        demand.thumbprint = thumbprint
        return try self.judge(proof, for: demand, keys: keys, now: now)
    }

    /// Judges a proof, without the store. An accepted proof must be redeemed.
    package func judge(
        _ proof: [UInt8],
        for demand: DPoPDemand,
        keys: DPoPKeyCache?,
        now: UnixTime
    ) throws(DPoPRefusal) -> DPoPProof {
        // A comma shows that a proxy joined two fields (RFC 9110 5.3). The gateway does not guess which proof is valid.
        guard proof.withUnsafeBytes({ $0.place(of: UInt8(ascii: ",")) }) == nil else { throw .several }
        let memory = self.onces.onceMemory
        var demand = demand
        // For this long after the store lost its memory, a proof without a nonce may be a replay of an earlier proof.
        demand.requiresNonce = now.since(memory.since) <= DPoPJudge.greatestAge + DPoPJudge.greatestLead
        return try self.judge.judge(proof, for: demand, keys: keys, now: now, epoch: memory.epoch)
    }

    /// Makes the store remember an accepted proof.
    ///
    /// - Returns: `nil` if the proof is accepted; otherwise the reason to reject it. Fails with a `StoreError` if the
    ///   store cannot tell whether the proof was presented before.
    package func redeem(_ proof: DPoPProof, now: UnixTime, on loop: any EventLoop) -> Eventual<DPoPRefusal?> {
        let id = OnceID(scope: proof.onceScope, id: proof.onceID)
        return self.onces.eventualOnce(id, for: proof.lifetime, on: loop).map { isFirst in
            guard isFirst else { return .replayed }
            // If the epoch has changed, the store may have lost the id of an earlier use.
            let epoch = self.onces.onceMemory.epoch
            guard epoch != proof.epoch else { return nil }
            return .unusable(nonce: self.nonces.current(at: now, epoch: epoch))
        }
    }
}
