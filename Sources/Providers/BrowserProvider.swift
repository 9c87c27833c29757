package import Vocabulary

/// A provider that redirects a browser: the user signs in at the provider's own pages and comes back (OpenID Connect Core
/// 3.1, or a login flow of Kratos).
package protocol BrowserProvider: Sendable {
    /// Begins a sign-in. It may ask the provider first, under a deadline of its own.
    func begin(_ wish: BrowserSignIn) async -> BrowserBeginning

    /// Completes a sign-in with what the browser brought back. It exchanges a code at the provider, under a deadline of its
    /// own. What does not belong to `state` is refused.
    ///
    /// - Parameters:
    ///   - parameters: Those of the callback's query or form, in order, percent-decoded.
    ///   - state: What `begin` gave, which the same browser has kept: no browser can complete a sign-in that another one
    ///     began (RFC 9700 4.7).
    func complete(_ parameters: [(name: String, value: String)], state: Secret) async -> AuthenticationResult
}

/// What a sign-in in a browser is to come to.
package struct BrowserSignIn: Sendable, Hashable {
    /// Where the provider sends the browser back to: the callback below the configured `public_url`.
    package var callback: String
    /// The user must prove it again, though the provider has a session of theirs (`prompt=login`).
    package var isAgain: Bool
    /// The least level to reach; nil: any.
    package var aal: AssuranceLevel?

    package init(callback: String, isAgain: Bool = false, aal: AssuranceLevel? = nil) {
        self.callback = callback
        self.isAgain = isAgain
        self.aal = aal
    }
}

/// What a provider answers to the wish for a sign-in.
package enum BrowserBeginning: Sendable, Equatable {
    /// Send the browser to `url` and keep `state` until it is back: sealed and bound to this browser, for it holds what
    /// completes the sign-in (a nonce, a PKCE verifier).
    case redirect(url: String, state: Secret)
    /// The provider cannot be reached: 503 with `Retry-After`.
    case unavailable
}
