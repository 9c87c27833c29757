extension Section {
    static let tls = Section(
        [
            SettingsKey(
                "certificate_file",
                .path(isSecret: false),
                "Shorthand for one certificate: a PEM file with the server's certificate and then its issuers."
            ),
            SettingsKey("key_file", .path(isSecret: true), "The PEM file of its key, which only the gateway can read."),
            SettingsKey(
                "certificates",
                .sections(.certificate),
                "Several certificates: each client gets the one that has the name it asks for."
            ),
            SettingsKey(
                "min_version",
                at: \TLSSettings.minVersion,
                "The oldest version that clients may speak."
            ),
            SettingsKey(
                "client_certificates",
                at: \TLSSettings.clientCertificates,
                "Whether clients show a certificate of their own: they are not asked, may show one, or must. A listener's own key wins."
            ),
            SettingsKey(
                "client_ca_file",
                .path(isSecret: false),
                "A PEM file with the authorities of clients' certificates; no other authority counts."
            ),
        ],
        isOption: true
    )

    static let certificate = Section([
        SettingsKey(
            "certificate_file",
            .path(isSecret: false),
            required: true,
            "A PEM file with the server's certificate and then its issuers."
        ),
        SettingsKey("key_file", .path(isSecret: true), required: true, "The PEM file of its key."),
        SettingsKey(
            "default",
            .boolean,
            default: "true of a single certificate, else false",
            "Whether clients get it that name no host, or one that no certificate has. Without one their handshake ends."
        ),
    ])
}

extension TLSSettings: SettingsRecord { static var initial: TLSSettings { TLSSettings() } }
