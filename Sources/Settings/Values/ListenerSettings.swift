package import AddressIntelligence

/// A listener, such as an element of `listen`: an address, and the protocols that clients may use.
package struct ListenerSettings: Sendable, Equatable {
    package var address: ListenAddress
    /// The kind of clients that the listener serves.
    package var role = Role.clients
    /// The URL for operators, if the role is `management`. Requests to other hosts are rejected.
    package var publicURL: PublicURL?
    /// Whether connections begin with TLS.
    package var isSecure = false
    /// The protocols that clients may use.
    package var protocols: [ListenerProtocol] = [.http1]
    /// The certificates that the listener requests from clients in the TLS handshake.
    package var clientCertificates = ClientCertificates.none
    /// The peers that use the PROXY protocol; `nil` if no peer does.
    package var proxyProtocol: ProxyProtocolSettings?
    /// Whether clients may use any host name. TLS answers an unknown name with the default or the first certificate.
    package var acceptsAnyHostName = false

    package enum Role: String, Sendable, CaseIterable, SettingWord {
        /// The clients of the hosts.
        case clients
        /// Operators with tokens.
        case management
    }

    package init(_ address: ListenAddress, acceptsAnyHostName: Bool = false) {
        self.address = address
        self.acceptsAnyHostName = acceptsAnyHostName
    }
}

/// A protocol on a client's connection.
package enum ListenerProtocol: String, Sendable, CaseIterable, SettingWord {
    /// HTTP/2 over TLS, chosen by ALPN (RFC 9113 3.2).
    case http2 = "h2"
    case http1 = "http/1.1"
    /// HTTP/2 without TLS, by prior knowledge (RFC 9113 3.3).
    case plainHTTP2 = "h2c"
}

/// The certificates that a listener requests from its clients.
package enum ClientCertificates: String, Sendable, CaseIterable, SettingWord {
    /// No certificate is requested.
    case none
    /// A certificate is requested but not required. A certificate that cannot be verified ends the connection.
    case optional
    case required
}

/// The peers that report their clients with the PROXY protocol.
package struct ProxyProtocolSettings: Sendable, Equatable {
    /// The treatment of peers that are not in `from`.
    package enum Others: String, Sendable, CaseIterable, SettingWord {
        case refuse
        /// Other peers connect without a header.
        case plain
    }

    /// The peers that begin each connection with a PROXY header. The gateway trusts the header.
    package var from: [CIDRBlock]
    package var others = Others.refuse

    package init(from: [CIDRBlock]) {
        self.from = from
    }
}

/// `Strict-Transport-Security` (RFC 6797).
package struct StrictTransportSettings: Sendable, Equatable {
    /// How long browsers remember the rule after each answer. Zero makes them forget it.
    package var maxAge = Duration.zero
    package var includesSubdomains = false

    package init() {}

    /// The value of the header field.
    package var text: String {
        "max-age=\(self.maxAge.components.seconds)\(self.includesSubdomains ? "; includeSubDomains" : "")"
    }
}
