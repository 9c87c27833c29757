import Vocabulary

/// Decides on a sign-in for which all claims are there: who may sign in. Whether the user authenticated as required is
/// judged with what the browser kept of the sign-in (`SignInDemand`).
struct SignInJudge: Sendable {
    let mapping: ClaimsMapping
    let admission: Admission
    /// The method, if the provider states none.
    let method: String

    func judge(_ subject: String, _ claims: UserClaims, now: UnixTime) throws(NotDone) -> Authentication {
        if let refusal = self.admission.refusal(claims) { throw NotDone(.signInNotAllowed, detail: refusal) }
        do throws(ClaimsError) {
            return try self.mapping.authentication(subject, claims, fallback: self.method, now: now)
        } catch {
            throw NotDone(.signInProviderError, detail: error.detail)
        }
    }
}
