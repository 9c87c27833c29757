package import NIOCore
package import Sessions
package import Vocabulary

/// Takes the proofs of a deployment: judges each, and has the store remember its id, so that no gateway accepts it again.
///
/// All times are of the store's clock, which is the same for all gateways.
package final class DPoPGate: Sendable {
    private let judge: DPoPJudge
    private let nonces: DPoPNonces
    private let onces: any OnceStore

    package init(_ secrets: SecretRing, onces: any OnceStore) {
        self.nonces = DPoPNonces(secrets)
        self.judge = DPoPJudge(nonces: self.nonces)
        self.onces = onces
    }

    /// A request to a resource, as far as it shows that the sender may use its access token.
    package struct Presentation: Sendable {
        /// The key that the token is bound to (`cnf.jkt`); nil: none.
        package var thumbprint: String?
        /// Whether the token came as `Authorization: DPoP`.
        package var isProofScheme: Bool
        /// The value of the field `DPoP`; nil: there is none.
        package var proof: [UInt8]?

        package init(thumbprint: String?, isProofScheme: Bool, proof: [UInt8]?) {
            self.thumbprint = thumbprint
            self.isProofScheme = isProofScheme
            self.proof = proof
        }
    }

    /// Judges what a request to a resource presents, without the store.
    ///
    /// - Returns: The proof, which must be redeemed before the request counts as authenticated; nil if the token needs
    ///   none.
    package func judge(
        _ presentation: Presentation,
        for demand: @autoclosure () -> DPoPDemand,
        keys: DPoPKeyCache?,
        now: UnixTime
    ) throws(DPoPRefusal) -> DPoPProof? {
        guard let thumbprint = presentation.thumbprint else {
            // A client that has a key may send a proof with every request.
            if presentation.isProofScheme { throw .notBound }
            return nil
        }
        guard presentation.isProofScheme else { throw .bound }
        guard let proof = presentation.proof else { throw .missing }
        var demand = demand()
        demand.thumbprint = thumbprint
        return try self.judge(proof, for: demand, keys: keys, now: now)
    }

    /// Judges a proof, without the store. An accepted one must be redeemed.
    package func judge(
        _ proof: [UInt8],
        for demand: DPoPDemand,
        keys: DPoPKeyCache?,
        now: UnixTime
    ) throws(DPoPRefusal) -> DPoPProof {
        // Two fields may have been joined on their way (RFC 9110 5.3): which one counts would be a guess.
        guard proof.withUnsafeBytes({ $0.place(of: UInt8(ascii: ",")) }) == nil else { throw .several }
        let memory = self.onces.onceMemory
        var demand = demand
        // A proof without a nonce that was presented before the store forgot may have been made that much later.
        demand.requiresNonce = now.since(memory.since) <= DPoPJudge.greatestAge + DPoPJudge.greatestLead
        return try self.judge.judge(proof, for: demand, keys: keys, now: now, epoch: memory.epoch)
    }

    /// Has the store remember an accepted proof.
    ///
    /// - Returns: nil the first time; else why it is refused. Fails with a `StoreError` when it is unknown whether the
    ///   proof was presented before.
    package func redeem(_ proof: DPoPProof, now: UnixTime, on loop: any EventLoop) -> Eventual<DPoPRefusal?> {
        let id = OnceID(scope: proof.onceScope, id: proof.onceID)
        return self.onces.eventualOnce(id, for: proof.lifetime, on: loop).map { isFirst in
            guard isFirst else { return .replayed }
            // The store may have forgotten the proof since it was judged.
            let epoch = self.onces.onceMemory.epoch
            guard epoch != proof.epoch else { return nil }
            return .unusable(nonce: self.nonces.current(at: now, epoch: epoch))
        }
    }
}
