import Foundation
import GatewayBench
import Testing

/// `allowed_origins` of clients: what scripts of other origins may read of the authorization server.
@Suite("CORS at the authorization server", .blocking)
struct AllowedOriginsTests {
    private static let spa = "https://spa.example.com"
    private static let ask = [
        "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,dpop",
    ]

    private static func post(_ path: String, _ fields: [String], _ body: String) -> String {
        (["POST \(path) HTTP/1.1", "Host: \(Request.host)", "Content-Length: \(body.utf8.count)"] + fields)
            .joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    private func with(_ body: (Gateway) throws -> Void) throws {
        let clients = """
              - client_id: spa
                app_type: spa
                allowed_origins: ["\(Self.spa)", "http://localhost:3000"]
              - client_id: other
            """
        try Gateway.with(Config.file(upstream: 9, routes: "  - {path: /**}", clients: clients), body)
    }

    @Test("a preflight is answered for the origins that a client lists, and refused for others")
    func preflight() throws {
        try self.with { gateway in
            for path in ["/oauth/token", "/oauth/revoke", "/userinfo"] {
                for origin in [Self.spa, "http://localhost:3000"] {
                    let lines = ["Origin: \(origin)"] + Self.ask
                    let answer = try gateway.request(Request.get(path, lines, method: "OPTIONS"))
                    #expect(answer.status == 204, "\(answer.lines)")
                    #expect(answer.values("access-control-allow-origin") == [origin])
                    #expect(answer.values("vary") == ["Origin"])
                    #expect(answer.value("access-control-allow-methods")?.contains("POST") == true)
                    let headers = answer.value("access-control-allow-headers")?.lowercased() ?? ""
                    #expect(headers.contains("dpop") && headers.contains("authorization"))
                    #expect(answer.value("access-control-allow-credentials") == nil)
                }
                for origin in [
                    "https://evil.example", "https://spa.example.com:8443", "https://spa.example.com.evil.example",
                    "http://spa.example.com", "null", "*",
                ] {
                    let lines = ["Origin: \(origin)"] + Self.ask
                    let refused = try gateway.request(Request.get(path, lines, method: "OPTIONS"))
                    #expect(refused.status == 403 && refused.value("access-control-allow-origin") == nil)
                    #expect(refused.values("vary") == ["Origin"])
                }
            }
        }
    }

    @Test("scripts may read refusals of every kind, and the fields that tell them what to do")
    func refusals() throws {
        try self.with { gateway in
            let form = "Content-Type: application/x-www-form-urlencoded"
            let origin = "Origin: \(Self.spa)"
            let large = String(repeating: "a", count: 20_000)
            let answers = [
                // By the endpoint.
                try gateway.request(Self.post("/oauth/token", [form, origin], "grant_type=x&client_id=spa")),
                try gateway.request(Self.post("/oauth/token", [form, origin], "grant_type=x&client_id=nobody")),
                try gateway.request(Self.post("/oauth/token", [origin], "{}")),
                try gateway.get("/userinfo", [origin]),
                try gateway.get("/userinfo", [origin, "Authorization: Bearer x"]),
                // Before the endpoint.
                try gateway.request(Self.post("/oauth/token", [form, origin], large)),
            ]
            #expect(answers.map(\.status) == [400, 400, 400, 401, 401, 413])
            for answer in answers {
                #expect(answer.values("access-control-allow-origin") == [Self.spa], "\(answer.lines)")
                let exposed = answer.value("access-control-expose-headers") ?? ""
                #expect(exposed.contains("DPoP-Nonce") && exposed.contains("WWW-Authenticate"))
                #expect(answer.values("vary") == ["Origin"] && answer.value("access-control-allow-credentials") == nil)
            }
            let other = try gateway.get("/userinfo", ["Origin: https://evil.example"])
            #expect(other.status == 401 && other.value("access-control-allow-origin") == nil)
            #expect(other.values("vary") == ["Origin"])
        }
    }

    @Test("every origin may read the metadata and the keys; introspection is for servers alone")
    func open() throws {
        try self.with { gateway in
            for path in [
                "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
                "/.well-known/jwks.json",
            ] {
                let answer = try gateway.get(path, ["Origin: https://any.example"])
                #expect(answer.status == 200 && answer.values("access-control-allow-origin") == ["*"])
                #expect(answer.value("access-control-allow-credentials") == nil)
                #expect(answer.values("cache-control") == ["public, max-age=300"])
                let lines = ["Origin: https://any.example"] + Self.ask
                let preflight = try gateway.request(Request.get(path, lines, method: "OPTIONS"))
                #expect(preflight.status == 204 && preflight.values("access-control-allow-origin") == ["*"])
            }
            let lines = ["Origin: \(Self.spa)"] + Self.ask
            let introspection = try gateway.request(Request.get("/oauth/introspect", lines, method: "OPTIONS"))
            #expect(introspection.status == 405 && introspection.value("access-control-allow-origin") == nil)
        }
    }
}
