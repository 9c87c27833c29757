import Calls
package import Sessions
package import Vocabulary

/// Asks Kratos whether users still have access, while clients use what the gateway issued for a session token or cookie
/// of Kratos.
extension KratosProvider: RefreshingProvider {
    /// The shortest interval between two questions about a session, however short `provider.kratos.cache` is.
    private static let shortestInterval = Duration.seconds(1)
    /// The `tokenType` of a kept session token. A kept cookie has the cookie's name, which contains no space.
    private static let tokenType = "session token"

    package func kept(_ credential: PresentedToken, until expiresAt: UnixTime) -> KeptCredential? {
        let isToken = credential.kind == .native
        return KeptCredential(
            tokens: ProviderTokenSet(
                accessToken: credential.token,
                tokenType: isToken ? Self.tokenType : self.cookieName,
                expiresAt: expiresAt
            ),
            // What an app hands off must end with the app's token, so Kratos is asked as often as about the token.
            interval: isToken ? max(Self.shortestInterval, self.answers.cacheLifetime) : nil
        )
    }

    /// A cookie is not presented under another name than its own. Otherwise, a wrong `provider.kratos.cookie_name`
    /// would end everything.
    package func canAsk(with tokens: ProviderTokenSet) -> Bool {
        tokens.tokenType == Self.tokenType || tokens.tokenType == self.cookieName
    }

    /// With the admin API, Kratos can also be asked about the user of a session that has expired.
    package func isTimely(_ tokens: ProviderTokenSet, at time: UnixTime) -> Bool {
        self.canAsk(with: tokens) && (self.adminURL != nil || tokens.outliveAnswer(at: time))
    }

    package func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh {
        let kind: Session.Kind = tokens.tokenType == Self.tokenType ? .native : .web
        var presented = PresentedToken(tokens.accessToken, as: kind)
        presented.wasGood = true
        switch await self.introspect(presented) {
        case .known(let known):
            var kept = tokens
            kept.expiresAt = known.expiresAt
            let authentication = Authentication(identity: known.identity, aal: known.aal, methods: known.methods)
            return .refreshed(kept, authentication: authentication)
        case .ended where tokens.outliveAnswer(at: self.clock.now()):
            return .ended(detail: "Kratos refuses a session that has not expired")
        case .ended:
            return await self.refreshExpired(tokens, of: user)
        case .insufficient:
            return .later(after: nil, detail: "Kratos requires another factor before it names the user")
        case .unknown, .unavailable:
            return .later(after: nil, detail: "Kratos does not say whose session it is")
        }
    }

    /// Asks the admin API about the user of a session that has expired.
    private func refreshExpired(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh {
        let id = user.idAtProvider
        guard let adminURL = self.adminURL, Self.isPathSegment(id) else {
            return .later(after: nil, detail: "the session has expired, so Kratos says nothing about its user")
        }
        let call = OutgoingCall(
            "GET",
            "\(adminURL)/admin/identities/\(id)",
            for: .session,
            fields: [("accept", "application/json")],
            bodyLimit: Self.bodyLimit,
            timeLimit: Self.timeLimit
        )
        let answer: CallAnswer
        do throws(CallError) {
            answer = try await self.transport.send(call)
        } catch {
            return .later(after: nil, detail: "the admin API: \(error.detail)")
        }
        switch self.answers.user(answer) {
        case .active(let identity):
            return .refreshed(tokens, authentication: Authentication(identity: identity, aal: .aal0, methods: []))
        case .gone:
            return .ended(detail: "the user is inactive or no longer exists")
        case .unknown:
            return .later(after: nil, detail: "the admin API answers with status \(answer.status) and names no user")
        }
    }

    /// Does nothing, because the session is the app's or the browser's, and continues without the clients.
    package func revoke(_ tokens: ProviderTokenSet) async {}
}
