extension Section {
    /// The keys of an element of `listen`.
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
            "Whether the address serves clients of the hosts, or operators (management) with the calls that need a token of admin.tokens_file."
        ),
        SettingsKey(
            "public_url",
            .text(.publicURL),
            "With role: management, the URL with which operators reach the address. Calls to another host get 404, to one of hosts 421."
        ),
        SettingsKey(
            "tls",
            at: \ListenerSettings.isSecure,
            default: "true if tls is set, otherwise false",
            "Whether connections begin with TLS."
        ),
        SettingsKey(
            "protocols",
            at: \ListenerSettings.protocols,
            .list(ListenerProtocol.kind),
            default: "h2 and http/1.1 with TLS, otherwise http/1.1",
            "The protocols that clients may use: h2 only with TLS, h2c only without TLS."
        ),
        SettingsKey(
            "client_certificates",
            at: \ListenerSettings.clientCertificates,
            default: "the value in tls, otherwise none",
            "Whether clients present a certificate in the TLS handshake."
        ),
        SettingsKey(
            "proxy_protocol",
            .section(.proxyProtocol),
            "The peers that report their clients with the PROXY protocol, version 1 or 2. The reported client is treated as the peer."
        ),
    ])

    /// The keys of `redirect_http`.
    static let redirectListener = Section(
        [Self.listener["address"], Self.listener["proxy_protocol"]].compactMap(\.self)
    )

    /// The keys of `admin.listen` and `authorization.listen`.
    static let innerListener = Section(
        [
            Self.listener["address"],
            SettingsKey(
                "tls",
                at: \ListenerSettings.isSecure,
                "Whether connections begin with TLS, with the certificates of tls. Clients that request an unknown name get the default certificate, otherwise the first."
            ),
        ].compactMap(\.self)
    )

    static let strictTransport = Section(
        [
            SettingsKey(
                "max_age",
                .duration(.zero ... .seconds(730 * 86_400)),
                required: true,
                "How long browsers remember the rule after each answer. Begin with a day, because the rule cannot be withdrawn earlier; 0s ends it."
            ),
            SettingsKey(
                "include_subdomains",
                at: \StrictTransportSettings.includesSubdomains,
                "Whether the rule also applies to all names below the hosts, which must then have https, too."
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
                "What happens to other peers: refuse rejects them, plain lets them connect without a header."
            ),
        ],
        isOption: true
    )
}
