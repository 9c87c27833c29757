import Foundation
import GatewayBench
import KratosBench
import Testing

@Suite("Kratos's endpoints at the gateway", .blocking)
struct KratosPassThroughTests {
    /// A trusted proxy names the clients.
    private static let proxied = "trusted_proxies: [127.0.0.0/8]"

    @Test("An answer of Kratos is its own, byte for byte, with its own fields and its own precedence of credentials")
    func whoami() throws {
        try KratosGatewayBench.with(more: "") { bench throws in
            let (first, second) = (bench.kratos.newSession(), bench.kratos.newSession(email: "grace@example.com"))
            let answer = try bench.get("/sessions/whoami?x=%2F", ["Cookie: ory_kratos_session=\(first.cookie); a=b"])
            #expect(answer.status == 200 && answer.value("x-kratos-authenticated-identity-id") == first.identityID)
            #expect(
                answer.value("cache-control") == nil
                    && answer.value("content-type") == "application/json; charset=utf-8"
            )
            let call = try #require(bench.kratos.calls(of: "/sessions/whoami").last)
            #expect(call.target == "/sessions/whoami?x=%2F")
            #expect(call.values("cookie") == ["ory_kratos_session=\(first.cookie); a=b"])
            #expect(call.values("x-user").isEmpty && call.values("x-forwarded-host") == [Request.host])
            let three = [
                "X-Session-Token: \(second.token)", "Cookie: ory_kratos_session=\(first.cookie)",
                "Authorization: Bearer \(first.token)",
            ]
            #expect(try bench.get("/sessions/whoami", three).text.contains(second.id))
            #expect(try bench.get("/sessions/whoami", Array(three[1...])).text.contains(first.id))
            let undecodable = ["Cookie: ory_kratos_session=zzz", "Authorization: bearer \(second.token)"]
            #expect(try bench.get("/sessions/whoami", undecodable).text.contains(second.id))
            for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] {
                let answer = try bench.get("/sessions/whoami", ["X-Session-Token: \(first.token)"], method: method)
                #expect(answer.status == 200, "\(method)")
            }
            #expect(try bench.get("/.well-known/ory/webauthn.js", []).text == "// webauthn\n")
            #expect(try bench.get("/schemas", []).status == 200)
            #expect(try bench.get("/self-service/nothing", []).text.contains("there is no such page"))
            #expect(bench.app.requests.isEmpty)
        }
    }

    @Test("A tokenized session is never one that was kept")
    func tokenized() throws {
        try KratosGatewayBench.with { bench throws in
            let fields = ["X-Session-Token: \(bench.kratos.newSession().token)"]
            let tokens = try (0..<3).map { _ in try bench.get("/sessions/whoami?tokenize_as=app", fields).text }
            #expect(Set(tokens).count == 3 && tokens[0].contains("tokenized"))
        }
    }

    @Test("Kratos reads the client's address in one field, and it is the gateway's")
    func address() throws {
        try KratosGatewayBench.with(more: Self.proxied) { bench throws in
            _ = try bench.get(
                "/sessions/whoami",
                [
                    "X-Forwarded-For: 198.51.100.66, 203.0.113.9", "True-Client-IP: 198.51.100.1",
                    "CF-Connecting-IP: 198.51.100.2", "X-Real-IP: 198.51.100.3", "true_client_ip: 198.51.100.4",
                ]
            )
            #expect(bench.kratos.change { $0.addresses.last } == "203.0.113.9")
            let call = try #require(bench.kratos.calls(of: "/sessions/whoami").last)
            #expect(call.values("x-forwarded-for") == ["203.0.113.9"])
            for name in ["true-client-ip", "cf-connecting-ip", "x-real-ip", "true_client_ip", "forwarded"] {
                #expect(call.values(name).isEmpty, "\(name)")
            }
        }
    }

    /// Both codes of a user who has come back from another provider.
    private func codes(_ bench: KratosGatewayBench) throws -> (initCode: String, code: String) {
        let begun = try bench.get(
            "/self-service/login/api?return_session_token_exchange_code=true&return_to=myapp%3A//auth/callback",
            ["Accept: application/json"]
        )
        let initCode = try #require(begun.text.firstMatch(of: /"session_token_exchange_code":"([^"]+)"/)).1
        let id = try #require(begun.text.firstMatch(of: /"id":"([0-9a-f-]{36})"/)).1
        let back = try bench.get("/self-service/methods/oidc/callback/google?state=\(id)", [])
        let location = try #require(back.value("location"))
        #expect(back.status == 303 && location.hasPrefix("myapp://auth/callback?code="))
        return (String(initCode), String(location.split(separator: "=").last ?? ""))
    }

    private func target(_ initCode: String, _ code: String) -> String {
        "/sessions/token-exchange?init_code=\(initCode)&return_to_code=\(code)"
    }

    @Test("Two codes give the session once, then again to the same device only; Kratos would give it to anyone")
    func exchange() throws {
        try KratosGatewayBench.with(more: Self.proxied) { bench throws in
            let (initCode, code) = try self.codes(bench)
            let (here, there) = (["X-Forwarded-For: 203.0.113.9"], ["X-Forwarded-For: 203.0.113.10"])
            let first = try bench.get(self.target(initCode, code), here)
            #expect(first.status == 200 && first.text.contains(#""session_token":"ory_st_"#))
            #expect(
                try bench.get(self.target(initCode, code), here).text == first.text,
                "its answer may have been lost"
            )
            for spelling in [code, code.uppercased(), "\(code)%20", "\(code)&return_to_code=x"] {
                let replayed = try bench.get(self.target(initCode, spelling), there)
                #expect(replayed.status == 404 && !replayed.text.contains("ory_st_"), "\(spelling)")
            }
            #expect(
                try bench.get("/sessions/token%2Dexchange?init_code=\(initCode)&return_to_code=\(code)", there).status
                    == 400
            )
            #expect(
                try bench.get("/sessions//token-exchange?init_code=\(initCode)&return_to_code=\(code)", there).status
                    == 400
            )
            let direct = try Wire(to: bench.kratos.port).request(Request.get(self.target(initCode, code)))
            #expect(direct.status == 200)
        }
    }

    @Test("Every other answer of the exchange is Kratos's")
    func otherAnswers() throws {
        try KratosGatewayBench.with { bench throws in
            let missing = try bench.get("/sessions/token-exchange?init_code=a", [])
            #expect(missing.status == 400 && missing.text.contains("query params must be set"))
            #expect(try bench.get(self.target("a", "b"), []).status == 404)
            let begun = try bench.get("/self-service/login/api?return_session_token_exchange_code=1", [])
            let initCode = try #require(begun.text.firstMatch(of: /"session_token_exchange_code":"([^"]+)"/)).1
            let id = try #require(begun.text.firstMatch(of: /"id":"([0-9a-f-]{36})"/)).1
            let back = try bench.get("/self-service/methods/oidc/callback/google?state=\(id)&error=x", [])
            let code = try #require(back.value("location")?.split(separator: "=").last)
            let pending = try bench.get(self.target(String(initCode), String(code)), [])
            #expect(pending.status == 422 && pending.text.contains(id))
            #expect(try bench.get(self.target("a", "b"), [], method: "POST").status == 404, "Kratos's own refusal")
            bench.kratos.fail("/sessions/token-exchange", with: .closes)
            let away = try bench.get(self.target("a", "b"), [])
            #expect(away.status == 503 && away.value("retry-after") != nil)
        }
    }

    @Test("Codes that nobody used for ten minutes are worth nothing")
    func late() throws {
        try KratosGatewayBench.with { bench throws in
            let (initCode, code) = try self.codes(bench)
            bench.kratos.change { $0.backdate(by: 3600) }
            #expect(try bench.get(self.target(initCode, code), []).status == 404)
        }
    }

    @Test("A gateway for Kratos starts with four variables")
    func start() throws {
        let kratos = try KratosDouble(publicURL: Request.origin)
        defer { kratos.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let environment = [
            "SALLYPORT_UPSTREAM": "http://127.0.0.1:\(app.port)", "SALLYPORT_PUBLIC_URL": Request.origin,
            "SALLYPORT_KRATOS_URL": kratos.url, "SALLYPORT_SESSION_COOKIE": "sallyport",
        ]
        try Gateway.with("listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\n", environment: environment) {
            gateway throws in
            let fields = ["X-Session-Token: \(kratos.newSession().token)"]
            #expect(try gateway.request(Request.get("/", fields)).status == 200)
            #expect(try gateway.metric(#"sallyport_provider_calls_total{purpose="session",result="ok"}"#) == 1)
        }
    }
}
