import GatewayBench
import Testing

/// Kratos's flows that a gateway with another provider does not have.
@Suite("Kratos's other flows at a gateway with another provider", .blocking)
struct ReservedFlowTests {
    @Test("They are 404 in Kratos's format and never reach the app; a host without endpoints leaves them to it")
    func reserved() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            listen: 127.0.0.1:0
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            hosts:
              - {public_url: "\(Request.origin)", endpoints: true, routes: [{path: /**, auth: public}]}
              - {public_url: "http://legacy.example.com", routes: [{path: /**, auth: public}]}
            provider:
              static:
                users:
            \(Config.users)
            drain: {delay: 0s, timeout: 100ms}

            """
        try Gateway.with(settings) { gateway throws in
            for (method, path) in [
                ("GET", "settings/api"), ("POST", "settings"), ("GET", "recovery/api"), ("POST", "verification"),
                ("GET", "login/browser"), ("GET", "errors?id=x"), ("DELETE", "x/y/z"), ("OPTIONS", "settings/api"),
                ("GET", ""),
            ] {
                let answer = try gateway.request(Request.get("/self-service/\(path)", method: method))
                #expect(
                    answer.status == 404 && answer.value("content-type")?.hasPrefix("application/json") == true,
                    "\(path)"
                )
                #expect(answer.text.contains(#""error":{"#) && answer.text.contains(#""code":404"#), "\(path)")
            }
            // What the gateway has keeps its own answers.
            #expect(try gateway.request(Request.get("/self-service/login/api")).status == 200)
            #expect(try gateway.request(Request.get("/self-service/login/api", method: "DELETE")).status == 405)
            #expect(app.requests.isEmpty)
            #expect(try gateway.request(Request.get("/self-service")).status == 200, "is no flow")
            let legacy = "GET /self-service/settings HTTP/1.1\r\nHost: legacy.example.com\r\n\r\n"
            #expect(try gateway.request(legacy).status == 200)
            #expect(app.requests.map(\.target) == ["/self-service", "/self-service/settings"])
        }
    }
}
