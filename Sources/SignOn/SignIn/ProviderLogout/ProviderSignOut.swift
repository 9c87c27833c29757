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

    /// Returns the URL of the provider's page on which the user signs out. `nil` if the provider has no such page, or
    /// if no ended session began at one of `providers`.
    ///
    /// - Parameter place: The final destination of the browser.
    package func url(after ended: [SignedOutSession], leadingTo place: SignOutReturn) async -> String? {
        // The browser of a transferred session did not sign in at the provider.
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

    /// Returns the destination of a browser that the provider sent back. `nil` if this deployment did not make `state`,
    /// or no longer has the host in it.
    package func place(of state: String) -> SignOutReturn? {
        self.seal.open(state).flatMap { self.origins.contains($0.origin) ? $0 : nil }
    }
}
