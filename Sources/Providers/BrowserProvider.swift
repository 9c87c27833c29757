package import Vocabulary

/// A provider that redirects a browser: the user signs in at the provider's own pages and comes back (OpenID Connect Core
/// 3.1, or a login flow of Kratos).
package protocol BrowserProvider: Sendable {
    /// Names the provider in sessions and audit events: the issuer. No other provider has this name.
    var name: String { get }

    /// What a sign-in with this wish must reach. The provider's settings may demand more than the wish does. Whoever
    /// begins the sign-in keeps it, and judges by it what `complete` returns.
    func demand(of wish: BrowserSignIn) -> SignInDemand

    /// Begins a sign-in. It may ask the provider first, with its own time limit.
    func begin(_ wish: BrowserSignIn) async -> BrowserBeginning

    /// Completes a sign-in with the parameters that the browser brought back. It exchanges a code at the provider, with
    /// its own time limit. Parameters that do not belong to `state` are refused.
    ///
    /// - Parameters:
    ///   - parameters: Those of the callback's query or form, in order, percent-decoded.
    ///   - state: The value from `begin`, which the same browser has kept, so that no browser can complete a sign-in
    ///     that another one began (RFC 9700 4.7).
    func complete(_ parameters: [(name: String, value: String)], state: Secret) async -> BrowserCompletion

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

/// A provider's answer to a request to begin a sign-in.
package enum BrowserBeginning: Sendable, Equatable {
    /// Send the browser to `url` and keep `state` until it returns: sealed and bound to this browser, because it
    /// contains what completes the sign-in (a nonce, a PKCE verifier).
    ///
    /// - Parameter id: What the provider returns in the parameter `state`: finds the kept state among those of several
    ///   tabs. It is not secret.
    case redirect(url: String, id: String, state: Secret)
    /// The provider cannot be reached: 503 with `Retry-After`.
    case unavailable
}

/// A provider's answer to the parameters that a browser brought back.
package enum BrowserCompletion: Sendable, Equatable {
    case authenticated(Authentication, ProviderEvidence)
    /// No sign-in, and why.
    case refused(BrowserRefusal)
    /// The provider cannot answer: 503 with `Retry-After`.
    ///
    /// - Parameter detail: For logs, never a token: which call failed, and how.
    case unavailable(detail: String)
}

/// Why a sign-in at a provider did not succeed.
package struct BrowserRefusal: Sendable, Hashable {
    package enum Cause: String, Sendable, Hashable {
        /// The user said no (`access_denied`).
        case cancelled
        /// The provider needs the user, and was told not to ask (`login_required`, `interaction_required`).
        case interactionRequired = "interaction_required"
        /// The provider answered with another error, for example because the gateway is registered wrongly.
        case providerError = "provider_error"
        /// What the browser brought back does not belong to the sign-in that it began.
        case mismatch
        /// The provider's tokens are not valid: signature, issuer, audience, nonce or time.
        case invalidToken = "invalid_token"
        /// The user may not sign in here (`allow`).
        case notAllowed = "not_allowed"
        /// The user did not authenticate in the way that was required (`acr`, `auth_time`).
        case insufficient
    }

    package var cause: Cause
    /// For logs: an error code of the provider or the failed check, never a token nor text that a user wrote.
    package var detail: String

    package init(_ cause: Cause, detail: String) {
        self.cause = cause
        self.detail = detail
    }
}
