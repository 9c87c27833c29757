import Endpoints
import Observability
import RequestPath
import Settings
import Transport
import Vocabulary

/// The operator's endpoints: whether the gateway is alive and ready, and its metrics. They require no credential, so
/// they contain no user, session or address, and their listener is bound to loopback unless the settings say otherwise.
/// Those of users' sessions require an operator's token, and without configured tokens there are none.
///
/// They are served by a listener of their own (`EndpointServer`), so it answers while the public listeners are full, drain
/// or have closed.
struct AdminServer: Sendable {
    /// One condition of readiness.
    typealias Check = (name: String, ok: Bool, detail: String)

    private let server: EndpointServer
    /// The endpoints that need no operator.
    private let open: [Endpoint]

    /// Starts the listener on one event loop.
    ///
    /// - Parameters:
    ///   - operators: The endpoints that need an operator's token.
    ///   - isReady: Whether the gateway should get traffic, and the conditions; must not block.
    ///   - metrics: The metrics in Prometheus's text format.
    /// - Throws: `ListenerError` that names the address.
    static func start(
        _ address: ListenAddress,
        on eventLoop: TransportLoop,
        operators: [Endpoint],
        isReady: @escaping @Sendable () -> (ready: Bool, checks: [Check]),
        metrics: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> AdminServer {
        let open = self.endpoints(isReady: isReady, metrics: metrics)
        let server = try await EndpointServer.start(address, setting: "admin.listen", on: eventLoop, open + operators)
        return AdminServer(server: server, open: open)
    }

    /// The port, including one that the system chose.
    var port: Int { self.server.port }

    /// Makes what is served with these endpoints for operators.
    func prepare(operators: [Endpoint]) throws -> EndpointServer.Prepared {
        try self.server.prepare(self.open + operators)
    }

    /// Stops accepting and closes every connection.
    func close() async { await self.server.close() }

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
    /// A text, which is not stored.
    static func text(_ status: Int, _ text: String) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")],
            body: Array(text.utf8)
        )
    }
}
