package import Observability
package import Settings
import Vocabulary

/// The ids of the request path's metrics in one configuration. Read by every loop.
package final class PathMetricIDs: Sendable {
    package enum Outcome: Int, CaseIterable, Sendable {
        /// Forwarded, or answered by an endpoint.
        case ok
        /// Refused by the gateway with a reason id.
        case refused
        /// Failed for a reason outside the request (`Reason.isFailure`).
        case failed

        var label: String { "\(self)" }
    }

    /// `requests[route, class and outcome]`. The rows are the routes, the gateway's endpoints, and "none" for other
    /// requests.
    fileprivate let requests: CounterTable
    fileprivate let durations: [HistogramID]
    /// `decisions[route, reason]`. The last column is "allowed".
    fileprivate let decisions: CounterTable
    fileprivate let allowed = Reason.allCases.count
    fileprivate let endpoints: [String: Int]
    fileprivate let none: Int
    fileprivate let inFlight: GaugeID
    fileprivate let connections: GaugeID
    fileprivate let connectionsEvicted: CounterID
    /// The counters in the order of `HTTP2Excess`.
    fileprivate let http2Closed: [CounterID]
    /// The counters in the order of `HandshakeResult`.
    fileprivate let handshakes: [CounterID]
    /// The counters in the order of `ProxyResult`.
    fileprivate let preambles: [CounterID]
    fileprivate let resolvedL1: CounterID
    fileprivate let resolvedStore: CounterID
    fileprivate let resolvedMiss: CounterID
    /// `upstreamRequests[upstream][class]`. Class 0 is for requests without an answer.
    fileprivate let upstreamRequests: [CounterID]
    fileprivate let upstreamDurations: [HistogramID]
    fileprivate let upstreamRetries: [CounterID]
    fileprivate let upstreamUnasked: [CounterID]
    fileprivate let upstreamIdle: GaugeID
    fileprivate let upstreamActive: GaugeID
    private let upstreamQueues: [GaugeID]
    /// The counters of each app for requests that wait because an address or a session has reached its share.
    fileprivate let upstreamShares: [(address: CounterID, session: CounterID)]
    fileprivate let upstreamStalled: [CounterID]
    /// `servers[upstream][server]`. Empty for an app with one server in the settings.
    private let servers: [[ServerMetricIDs]]
    /// The label values of the servers that scrapes show.
    private let serverNames: [[String]]
    /// The label values of the first server of each app.
    private let firstNames: [[String]]
    private let registry: MetricsRegistry
    /// `checks[dialect, result]`. The dialects are followed by "none".
    fileprivate let checks: CounterTable
    /// The counters in the order of `BindingMode.judged`.
    fileprivate let bindingWouldReject: [CounterID]
    private static let classes = 5

    /// - Parameters:
    ///   - routes: The names of the routes in the order of their indices.
    ///   - endpoints: The names of the gateway's own endpoints.
    ///   - upstreams: The apps in the order of their indices.
    package init(registry: MetricsRegistry, routes: [String], endpoints: [String], upstreams apps: [UpstreamSettings]) {
        let upstreams = apps.map(\.name)
        let names = routes + endpoints + ["none"]
        self.endpoints = Dictionary(uniqueKeysWithValues: endpoints.enumerated().map { ($1, routes.count + $0) })
        self.none = names.count - 1
        self.requests = registry.counters(
            MetricNames.httpRequests,
            rows: names,
            columns: (1...Self.classes).flatMap { class_ in Outcome.allCases.map { ["\(class_)xx", $0.label] } }
        )
        self.durations = names.map { registry.histogram(MetricNames.httpRequestDuration, $0) }
        self.decisions = registry.counters(
            MetricNames.decisions,
            rows: names,
            columns: Reason.allCases.map { ["denied", $0.rawValue] } + [["allowed", ""]]
        )
        self.inFlight = registry.gauge(MetricNames.httpRequestsInFlight)
        self.connections = registry.gauge(MetricNames.connectionsOpen, "public")
        self.connectionsEvicted = registry.counter(MetricNames.connectionsEvicted, "public")
        self.http2Closed = HTTP2Excess.allCases.map {
            registry.counter(MetricNames.http2ConnectionsClosed, $0.rawValue)
        }
        self.handshakes = HandshakeResult.allCases.map { registry.counter(MetricNames.tlsHandshakes, $0.rawValue) }
        self.preambles = ProxyResult.allCases.map { registry.counter(MetricNames.proxyProtocol, $0.rawValue) }
        self.resolvedL1 = registry.counter(MetricNames.sessionResolve, "l1", "hit")
        self.resolvedStore = registry.counter(MetricNames.sessionResolve, "store", "hit")
        self.resolvedMiss = registry.counter(MetricNames.sessionResolve, "store", "miss")
        self.upstreamRequests = upstreams.flatMap { name in
            ["error", "1xx", "2xx", "3xx", "4xx", "5xx"].map {
                registry.counter(MetricNames.upstreamRequests, name, $0)
            }
        }
        self.upstreamDurations = upstreams.map { registry.histogram(MetricNames.upstreamDuration, $0) }
        self.upstreamRetries = upstreams.map { registry.counter(MetricNames.upstreamRetries, $0) }
        self.upstreamUnasked = upstreams.map { registry.counter(MetricNames.upstreamUnasked, $0) }
        self.bindingWouldReject = BindingMode.judged.map {
            registry.counter(MetricNames.bindingWouldReject, $0.rawValue, "session")
        }
        self.checks = registry.counters(
            MetricNames.authorizationChecks,
            rows: AuthorizationDialect.allCases.map(\.rawValue) + ["none"],
            columns: CheckResult.allCases.map { [$0.rawValue] }
        )
        self.upstreamIdle = registry.gauge(MetricNames.upstreamConnections, "idle")
        self.upstreamActive = registry.gauge(MetricNames.upstreamConnections, "active")
        self.upstreamQueues = upstreams.map { registry.gauge(MetricNames.upstreamQueue, $0) }
        self.upstreamShares = upstreams.map { name in
            (
                registry.counter(MetricNames.upstreamShareReached, name, "address"),
                registry.counter(MetricNames.upstreamShareReached, name, "session")
            )
        }
        self.upstreamStalled = upstreams.map { registry.counter(MetricNames.upstreamStalled, $0) }
        self.servers = apps.map { app in
            app.others.isEmpty ? [] : app.servers.map { ServerMetricIDs(registry, app.name, $0.origin) }
        }
        // A single server is included only if its name may have several addresses.
        self.serverNames = apps.filter { !$0.others.isEmpty || $0.first.isNamed }.flatMap { app in
            app.servers.map { [app.name, $0.origin] }
        }
        self.firstNames = apps.map { [$0.name, $0.first.origin] }
        self.registry = registry
    }

    /// Limits each scrape to the servers of the current configuration.
    package static func showServers(in registry: MetricsRegistry, of used: @escaping @Sendable () -> PathMetricIDs) {
        for family in [MetricNames.serverInFlight, MetricNames.serverEjections, MetricNames.serverOut] {
            registry.show(family) { used().serverNames }
        }
        registry.show(MetricNames.serverRequests) {
            used().serverNames.flatMap { names in ServerMetricIDs.classes.map { names + [$0] } }
        }
    }

    /// Returns the metrics of an app's servers. Creates the metrics of an app's only server.
    func servers(of upstream: Int) -> [ServerMetricIDs] {
        guard self.servers[upstream].isEmpty else { return self.servers[upstream] }
        let names = self.firstNames[upstream]
        return [ServerMetricIDs(self.registry, names[0], names[1])]
    }

    /// Returns the gauge of the requests that wait for a connection to an app. Pools keep the gauge, because a reload
    /// may change the app's index.
    func upstreamQueue(_ upstream: Int) -> GaugeID { self.upstreamQueues[upstream] }

    @inline(__always)
    fileprivate func request(_ route: Int, _ status: Int, _ outcome: Outcome) -> CounterID {
        let class_ = min(max(status / 100, 1), Self.classes) - 1
        return self.requests[route, class_ * Outcome.allCases.count + outcome.rawValue]
    }

    @inline(__always)
    fileprivate func decision(_ route: Int, _ reason: Int) -> CounterID { self.decisions[route, reason] }
}

