private let second: Duration = .seconds(1)

extension Section {
    static let kratos = Section(
        [
            SettingsKey(
                "public_url",
                .text(.upstreamURL),
                required: true,
                environment: "SALLYPORT_KRATOS_URL",
                "The URL of Kratos's public API, as the gateway reaches it. Browsers and apps reach the API on the hosts with endpoints."
            ),
            SettingsKey(
                "admin_url",
                at: \KratosSettings.adminURL,
                .text(.upstreamURL),
                default: "none",
                "The URL of Kratos's admin API. It is optional: with it, sign-outs end sessions there, and users of expired sessions are asked about."
            ),
            SettingsKey(
                "ca_file",
                .path(isSecret: false),
                default: "the system's authorities",
                "A PEM file with the authorities of Kratos's certificate, which is always verified."
            ),
            SettingsKey(
                "cookie",
                at: \KratosSettings.cookieName,
                .text(.token),
                "The name of Kratos's session cookie."
            ),
            SettingsKey(
                "cache",
                at: \KratosSettings.cacheLifetime,
                .duration(.zero...(second * 300)),
                "How long Kratos's answer about a session is cached. A session that ends only in Kratos is accepted for up to this long."
            ),
            SettingsKey(
                "stale_if_error",
                at: \KratosSettings.staleLifetime,
                .duration(.zero...(second * 600)),
                "How much longer a cached answer is used if Kratos cannot be reached. This applies only to requests that may be repeated."
            ),
            Self.domains,
        ],
        isOption: true
    )
}

extension KratosSettings: SettingsRecord {
    static var initial: KratosSettings { KratosSettings(publicURL: .initial) }
}
