import AddressIntelligence
import Settings

/// What a listener is for.
package enum ListenerRole: Sendable {
    /// Clients, at this place of `listen`.
    case clients(Int)
    /// Proxies that ask about requests of their own clients (`authorization.listen`).
    case checks
    /// Clients that are sent to https (`redirect_http`).
    case redirects
}

/// What becomes of the requests of a connection.
package enum RequestService: Sendable {
    /// They are judged, and passed on to an app or answered by an endpoint.
    case apps
    /// They are checks of another proxy, which asks about requests of its own clients (`Authorizing`).
    case checks
    /// They are sent to https.
    case redirects
}

/// What the clients of one listener are opened with; made once for each configuration.
final class ListenerProfile: Sendable {
    let service: RequestService
    let settings: ListenerSettings?
    /// The peers that name their clients; nil: none does.
    private let namers: CIDRSet?
    private let refusesOthers: Bool
    /// Whether something comes before the first byte of HTTP, or the bytes tell which HTTP it is.
    let hasPrelude: Bool

    /// nil: connections begin without TLS.
    let tls: ListenerTLS?

    /// - Parameters:
    ///   - settings: nil: plain HTTP/1.
    ///   - tls: That of the listener. A secure one without it takes no clients.
    init(_ settings: ListenerSettings?, tls: ListenerTLS? = nil, for service: RequestService = .apps) {
        self.tls = settings?.isSecure == true ? tls : nil
        self.settings = settings
        self.service = service
        let proxies = settings?.proxyProtocol
        self.namers = proxies.map { CIDRSet($0.from) }
        self.refusesOthers = proxies?.others == .refuse
        self.hasPrelude = settings?.isSecure == true || settings?.protocols.contains(.plainHTTP2) == true
    }

    /// How a peer begins its connections.
    enum Greeting {
        /// With its own bytes.
        case own
        /// With a header of the PROXY protocol, which names the client.
        case named
        /// It may not connect.
        case refused
    }

    func greeting(of peer: IPAddress) -> Greeting {
        if self.settings?.isSecure == true, self.tls == nil { return .refused }
        guard let namers = self.namers else { return .own }
        if namers.contains(peer) { return .named }
        return self.refusesOthers ? .refused : .own
    }
}

/// What became of a connection where a header of the PROXY protocol was expected; the values of
/// `sallyport_proxy_protocol_total{result}`.
package enum ProxyResult: String, CaseIterable, Sendable {
    case v1, v2
    /// The proxy connects for itself, or does not know for whom.
    case local
    /// It named an address that no client has.
    case unnamed
    case malformed
    /// There was no whole header in time.
    case late
    /// The peer is none of those that name clients.
    case refused
}

/// What an operator should know of the headers of proxies.
package enum ProxyNotice: CaseIterable, Sendable {
    /// A header where none is expected.
    case unexpected
    case malformed, late, refused
}
