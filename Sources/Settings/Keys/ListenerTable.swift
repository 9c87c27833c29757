extension Section {
    /// An element of `listen`.
    static let listener = Section([
        SettingsKey(
            "address",
            .text(.listenAddress),
            required: true,
            "The address and the port."
        ),
        SettingsKey(
            "role",
            at: \ListenerSettings.role,
            "Whom it serves: clients of the hosts; or management: operators, with the calls that need a token of admin.tokens_file."
        ),
        SettingsKey(
            "public_url",
            .text(.publicURL),
            "With role: management, the URL by which operators reach it. Calls to another host get 404, to one of hosts 421."
        ),
        SettingsKey(
            "tls",
            at: \ListenerSettings.isSecure,
            default: "true where there is tls, else false",
            "Whether connections begin with TLS."
        ),
        SettingsKey(
            "protocols",
            at: \ListenerSettings.protocols,
            .list(ListenerProtocol.kind),
            default: "h2 and http/1.1 with TLS, else http/1.1",
            "What clients may speak: h2 with TLS, h2c without it."
        ),
        SettingsKey(
            "client_certificates",
            at: \ListenerSettings.clientCertificates,
            default: "that of tls, else none",
            "Whether clients show a certificate in the handshake of TLS."
        ),
        SettingsKey(
            "proxy_protocol",
            .section(.proxyProtocol),
            "Which peers name their clients in the PROXY protocol, version 1 or 2. A named client counts as the peer."
        ),
    ])

    /// `redirect_http`.
    static let redirectListener = Section(
        [Self.listener["address"], Self.listener["proxy_protocol"]].compactMap(\.self)
    )

    /// `admin.listen` and `authorization.listen`.
    static let innerListener = Section(
        [
            Self.listener["address"],
            SettingsKey(
                "tls",
                at: \ListenerSettings.isSecure,
                "Whether connections begin with TLS, by the certificates of tls. Who names none of their names gets the default one, else the first."
            ),
        ].compactMap(\.self)
    )

    static let strictTransport = Section(
        [
            SettingsKey(
                "max_age",
                .duration(.zero ... .seconds(730 * 86_400)),
                required: true,
                "How long from each answer on. Begin with a day: it cannot be taken back before. 0s ends it."
            ),
            SettingsKey(
                "include_subdomains",
                at: \StrictTransportSettings.includesSubdomains,
                "Whether all names below those of the hosts have https, too."
            ),
        ],
        isOption: true
    )

    static let proxyProtocol = Section(
        [
            SettingsKey(
                "from",
                .list(.text(.addressBlock)),
                required: true,
                "The peers that begin each connection with a header. They can claim any address."
            ),
            SettingsKey(
                "others",
                at: \ProxyProtocolSettings.others,
                "What is done with other peers: refuse them, or let them speak without a header."
            ),
        ],
        isOption: true
    )
}
