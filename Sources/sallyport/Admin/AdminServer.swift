import Endpoints
import NIOCore
import Settings
import Vocabulary

/// The operator's endpoints: whether the gateway is alive and ready, and its metrics. They require no credential, so
/// they contain no user, session or address, and their listener is bound to loopback unless the settings say otherwise.
enum AdminServer {
    /// One condition of readiness.
    typealias Check = (name: String, ok: Bool, detail: String)

    /// Starts the listener.
    ///
    /// - Parameters:
    ///   - isReady: Whether the gateway should get traffic, and the conditions; must not block.
    ///   - metrics: The metrics in Prometheus's text format.
    static func start(
        _ address: ListenAddress,
        group: any EventLoopGroup,
        isReady: @escaping @Sendable () -> (ready: Bool, checks: [Check]),
        metrics: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> PlainServer {
        let endpoints = self.endpoints(isReady: isReady, metrics: metrics)
        return try await PlainServer.start(address, group: group, endpoints: endpoints)
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
    static func text(
        _ status: Int,
        _ text: String,
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        EndpointResponse(
            status: status,
            fields: [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")] + fields,
            body: Array(text.utf8)
        )
    }
}
