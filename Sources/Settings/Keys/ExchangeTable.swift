extension Section {
    static let exchange = Section([
        SettingsKey(
            "return_to",
            .list(.text(.redirectURI)),
            default: "none",
            "Where browsers go back to with a code: compared character by character, on loopback with any port."
        ),
        SettingsKey(
            "lifetime",
            .duration(.seconds(60) ... .seconds(3600)),
            default: "10m",
            "How long the codes are valid: in this time the user has to sign in."
        ),
        SettingsKey(
            "providers",
            .pairs(name: .token, value: .text),
            default: "one, named after the provider",
            "The names by which apps ask for the sign-in in the browser, each with the label of its button."
        ),
        SettingsKey(
            "allowed_origins",
            .list(.text(.webOrigin)),
            default: "none",
            "Other origins whose scripts may use the endpoints of native apps, as apps in a browser do."
        ),
    ])

    static let compat = Section([
        SettingsKey(
            "exchange",
            .choice(ExchangeSettings.Dialect.allCases.map(\.rawValue)),
            default: "current",
            "documented: every native flow has a code, ui.action with return_to begins the sign-in, and the codes work repeatedly."
        )
    ])
}
