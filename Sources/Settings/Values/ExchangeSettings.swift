/// Web to native: a native app sends its user through the system's browser, and exchanges the code that it kept and the
/// code that the browser brought back for a session token.
package struct ExchangeSettings: Sendable, Equatable {
    /// Which description of Kratos's exchange apps follow.
    package enum Dialect: String, Sendable, CaseIterable, SettingWord {
        /// What Kratos does.
        case current
        /// What its documentation printed for long: no flag asks for the code, the browser is sent to the form's action
        /// with `return_to`, it comes back with `return_to_code`, and an exchange may be repeated.
        case documented
    }

    /// A way to sign in with the browser, as an app names it and shows it.
    package struct Choice: Sendable, Hashable {
        package var id: String
        package var label: String

        package init(id: String, label: String) {
            self.id = id
            self.label = label
        }
    }

    package var returnTo: [RedirectURI] = []
    package var lifetime: Duration = .seconds(600)
    /// In the order of the file. Each leads to the host's provider, or to the page on which the user chooses one.
    package var providers: [Choice] = []
    /// Whether the file names them; else they follow from the provider.
    var namesProviders = false
    /// The providers, on hosts with several, to which a choice of the same id leads without that page.
    package var leadingNames: [String] = []
    package var allowedOrigins: [String] = []
    package var dialect = Dialect.current

    package init() {}

    /// Whether browsers may go back to this URI with a code.
    package func allows(_ returnTo: String) -> Bool { self.returnTo.contains { $0.matches(returnTo) } }
}
