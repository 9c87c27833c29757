extension Section {
    static let exchange = Section([
        SettingsKey(
            "return_to",
            at: \Settings.exchange.returnTo,
            .list(.text(.redirectURI)),
            default: "none",
            "The URIs to which browsers may return with a code. They are compared character by character; on loopback, any port is allowed."
        ),
        SettingsKey(
            "lifetime",
            at: \Settings.exchange.lifetime,
            .duration(.seconds(60) ... .seconds(3600)),
            "How long the codes are valid. The user must sign in within this time."
        ),
        SettingsKey(
            "providers",
            .pairs(name: .token, value: .text(.text)),
            default: "one, named after the provider",
            "The names with which apps request the sign-in in the browser, each with the label of its button."
        ),
        SettingsKey(
            "allowed_origins",
            at: \Settings.exchange.allowedOrigins,
            .list(.text(.webOrigin)),
            default: "none",
            "Other origins whose scripts may use the endpoints of native apps, for apps that run in a browser."
        ),
    ])

    static let compat = Section([
        SettingsKey(
            "exchange",
            at: \Settings.exchange.dialect,
            "The version of Kratos's exchange. With documented, every native flow has a code, ui.action with return_to begins the sign-in, and the codes work repeatedly."
        ),
        SettingsKey(
            "oauth2_proxy",
            at: \Settings.oauth2ProxyPaths,
            "Serves the paths of oauth2-proxy: /oauth2/auth at authorization.listen, and both there and on hosts /oauth2/start, sign_in, sign_out, callback and userinfo. Links and redirects then lead to the gateway's own pages below /oauth2/."
        ),
    ])
}
