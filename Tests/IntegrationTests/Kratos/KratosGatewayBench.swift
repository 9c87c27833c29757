import GatewayBench
import KratosBench
import Testing

/// A gateway in front of a double of Kratos and an app.
struct KratosGatewayBench {
    let kratos: KratosDouble
    let gateway: Gateway
    let app: FakeUpstream

    static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]

    /// - Parameters:
    ///   - provider: More keys of `provider.kratos`, e.g. `cache: 1s`.
    ///   - more: More top-level keys.
    ///   - client: The client whose handoff settings apply.
    static func with(
        provider: String = "",
        more: String = "",
        client: String? = nil,
        loops: Int = 2,
        environment: [String: String] = [:],
        _ body: (KratosGatewayBench) throws -> Void
    ) throws {
        let kratos = try KratosDouble(publicURL: Request.origin)
        defer { kratos.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            event_loops: \(loops)
            admin: {listen: 127.0.0.1:0, tokens_file: operator-tokens}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            identity:
              headers:
                X-User: subject
                X-Email: identity.traits.email
                X-First: identity.traits.name.first
                X-Plan: identity.metadata_public.plan
                X-Level: aal
            routes:
              - path: /**\(client.map { "\n    client: \($0)" } ?? "")
              - path: /public/**
                auth: public
              - path: /staff/**
                require: {groups_any: [staff]}
            provider:
              kratos: {public_url: "\(kratos.url)"\(provider.isEmpty ? "" : ", \(provider)")}
            drain: {delay: 0s, timeout: 100ms}
            \(more)

            """
        try Gateway.with(settings, files: ["operator-tokens": OperatorTokens.file], environment: environment) {
            try body(KratosGatewayBench(kratos: kratos, gateway: $0, app: app))
        }
    }

    func get(_ target: String, _ fields: [String], method: String = "GET") throws -> Answer {
        try self.gateway.request(Request.get(target, fields, method: method))
    }

    /// The calls of `/sessions/whoami`.
    var questions: Int { self.kratos.calls(of: "/sessions/whoami").count }
}
