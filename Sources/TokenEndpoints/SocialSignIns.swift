package import NIOCore
package import OAuth
package import Providers
package import Sessions
internal import Settings
internal import Vocabulary

/// Signs users in with what the kit of a social provider gave to a native app. Each artefact is accepted once.
package struct SocialSignIns: Sendable {
    private let verifiers: SocialVerifiers
    private let onces: any OnceStore
    private let tokens: TokenService
    private let loops: any EventLoopGroup

    /// - Parameter loops: The loops on which the store is called.
    package init(
        verifiers: SocialVerifiers,
        onces: any OnceStore,
        tokens: TokenService,
        loops: any EventLoopGroup
    ) {
        self.verifiers = verifiers
        self.onces = onces
        self.tokens = tokens
        self.loops = loops
    }

    /// The user of the artefact.
    func user(
        _ kind: SocialSubjectToken,
        _ artefact: Secret,
        _ profile: SocialProfile?,
        _ requester: TokenRequester
    ) async throws(OAuthError) -> AuthenticatedUser {
        guard requester.client.socialLogins.contains(kind.login), let verifier = self.verifiers[kind] else {
            throw OAuthError(.oauthUnauthorizedClient)
        }
        let signIn = SocialSignIn(artefact: artefact, profile: profile, bundleID: requester.client.bundleID)
        switch await verifier.verify(signIn) {
        case .unavailable: throw OAuthError(.providerUnavailable)
        case .refused(let detail):
            self.tokens.refuseSocial(.socialRefused, detail: detail, by: requester)
            throw OAuthError(.socialRefused)
        case .authenticated(let user, _, let artefact):
            let isFirst: Bool
            do {
                isFirst = try await self.loops.ask(self.onces) { onces, loop in
                    onces.once(artefact.id, for: artefact.lifetime, on: loop)
                }
            } catch {
                throw OAuthError(error == .full ? .storeFull : .storeUnavailable)
            }
            guard isFirst else {
                self.tokens.refuseSocial(.socialReplayed, detail: "replayed", by: requester)
                throw OAuthError(.socialReplayed)
            }
            return AuthenticatedUser(
                identity: user.identity,
                aal: user.aal,
                methods: user.methods,
                authenticatedAt: user.authenticatedAt ?? self.tokens.clock.now()
            )
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