/// The metrics of one server of an app.
struct ServerMetricIDs: Sendable {
    fileprivate static let classes = ["error", "1xx", "2xx", "3xx", "4xx", "5xx"]

    /// The requests without an answer.
    private let errors: CounterID
    /// The requests by class of status. Not an array, because each request would count references to it.
    private let informational, successful, redirecting, refused, failed: CounterID
    fileprivate let inFlight: GaugeID
    fileprivate let ejections: CounterID
    fileprivate let out: GaugeID

    fileprivate init(_ registry: MetricsRegistry, _ upstream: String, _ server: String) {
        func requests(_ class_: String) -> CounterID {
            registry.counter(MetricNames.serverRequests, upstream, server, class_)
        }
        self.errors = requests(Self.classes[0])
        self.informational = requests(Self.classes[1])
        self.successful = requests(Self.classes[2])
        self.redirecting = requests(Self.classes[3])
        self.refused = requests(Self.classes[4])
        self.failed = requests(Self.classes[5])
        self.inFlight = registry.gauge(MetricNames.serverInFlight, upstream, server)
        self.ejections = registry.counter(MetricNames.serverEjections, upstream, server)
        self.out = registry.gauge(MetricNames.serverOut, upstream, server)
    }

    /// Returns the counter for the class of `status`. A `status` of 0 means that there was no answer.
    fileprivate func requests(_ status: Int) -> CounterID {
        switch status / 100 {
        case 2: self.successful
        case 3: self.redirecting
        case 4: self.refused
        case 1: self.informational
        case 0: self.errors
        default: self.failed
        }
    }
}

