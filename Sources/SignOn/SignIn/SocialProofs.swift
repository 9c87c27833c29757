package import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Verifies artefacts (id_tokens, codes and tokens of social providers' native SDKs), and accepts each once.
package struct SocialProofs: StoreCaller {
    let store: any OnceStore
    let loops: any EventLoopGroup

    /// - Parameter loops: The loops on which the store is called.
    package init(onces: any OnceStore, loops: any EventLoopGroup) {
        self.store = onces
        self.loops = loops
    }

    /// Verifies the artefact of a sign-in and returns its user.
    ///
    /// - Parameter owners: The configured providers whose users also sign in with native SDKs.
    /// - Throws: The errors of `SocialVerifier.verify` and `SocialOwner.user`; `social.replayed` for a repeated
    ///   artefact.
    package func prove(
        _ signIn: SocialSignIn,
        by verifier: any SocialVerifier,
        among owners: SocialOwners
    ) async throws(NotDone) -> SocialUser {
        let proof = try await verifier.verify(signIn)
        let user = try owners.user(of: proof)
        let memory = self.store.onceMemory
        guard !proof.artefact.mayPredate(memory) else { throw Self.forgotten }
        let isFirst = try await self.ask { onces, loop in
            onces.once(proof.artefact.id, for: proof.artefact.lifetime, on: loop)
        }
        guard isFirst else { throw NotDone(.socialReplayed, detail: "replayed") }
        // The store may have forgotten presented artefacts since the check above.
        guard self.store.onceMemory.epoch == memory.epoch else { throw Self.forgotten }
        return user
    }

    /// The refusal of an artefact that the store may have forgotten. The user can sign in at the provider again.
    private static let forgotten = NotDone(.socialReplayed, detail: "older than what the store remembers")
}
