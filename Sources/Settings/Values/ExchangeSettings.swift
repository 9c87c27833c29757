/// Web to native: a native app sends its user to the system's browser, and exchanges its own code and the code from the
/// browser for a session token.
package struct ExchangeSettings: Sendable, Equatable {
    /// The version of Kratos's exchange protocol that apps follow.
    package enum Dialect: String, Sendable, CaseIterable, SettingWord {
        /// The protocol that Kratos implements.
        case current
        /// The protocol that Kratos's documentation long described: no flag requests the code, the browser is sent to
        /// the form's action with `return_to`, the browser comes back with `return_to_code`, and an exchange may be
        /// repeated.
        case documented
    }

    /// A sign-in in the browser, with the id and the label that apps use.
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
    /// The sign-ins in the order of the file. Each leads to the host's provider, or the page of its providers.
    package var providers: [Choice] = []
    /// Whether the file lists the sign-ins; otherwise they follow from the provider.
    var namesProviders = false
    /// On hosts with several providers: the names of the providers that a choice opens without the page of providers.
    package var leadingNames: [String] = []
    package var allowedOrigins: [String] = []
    package var dialect = Dialect.current

    package init() {}

    /// Whether browsers may return to this URI with a code.
    package func allows(_ returnTo: String) -> Bool { self.returnTo.contains { $0.matches(returnTo) } }
}
