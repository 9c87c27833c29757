package import AddressIntelligence
package import Cryptography
package import Pages
package import Settings
package import Vocabulary

/// A request to one of the gateway's own endpoints. It is a copy, independent of the connection.
package struct EndpointRequest: Sendable {
    /// The method as sent, e.g. `GET`.
    package var method: String
    /// The normalised path: percent-decoded once, runs of `/` merged, `;parameters` dropped.
    package var path: String
    /// The values of the path's parameters, in order.
    package var pathParameters: [(name: String, value: String)]
    /// Query parameters in order, percent-decoded (`+` is a space).
    package var query: [(name: String, value: String)]
    /// The query as sent. A proxy may have put an unencoded URL into it (`UnencodedURL`).
    package var rawQuery = ""
    /// Fields in order, names in lower case, values as sent. Credential fields are in `credentials` instead.
    package var fields: [(name: String, value: String)]
    package var credentials: PresentedCredentials
    /// The method, the target and all fields as sent, one per line. `nil` unless `Endpoint.isApp` is set.
    package var head: String?
    /// The target and credentials for the provider. `nil` unless `Endpoint.passesOn` is set.
    package var passedOn: PassedOn?
    package var body: [UInt8]
    /// The client's address, as the peer or a trusted proxy reports it.
    package var address: IPAddress
    /// The client's TLS certificate. `nil` if the client has none, if it has expired, or if a trusted proxy sent the
    /// request.
    package var certificate: ClientCertificate?
    /// The origin of the configured `public_url` under which the request arrived, e.g. `https://app.example.com`.
    package var origin: String
    /// `host[:port]` of the `public_url` under which the request arrived. Web sessions are bound to it.
    package var authority: String
    /// The cookie attributes for this host.
    package var cookieReach: CookieScope
    package var requestID: String
    /// The design of the gateway's pages.
    package var design: PageDesign

    package init(
        method: String,
        path: String,
        pathParameters: [(name: String, value: String)] = [],
        query: [(name: String, value: String)],
        fields: [(name: String, value: String)],
        credentials: PresentedCredentials = PresentedCredentials(),
        body: [UInt8],
        address: IPAddress,
        origin: String,
        authority: String,
        cookieReach: CookieScope,
        requestID: String,
        design: PageDesign = .included
    ) {
        self.method = method
        self.path = path
        self.pathParameters = pathParameters
        self.query = query
        self.fields = fields
        self.credentials = credentials
        self.body = body
        self.address = address
        self.origin = origin
        self.authority = authority
        self.cookieReach = cookieReach
        self.requestID = requestID
        self.design = design
    }

    /// Returns the value of the field `name` (lower case). `nil` if it is absent or repeated.
    package func field(_ name: String) -> String? {
        let values = self.fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    /// Returns the value of the path parameter `{name}`. `nil` if the path has no such parameter.
    package func pathParameter(_ name: String) -> String? {
        self.pathParameters.first { $0.name == name }?.value
    }

    /// Returns all values of the query parameter `name`.
    package func parameters(_ name: String) -> [String] {
        self.query.filter { $0.name == name }.map(\.value)
    }

    /// Returns the value of the query parameter `name`. `nil` if it is absent or repeated.
    func only(_ name: String) -> String? {
        let values = self.parameters(name)
        return values.count == 1 ? values[0] : nil
    }
}

/// The target and credentials of a request that the gateway passes on to the provider.
package struct PassedOn: Sendable {
    /// The path, with the query if there is one.
    package var target: String
    /// The fields `Authorization`, `X-Session-Token` and `Cookie` (without the gateway's cookies), for the provider
    /// only.
    package var credentials: [(name: String, value: String)]

    package init(target: String, credentials: [(name: String, value: String)]) {
        self.target = target
        self.credentials = credentials
    }
}

/// An endpoint's answer. The listener adds framing, `Date` and `Connection`.
package struct EndpointResponse: Sendable {
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// The reason of a refusal, for the log and the metrics. `nil` if the answer is not a refusal.
    package var reason: Reason?
    /// The link on a refusal's page: the path of the sign-in page or a client's URL. `nil` for the sign-in page that
    /// returns to `/`.
    package var signIn: String?
    /// The operator's text for the user. A refusal's page shows it instead of the gateway's text.
    package var explanation: String?
    /// The account to show on a refusal's page. `nil` if the request has no session.
    package var account: String?
    /// The challenge for the native app whose WebView shows a refusal's page. `nil` for other clients.
    package var native: NativeChallenge?

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

/// The hosts on which an endpoint is served.
package enum EndpointScope: Equatable, Sendable {
    /// Every configured host. Only for paths in `/.sallyport/`, oauth2-proxy's paths, and paths that operators enable.
    case everyHost
    /// Hosts with `endpoints: true`.
    case endpointHosts
    /// Hosts with `endpoints: true` and one of these jobs.
    case hostsWith(EndpointGroups)
    /// Hosts with `well_known: true`.
    case appLinkHosts
}

/// An endpoint that the gateway answers: its path, its limits and its handler.
package struct Endpoint: Sendable {
    /// The paths that the endpoint matches.
    package private(set) var pattern: EndpointPattern
    /// The methods that the endpoint accepts. Other methods get 405 with `Allow`.
    package var methods: [String]
    package var scope: EndpointScope
    /// The size limit of the body in bytes. A larger body gets 413.
    package var bodyLimit: Int
    /// Whether the handler continues after the client disconnects. Required if it changes single-use state.
    package var outlivesClient: Bool
    /// The origins whose scripts may read the answers. `nil` for none. Preflights do not reach the handler.
    package private(set) var readers: CrossOriginReaders?
    /// Writes refusals outside the handler. `nil` for problem documents, or pages in browsers.
    package let envelope: RefusalEnvelope?
    /// Whether the handler answers OPTIONS requests that are not preflights.
    package let answersOptions: Bool
    /// Whether `//` in the path matches `/`, for clients that append a path to a URL with a trailing slash. Only for
    /// listeners without apps, because an app could read the path differently.
    package let mergesSlashes: Bool
    /// Whether path parameters may contain escapes such as `%7C` (`|`). Only for listeners without apps.
    package let allowsEscapedParameters: Bool
    /// Whether the endpoint acts as an app: it matches every spelling of its paths and gets `EndpointRequest.head`.
    /// Only for listeners without apps.
    package let isApp: Bool
    /// Whether the endpoint passes requests on to the provider. Its handler gets `EndpointRequest.passedOn`.
    package let passesOn: Bool
    /// Whether a session-transfer token in a request signs the user in before the handler runs.
    package var usesTransferTokens = false
    package var answer: @Sendable (EndpointRequest) async -> EndpointResponse

    /// - Parameter path: The path. A segment `{name}` matches any one segment (`EndpointPattern`).
    package init(
        path: String,
        methods: [String],
        scope: EndpointScope = .endpointHosts,
        bodyLimit: Int = 16_384,
        outlivesClient: Bool = false,
        envelope: RefusalEnvelope? = nil,
        mergesSlashes: Bool = false,
        allowsEscapedParameters: Bool = false,
        isApp: Bool = false,
        passesOn: Bool = false,
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) {
        self.pattern = EndpointPattern(path)
        self.methods = methods
        self.answersOptions = methods.contains("OPTIONS")
        self.scope = scope
        self.bodyLimit = bodyLimit
        self.outlivesClient = outlivesClient
        self.envelope = envelope
        self.mergesSlashes = mergesSlashes
        self.allowsEscapedParameters = allowsEscapedParameters
        self.isApp = isApp
        self.passesOn = passesOn
        self.answer = answer
    }

    /// Returns an endpoint on every host. Its handler continues after the client disconnects.
    static func everywhere(
        _ path: String,
        _ methods: [String],
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) -> Endpoint {
        Endpoint(path: path, methods: methods, scope: .everyHost, outlivesClient: true, answer: answer)
    }

    /// Returns this endpoint, restricted to hosts that have one of these jobs.
    package func forJobs(_ jobs: EndpointGroups) -> Endpoint {
        var endpoint = self
        endpoint.scope = .hostsWith(jobs)
        return endpoint
    }

    /// The path pattern as text, e.g. `/api/v2/clients/{id}`.
    package var path: String { self.pattern.text }

    /// Returns this endpoint at another path.
    func moved(to path: String) -> Endpoint {
        var endpoint = self
        endpoint.pattern = EndpointPattern(path)
        return endpoint
    }

    /// Returns this endpoint with CORS: scripts of `readers` may read its answers.
    package func readable(by readers: CrossOriginReaders) -> Endpoint {
        var endpoint = self
        endpoint.readers = readers
        if !endpoint.answersOptions { endpoint.methods.append("OPTIONS") }
        return endpoint
    }
}

/// An endpoint that the identity provider answers. The request is forwarded without a session or identity. Cookies of
/// the gateway and transfer tokens are removed. Cookies of the provider, `Authorization` and `X-Session-Token` are
/// kept.
package struct ForwardingEndpoint: Sendable {
    /// The paths that the endpoint matches.
    package let pattern: EndpointPattern
    /// The methods that the endpoint accepts. Other methods get 405 with `Allow`.
    package var methods: [String]
    package var scope: EndpointScope
    /// The name of the provider's upstream.
    package var upstream: String

    /// - Parameter path: The path. A segment `{name}` matches any one segment (`EndpointPattern`).
    package init(path: String, methods: [String], scope: EndpointScope = .endpointHosts, upstream: String) {
        self.pattern = EndpointPattern(path)
        self.methods = methods
        self.scope = scope
        self.upstream = upstream
    }
}
