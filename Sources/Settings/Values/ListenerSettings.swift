package import AddressIntelligence

/// An address for clients, and what they speak there (an element of `listen`).
package struct ListenerSettings: Sendable, Equatable {
    package var address: ListenAddress
    /// Whom it serves.
    package var role = Role.clients
    /// With `management`: the URL by which operators reach it, the only host that it serves.
    package var publicURL: PublicURL?
    /// Whether connections begin with TLS.
    package var isSecure = false
    /// What clients may speak.
    package var protocols: [ListenerProtocol] = [.http1]
    /// Whether clients show certificates in the handshake of TLS.
    package var clientCertificates = ClientCertificates.none
    /// nil: no proxy names its clients in front of their bytes.
    package var proxyProtocol: ProxyProtocolSettings?
    /// Whether it is reached by any name and address, as operators and other proxies reach the gateway: with TLS, whoever
    /// asks for a name that no certificate has gets the first one.
    package var takesAnyName = false

    package enum Role: String, Sendable, CaseIterable, SettingWord {
        /// The clients of the hosts.
        case clients
        /// Operators with tokens.
        case management
    }

    package init(_ address: ListenAddress, takesAnyName: Bool = false) {
        self.address = address
        self.takesAnyName = takesAnyName
    }
}

/// What a client may speak on a connection.
package enum ListenerProtocol: String, Sendable, CaseIterable, SettingWord {
    /// HTTP/2 over TLS, chosen by ALPN (RFC 9113 3.2).
    case http2 = "h2"
    case http1 = "http/1.1"
    /// HTTP/2 without TLS, by prior knowledge (RFC 9113 3.3).
    case plainHTTP2 = "h2c"
}

/// Whether clients of a listener show a certificate.
package enum ClientCertificates: String, Sendable, CaseIterable, SettingWord {
    /// They are not asked.
    case none
    /// They are asked, and may have none. One that cannot be verified ends the connection.
    case optional
    case required
}

/// Which peers name their clients in the PROXY protocol, and nobody else does.
package struct ProxyProtocolSettings: Sendable, Equatable {
    /// What is done with peers that are not in `from`.
    package enum Others: String, Sendable, CaseIterable, SettingWord {
        case refuse
        /// They speak without a header.
        case plain
    }

    /// The peers that begin each connection with a header, and are believed.
    package var from: [CIDRBlock]
    package var others = Others.refuse

    package init(from: [CIDRBlock]) {
        self.from = from
    }
}

/// `Strict-Transport-Security` (RFC 6797).
package struct StrictTransportSettings: Sendable, Equatable {
    /// How long a browser remembers it from each answer on; 0: it forgets it.
    package var maxAge = Duration.zero
    package var includesSubdomains = false

    package init() {}

    /// The value of the field.
    package var text: String {
        "max-age=\(self.maxAge.components.seconds)\(self.includesSubdomains ? "; includeSubDomains" : "")"
    }
}
