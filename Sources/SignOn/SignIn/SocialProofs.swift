package import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Verifies what the kits of social providers gave to native apps, and accepts each artefact once.
package struct SocialProofs: Sendable {
    /// What an artefact proves.
    package enum Proof: Sendable {
        case proven(Authentication, ProviderEvidence)
        /// - Parameter detail: For logs: which check failed, never a part of the artefact.
        case refused(Reason, detail: String)
        case unavailable(Reason)
    }

    private let onces: any OnceStore
    private let loops: any EventLoopGroup

    /// - Parameter loops: The loops on which the store is called.
    package init(onces: any OnceStore, loops: any EventLoopGroup) {
        self.onces = onces
        self.loops = loops
    }

    /// Verifies the artefact. One that was presented before is refused.
    package func prove(_ signIn: SocialSignIn, by verifier: any SocialVerifier) async -> Proof {
        switch await verifier.verify(signIn) {
        case .unavailable: return .unavailable(.providerUnavailable)
        case .refused(let detail): return .refused(.socialRefused, detail: detail)
        case .authenticated(let user, let evidence, let artefact):
            let memory = self.onces.onceMemory
            guard !artefact.mayPrecede(memory) else { return Self.forgotten }
            do throws(StoreError) {
                let isFirst = try await self.loops.ask(self.onces) { onces, loop in
                    onces.once(artefact.id, for: artefact.lifetime, on: loop)
                }
                guard isFirst else { return .refused(.socialReplayed, detail: "replayed") }
                // The store may have forgotten since what was presented.
                return self.onces.onceMemory.epoch == memory.epoch ? .proven(user, evidence) : Self.forgotten
            } catch {
                return .unavailable(SessionService.reason(error))
            }
        }
    }

    /// The refusal of an artefact that may have been presented before the store lost its memory. A sign-in at the provider
    /// gives the app a new one.
    private static let forgotten = Proof.refused(.socialReplayed, detail: "older than what the store remembers")
}
