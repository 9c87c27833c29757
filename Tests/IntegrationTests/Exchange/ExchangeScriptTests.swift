import GatewayBench
import Testing

/// Apps in a browser, such as those of Expo, use the endpoints of native apps from their own origin.
@Suite("Native endpoints for scripts", .blocking) struct ExchangeScriptTests {
    private static let origin = "https://app.expo.example"

    private func with(_ body: (Gateway) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "exchange: {return_to: [\"\(Self.origin)/in\"], allowed_origins: [\"\(Self.origin)\"]}\n"
        try Gateway.with(Config.file(upstream: app.port, more: more), body)
    }

    private func preflight(_ gateway: Gateway, _ path: String, from origin: String, _ method: String) throws -> Answer {
        let fields = ["Origin: \(origin)", "Access-Control-Request-Method: \(method)"]
        return try gateway.request(Request.get(path, fields, method: "OPTIONS"))
    }

    @Test("A listed origin may read them without cookies; no other may")
    func origins() throws {
        try self.with { gateway throws in
            for (path, method) in [
                ("/self-service/login/api", "GET"), ("/self-service/registration", "POST"),
                ("/sessions/token-exchange", "GET"), ("/sessions/whoami", "GET"), ("/sessions", "DELETE"),
                ("/sessions/x/extend", "PATCH"), ("/self-service/logout/api", "DELETE"),
            ] {
                let answer = try self.preflight(gateway, path, from: Self.origin, method)
                #expect(answer.status == 204, "\(path): \(answer.lines)")
                #expect(answer.value("access-control-allow-origin") == Self.origin)
                #expect(answer.value("access-control-allow-methods")?.contains(method) == true)
                #expect(answer.value("access-control-allow-headers")?.contains("X-Session-Token") == true)
                #expect(answer.value("access-control-allow-credentials") == nil)
                let other = try self.preflight(gateway, path, from: "https://evil.example", method)
                #expect(other.status == 403 && other.value("access-control-allow-origin") == nil)
            }
            let token = try gateway.native()
            let fields = ["Origin: \(Self.origin)", "X-Session-Token: \(token)"]
            let answer = try gateway.get("/sessions/whoami", fields)
            #expect(answer.status == 200 && answer.value("access-control-allow-origin") == Self.origin)
        }
    }

    @Test("whoami answers OPTIONS itself, as Kratos does, where it is no preflight")
    func options() throws {
        try self.with { gateway throws in
            let fields = ["X-Session-Token: \(try gateway.native())"]
            let answer = try gateway.request(Request.get("/sessions/whoami", fields, method: "OPTIONS"))
            #expect(answer.status == 200 && answer.text.contains("user-1815"), "\(answer.lines)")
        }
    }
}
