/// The roles of a configured provider: any subset of the three.
package struct ProviderRoles: Sendable {
    package var password: (any PasswordProvider)?
    package var browser: (any BrowserProvider)?
    package var token: (any TokenProvider)?

    package init(
        password: (any PasswordProvider)? = nil,
        browser: (any BrowserProvider)? = nil,
        token: (any TokenProvider)? = nil
    ) {
        self.password = password
        self.browser = browser
        self.token = token
    }
}
