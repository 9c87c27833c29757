package import JOSE
package import NIOCore
import Sessions
package import Vocabulary

/// Checks the DPoP proofs of requests to the gateway's own endpoints (RFC 9449).
package struct ProofCheck: Sendable {
    private let gate: DPoPGate
    private let loops: any EventLoopGroup
    private let clock: Clock

    /// - Parameters:
    ///   - loops: The loops that call the store.
    ///   - clock: The store's clock.
    package init(gate: DPoPGate, loops: any EventLoopGroup, clock: Clock) {
        self.gate = gate
        self.loops = loops
        self.clock = clock
    }

    /// Verifies and redeems the proof of a token request (RFC 9449 5). `nil` if the request has no proof.
    func proof(of request: EndpointRequest) async throws(OAuthError) -> DPoPProof? {
        guard let proof = request.credentials.proof else { return nil }
        let now = self.clock.now()
        do {
            let accepted = try self.gate.judge(proof.bytes, for: DPoPDemand(of: request), keys: nil, now: now)
            try await self.redeem(accepted, now)
            return accepted
        } catch let refusal as DPoPRefusal {
            throw OAuthError(refusal)
        } catch {
            throw OAuthError(NotDone(asking: error))
        }
    }

    /// Checks how a resource request presents its token, and redeems its proof. Throws `DPoPRefusal` or `StoreError`.
    ///
    /// - Parameters:
    ///   - token: The access token of a live session.
    ///   - thumbprint: The thumbprint of the key that the token is bound to. `nil` for an unbound token.
    /// - Returns: The proof. `nil` if the token needs no proof.
    func proof(
        of request: EndpointRequest,
        for token: Secret,
        boundTo thumbprint: String?
    ) async throws -> DPoPProof? {
        let now = self.clock.now()
        var presentation = DPoPGate.Presentation(thumbprint: thumbprint, isProofScheme: false, proof: nil)
        if case .dpop = request.credentials.authorization { presentation.isProofScheme = true }
        presentation.proof = request.credentials.proof?.bytes
        let accepted = try self.gate.judge(
            presentation,
            for: DPoPDemand(of: request, accessToken: token),
            keys: nil,
            now: now
        )
        guard let accepted else { return nil }
        try await self.redeem(accepted, now)
        return accepted
    }

    private func redeem(_ proof: DPoPProof, _ now: UnixTime) async throws {
        let loop = self.loops.any()
        if let refusal = try await self.gate.redeem(proof, now: now, on: loop).get() { throw refusal }
    }
}

extension DPoPDemand {
    fileprivate init(of request: EndpointRequest, accessToken: Secret? = nil) {
        self.init(
            method: request.method,
            target: DPoPTarget(origin: Array(request.origin.utf8), path: Array(request.path.utf8)),
            accessToken: accessToken
        )
    }
}

extension DPoPProof {
    /// The fields that the proof adds to the answer: a nonce for the client's next proof, if it needs one.
    var answerFields: [(name: String, value: String)] { self.nextNonce.map { [("dpop-nonce", $0)] } ?? [] }
}
