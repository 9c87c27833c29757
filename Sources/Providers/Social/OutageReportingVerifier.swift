package import Vocabulary

/// A verifier that also reports why a provider gave no answer.
struct OutageReportingVerifier: SocialVerifier {
    let verifier: any SocialVerifier
    let notify: @Sendable (String) -> Void

    func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        do throws(NotDone) {
            return try await self.verifier.verify(signIn)
        } catch {
            if let outage = error.providerOutage { self.notify(outage) }
            throw error
        }
    }
}

extension NotDone {
    /// Why the provider gave no answer, without tokens or claims; `nil` for other errors or if the cause is unknown.
    package var providerOutage: String? { self.reason == .providerUnavailable ? self.detail : nil }
}
