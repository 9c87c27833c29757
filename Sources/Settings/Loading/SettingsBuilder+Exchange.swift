extension SettingsBuilder {
    /// Sets the sign-ins that native apps may request in the browser (`exchange`).
    mutating func setExchange(_ exchange: inout ExchangeSettings, _ provider: (any ProviderSettings)?) {
        let tree = self.tree.tree("exchange")
        exchange.providers = (tree?.pairs("providers") ?? []).map {
            ExchangeSettings.Choice(id: $0.name, label: $0.text)
        }
        exchange.namesProviders = !exchange.providers.isEmpty
        if exchange.providers.isEmpty, let choice = provider?.exchangeChoice { exchange.providers = [choice] }
        if let tree, tree["return_to"] != nil { self.check(exchange, provider, tree.place(of: "return_to")) }
    }

    private mutating func check(_ exchange: ExchangeSettings, _ provider: (any ProviderSettings)?, _ place: KeyPlace) {
        if provider?.signsIn != true, !exchange.returnTo.isEmpty, !self.isPartial {
            self.report(
                place,
                found: "a list, but no provider where users sign in",
                allowed: "a list together with a provider such as oidc",
                fix: "add a provider, or remove the list"
            )
        }
        // RFC 8252 7.1: nobody owns a scheme without a dot.
        for target in exchange.returnTo where target.hasOwnScheme && !target.scheme.contains(".") {
            self.warnings.append(
                "exchange.return_to: any app can register the scheme \(target.scheme): and take the code; prefer an https URL that the app claims, or a scheme such as com.example.app"
            )
        }
    }
}
