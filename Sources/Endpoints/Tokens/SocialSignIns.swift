package import Providers
internal import Settings
package import SignOn
internal import Vocabulary

/// Signs users in with what the kit of a social provider gave to a native app. Each artefact is accepted once.
package struct SocialSignIns: Sendable {
    private let verifiers: SocialVerifiers
    private let proofs: SocialProofs
    private let tokens: TokenService

    package init(verifiers: SocialVerifiers, proofs: SocialProofs, tokens: TokenService) {
        self.verifiers = verifiers
        self.proofs = proofs
        self.tokens = tokens
    }

    func user(
        _ kind: SocialSubjectToken,
        _ artefact: Secret,
        _ profile: SocialProfile?,
        _ requester: TokenRequester
    ) async throws(OAuthError) -> Authentication {
        guard requester.client.socialLogins.contains(kind.login), let verifier = self.verifiers[kind] else {
            self.tokens.refuse(.socialExchanged, .oauthUnauthorizedClient, by: requester)
            throw OAuthError(.oauthUnauthorizedClient)
        }
        let signIn = SocialSignIn(artefact: artefact, profile: profile, bundleID: requester.client.bundleID)
        do throws(NotDone) {
            return try await self.proofs.prove(signIn, by: verifier).authentication
        } catch {
            if !error.isUnavailable {
                self.tokens.refuse(.socialExchanged, error.reason, detail: error.detail, by: requester)
            }
            throw OAuthError(error, of: .socialToken)
        }
    }
}

extension SocialSubjectToken {
    fileprivate var login: SocialLogin {
        switch self {
        case .google: .google
        case .apple: .apple
        case .facebook: .facebook
        }
    }
}
