package import Vocabulary

/// A verifier of what the kits of social providers give to apps. Why it has no answer is told: nobody was refused, so nothing
/// else says so.
struct ToldSocialVerifier: SocialVerifier {
    let verifier: any SocialVerifier
    let tell: @Sendable (String) -> Void

    func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        do throws(NotDone) {
            return try await self.verifier.verify(signIn)
        } catch {
            if let outage = error.providerOutage { self.tell(outage) }
            throw error
        }
    }
}

extension NotDone {
    /// Why the provider gave no answer, without a token or a claim's value; nil: it gave one, or that is not known.
    package var providerOutage: String? { self.reason == .providerUnavailable ? self.detail : nil }
}
