package import Providers
import Sessions
package import Settings

/// Continues a sign-out of the gateway at the provider (OpenID Connect RP-Initiated Logout 1.0), so that the next
/// sign-in asks the user again.
package struct ProviderSignOut: Sendable {
    private let providers: [any BrowserProvider]
    private let page: String
    private let origins: ServedOrigins
    private let seal: SignOutReturnSeal

    /// - Parameters:
    ///   - page: The absolute URL of the page to which the provider returns the browser, as registered at the provider.
    ///   - origins: The origins of the gateway's hosts.
    package init(providers: [any BrowserProvider], page: String, origins: ServedOrigins, seal: SignOutReturnSeal) {
        self.providers = providers
        self.page = page
        self.origins = origins
        self.seal = seal
    }

    /// Returns the provider's sign-out URL for the first session that began there. `nil` if the provider has no
    /// sign-out page, or if no ended session began at one of `providers`.
    ///
    /// - Parameter place: Where the browser goes in the end.
    package func url(after ended: [SignedOutSession], leadingTo place: SignOutReturn) async -> String? {
        // A transferred session began without a sign-in at the provider.
        for last in ended where last.session.origin != .transfer {
            guard let provider = self.providers.first(where: { $0.name == last.session.provider?.name }) else {
                continue
            }
            return await provider.signOutURL(
                idToken: last.tokens?.idToken,
                returnTo: self.page,
                state: self.seal.seal(place)
            )
        }
        return nil
    }

    /// Returns where a browser goes that the provider sent back. `nil` if `state` is not from this deployment, or if
    /// its host is no longer configured.
    package func place(of state: String) -> SignOutReturn? {
        self.seal.open(state).flatMap { self.origins.contains($0.origin) ? $0 : nil }
    }
}
