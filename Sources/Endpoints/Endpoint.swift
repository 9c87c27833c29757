package import AddressIntelligence
package import Vocabulary

/// A request to one of the gateway's own endpoints, after the strict parser: a copy, free of the connection.
package struct EndpointRequest: Sendable {
    /// The method as sent, e.g. `GET`.
    package var method: String
    /// The reading of the path: percent-decoded once, runs of `/` merged, `;parameters` dropped.
    package var path: String
    /// Query parameters in order, percent-decoded (`+` is a space).
    package var query: [(name: String, value: String)]
    /// Fields in order, names in lower case, values as sent.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// The client's address after `trusted_proxies`.
    package var address: IPAddress
    /// The origin of the configured `public_url` that the request came to, e.g. `https://app.example.com`.
    package var origin: String
    /// `host[:port]` of that `public_url`: what web sessions are bound to.
    package var authority: String
    /// Cookies must carry `Secure`: false only on loopback http with the flag.
    package var isSecure: Bool
    package var requestID: String

    package init(
        method: String,
        path: String,
        query: [(name: String, value: String)],
        fields: [(name: String, value: String)],
        body: [UInt8],
        address: IPAddress,
        origin: String,
        authority: String,
        isSecure: Bool,
        requestID: String
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.address = address
        self.origin = origin
        self.authority = authority
        self.isSecure = isSecure
        self.requestID = requestID
    }

    /// The only value of the field `name` (lower case); nil when absent or repeated.
    package func field(_ name: String) -> String? {
        let values = self.fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    /// Every value of the query parameter `name`.
    package func parameters(_ name: String) -> [String] {
        self.query.filter { $0.name == name }.map(\.value)
    }
}

/// What an endpoint answers. Framing, `Date` and `Connection` are the listener's.
package struct EndpointResponse: Sendable {
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// Why it is a refusal, for the log and the metrics; nil when it is none.
    package var reason: Reason?

    package init(
        status: Int,
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        reason: Reason? = nil
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.reason = reason
    }
}

/// One endpoint: where it is, what it takes, and what answers it.
package struct Endpoint: Sendable {
    /// Hosts on which an endpoint is served.
    package enum Scope: Sendable {
        /// On every configured host: only paths under `/.sallyport/`.
        case everyHost
        /// On hosts with `endpoints: true`.
        case endpointHosts
    }

    /// The exact path.
    package var path: String
    /// The methods it takes; others are 405 with `Allow`.
    package var methods: [String]
    package var scope: Scope
    /// The largest body in bytes; more is 413.
    package var bodyLimit: Int
    /// Once the handler has begun, a client that leaves does not cancel it: it writes something that is single-use.
    package var outlivesClient: Bool
    package var answer: @Sendable (EndpointRequest) async -> EndpointResponse

    package init(
        path: String,
        methods: [String],
        scope: Scope = .endpointHosts,
        bodyLimit: Int = 16_384,
        outlivesClient: Bool = false,
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) {
        self.path = path
        self.methods = methods
        self.scope = scope
        self.bodyLimit = bodyLimit
        self.outlivesClient = outlivesClient
        self.answer = answer
    }
}
