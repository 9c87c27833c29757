private let second: Duration = .seconds(1)

extension Section {
    static let kratos = Section(
        [
            SettingsKey(
                "public_url",
                .text(.upstreamURL),
                required: true,
                environment: "SALLYPORT_KRATOS_URL",
                "Its public API, as the gateway reaches it; browsers and apps reach it on the hosts with endpoints."
            ),
            SettingsKey(
                "admin_url",
                at: \KratosSettings.adminURL,
                .text(.upstreamURL),
                default: "none, which suffices",
                "Its admin API, by which sign-outs end its sessions instead of by its logout."
            ),
            SettingsKey(
                "ca_file",
                .path(isSecret: false),
                default: "the system's authorities",
                "PEM file of the authorities for its certificate, which is always verified."
            ),
            SettingsKey("cookie", at: \KratosSettings.cookieName, .text(.token), "The name of its session cookie."),
            SettingsKey(
                "cache",
                at: \KratosSettings.cacheLifetime,
                .duration(.zero...(second * 300)),
                "How long its word on a session is used: a session that ends there alone is accepted for as long."
            ),
            SettingsKey(
                "stale_if_error",
                at: \KratosSettings.staleLifetime,
                .duration(.zero...(second * 600)),
                "For how long beyond that, while it cannot be asked, and only for requests that may be repeated."
            ),
            Self.domains,
        ],
        isOption: true
    )
}

extension KratosSettings: SettingsRecord {
    static var initial: KratosSettings { KratosSettings(publicURL: .initial) }
}
