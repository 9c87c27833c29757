import Endpoints
import NIOCore
package import Observability
import Pages
import Sessions
package import Settings
import SignOn
import Vocabulary

/// The settings in the form that the request path needs. Immutable and shared by all loops. Each reload creates a new
/// one.
package final class PathConfiguration: Sendable {
    /// The timeouts of the settings as `TimeAmount`, and the minimum rate of a request's body.
    package struct Timeouts: Sendable {
        let header, idle, bodyGrace, write, queue, response, upstreamIdle, streamIdle, upstreamKeepAlive: TimeAmount
        let bodyRate: Int

        init(_ settings: TimeoutSettings) {
            self.header = TimeAmount(settings.header)
            self.idle = TimeAmount(settings.idle)
            self.bodyGrace = TimeAmount(settings.bodyGrace)
            self.write = TimeAmount(settings.write)
            self.queue = TimeAmount(settings.queue)
            self.response = TimeAmount(settings.response)
            self.upstreamIdle = TimeAmount(settings.upstreamIdle)
            self.streamIdle = TimeAmount(settings.streamIdle)
            self.upstreamKeepAlive = TimeAmount(settings.upstreamKeepAlive)
            self.bodyRate = settings.bodyRate
        }
    }

    package let settings: Settings
    package let routes: RouteTable
    package let targets: [UpstreamTarget]
    package let endpoints: EndpointTable
    package let metrics: PathMetricIDs
    /// Begins at 1 and grows with each reload. Identity lines of another generation are not used.
    package let generation: UInt64
    let limits: LimitSettings
    let timeouts: Timeouts
    let connectTimeout: TimeAmount
    let requestParser: RequestParser
    let responseParser: ResponseParser
    /// Decides which fields may follow a body.
    package let trailerRules: TrailerRules
    let responseWriter: ResponseWriter
    let ownNames: OwnNames
    let handoffCookies: HandoffCookies
    /// The field lines that clear the handoff cookies on each host, by the host's index.
    private let handoffClearing: [[[UInt8]]]
    private let origins: ServedOrigins
    let clientAddress: ClientAddressRule
    /// The parts that judge requests to apps. `nil` on a listener that answers only with its endpoints.
    package let judging: JudgingProfile?
    let pinnedJudging: Pinned<JudgingProfile>?
    /// The settings and tables for the checks of other proxies. `nil` if no other proxy may send checks.
    let authorization: AuthorizationProfile?
    /// The listeners for clients, in the order of the settings.
    private let listeners: [ListenerProfile]
    /// The listener for proxies that send checks.
    private let checks: ListenerProfile
    /// The listener that redirects clients to https. `nil` if there is no redirect listener.
    private let redirects: ListenerProfile?
    /// The field line of `Strict-Transport-Security`. `nil` if the gateway does not send the field.
    let strictTransport: [UInt8]?

    /// - Parameters:
    ///   - routes: The routes. Routes to apps need `judging`: nothing is forwarded without it.
    ///   - targets: The apps of the routes.
    ///   - generation: A number that grows with each reload.
    ///   - authorization: The profile for checks. It needs `judging`. `nil` if no other proxy may send checks.
    ///   - tls: The TLS of each listener for clients, in the order of the settings. `nil` for a listener without TLS.
    ///   - checksTLS: The TLS of the listener for proxies that send checks.
    package init(
        settings: Settings,
        routes: RouteTable,
        targets: [UpstreamTarget] = [],
        endpoints: EndpointTable,
        registry: MetricsRegistry,
        generation: UInt64 = 1,
        judging: JudgingProfile? = nil,
        authorization: AuthorizationProfile? = nil,
        tls: [ListenerTLS?] = [],
        checksTLS: ListenerTLS? = nil
    ) {
        self.settings = settings
        self.routes = routes
        self.targets = targets
        self.endpoints = endpoints
        self.generation = generation
        self.metrics = PathMetricIDs(
            registry: registry,
            routes: (routes.entries + endpoints.routes).map(\.name),
            endpoints: endpoints.names,
            upstreams: settings.upstreams
        )
        self.limits = settings.limits
        self.timeouts = Timeouts(settings.timeouts)
        self.connectTimeout = TimeAmount(settings.timeouts.connect)
        self.requestParser = RequestParser(
            names: FieldNames(
                roles: FieldNames.requestRoles,
                managedNames: judging?.identity.managed.names ?? [],
                managedPrefixes: judging?.identity.managed.prefixes ?? []
            ),
            limits: HeadLimits(
                line: settings.limits.requestLine,
                field: settings.limits.field,
                fields: settings.limits.fields,
                fieldCount: settings.limits.fieldCount
            ),
            dropsUnderscore: settings.identity.stripUnderscoreFields,
            allowsMissingHost: routes.anyHost != nil
        )
        self.responseParser = ResponseParser(
            names: FieldNames(
                roles: FieldNames.responseRoles,
                // Only the gateway's own names: apps may send fields with the other managed names.
                managedNames: (judging?.identity.ownNames ?? [])
                    + (settings.strictTransport == nil ? [] : ["strict-transport-security"]),
                managedPrefixes: ["x-sallyport-"]
            ),
            limit: 65_536
        )
        self.trailerRules = TrailerRules(
            managedNames: (judging?.identity.managed.names ?? []) + (judging?.identity.ownNames ?? []),
            managedPrefixes: judging?.identity.managed.prefixes ?? [],
            requestLimits: self.requestParser.limits,
            answerLimits: HeadLimits(
                line: self.responseParser.limit,
                field: self.responseParser.limit,
                fields: self.responseParser.limit,
                fieldCount: ResponseHead.maxFields
            ),
            dropsUnderscore: settings.identity.stripUnderscoreFields
        )
        let handoffCookies = HandoffCookies(settings)
        self.handoffCookies = handoffCookies
        self.handoffClearing = routes.hosts.map { Self.clearing(handoffCookies, on: $0) }
        self.origins = ServedOrigins(settings.hosts)
        // At most one provider has its own cookie. On the hosts of other providers, its cookie is ignored.
        let providerCookie = settings.providers.lazy.compactMap(\.settings.credentialCookie).first
        func ownCookies(_ reach: CookieScope) -> OwnCookies {
            OwnCookies(
                session: reach.name(settings.session.cookieName),
                handoff: handoffCookies.names,
                attempt: handoffCookies.attempt(reach).name,
                handled: handoffCookies.handled(reach).name,
                provider: providerCookie
            )
        }
        self.responseWriter = ResponseWriter(
            sessionCookies: [CookieScope.site, .plain].map { $0.name(settings.session.cookieName) },
            handoffCookies: handoffCookies.names
        )
        self.ownNames = OwnNames(
            parameter: HandoffParameter(name: settings.handoff.queryParameter),
            secureCookies: ownCookies(.site),
            plainCookies: ownCookies(.plain)
        )
        self.clientAddress = ClientAddressRule(trusted: settings.trustedProxies, header: settings.forwardedHeader)
        self.judging = judging
        self.pinnedJudging = judging.map { Pinned($0) }
        self.authorization = authorization
        self.listeners = settings.listen.enumerated().map { index, listener in
            ListenerProfile(listener, tls: tls.indices.contains(index) ? tls[index] : nil)
        }
        self.checks = ListenerProfile(settings.authorization?.listen, tls: checksTLS, for: .checks)
        self.redirects = settings.redirectListen.map { ListenerProfile($0, for: .redirects) }
        self.strictTransport = settings.strictTransport.map { Array("Strict-Transport-Security: \($0.text)\r\n".utf8) }
    }

    /// Returns the profile of a listener. `nil` if the settings no longer contain the listener.
    func listener(_ role: ListenerRole) -> ListenerProfile? {
        switch role {
        case .clients(let index): self.listeners.indices.contains(index) ? self.listeners[index] : nil
        case .checks: self.checks
        case .redirects: self.redirects
        }
    }

    /// Returns the provider at which the host's user signs in. `nil` if none meets `require`. If several do, prefers
    /// the session's, then one that accepts no demands, because a demand could make the sign-in fail.
    ///
    /// - Parameters:
    ///   - session: The session of the user. `nil` if it is not known who signs in.
    ///   - require: The requirements of a route for its users.
    func provider(
        of host: HostEntry?,
        for session: Session? = nil,
        meeting require: RequirementSettings = RequirementSettings()
    ) -> (any ProviderSettings)? {
        guard let host else { return self.settings.provider }
        let names = host.settings.providers.filter { require.providers.isEmpty || require.providers.contains($0) }
        if names.count == 1 { return self.settings.provider(named: names[0]) }
        if let name = session?.identity.realm.name, names.contains(name) { return self.settings.provider(named: name) }
        let all = names.compactMap(self.settings.provider(named:))
        return all.first { $0.signsIn && !$0.enforcesRequestedAssurance } ?? all.first(where: \.signsIn) ?? all.first
    }

    /// Returns whether the host's sign-in page is the gateway's own.
    func hasSignInPage(_ host: HostEntry) -> Bool {
        host.realms.areSeveral
            || host.settings.providers.contains { self.settings.provider(named: $0)?.asksForPasswords == true }
    }

    /// Returns the answer. A redirect to a page of the gateway gets the public path of the page (`pages.base`).
    func withPublicPath(_ answer: LocalAnswer) -> LocalAnswer {
        let pages = self.settings.pages
        guard !pages.base.isEmpty,
            let field = answer.response.fields.firstIndex(where: { $0.name.lowercased() == "location" })
        else { return answer }
        let location = answer.response.fields[field].value
        let origin = self.origins.origin(of: location) ?? ""
        var answer = answer
        answer.response.fields[field].value =
            origin + pages.path(String(location.utf8.dropFirst(origin.utf8.count)) ?? "")
        return answer
    }

    /// Returns the lines that clear the handoff cookies of a host.
    func handoffClearing(of host: HostEntry) -> [[UInt8]] {
        host.isNamed ? Self.clearing(self.handoffCookies, on: host) : self.handoffClearing[host.index]
    }

    private static func clearing(_ cookies: HandoffCookies, on host: HostEntry) -> [[UInt8]] {
        cookies.clearing(on: host.publicURL.authority, host.settings.cookieReach)
            .map { Array("Set-Cookie: \($0)\r\n".utf8) }
    }

    func sessionCookie(of host: HostEntry) -> SessionCookie {
        SessionCookie(name: self.settings.session.cookieName, reach: host.settings.cookieReach)
    }

    /// Returns the cookie that lets a browser repeat a handoff on a host.
    func attemptCookie(of host: HostEntry) -> SessionCookie {
        self.handoffCookies.attempt(host.settings.cookieReach)
    }
}
