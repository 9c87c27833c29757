package import Sessions

/// What a configured provider can do. A role is `nil` if the provider does not have it.
package struct ProviderRoles: Sendable {
    package var password: (any PasswordProvider)?
    package var browser: (any BrowserProvider)?
    /// The verifiers of the provider's tokens, in the order in which they are asked.
    package var tokens: [any TokenProvider]
    /// Verifies the refresh tokens that the provider issued to native apps; `nil` if the gateway accepts none.
    package var refreshTokens: (any TokenProvider)?
    package var refreshing: (any RefreshingProvider)?
    package var logout: (any LogoutProvider)?
    package var directory: (any UserDirectory)?

    package init(
        password: (any PasswordProvider)? = nil,
        browser: (any BrowserProvider)? = nil,
        tokens: [any TokenProvider] = [],
        refreshTokens: (any TokenProvider)? = nil,
        refreshing: (any RefreshingProvider)? = nil,
        logout: (any LogoutProvider)? = nil,
        directory: (any UserDirectory)? = nil
    ) {
        self.password = password
        self.browser = browser
        self.tokens = tokens
        self.refreshTokens = refreshTokens
        self.refreshing = refreshing
        self.logout = logout
        self.directory = directory
    }
}
