package import Vocabulary

/// A provider whose sign-ins that end with `provider.unavailable` are told: nobody was refused, so nothing else says why.
package struct ToldBrowserProvider: BrowserProvider {
    private let provider: any BrowserProvider
    private let tell: @Sendable (String) -> Void

    /// - Parameter tell: Told why, without a token or a claim's value.
    package init(_ provider: any BrowserProvider, tell: @escaping @Sendable (String) -> Void) {
        self.provider = provider
        self.tell = tell
    }

    package var name: String { self.provider.name }

    package func demand(of wish: BrowserSignIn) -> SignInDemand { self.provider.demand(of: wish) }

    /// Fails only while the issuer's metadata are not known, which is told where they are read.
    package func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning {
        try await self.provider.begin(wish)
    }

    package func complete(
        _ parameters: [(name: String, value: String)],
        state: Secret
    ) async throws(NotDone) -> ProvenUser {
        do throws(NotDone) {
            return try await self.provider.complete(parameters, state: state)
        } catch {
            error.tellOutage(self.tell)
            throw error
        }
    }

    package func began(_ state: Secret) -> Bool { self.provider.began(state) }

    package func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String? {
        await self.provider.signOutURL(idToken: idToken, returnTo: returnTo, state: state)
    }
}

/// The same of what the kits of social providers give to apps.
struct ToldSocialVerifier: SocialVerifier {
    let verifier: any SocialVerifier
    let tell: @Sendable (String) -> Void

    func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        do throws(NotDone) {
            return try await self.verifier.verify(signIn)
        } catch {
            error.tellOutage(self.tell)
            throw error
        }
    }
}

extension NotDone {
    fileprivate func tellOutage(_ tell: (String) -> Void) {
        if self.reason == .providerUnavailable, let detail = self.detail { tell(detail) }
    }
}