/// The metrics of one loop. Counting is a plain addition without a lock.
final class PathMetrics {
    private let shard: MetricsShard
    private var ids: PathMetricIDs
    private static let reasonIndex: [Reason: Int] = Dictionary(
        uniqueKeysWithValues: Reason.allCases.enumerated().map { ($1, $0) }
    )

    init(shard: MetricsShard, ids: PathMetricIDs) {
        self.shard = shard
        self.ids = ids
    }

    func adopt(_ ids: PathMetricIDs) {
        self.ids = ids
    }

    @inline(__always)
    func requestBegan() {
        self.shard.add(self.ids.inFlight, 1)
    }

    /// - Returns: The slot that counted the duration.
    @inline(__always)
    func requestEnded(
        route: Int?,
        endpoint: @autoclosure () -> String?,
        status: Int,
        reason: Reason?,
        decision: RequestDecision?,
        nanoseconds: Int64
    ) -> Int {
        // The request may have begun under a configuration with other routes.
        let index = min(route ?? endpoint().flatMap { self.ids.endpoints[$0] } ?? .max, self.ids.none)
        let outcome: PathMetricIDs.Outcome =
            switch reason {
            case nil: .ok
            case .some(let reason) where reason.isFailure: .failed
            case .some: .refused
            }
        let column: Int? =
            switch decision {
            case .allowed: self.ids.allowed
            case .denied(let reason): Self.reasonIndex[reason, default: self.ids.allowed]
            case nil: nil
            }
        // All ids are read first. Otherwise, each call that counts would retain `ids`.
        let (inFlight, request) = (self.ids.inFlight, self.ids.request(index, status, outcome))
        let (duration, decided) = (self.ids.durations[index], column.map { self.ids.decision(index, $0) })
        self.shard.add(inFlight, -1)
        self.shard.increment(request)
        let slot = self.shard.observe(duration, nanoseconds: nanoseconds)
        if let decided { self.shard.increment(decided) }
        return slot
    }

    /// Adds a recorded trace to the duration of its request, as an exemplar.
    ///
    /// - Parameter slot: The slot that counted the duration.
    @inline(__always)
    func traced(_ exemplar: Exemplar, at slot: Int) { self.shard.note(exemplar, at: slot) }

    func connectionOpened() { self.shard.add(self.ids.connections, 1) }
    func connectionClosed() { self.shard.add(self.ids.connections, -1) }

    /// Counts a device that the live binding would reject, on a route that only logs mismatches.
    func bindingWouldReject(_ binding: BindingMode) {
        guard let index = BindingMode.judged.firstIndex(of: binding) else { return }
        self.shard.increment(self.ids.bindingWouldReject[index])
    }

    /// The dialects in the order of `checks`. Stored, because `allCases` makes a new array.
    private static let dialects = AuthorizationDialect.allCases

    /// - Parameter dialect: The dialect of the check. `nil` if the check was not understood.
    func checkEnded(_ dialect: AuthorizationDialect?, _ result: CheckResult) {
        let dialects = Self.dialects
        let row = dialect.flatMap { dialects.firstIndex(of: $0) } ?? dialects.count
        self.shard.increment(self.ids.checks[row, CheckResult.allCases.firstIndex(of: result) ?? 0])
    }

    func http2Closed(_ excess: HTTP2Excess) {
        guard let index = HTTP2Excess.allCases.firstIndex(of: excess) else { return }
        self.shard.increment(self.ids.http2Closed[index])
    }

    func handshakeEnded(_ result: HandshakeResult) {
        guard let index = HandshakeResult.allCases.firstIndex(of: result) else { return }
        self.shard.increment(self.ids.handshakes[index])
    }

    func preambleEnded(_ result: ProxyResult) {
        guard let index = ProxyResult.allCases.firstIndex(of: result) else { return }
        self.shard.increment(self.ids.preambles[index])
    }

    func connectionEvicted() { self.shard.increment(self.ids.connectionsEvicted) }

    @inline(__always)
    func sessionResolved(_ source: SessionSource) {
        switch source {
        case .l1: self.shard.increment(self.ids.resolvedL1)
        case .store: self.shard.increment(self.ids.resolvedStore)
        case .none: self.shard.increment(self.ids.resolvedMiss)
        }
    }

