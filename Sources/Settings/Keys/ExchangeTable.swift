extension Section {
    static let exchange = Section([
        SettingsKey(
            "return_to",
            at: \Settings.exchange.returnTo,
            .list(.text(.redirectURI)),
            default: "none",
            "Where browsers go back to with a code: compared character by character, on loopback with any port."
        ),
        SettingsKey(
            "lifetime",
            at: \Settings.exchange.lifetime,
            .duration(.seconds(60) ... .seconds(3600)),
            "How long the codes are valid: in this time the user has to sign in."
        ),
        SettingsKey(
            "providers",
            .pairs(name: .token, value: .text(.text)),
            default: "one, named after the provider",
            "The names by which apps ask for the sign-in in the browser, each with the label of its button."
        ),
        SettingsKey(
            "allowed_origins",
            at: \Settings.exchange.allowedOrigins,
            .list(.text(.webOrigin)),
            default: "none",
            "Other origins whose scripts may use the endpoints of native apps, as apps in a browser do."
        ),
    ])

    static let compat = Section([
        SettingsKey(
            "exchange",
            at: \Settings.exchange.dialect,
            "documented: every native flow has a code, ui.action with return_to begins the sign-in, and the codes work repeatedly."
        ),
        SettingsKey(
            "oauth2_proxy",
            at: \Settings.oauth2ProxyPaths,
            "Serve the paths of oauth2-proxy: /oauth2/auth at authorization.listen; on hosts and there /oauth2/start, sign_in, sign_out, callback and userinfo, and the gateway's own pages below /oauth2/, to which links and redirects lead."
        ),
    ])
}
