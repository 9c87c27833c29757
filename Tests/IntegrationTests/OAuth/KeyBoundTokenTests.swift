import Foundation
import GatewayBench
import ProofBench
import Testing

/// Access tokens that are bound to a key, as a person with the command line uses them.
@Suite("Tokens bound to keys", .blocking) struct KeyBoundTokenTests {
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    /// A gateway with an API whose client needs a proof of its key.
    private func with(_ body: (Gateway, FakeUpstream) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: "      - {path: /**}\n      - {path: /orders/**, name: orders}",
            clients: "  - {client_id: app, callbacks: [\"myapp://auth/callback\"], require_proof_of_possession: true}",
            more: "apis: [{audience: \"https://api.example.com\", scopes: [read], routes: [orders]}]"
        )
        try Gateway.with(settings) { gateway throws in try body(gateway, app) }
    }

    private func code(_ gateway: Gateway) throws -> String {
        let query =
            "client_id=app&response_type=code&audience=https://api.example.com&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let sent = try gateway.get("/authorize?" + query, ["Cookie: sallyport=\(try gateway.browser())"])
        return String(try #require(sent.lines.joined().firstMatch(of: /code=([A-Za-z0-9_-]+)/)).1)
    }

    private func redeem(_ code: String, at gateway: Gateway, _ fields: [String]) throws -> Answer {
        let type = "Content-Type: application/x-www-form-urlencoded"
        let body = "grant_type=authorization_code&client_id=app&code=\(code)&code_verifier=\(Self.verifier)"
        return try gateway.request(Request.post("/oauth/token", [type] + fields, body: body))
    }

    private func accessToken(_ answer: Answer) throws -> String {
        String(try #require(answer.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/), "\(answer.text)").0)
    }

    @Test("sallyport dpop-proof opens an API's route; the app sees the user, and neither the proof nor the token")
    func route() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-proof-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try self.with { (gateway, app) throws in
            func proof(_ method: String, _ path: String, token: String? = nil, nonce: String?) throws -> String {
                var arguments = ["dpop-proof", "--key", folder.appending(path: "key.pem").path, "--method", method]
                arguments += ["--url", Request.origin + path]
                if token != nil { arguments += ["--token-file", "-"] }
                // A nonce may begin with "-".
                if let nonce { arguments.append("--nonce=\(nonce)") }
                let run = try Servers.run(Gateway.binary.path, arguments, input: Array((token ?? "").utf8))
                #expect(run.status == 0, "\(run.output)")
                return "DPoP: " + run.output.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let code = try self.code(gateway)
            #expect(try self.redeem(code, at: gateway, []).text.contains("invalid_dpop_proof"))
            let asked = try self.redeem(code, at: gateway, [try proof("POST", "/oauth/token", nonce: nil)])
            #expect(asked.status == 400 && asked.text.contains("use_dpop_nonce"))
            let nonce = try #require(asked.value("dpop-nonce"))
            let answer = try self.redeem(code, at: gateway, [try proof("POST", "/oauth/token", nonce: nonce)])
            let token = try self.accessToken(answer)

            let scheme = "Authorization: DPoP \(token)"
            let good = try gateway.get(
                "/orders/1",
                [scheme, try proof("GET", "/orders/1", token: token, nonce: nonce)]
            )
            #expect(good.status == 200)
            let seen = try #require(app.requests.last { $0.target == "/orders/1" })
            #expect(seen.values("x-auth-subject") == ["user-1815"])
            #expect(seen.values("authorization").isEmpty && seen.values("dpop").isEmpty)
            #expect(!seen.text.contains(token))
            let elsewhere = try proof("GET", "/orders/2", token: token, nonce: nonce)
            let refused = try gateway.get("/orders/1", [scheme, elsewhere])
            #expect(refused.status == 401 && refused.reason == "proof.invalid")
            #expect(refused.value("www-authenticate")?.contains("htu of the DPoP proof") == true)
            // Another route is not the API's, whatever is proven.
            let other = try gateway.get("/", [scheme, try proof("GET", "/", token: token, nonce: nonce)])
            #expect(other.status == 401 && other.reason == "credential.other_audience")
            #expect(other.value("www-authenticate") == #"DPoP error="invalid_token""#)
            #expect(!gateway.output.contains(token) && !gateway.output.contains("eyJ"))
        }
    }

    @Test("T25: a proof is for the configured URL, whatever Host and forwarding fields a client sends")
    func forgedHost() throws {
        try self.with { (gateway, app) throws in
            let key = ProofKey()
            let endpoint = Request.origin + "/oauth/token"
            let claims = [
                "X-Forwarded-Host: evil.example.com", "X-Forwarded-Proto: https", "X-Forwarded-Port: 443",
                "X-Original-URL: https://evil.example.com/orders/1", "Forwarded: host=evil.example.com;proto=https",
            ]
            let code = try self.code(gateway)
            let elsewhere = ["https://evil.example.com", "http://evil.example.com", "https://app.example.com"]
            // The gateway has just started, so its nonce is needed.
            let asked = try self.redeem(code, at: gateway, [key.field("POST", endpoint)])
            key.nonce = asked.value("dpop-nonce")
            for origin in elsewhere {
                let fields = claims + [key.field("POST", origin + "/oauth/token")]
                let refused = try self.redeem(code, at: gateway, fields)
                #expect(refused.status == 400 && refused.text.contains("invalid_dpop_proof"), "\(origin)")
            }
            let tokens = try self.redeem(code, at: gateway, claims + [key.field("POST", endpoint)])
            let token = try self.accessToken(tokens)

            func call(_ origin: String, host: String = Request.host, target: String = "/orders/1") throws -> Answer {
                let proof = key.field("GET", origin + "/orders/1", token: token)
                let lines =
                    ["GET \(target) HTTP/1.1", "Host: \(host)", "Authorization: DPoP \(token)", proof] + claims
                return try gateway.request(lines.joined(separator: "\r\n") + "\r\n\r\n")
            }
            for origin in elsewhere {
                let refused = try call(origin)
                #expect(refused.status == 401 && refused.reason == "proof.invalid", "\(origin)")
            }
            // A host that nobody configured has no routes, and no proof is for it.
            #expect(try call("http://evil.example.com", host: "evil.example.com").status != 200)
            let target = "http://evil.example.com/orders/1"
            #expect(try call("http://evil.example.com", host: "evil.example.com", target: target).status != 200)
            #expect(app.requests.isEmpty)
            #expect(try call(Request.origin).status == 200)
        }
    }
}