    /// - Parameters:
    ///   - upstream: The index of the app.
    ///   - status: The status of the answer. 0 if there was no answer.
    /// - Returns: The slot that counted the duration. -1 if the duration was not counted.
    @inline(__always) @discardableResult
    func upstreamAnswered(_ upstream: Int, status: Int, nanoseconds: Int64) -> Int {
        guard upstream < self.ids.upstreamDurations.count else { return -1 }
        let request = self.ids.upstreamRequests[upstream * 6 + min(status / 100, 5)]
        let duration = self.ids.upstreamDurations[upstream]
        self.shard.increment(request)
        return self.shard.observe(duration, nanoseconds: nanoseconds)
    }

    func upstreamRetried(_ upstream: Int) {
        if upstream < self.ids.upstreamRetries.count { self.shard.increment(self.ids.upstreamRetries[upstream]) }
    }

    /// Counts a connection on which an app sent bytes before the request was sent.
    func upstreamUnasked(_ upstream: Int) {
        if upstream < self.ids.upstreamUnasked.count { self.shard.increment(self.ids.upstreamUnasked[upstream]) }
    }

    /// Counts a request that must wait because its client or session has reached its share of the app's connections.
    func upstreamShare(_ upstream: Int, ofSession: Bool) {
        guard upstream < self.ids.upstreamShares.count else { return }
        let ids = self.ids.upstreamShares[upstream]
        self.shard.increment(ofSession ? ids.session : ids.address)
    }

    /// Counts a request that ends because its client is stalled while others wait for the app.
    func upstreamStalled(_ upstream: Int) {
        if upstream < self.ids.upstreamStalled.count { self.shard.increment(self.ids.upstreamStalled[upstream]) }
    }

    /// Counts a request to one server by the status of the answer. A `status` of 0 means that there was no answer.
    func serverAnswered(_ server: ServerMetricIDs, status: Int) { self.shard.increment(server.requests(status)) }

    func serverInFlight(_ server: ServerMetricIDs, _ change: Int64) { self.shard.add(server.inFlight, change) }

    func serverEjected(_ server: ServerMetricIDs) { self.shard.increment(server.ejections) }

    func serverOut(_ server: ServerMetricIDs, _ change: Int64) { self.shard.add(server.out, change) }

    func upstreamQueue(_ gauge: GaugeID, _ change: Int64) { self.shard.add(gauge, change) }

    @inline(__always)
    func upstreamConnections(active: Int64, idle: Int64) {
        if active != 0 { self.shard.add(self.ids.upstreamActive, active) }
        if idle != 0 { self.shard.add(self.ids.upstreamIdle, idle) }
    }
}

extension Reason {
    /// True if the store, the provider, an app, the gateway itself or the connection has failed. False if the gateway
    /// has refused the request.
    var isFailure: Bool {
        switch self {
        case .storeUnavailable, .storeFull, .providerUnavailable, .signInProviderError, .signInInvalidToken,
            .upstreamUnreachable, .upstreamTLS, .upstreamTimeout, .upstreamReset, .upstreamMalformed,
            .upstreamTruncated, .gatewayOverloaded, .gatewayDraining, .clientGone:
            true
        default: false
        }
    }
}

/// The gateway's decision about a request.
enum RequestDecision: Equatable {
    /// Forwarded or answered by an endpoint, even if the client left later or the app's answer was cut off.
    case allowed
    case denied(Reason)
}

/// The result of a check by another proxy: the values of `sallyport_authz_checks_total{result}`.
enum CheckResult: String, CaseIterable {
    case allowed
    /// Redirected to the sign-in page, or to the requested page after a handoff.
    case redirected
    case denied
    /// The store or a provider did not answer.
    case failed
}

/// A limit that an HTTP/2 client exceeded: the values of `sallyport_http2_connections_closed_total{reason}`.
package enum HTTP2Excess: String, CaseIterable, Sendable {
    /// Streams that were reset by the client or because of the client's errors.
    case resets
    case pings
    case settings
    /// The CONTINUATION frames of one field block, or the time that the block took.
    case fieldBlock = "field_block"
    /// DATA frames without data.
    case emptyData = "empty_data"
    case priorities
    case windowUpdates = "window_updates"
    /// Bytes that are neither fields nor content.
    case overhead
    /// Frames that the client does not read.
    case queue
    /// Answers that the client does not read.
    case stalls
    /// A protocol error that ends the connection.
    case protocolError = "protocol_error"
}

/// The place where a session was found: the loop's own cache (`l1`) or the store. `none` if no session was found.
enum SessionSource: String, CaseIterable {
    case none, l1, store
}
