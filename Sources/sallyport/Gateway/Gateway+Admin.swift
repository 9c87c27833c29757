import Endpoints
import Observability
import Operating
import Settings
import Vocabulary

/// The endpoints of the admin listener. Health, readiness, metrics, the servers of apps and the index page need no
/// token: their answers contain no users, sessions or client addresses. All other endpoints need an operator's token.
///
/// The admin listener is bound to loopback by default. It has its own `EndpointServer`, and answers even if all other
/// listeners are full, draining or closed.
extension Gateway {
    func adminEndpoints(_ settings: Settings) -> [Endpoint] {
        let open = [
            // Must not depend on the store: an orchestrator would restart all gateways if the store fails for a moment.
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

    /// The index page, for people who open the admin listener in a browser.
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
            GET, POST   /scim/v2/Users              users of a provider by SCIM, with admin.scim (scim)
            GET, PUT, PATCH, DELETE /scim/v2/Users/{id}
            GET  /scim/v2/ServiceProviderConfig     what SCIM supports (scim)

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
