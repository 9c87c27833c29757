package import JOSE
import Sessions
import Settings
import Vocabulary

/// Verifies DPoP proofs: the sender of a token must have the key to which the token is bound (RFC 9449 7).
extension RequestJudge {
    /// Judges the proof that came with a session's token.
    ///
    /// - Returns: The next action. `nil` if no proof is needed.
    mutating func judgeProof(for session: CachedSession, _ given: borrowing RoutedRequest) -> JudgeAction? {
        // Only an explicit token can be bound to a key.
        guard case .explicit(let token) = self.credentials.presented else {
            return .answer(self.refusal(.storeUnavailable, given))
        }
        let gate = given.judging.proofs
        let presentation = DPoPGate.Presentation(
            thumbprint: session.session.keyThumbprint,
            isProofScheme: self.credentials.isProofScheme,
            proof: given.value(.dpop).map { Array($0) }
        )
        do throws(DPoPRefusal) {
            let proof = try gate.judge(
                presentation,
                for: DPoPDemand(
                    method: String(decoding: given.head.method.bytes(in: given.base), as: UTF8.self),
                    target: DPoPTarget(origin: given.host.origin, path: Array(given.head.path.bytes(in: given.base))),
                    accessToken: Secret(Array(token.bytes(in: given.base)))
                ),
                keys: given.proofKeys?.counted,
                now: given.now
            )
            guard let proof else { return nil }
            if let nonce = proof.nextNonce { self.bring(nonce, given) }
            self.state = .redeeming(session)
            return .redeem(OutOfLine(proof))
        } catch {
            return .answer(self.refuse(error, session, given))
        }
    }

    /// Continues after the redemption of a proof. `refusal` is `nil` if the proof was not used before.
    package mutating func proofRedeemed(_ refusal: DPoPRefusal?, _ given: JudgingContext) -> JudgeAction {
        guard case .redeeming(let session) = self.state,
            case .explicit(let token) = self.credentials.presented
        else {
            preconditionFailure("a proof was redeemed that was not presented")
        }
        self.state = .ended
        if let refusal {
            return self.onRoute(given) { .answer($0.refuse(refusal, session, $1)) }
        }
        self.state = .proven
        return .ask(SessionQuestion(kind: .native, token: token, purpose: .proof))
    }

    private mutating func refuse(
        _ refusal: DPoPRefusal,
        _ session: CachedSession,
        _ given: borrowing RoutedRequest
    ) -> LocalAnswer {
        self.findings.stage = .decision
        self.audit(.unauthenticated(refusal.reason), of: session, given)
        if let nonce = refusal.nonce { self.bring(nonce, given) }
        return self.refusal(refusal.reason, given, fields: [("WWW-Authenticate", DPoPChallenge.text(refusal))])
    }

    /// Adds a nonce to the answer, whether the request is permitted or refused.
    private mutating func bring(_ nonce: String, _ given: borrowing RoutedRequest) {
        self.findings.addLine("DPoP-Nonce", nonce)
        if given.route.settings.cors != nil { self.findings.addLine("Access-Control-Expose-Headers", "DPoP-Nonce") }
    }
}
