extension Section {
    static let tls = Section(
        [
            SettingsKey(
                "certificate_file",
                .path(isSecret: false),
                "Shorthand for one certificate: a PEM file with the server's certificate, followed by its issuers."
            ),
            SettingsKey(
                "key_file",
                .path(isSecret: true),
                "The PEM file with the key of certificate_file. Only the gateway may be able to read it."
            ),
            SettingsKey(
                "certificates",
                .sections(.certificate),
                "Several certificates. Each client gets the certificate with the name that it requests."
            ),
            SettingsKey(
                "min_version",
                at: \TLSSettings.minVersion,
                "The oldest version of TLS that clients may use."
            ),
            SettingsKey(
                "client_certificates",
                at: \TLSSettings.clientCertificates,
                "Whether clients present their own certificate: they are not asked (none), may present one (optional), or must (required). The key of a listener takes precedence."
            ),
            SettingsKey(
                "client_ca_file",
                .path(isSecret: false),
                "A PEM file with the authorities of clients' certificates. No other authority is accepted."
            ),
        ],
        isOption: true
    )

    static let certificate = Section([
        SettingsKey(
            "certificate_file",
            .path(isSecret: false),
            required: true,
            "A PEM file with the server's certificate, followed by its issuers."
        ),
        SettingsKey(
            "key_file",
            .path(isSecret: true),
            required: true,
            "The PEM file with the key of certificate_file."
        ),
        SettingsKey(
            "default",
            .boolean,
            default: "true for a single certificate, otherwise false",
            "Whether clients that request no name, or one that no certificate has, get this certificate. Without a default certificate their handshake fails."
        ),
    ])
}

extension TLSSettings: SettingsRecord { static var initial: TLSSettings { TLSSettings() } }
