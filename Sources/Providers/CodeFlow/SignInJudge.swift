import Vocabulary

/// Decides on a sign-in for which all claims are there: who may sign in. Whether the user authenticated as required is
/// judged with what the browser kept of the sign-in (`SignInDemand`).
struct SignInJudge: Sendable {
    let mapping: ClaimsMapping
    let admission: Admission
    /// The method, if the provider states none.
    let method: String

    func judge(
        _ subject: String,
        _ claims: UserClaims,
        evidence: ProviderEvidence,
        now: UnixTime
    ) -> BrowserCompletion {
        if let refusal = self.admission.refusal(claims) {
            return .refused(BrowserRefusal(.notAllowed, detail: refusal))
        }
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
