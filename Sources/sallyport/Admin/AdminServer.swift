import Endpoints
import NIOCore
import Observability
import RequestPath
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// The operator's endpoints: whether the gateway is alive and ready, and its metrics. They require no credential, so
/// they contain no user, session or address, and their listener is bound to loopback unless the settings say otherwise.
/// Those of users' sessions require an operator's token, and without configured tokens there are none.
///
/// They are served like the endpoints of the public listeners, with the same connection and the same limits of a head.
/// Its loop, connection limit and metrics are its own, so it answers while the public listeners are full, drain or have
/// closed, and its requests are neither in the access log nor in the metrics.
struct AdminServer: Sendable {
    /// One condition of readiness.
    typealias Check = (name: String, ok: Bool, detail: String)

    /// Connections at the same time.
    private static let connectionLimit = 64

    private let listener: Listener
    private let loops: PathLoops
    /// Makes the configuration with these endpoints for operators.
    private let configure: @Sendable (_ operators: [Endpoint]) throws -> PathConfiguration

    /// Starts the listener on one event loop.
    ///
    /// - Parameters:
    ///   - operators: The endpoints that need an operator's token.
    ///   - isReady: Whether the gateway should get traffic, and the conditions; must not block.
    ///   - metrics: The metrics in Prometheus's text format.
    /// - Throws: `ListenerError` that names the address.
    static func start(
        _ address: ListenAddress,
        _ foundations: Foundations,
        on eventLoop: TransportLoop,
        operators: [Endpoint],
        isReady: @escaping @Sendable () -> (ready: Bool, checks: [Check]),
        metrics: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> AdminServer {
        let registry = MetricsRegistry()
        let configure = { @Sendable (operators: [Endpoint]) throws in
            try self.configuration(
                address,
                self.endpoints(isReady: isReady, metrics: metrics) + operators,
                registry: registry
            )
        }
        let configuration = try configure(operators)
        let loop = try await eventLoop.submit {
            let loop = PathLoop(
                eventLoop: eventLoop,
                configuration: configuration,
                // Never asked, because there is no route. So the cache needs no news of ended sessions.
                sessions: SessionResolver(
                    loop: eventLoop,
                    cache: SessionCache(capacity: 0),
                    store: foundations.store,
                    authority: foundations.authority,
                    clock: foundations.clock
                ),
                shard: registry.makeShard(on: eventLoop),
                accessLog: nil,
                sessionClock: foundations.clock
            )
            loop.start()
            return PathLoops.Place(loop, on: eventLoop)
        }.get()
        let loops = PathLoops([loop])
        let listener = try await Listener.bind(
            address,
            setting: "admin.listen",
            loops: loops,
            gate: ConnectionGate(configuration.settings.limits, trusted: [])
        )
        return AdminServer(listener: listener, loops: loops, configure: configure)
    }

    /// The port, including one that the system chose.
    var port: Int { self.listener.port }

    /// Other endpoints for operators, made but not served yet.
    struct Prepared: Sendable {
        fileprivate let loops: PathLoops
        fileprivate let configuration: PathConfiguration

        /// Serves them from now on.
        func use() async { await self.loops.onEach { $0.adopt(self.configuration) } }
    }

    /// Makes what is served with these endpoints for operators.
    func prepare(operators: [Endpoint]) throws -> Prepared {
        Prepared(loops: self.loops, configuration: try self.configure(operators))
    }

    /// Stops accepting and closes every connection.
    func close() async {
        await self.listener.close()
        await self.loops.onEach { $0.closeAll() }
    }

    /// Endpoints on a host of any name, with the default limits and deadlines.
    private static func configuration(
        _ address: ListenAddress,
        _ endpoints: [Endpoint],
        registry: MetricsRegistry
    ) throws -> PathConfiguration {
        let name = address.host.contains(":") ? "[\(address.host)]" : address.host
        let host = HostSettings(
            publicURL: PublicURL(isHTTPS: false, host: name, port: address.port),
            endpoints: true,
            routes: []
        )
        var settings = Settings(hosts: [host], upstreams: [])
        settings.limits.connections = self.connectionLimit
        // All clients may come from one address, that of a local proxy or of the node.
        settings.limits.connectionsPerAddress = 0
        let routes = RouteTable(forAnyName: host)
        return PathConfiguration(
            settings: settings,
            routes: routes,
            targets: [],
            endpoints: try EndpointTable(endpoints, forwarding: [], on: routes, upstreams: []),
            registry: registry,
            audit: AuditStream(queue: nil),
            generation: 1,
            identity: IdentityProfile(settings.identity),
            handoff: nil,
            devices: DeviceObserver(directory: nil),
            clients: ClientRegistry([])
        )
    }

    /// The endpoints of the listener.
    private static func endpoints(
        isReady: @escaping @Sendable () -> (ready: Bool, checks: [Check]),
        metrics: @escaping @Sendable () async throws -> [UInt8]
    ) -> [Endpoint] {
        [
            // It reports only that the process is alive: if it depended on the store, an orchestrator would restart
            // gateways during a short failure of the store and turn it into an outage.
            Endpoint(path: "/healthz", methods: ["GET", "HEAD"], scope: .everyHost) { _ in .text(200, "ok\n") },
            Endpoint(path: "/readyz", methods: ["GET", "HEAD"], scope: .everyHost) { request in
                let isVerbose = request.query.first?.name.hasPrefix("verbose") ?? false
                return self.readiness(isReady(), isVerbose: isVerbose)
            },
            Endpoint(path: "/metrics", methods: ["GET", "HEAD"], scope: .everyHost) { _ in
                guard let text = try? await metrics() else { return .text(503, "metrics are not available\n") }
                return EndpointResponse(
                    status: 200,
                    fields: [
                        ("content-type", "text/plain; version=0.0.4; charset=utf-8"), ("cache-control", "no-store"),
                    ],
                    body: text
                )
            },
        ]
    }

    private static func readiness(_ state: (ready: Bool, checks: [Check]), isVerbose: Bool) -> EndpointResponse {
        let status = state.ready ? 200 : 503
        guard isVerbose else {
            let failing = state.checks.filter { !$0.ok }.map(\.name).joined(separator: ", ")
            return .text(status, state.ready ? "ready\n" : "not ready: \(failing)\n")
        }
        let checks = state.checks.map { check -> JSONValue in
            ["name": .string(check.name), "ok": .bool(check.ok), "detail": .string(check.detail)]
        }
        return .json(status, ["ready": .bool(state.ready), "checks": .array(checks)])
    }
}

extension EndpointResponse {
    /// A line of text for operators.
    fileprivate static func text(_ status: Int, _ text: String) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")],
            body: Array(text.utf8)
        )
    }
}
