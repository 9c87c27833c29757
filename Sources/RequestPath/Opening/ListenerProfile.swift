import AddressIntelligence
import Settings

/// The purpose of a listener.
package enum ListenerRole: Sendable {
    /// Serves clients. The value is the listener's index in `listen`.
    case clients(Int)
    /// Serves proxies that send forward-auth checks (`authorization.listen`).
    case checks
    /// Redirects clients to https (`redirect_http`).
    case redirects
}

/// The treatment of a connection's requests.
package enum RequestService: Sendable {
    /// Requests are judged, and forwarded to an app or answered by an endpoint.
    case apps
    /// Requests are forward-auth checks by other proxies (`Authorizing`).
    case checks
    /// Requests are redirected to https.
    case redirects
}

/// The settings and tables for opening connections of one listener, made once per configuration.
final class ListenerProfile: Sendable {
    let service: RequestService
    let settings: ListenerSettings?
    /// The proxies that send PROXY headers. `nil` if the listener does not use the PROXY protocol.
    private let namers: CIDRSet?
    private let refusesOthers: Bool
    /// True if connections begin with TLS, or if their first bytes decide between HTTP/1 and HTTP/2.
    let hasPrelude: Bool

    /// The TLS of the listener. `nil` if connections begin without TLS.
    let tls: ListenerTLS?

    /// - Parameters:
    ///   - settings: The settings of the listener. `nil` for plain HTTP/1.
    ///   - tls: The TLS of the listener. A secure listener whose TLS is `nil` refuses all clients.
    init(_ settings: ListenerSettings?, tls: ListenerTLS? = nil, for service: RequestService = .apps) {
        self.tls = settings?.isSecure == true ? tls : nil
        self.settings = settings
        self.service = service
        let proxies = settings?.proxyProtocol
        self.namers = proxies.map { CIDRSet($0.from) }
        self.refusesOthers = proxies?.others == .refuse
        self.hasPrelude = settings?.isSecure == true || settings?.protocols.contains(.plainHTTP2) == true
    }

    /// Whether a peer sends a PROXY header.
    enum Greeting {
        /// The peer sends no PROXY header.
        case own
        /// The peer sends a PROXY header that names the client.
        case named
        /// The peer may not connect.
        case refused
    }

    func greeting(of peer: IPAddress) -> Greeting {
        if self.settings?.isSecure == true, self.tls == nil { return .refused }
        guard let namers = self.namers else { return .own }
        if namers.contains(peer) { return .named }
        return self.refusesOthers ? .refused : .own
    }
}

/// The result of reading the PROXY header of a connection: the values of `sallyport_proxy_protocol_total{result}`.
package enum ProxyResult: String, CaseIterable, Sendable {
    case v1, v2
    /// The proxy connects for itself or for an unknown client.
    case local
    /// The header contains an address that no client can have.
    case unnamed
    case malformed
    /// The header was not complete in time.
    case late
    /// The listener accepts no connection from this peer.
    case refused
}

/// A problem with PROXY headers that an operator should know about.
package enum ProxyNotice: CaseIterable, Sendable {
    /// A header was sent on a connection that should have none.
    case unexpected
    case malformed, late, refused
}
