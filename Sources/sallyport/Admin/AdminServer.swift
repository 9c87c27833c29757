import Endpoints
import NIOCore
import Settings
import Vocabulary

/// The operator's listener: is it alive, is it ready, what has it counted. No credential is asked for, so nothing here
/// names a user, a session or an address, and it is bound to loopback unless the settings say otherwise.
enum AdminServer {
    /// One thing that readiness depends on.
    typealias Check = (name: String, ok: Bool, detail: String)

    /// Starts the listener.
    ///
    /// - Parameters:
    ///   - isReady: Whether traffic should come here, and why; must not block.
    ///   - metrics: The metrics in Prometheus's text format.
    static func start(
        _ address: ListenAddress,
        group: any EventLoopGroup,
        isReady: @escaping @Sendable () -> (ready: Bool, checks: [Check]),
        metrics: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> PlainServer {
        try await PlainServer.start(address, group: group) { request in
            guard let page = Page(rawValue: request.path) else { return self.text(404, "not found\n") }
            guard request.method == "GET" || request.method == "HEAD" else {
                return self.text(405, "method not allowed\n", fields: [("allow", "GET, HEAD")])
            }
            switch page {
            case .health:
                // Alive is all it says: an orchestrator that kills what has lost its store makes an outage of a hiccup.
                return self.text(200, "ok\n")
            case .readiness:
                return self.readiness(isReady(), isVerbose: request.query?.hasPrefix("verbose") ?? false)
            case .metrics:
                guard let text = try? await metrics() else { return self.text(503, "metrics are not available\n") }
                return EndpointResponse(
                    status: 200,
                    fields: [
                        ("content-type", "text/plain; version=0.0.4; charset=utf-8"), ("cache-control", "no-store"),
                    ],
                    body: text
                )
            }
        }
    }

    private enum Page: String {
        case health = "/healthz"
        case readiness = "/readyz"
        case metrics = "/metrics"
    }

    private static func readiness(_ state: (ready: Bool, checks: [Check]), isVerbose: Bool) -> EndpointResponse {
        let status = state.ready ? 200 : 503
        guard isVerbose else {
            let failing = state.checks.filter { !$0.ok }.map(\.name).joined(separator: ", ")
            return self.text(status, state.ready ? "ready\n" : "not ready: \(failing)\n")
        }
        let checks = state.checks.map { check -> JSONValue in
            ["name": .string(check.name), "ok": .bool(check.ok), "detail": .string(check.detail)]
        }
        return .json(status, ["ready": .bool(state.ready), "checks": .array(checks)])
    }

    private static func text(
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
