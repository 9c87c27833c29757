/// Web-to-native sign-in (`exchange`). The user signs in in the browser, and the app exchanges two codes for a session
/// token: its own code, and the code that the browser brings back.
package struct ExchangeSettings: Sendable, Equatable {
    /// The version of Kratos's exchange protocol that apps follow.
    package enum Dialect: String, Sendable, CaseIterable, SettingWord {
        /// The protocol that Kratos implements.
        case current
        /// The protocol of older Kratos documentation. Every flow has a code, and any client with both codes may repeat
        /// an exchange. The app may add `return_to` to the URL that it opens in the browser. The browser brings the
        /// code back in two parameters, `code` and `return_to_code`.
        case documented
    }

    /// A sign-in that an app can request: its id, and the label of its button.
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
    /// The choices in the order of the file.
    package var providers: [Choice] = []
    /// Whether `exchange.providers` is written. If not, the choices follow from the providers.
    var namesProviders = false
    /// On hosts with several providers: provider names. A choice whose id is one of them leads straight to that
    /// provider.
    package var directChoices: [String] = []
    package var allowedOrigins: [String] = []
    package var dialect = Dialect.current

    package init() {}

    /// Whether browsers may return to this URI with a code.
    package func allows(_ returnTo: String) -> Bool { self.returnTo.contains { $0.matches(returnTo) } }
}
