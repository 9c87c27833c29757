package import AddressIntelligence
package import Cryptography
package import Pages
package import Settings
package import Vocabulary

/// A request to one of the gateway's own endpoints, after the strict parser: a copy, independent of the connection.
package struct EndpointRequest: Sendable {
    /// The method as sent, e.g. `GET`.
    package var method: String
    /// The normalised path: percent-decoded once, runs of `/` merged, `;parameters` dropped.
    package var path: String
    /// The values of the path's parameters, in order.
    package var pathParameters: [(name: String, value: String)]
    /// Query parameters in order, percent-decoded (`+` is a space).
    package var query: [(name: String, value: String)]
    /// The query as sent, for values that a proxy has not encoded (`UnencodedURL`).
    package var rawQuery = ""
    /// Fields in order, names in lower case, values as sent. Fields that present a credential are only in
    /// `credentials`.
    package var fields: [(name: String, value: String)]
    package var credentials: PresentedCredentials
    /// Method, target and fields as sent, each on a line, for an endpoint that plays an app (`Endpoint.isApp`).
    package var head: String?
    /// What the provider gets beside `fields` and `body` from an endpoint that asks it first (`Endpoint.passesOn`); `nil` for
    /// other endpoints.
    package var passedOn: PassedOn?
    package var body: [UInt8]
    /// The client's address after `trusted_proxies`.
    package var address: IPAddress
    /// What the client has proven in the TLS handshake; nil: nothing, or a proxy asks.
    package var certificate: ClientCertificate?
    /// The origin of the configured `public_url` under which the request arrived, e.g. `https://app.example.com`.
    package var origin: String
    /// `host[:port]` of that `public_url`: what web sessions are bound to.
    package var authority: String
    /// With which requests browsers send the cookies that the answer sets.
    package var cookieReach: CookieReach
    package var requestID: String
    /// How the answer looks if it is a page.
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
        cookieReach: CookieReach,
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

    /// The only value of the field `name` (lower case); nil when absent or repeated.
    package func field(_ name: String) -> String? {
        let values = self.fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    /// The value of the path parameter `{name}`; nil when the path has no such parameter.
    package func pathParameter(_ name: String) -> String? {
        self.pathParameters.first { $0.name == name }?.value
    }

    /// Every value of the query parameter `name`.
    package func parameters(_ name: String) -> [String] {
        self.query.filter { $0.name == name }.map(\.value)
    }

    /// The value of the query parameter `name`; nil when it is absent or repeated.
    func only(_ name: String) -> String? {
        let values = self.parameters(name)
        return values.count == 1 ? values[0] : nil
    }
}

/// The parts of a request that pass on to the provider as the client sent them.
package struct PassedOn: Sendable {
    /// The path, and the query if there is one.
    package var target: String
    /// `Cookie` without the gateway's own cookies, `Authorization` and `X-Session-Token`: credentials, to be sent to the
    /// provider only.
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
    /// The reason of a refusal, for the log and the metrics; nil if it is none.
    package var reason: Reason?
    /// The path of the sign-in page, or the URL of a client's page, to which a refusal's page leads; nil: to the sign-in
    /// page and from there to `/`.
    package var signIn: String?
    /// What happened, in words of the operator for the user, which a refusal's page shows in place of its own.
    package var explanation: String?
    /// The account whose session was refused, for the refusal's page; nil: there is no session.
    package var account: String?
    /// What a refusal's page passes on to the native app that shows it; nil: nothing.
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
    /// On every configured host: only paths under `/.sallyport/`, those of oauth2-proxy, and what an operator asks for.
    case everyHost
    /// On hosts with endpoints.
    case endpointHosts
    /// On hosts with endpoints where one of these jobs is to be done.
    case hostsWith(EndpointJobs)
    /// On hosts with `well_known: true`.
    case appNamingHosts
}

/// An endpoint that the gateway answers: its path, its limits and its handler.
package struct Endpoint: Sendable {
    /// The paths that it matches.
    package private(set) var pattern: EndpointPattern
    /// The methods that it accepts; others are 405 with `Allow`.
    package var methods: [String]
    package var scope: EndpointScope
    /// The largest body in bytes; more is 413.
    package var bodyLimit: Int
    /// Whether the handler continues when the client leaves: it writes something that is single-use.
    package var outlivesClient: Bool
    /// The other origins whose scripts may read its answers; nil: none. Their preflights are answered before the handler
    /// is asked.
    package private(set) var readers: CrossOriginReaders?
    /// How its clients are refused before it runs; nil: with problem documents, or pages for people.
    package let envelope: RefusalEnvelope?
    /// Whether it answers OPTIONS itself, apart from preflights.
    package let answersOptions: Bool
    /// Whether runs of `/` in its path count as one, for clients that append a path to one that ends with `/`. Only for
    /// listeners without apps: an app could read such a path differently.
    package let mergesSlashes: Bool
    /// Whether the names in its path may have escapes, as `%7C` for `|`, for clients that encode each. Only for listeners
    /// without apps.
    package let takesEscapes: Bool
    /// Whether it plays an app: it takes every form of its paths, and sees the head as sent, with the credentials. Only for
    /// listeners without apps.
    package let isApp: Bool
    /// Whether it passes requests on to the provider: it sees the target and the credentials as sent.
    package let passesOn: Bool
    package var answer: @Sendable (EndpointRequest) async -> EndpointResponse

    /// - Parameter path: The path, in which a segment `{name}` matches any one segment (`EndpointPattern`).
    package init(
        path: String,
        methods: [String],
        scope: EndpointScope = .endpointHosts,
        bodyLimit: Int = 16_384,
        outlivesClient: Bool = false,
        envelope: RefusalEnvelope? = nil,
        mergesSlashes: Bool = false,
        takesEscapes: Bool = false,
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
        self.takesEscapes = takesEscapes
        self.isApp = isApp
        self.passesOn = passesOn
        self.answer = answer
    }

    /// An endpoint on every host that changes something: it does its work even if its client leaves.
    static func everywhere(
        _ path: String,
        _ methods: [String],
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) -> Endpoint {
        Endpoint(path: path, methods: methods, scope: .everyHost, outlivesClient: true, answer: answer)
    }

    /// This endpoint, served only on hosts that have one of these jobs.
    package func forJobs(_ jobs: EndpointJobs) -> Endpoint {
        var endpoint = self
        endpoint.scope = .hostsWith(jobs)
        return endpoint
    }

    /// The path as it was written.
    package var path: String { self.pattern.text }

    /// The same endpoint at another path.
    func moved(to path: String) -> Endpoint {
        var endpoint = self
        endpoint.pattern = EndpointPattern(path)
        return endpoint
    }

    /// The same endpoint for the scripts of other origins.
    package func readable(by readers: CrossOriginReaders) -> Endpoint {
        var endpoint = self
        endpoint.readers = readers
        if !endpoint.answersOptions { endpoint.methods.append("OPTIONS") }
        return endpoint
    }
}

/// An endpoint that the identity provider answers: the request is forwarded to it as on a public route. No session is
/// needed and no identity is sent. The provider's own cookies, `Authorization` and `X-Session-Token` reach it; the
/// gateway's cookies and transfer tokens do not.
package struct ForwardingEndpoint: Sendable {
    /// The paths that it matches.
    package let pattern: EndpointPattern
    /// The methods that it accepts; others are 405 with `Allow`.
    package var methods: [String]
    package var scope: EndpointScope
    /// The name of the provider's upstream.
    package var upstream: String

    /// - Parameter path: The path, in which a segment `{name}` matches any one segment (`EndpointPattern`).
    package init(path: String, methods: [String], scope: EndpointScope = .endpointHosts, upstream: String) {
        self.pattern = EndpointPattern(path)
        self.methods = methods
        self.scope = scope
        self.upstream = upstream
    }
}
