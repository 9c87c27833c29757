package import GatewayBench
package import JOSE
import Vocabulary

/// The key of a client that proves it with each request (RFC 9449), and the last nonce that it was given.
package final class ProofKey {
    package let maker = DPoPProofMaker(.generated(.es256))
    package var nonce: String?

    package init() {}

    /// A field with a new proof.
    ///
    /// - Parameter lead: By how much the client's clock is ahead.
    package func field(
        _ method: String,
        _ url: String,
        token: String? = nil,
        withNonce: Bool = true,
        ahead lead: Duration = .zero
    ) -> String {
        let proof = self.maker.proof(
            method: method,
            url: url,
            accessToken: token.map { Secret($0) },
            nonce: withNonce ? self.nonce : nil,
            at: Clock.system.now().advanced(by: lead)
        )
        return "DPoP: \(proof)"
    }

    /// Sends a request, and once more if the answer asks for a nonce, as clients do.
    package func send(_ request: () throws -> Answer) rethrows -> Answer {
        let answer = try request()
        if let nonce = answer.value("dpop-nonce") { self.nonce = nonce }
        let isAsked = answer.text.contains("use_dpop_nonce") || answer.text.contains("proof.nonce_needed")
        return isAsked ? try request() : answer
    }
}
