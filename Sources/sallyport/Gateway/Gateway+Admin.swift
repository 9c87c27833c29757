import Endpoints
import Observability
import Operating
import Settings
import Vocabulary

/// The endpoints for operators: health, readiness, metrics and the servers of the apps. They need no credential, so
/// their answers contain no user, session or client address. The endpoints for sessions, blocks, limits and clients
/// need an operator's token, and do not exist unless tokens are configured.
///
/// The admin listener is bound to loopback unless the settings say otherwise. It is a separate `EndpointServer`, so it
/// answers even while the public listeners are full, draining or closed.
extension Gateway {
    func adminEndpoints(_ settings: Settings) -> [Endpoint] {
        let open = [
            // Reports only that the process is alive. If the answer depended on the store, an orchestrator would
            // restart gateways during a short failure of the store and turn the failure into an outage.
            Endpoint(path: "/healthz", methods: ["GET", "HEAD"], scope: .everyHost) { _ in .text(200, "ok\n") },
            Endpoint(path: "/readyz", methods: ["GET", "HEAD"], scope: .everyHost) { request in
                let isVerbose = request.query.first?.name.hasPrefix("verbose") ?? false
                return Self.readiness(self.isReady(), isVerbose: isVerbose)
            },
            Endpoint(path: "/metrics", methods: ["GET", "HEAD"], scope: .everyHost) { request in
                let form = MetricsForm(accept: request.fields.filter { $0.name == "accept" }.map(\.value))
                guard let text = try? await self.metrics(as: form) else {
                    return .text(503, "metrics are not available\n")
                }
                return EndpointResponse(
                    status: 200,
                    fields: [
                        ("content-type", form.contentType), ("vary", "Accept"), ("cache-control", "no-store"),
                    ],
                    body: text
                )
            },
        ]
        return open + [self.upstreamsEndpoint(), Self.index(hasTokens: !settings.operatorTokens.isEmpty)]
            + self.operatorEndpoints(settings)
    }

    /// The index of the admin listener, for people who open it in a browser.
    private static func index(hasTokens: Bool) -> Endpoint {
        let text = """
            The admin listener of Sallyport \(Version.current)

            GET  /healthz                           the process is alive
            GET  /readyz[?verbose]                  whether it should get requests, and if not, why
            GET  /metrics                           for Prometheus
            GET  /upstreams                         the servers of all apps; as a command: sallyport upstreams

            \(hasTokens ? "With a token of admin.tokens_file" : "These are served with admin.tokens_file"):
            GET  /sessions[?subject=|?email=]       who is signed in (read); sallyport sessions
            DELETE /sessions?subject=               ends all sessions of a user (sessions)
            GET, DELETE /sessions/{id}              shows or ends a session (read, sessions)
            POST /subjects/{subject}/sign-out       ends all sessions of a user (sessions)
            PUT, DELETE /subjects/{subject}/block   blocks a user, or lifts the block (sessions)
            GET, PUT, DELETE /blocks                lists blocks; with ?subject= as above (sessions)
            GET, DELETE /limits?address=            the sign-in limits of an address (read, sessions); sallyport limits
            GET, POST   /api/v2/clients             clients at run time (read, clients)
            GET, PATCH, DELETE /api/v2/clients/{id}

            """
        return Endpoint(path: "/", methods: ["GET", "HEAD"], scope: .everyHost) { _ in .text(200, text) }
    }

    private func metrics(as form: MetricsForm) async throws -> [UInt8] {
        try await self.cacheMetrics.refresh()
        return try await self.foundations.registry.render(as: form)
    }

    private static func readiness(_ state: (ready: Bool, checks: [ReadinessCheck]), isVerbose: Bool) -> EndpointResponse
    {
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
