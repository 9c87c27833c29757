package import JOSE
import Sessions
import Settings
import Vocabulary

/// Proofs that the sender of a token has the key to which it is bound (RFC 9449 7).
extension RequestJudge {
    /// Judges how the token of a session is presented.
    ///
    /// - Returns: The next action; nil if no proof is needed.
    mutating func judgeProof(
        for session: CachedSession,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry,
        _ host: HostEntry
    ) -> JudgeAction? {
        guard let gate = given.configuration.proofs, case .explicit(let token) = self.credentials.presented else {
            return .answer(self.refusal(.storeUnavailable, head, base, route))
        }
        let presentation = DPoPGate.Presentation(
            thumbprint: session.session.keyThumbprint,
            isProofScheme: self.credentials.isProofScheme,
            proof: head.value(.dpop, in: base).map { Array($0) }
        )
        let judged = gate.judge(
            presentation,
            for: DPoPDemand(
                method: String(decoding: head.method.bytes(in: base), as: UTF8.self),
                target: DPoPTarget(origin: host.origin, path: Array(head.path.bytes(in: base))),
                accessToken: Secret(Array(token.bytes(in: base)))
            ),
            keys: given.proofKeys,
            now: given.now
        )
        switch judged {
        case .success(nil): return nil
        case .success(let proof?):
            if let nonce = proof.nextNonce { self.bring(nonce, route) }
            self.state = .redeeming(session)
            return .redeem(OutOfLine(proof))
        case .failure(let refusal):
            return .answer(self.refuse(refusal, session, gate, head, base, given, route))
        }
    }

    /// Continues with the result of a redemption: nil for a proof that was not presented before.
    package mutating func proofRedeemed(
        _ refusal: DPoPRefusal?,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext
    ) -> JudgeAction {
        guard case .redeeming(let session) = self.state, let gate = given.configuration.proofs,
            let route = self.findings.route, case .explicit(let token) = self.credentials.presented
        else {
            preconditionFailure("a proof was redeemed that was not presented")
        }
        self.state = .ended
        if let refusal { return .answer(self.refuse(refusal, session, gate, head, base, given, route)) }
        self.state = .proven
        return .ask(SessionQuestion(kind: .native, token: token, purpose: .proof))
    }

    private mutating func refuse(
        _ refusal: DPoPRefusal,
        _ session: CachedSession,
        _ gate: DPoPGate,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry
    ) -> LocalAnswer {
        self.findings.stage = .decision
        self.audit(.unauthenticated(refusal.reason), of: session, head, base, given)
        if let nonce = refusal.nonce { self.bring(nonce, route) }
        return self.refusal(
            refusal.reason,
            head,
            base,
            route,
            fields: [("WWW-Authenticate", gate.challenge.text(refusal))]
        )
    }

    /// Sends a nonce with the answer, whichever it is.
    private mutating func bring(_ nonce: String, _ route: RouteEntry) {
        self.findings.addLine("DPoP-Nonce", nonce)
        if route.settings.cors != nil { self.findings.addLine("Access-Control-Expose-Headers", "DPoP-Nonce") }
    }
}
