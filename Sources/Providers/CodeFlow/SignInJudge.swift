import Vocabulary

/// Decides on a sign-in for which all claims are there: who may sign in, and whether the user authenticated as required.
struct SignInJudge: Sendable {
    let mapping: ClaimsMapping
    let admission: Admission
    /// The method, if the provider states none.
    let method: String

    func judge(
        _ subject: String,
        _ claims: UserClaims,
        _ pending: PendingSignIn,
        evidence: ProviderEvidence,
        now: UnixTime
    ) -> BrowserCompletion {
        if let refusal = self.admission.refusal(claims) {
            return .refused(BrowserRefusal(.notAllowed, detail: refusal))
        }
        let unmet = pending.demands.unmet(
            level: self.mapping.level(claims),
            authenticatedAt: claims.time(at: "auth_time"),
            begunAt: pending.begunAt,
            now: now
        )
        if let unmet { return .refused(BrowserRefusal(.insufficient, detail: unmet)) }
        do throws(ClaimsError) {
            return .authenticated(
                try self.mapping.authentication(subject, claims, fallback: self.method, now: now),
                evidence
            )
        } catch {
            return .refused(BrowserRefusal(.providerError, detail: error.detail))
        }
    }
}
