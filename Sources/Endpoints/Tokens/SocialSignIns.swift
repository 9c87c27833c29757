package import Providers
import Settings
package import SignOn
import Vocabulary

/// Signs users of native apps in with an artefact: a token or code from a social provider's SDK, accepted once.
package struct SocialSignIns: Sendable {
    private let verifiers: SocialVerifiers
    private let proofs: SocialProofs
    private let tokens: TokenService
    private let owners: SocialOwners

    /// - Parameter owners: Decides to which realm a user belongs. `nil` for the first realm of `tokens`.
    package init(
        verifiers: SocialVerifiers,
        proofs: SocialProofs,
        owners: SocialOwners? = nil,
        tokens: TokenService
    ) {
        self.verifiers = verifiers
        self.proofs = proofs
        self.owners = owners ?? SocialOwners(others: tokens.realms.first)
        self.tokens = tokens
    }

    /// Verifies an artefact and returns its user.
    func user(
        _ kind: SocialSubjectToken,
        _ artefact: Secret,
        _ profile: SocialProfile?,
        _ requester: TokenRequester
    ) async throws(OAuthError) -> SocialUser {
        guard requester.client.socialLogins.contains(kind.login), let verifier = self.verifiers[kind] else {
            self.tokens.refuse(.socialExchanged, .oauthUnauthorizedClient, by: requester)
            throw OAuthError(.oauthUnauthorizedClient)
        }
        let signIn = SocialSignIn(artefact: artefact, profile: profile, bundleID: requester.client.bundleID)
        do throws(NotDone) {
            return try await self.proofs.prove(signIn, by: verifier, among: self.owners)
        } catch {
            if !error.isUnavailable {
                self.tokens.refuse(.socialExchanged, error.reason, detail: error.detail, by: requester)
            }
            throw OAuthError(error, of: .socialToken)
        }
    }
}
