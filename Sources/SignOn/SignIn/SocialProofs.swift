package import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Verifies what the native kits of social providers gave to apps, and accepts each artefact once.
package struct SocialProofs: StoreCaller {
    let store: any OnceStore
    let loops: any EventLoopGroup

    /// - Parameter loops: The loops on which the store is called.
    package init(onces: any OnceStore, loops: any EventLoopGroup) {
        self.store = onces
        self.loops = loops
    }

    /// Verifies the artefact.
    ///
    /// - Parameter owners: The owners of the users.
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
        guard !proof.artefact.mayPrecede(memory) else { throw Self.forgotten }
        let isFirst = try await self.ask { onces, loop in
            onces.once(proof.artefact.id, for: proof.artefact.lifetime, on: loop)
        }
        guard isFirst else { throw NotDone(.socialReplayed, detail: "replayed") }
        // The store may have forgotten presented artefacts in the meantime.
        guard self.store.onceMemory.epoch == memory.epoch else { throw Self.forgotten }
        return user
    }

    /// The refusal of an artefact that may have been presented before the store lost its memory. A new sign-in at the
    /// provider gives the app a new artefact.
    private static let forgotten = NotDone(.socialReplayed, detail: "older than what the store remembers")
}
