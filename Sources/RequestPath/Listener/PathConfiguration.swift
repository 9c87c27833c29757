import AddressIntelligence
import Endpoints
package import Handoff
import NIOCore
package import Observability
package import Settings
import Vocabulary

/// What the settings come to for the request path: made once per reload, immutable, shared by all loops.
package final class PathConfiguration: Sendable {
    /// The durations in the loops' unit.
    package struct Timeouts: Sendable {
        let header, idle, bodyGrace, write, response, upstreamIdle, streamIdle, upstreamKeepAlive: TimeAmount
        let bodyRate: Int

        init(_ settings: TimeoutSettings) {
            self.header = TimeAmount(settings.header)
            self.idle = TimeAmount(settings.idle)
            self.bodyGrace = TimeAmount(settings.bodyGrace)
            self.write = TimeAmount(settings.write)
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
    /// Counts reloads: ready identity bytes of another generation are not used.
    package let generation: UInt64
    let limits: LimitSettings
    let timeouts: Timeouts
    let connectTimeout: TimeAmount
    let requestParser: RequestParser
    let responseParser: ResponseParser
    let responseWriter: ResponseWriter
    let cookies: OwnCookies
    let parameter: HandoffParameter
    let identity: IdentityProfile
    let clientAddress: ClientAddressRule
    let handoff: HandoffConsumer?
    let devices: DeviceObserver
    let clients: ClientRegistry

    package init(
        settings: Settings,
        routes: RouteTable,
        targets: [UpstreamTarget],
        endpoints: EndpointTable,
        registry: MetricsRegistry,
        generation: UInt64,
        identity: IdentityProfile,
        handoff: HandoffConsumer?,
        devices: DeviceObserver
    ) {
        self.settings = settings
        self.routes = routes
        self.targets = targets
        self.endpoints = endpoints
        self.generation = generation
        self.metrics = PathMetricIDs(registry: registry, routes: routes.entries.map(\.name))
        self.limits = settings.limits
        self.timeouts = Timeouts(settings.timeouts)
        self.connectTimeout = TimeAmount(settings.timeouts.connect)
        self.requestParser = RequestParser(
            names: FieldNames(
                roles: FieldNames.requestRoles,
                managedNames: identity.managedNames,
                managedPrefixes: identity.managedPrefixes
            ),
            limits: HeadLimits(
                line: settings.limits.requestLine,
                field: settings.limits.field,
                fields: settings.limits.fields,
                fieldCount: settings.limits.fieldCount
            ),
            dropsUnderscore: settings.identity.stripUnderscoreFields
        )
        self.responseParser = ResponseParser(
            names: FieldNames(
                roles: FieldNames.responseRoles,
                managedNames: identity.managedNames,
                managedPrefixes: identity.managedPrefixes
            ),
            limit: 65_536
        )
        self.responseWriter = ResponseWriter(
            ownCookies: [settings.session.cookieName] + settings.handoff.cookieNames)
        self.cookies = OwnCookies(session: settings.session.cookieName, handoff: settings.handoff.cookieNames)
        self.parameter = HandoffParameter(name: settings.handoff.queryParameter)
        self.identity = identity
        self.clientAddress = ClientAddressRule(
            trusted: settings.trustedProxies, header: settings.forwardedHeader)
        self.handoff = handoff
        self.devices = devices
        self.clients = ClientRegistry(settings.clients)
    }

    /// The session cookie for a host's scheme.
    func sessionCookie(isSecure: Bool) -> SessionCookie {
        SessionCookie(name: self.settings.session.cookieName, isSecure: isSecure)
    }
}
