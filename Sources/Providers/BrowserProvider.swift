package import Vocabulary

/// A provider at whose own pages the user signs in: OpenID Connect Core 3.1, OAuth 2.0, or a login flow of Kratos.
package protocol BrowserProvider: Sendable {
    /// The provider's unique name in sessions and audit events: its issuer, or the configured name for plain OAuth 2.0.
    var name: String { get }

    /// True if the browser posts the provider's answer (OAuth 2.0 Form Post Response Mode).
    var answersByForm: Bool { get }

    /// Returns the requirements for a requested sign-in, which the provider's settings may tighten. The caller stores
    /// them, and checks the result of `complete` against them.
    func demand(of wish: BrowserSignIn) -> SignInDemand

    /// Begins a sign-in. May call the provider, within a time limit.
    ///
    /// - Throws: `provider.unavailable`.
    func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning

    /// Completes a sign-in with the parameters of the callback. May call the provider, within a time limit.
    ///
    /// - Parameters:
    ///   - pending: The state from `begin` that this browser stored (RFC 9700 4.7).
    ///   - parameters: The parameters of the callback's query or form, in order, percent-decoded.
    /// - Throws: `provider.unavailable` if the provider cannot answer. Otherwise a reason of `signin`:
    ///   - `cancelled`: The user declined.
    ///   - `interaction_required`: The provider would have to ask the user, but the request forbids that.
    ///   - `state_mismatch`: The answer belongs to another sign-in or another provider.
    ///   - `invalid_token`: The tokens are not valid.
    ///   - `not_allowed`: The user may not sign in.
    ///   - `insufficient`: The user did not authenticate as required.
    ///   - `provider_error`: Any other error, such as a wrong registration of the gateway.
    func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser

    /// Returns the URL at which the provider ends the user's session (RP-Initiated Logout 1.0); `nil` if there is none.
    ///
    /// - Parameters:
    ///   - idToken: The last id_token of the session, as a hint.
    ///   - returnTo: The absolute URL to which the provider redirects the browser afterwards.
    ///   - state: A value that the provider adds to `returnTo`; `nil` for none.
    func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String?
}

extension BrowserProvider {
    package var answersByForm: Bool { false }

    package func demand(of wish: BrowserSignIn) -> SignInDemand { wish.demand }
}

/// A request for a sign-in in a browser.
package struct BrowserSignIn: Sendable, Hashable {
    /// The absolute URL to which the provider redirects the browser afterwards, under the configured `public_url`.
    package var callback: String
    package var demand: SignInDemand

    package init(callback: String, demand: SignInDemand = SignInDemand()) {
        self.callback = callback
        self.demand = demand
    }
}

/// The beginning of a sign-in at a provider: the URL and the state.
package struct BrowserBeginning: Sendable, Equatable {
    package var url: String
    /// The state until the browser returns. It contains the nonce and the PKCE verifier. Seal it, and bind it to the
    /// browser.
    package var pending: PendingSignIn

    package init(url: String, pending: PendingSignIn) {
        self.url = url
        self.pending = pending
    }
}
