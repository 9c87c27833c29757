package import Vocabulary

/// A provider that redirects a browser: the user signs in at the provider's own pages and comes back (OpenID Connect Core
/// 3.1, or a login flow of Kratos).
package protocol BrowserProvider: Sendable {
    /// Begins a sign-in. It may ask the provider first, with its own time limit.
    func begin(_ wish: BrowserSignIn) async -> BrowserBeginning

    /// Completes a sign-in with the parameters that the browser brought back. It exchanges a code at the provider, with
    /// its own time limit. Parameters that do not belong to `state` are refused.
    ///
    /// - Parameters:
    ///   - parameters: Those of the callback's query or form, in order, percent-decoded.
    ///   - state: The value from `begin`, which the same browser has kept, so that no browser can complete a sign-in
    ///     that another one began (RFC 9700 4.7).
    func complete(_ parameters: [(name: String, value: String)], state: Secret) async -> AuthenticationResult
}

/// The requirements of a sign-in in a browser.
package struct BrowserSignIn: Sendable, Hashable {
    /// The URL to which the provider sends the browser back: the callback below the configured `public_url`.
    package var callback: String
    /// Whether the user must authenticate again even if the provider has a session of that user (`prompt=login`).
    package var isAgain: Bool
    /// The lowest level to reach; nil: any.
    package var aal: AssuranceLevel?

    package init(callback: String, isAgain: Bool = false, aal: AssuranceLevel? = nil) {
        self.callback = callback
        self.isAgain = isAgain
        self.aal = aal
    }
}

/// A provider's answer to a request to begin a sign-in.
package enum BrowserBeginning: Sendable, Equatable {
    /// Send the browser to `url` and keep `state` until it returns: sealed and bound to this browser, because it
    /// contains what completes the sign-in (a nonce, a PKCE verifier).
    case redirect(url: String, state: Secret)
    /// The provider cannot be reached: 503 with `Retry-After`.
    case unavailable
}
