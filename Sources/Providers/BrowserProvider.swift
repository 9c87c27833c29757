package import Vocabulary

/// A provider that redirects a browser: the user signs in at the provider's own pages and comes back (OpenID Connect Core
/// 3.1, or a login flow of Kratos).
package protocol BrowserProvider: Sendable {
    /// Names the provider in sessions and audit events: the issuer. No other provider has this name.
    var name: String { get }

    /// True if the provider has browsers post its answer (OAuth 2.0 Form Post Response Mode).
    var answersByForm: Bool { get }

    /// What a sign-in with this wish must reach. The provider's settings may demand more than the wish does. Whoever
    /// begins the sign-in keeps it, and judges by it what `complete` returns.
    func demand(of wish: BrowserSignIn) -> SignInDemand

    /// Begins a sign-in. It may ask the provider first, with its own time limit.
    ///
    /// - Throws: `provider.unavailable`.
    func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning

    /// Completes a sign-in with the parameters that the browser brought back. It exchanges a code at the provider, with
    /// its own time limit. Parameters that do not belong to it, and a sign-in at another provider, are refused.
    ///
    /// - Parameters:
    ///   - pending: That from `begin`, which the same browser has kept, so that no browser can complete a sign-in that
    ///     another one began (RFC 9700 4.7).
    ///   - parameters: Those of the callback's query or form, in order, percent-decoded.
    /// - Throws: A reason of `signin`: the user said no (`cancelled`), or the provider needs the user and was told not to
    ///   ask (`interaction_required`); what came back does not belong to the sign-in that the browser began
    ///   (`state_mismatch`); the tokens are not valid (`invalid_token`); the user may not sign in (`not_allowed`) or did
    ///   not authenticate as was required (`insufficient`); another error, for example because the gateway is registered
    ///   wrongly (`provider_error`). `provider.unavailable`: the provider cannot answer.
    func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser

    /// The URL at which the provider ends its own session of this user (OpenID Connect RP-Initiated Logout 1.0); nil if
    /// it has none.
    ///
    /// - Parameters:
    ///   - idToken: The last id_token of the session, as a hint.
    ///   - returnTo: The absolute URL to which the provider sends the browser back.
    ///   - state: Returned by the provider with the browser; nil: none.
    func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String?
}

extension BrowserProvider {
    package var answersByForm: Bool { false }

    package func demand(of wish: BrowserSignIn) -> SignInDemand { wish.demand }
}

/// A sign-in in a browser, as whoever begins it wishes it.
package struct BrowserSignIn: Sendable, Hashable {
    /// The URL to which the provider sends the browser back: the callback below the configured `public_url`.
    package var callback: String
    package var demand: SignInDemand

    package init(callback: String, demand: SignInDemand = SignInDemand()) {
        self.callback = callback
        self.demand = demand
    }
}

/// A sign-in that has begun: where the browser is sent.
package struct BrowserBeginning: Sendable, Equatable {
    package var url: String
    /// To be kept until the browser returns: sealed and bound to this browser, because it contains what completes the
    /// sign-in (a nonce, a PKCE verifier).
    package var pending: PendingSignIn

    package init(url: String, pending: PendingSignIn) {
        self.url = url
        self.pending = pending
    }
}
