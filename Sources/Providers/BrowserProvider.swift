package import Vocabulary

/// A provider that redirects a browser: the user signs in at the provider's own pages and comes back (OpenID Connect
/// Core 3.1, or a login flow of Kratos).
package protocol BrowserProvider: Sendable {
    /// The provider's name in sessions and audit events: its issuer. No other provider has this name.
    var name: String { get }

    /// True if browsers post the provider's answer (OAuth 2.0 Form Post Response Mode).
    var answersByForm: Bool { get }

    /// Returns the requirements for a requested sign-in. The provider's settings may make them stricter than the
    /// request. The caller keeps them and checks the result of `complete` against them.
    func demand(of wish: BrowserSignIn) -> SignInDemand

    /// Begins a sign-in. May call the provider first, with its own time limit.
    ///
    /// - Throws: `provider.unavailable`.
    func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning

    /// Completes a sign-in with the parameters that the browser brought back. Redeems a code at the provider, with its
    /// own time limit. Refuses parameters of another sign-in, and a sign-in at another provider.
    ///
    /// - Parameters:
    ///   - pending: The state from `begin` that this browser kept, so that no browser can complete a sign-in that
    ///     another browser began (RFC 9700 4.7).
    ///   - parameters: The parameters of the callback's query or form, in order, percent-decoded.
    /// - Throws: `provider.unavailable` if the provider cannot answer. Otherwise a reason of `signin`:
    ///   - `cancelled`: The user declined.
    ///   - `interaction_required`: The provider would have to ask the user, but the request does not allow that.
    ///   - `state_mismatch`: The answer does not belong to the sign-in that the browser began.
    ///   - `invalid_token`: The tokens are not valid.
    ///   - `not_allowed`: The user may not sign in.
    ///   - `insufficient`: The user did not authenticate as required.
    ///   - `provider_error`: Any other error, for example because the gateway is registered wrongly.
    func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser

    /// Returns the URL where the provider ends the user's session (RP-Initiated Logout 1.0). `nil` if there is no such
    /// URL.
    ///
    /// - Parameters:
    ///   - idToken: The last id_token of the session, as a hint.
    ///   - returnTo: The absolute URL where the provider sends the browser back to.
    ///   - state: A value that the provider returns with the browser. `nil` to send none.
    func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String?
}

extension BrowserProvider {
    package var answersByForm: Bool { false }

    package func demand(of wish: BrowserSignIn) -> SignInDemand { wish.demand }
}

/// A request for a sign-in in a browser.
package struct BrowserSignIn: Sendable, Hashable {
    /// The URL where the provider sends the browser back to: the callback under the configured `public_url`.
    package var callback: String
    package var demand: SignInDemand

    package init(callback: String, demand: SignInDemand = SignInDemand()) {
        self.callback = callback
        self.demand = demand
    }
}

/// The beginning of a sign-in: the provider's URL and the state to keep.
package struct BrowserBeginning: Sendable, Equatable {
    package var url: String
    /// The state to keep until the browser returns. Seal it and bind it to the browser, because it contains the values
    /// that complete the sign-in (a nonce, a PKCE verifier).
    package var pending: PendingSignIn

    package init(url: String, pending: PendingSignIn) {
        self.url = url
        self.pending = pending
    }
}
