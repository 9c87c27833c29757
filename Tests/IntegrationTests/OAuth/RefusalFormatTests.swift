import Foundation
import GatewayBench
import Testing
import Vocabulary

/// What is refused before an endpoint runs, in the format of its protocol's clients.
@Suite("Refusals in the format of the endpoint's clients", .blocking)
struct RefusalFormatTests {
    private static let spa = "https://spa.example.com"
    private static let paths = ["/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/par", "/userinfo"]

    private func with(_ body: (Gateway) throws -> Void) throws {
        let clients = """
              - client_id: spa
                app_type: spa
                allowed_origins: ["\(Self.spa)"]
            """
        let settings = Config.file(
            upstream: 9,
            routes: "  - {path: /**}",
            clients: clients,
            more: "timeouts: {body_grace: 1s}\n"
        )
        try Gateway.with(settings, body)
    }

    private static func members(_ answer: Answer) -> [String: JSONValue] {
        guard case .object(let members)? = JSONText.decode(answer.body) else { return [:] }
        return members
    }

    private func expectOAuth(
        _ answer: Answer,
        _ status: Int,
        _ code: String = "invalid_request",
        at place: SourceLocation = #_sourceLocation
    ) {
        let members = Self.members(answer)
        #expect(answer.status == status, "\(answer.lines)", sourceLocation: place)
        #expect(Set(members.keys) == ["error", "error_description"], "\(answer.text)", sourceLocation: place)
        #expect(members["error"] == .string(code), sourceLocation: place)
        #expect(answer.values("content-type") == ["application/json; charset=utf-8"], sourceLocation: place)
        #expect(answer.values("cache-control") == ["no-store"], sourceLocation: place)
        #expect(answer.values("pragma") == ["no-cache"], sourceLocation: place)
        #expect(answer.value("x-request-id") != nil, sourceLocation: place)
    }

    private static func post(_ path: String, _ fields: [String], _ body: String = "") -> String {
        let head = ["POST \(path) HTTP/1.1", "Host: \(Request.host)"] + fields
        return head.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    @Test("OAuth's endpoints refuse methods, bodies, heads and preflights in OAuth's format") func oauth() throws {
        try self.with { gateway in
            for path in Self.paths {
                let method = try gateway.request(Request.get(path, ["Accept: text/html"], method: "DELETE"))
                self.expectOAuth(method, 405)
                #expect(method.value("allow")?.contains("POST") == true)
                let large = String(repeating: "a", count: 20_000)
                let origin = "Origin: \(Self.spa)"
                let tooLarge = try gateway.request(Self.post(path, ["Content-Length: 20000", origin], large))
                self.expectOAuth(tooLarge, 413)
                if path != "/oauth/introspect" {
                    #expect(tooLarge.values("access-control-allow-origin") == [Self.spa])
                    let ask = ["Origin: https://evil.example", "Access-Control-Request-Method: POST"]
                    let preflight = try gateway.request(Request.get(path, ask, method: "OPTIONS"))
                    self.expectOAuth(preflight, 403, "access_denied")
                    #expect(preflight.values("vary") == ["Origin"])
                }
                let chunked = Self.post(path, ["Transfer-Encoding: chunked"], "x\r\n")
                self.expectOAuth(try gateway.request(chunked), 400)
                self.expectOAuth(try gateway.request(Self.post("/" + path, ["Content-Length: 0"])), 400)
                // Refused by the parser.
                let expectation = Self.post(path + "?a=b", ["Content-Length: 1", "Expect: more"])
                self.expectOAuth(try gateway.request(expectation), 417)
                let proofs = Self.post(path, ["DPoP: a", "DPoP: b", "Content-Length: 0"])
                self.expectOAuth(try gateway.request(proofs), 400)
                let huge = Self.post(path, ["X-Large: \(String(repeating: "a", count: 70_000))"])
                self.expectOAuth(try gateway.request(huge), 431)
            }
            let late = try gateway.request(Self.post("/oauth/token", ["Content-Length: 5"]), seconds: 20)
            self.expectOAuth(late, 408)
        }
    }

    @Test("Kratos's endpoints refuse methods, bodies and heads in Kratos's format") func kratos() throws {
        try self.with { gateway in
            let login = "/self-service/login"
            for (request, status) in [
                (Request.get(login, method: "DELETE"), 405),
                (Self.post(login, ["Content-Length: 20000"], String(repeating: "a", count: 20_000)), 413),
                (Request.get("/sessions/whoami", ["Expect: more"]), 417),
                (Request.get("/self-service/logout/api", ["Sec-Fetch-Mode: navigate"]), 405),
            ] {
                let answer = try gateway.request(request)
                #expect(answer.status == status && answer.value("content-type")?.hasPrefix("application/json") == true)
                guard case .object(let error)? = Self.members(answer)["error"] else {
                    Issue.record("no error: \(answer.text)")
                    continue
                }
                #expect(error["code"] == .integer(Int64(status)) && error["message"] != nil && error["request"] != nil)
                #expect((answer.value("allow") == nil) == (status != 405))
            }
        }
    }
}
