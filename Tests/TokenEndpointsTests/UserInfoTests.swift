import EndpointBench
import Endpoints
import JOSE
import StoreBench
import Testing
import Vocabulary

/// How a client presents its access token at `/userinfo` (OpenID Connect Core 5.3.1, RFC 6750 2).
@Suite("The token at /userinfo")
struct UserInfoTests {
    private static let form = "application/x-www-form-urlencoded"

    private static func ask(
        _ bench: TokenBench,
        _ method: String = "POST",
        query: String = "",
        body: String = "",
        type: String? = form,
        authorization: String? = nil
    ) async -> Answer {
        var fields: [(name: String, value: String)] = []
        if let type { fields.append(("content-type", type)) }
        if let authorization { fields.append(("authorization", authorization)) }
        let request = TokenBench.request(method, "/userinfo", query: query, fields: fields, body: Array(body.utf8))
        return Answer(response: await request.answer(of: bench.userInfo.endpoint))
    }

    @Test(
        "The form of a POST may have the token, whatever else it has",
        arguments: ["", "; charset=utf-8", ";Charset=X"]
    )
    func posted(parameters: String) async throws {
        let bench = TokenBench()
        let token = try await bench.redeem(bench.code(["scope": "openid email"])).text("access_token")
        for body in ["access_token=\(token)", "schema=openid&access_token=\(token)&x="] {
            let answer = await Self.ask(bench, body: body, type: Self.form + parameters)
            #expect(answer.status == 200 && answer.text("sub") == "alice", "\(answer.body)")
        }
        // A name and password for a proxy in front are no token.
        let behind = await Self.ask(bench, body: "access_token=\(token)", authorization: "Basic YTpi")
        #expect(behind.status == 200)
        let wrong = await Self.ask(bench, body: "access_token=spa_x")
        #expect(wrong.status == 401 && wrong.error == "invalid_token")
    }

    @Test("A token that comes in two ways, or twice, is 400 invalid_request, also if it is the same one")
    func twoWays() async throws {
        let bench = TokenBench()
        let token = try await bench.redeem(bench.code(["scope": "openid"])).text("access_token")
        let bearer = "Bearer \(token)"
        let posted = "access_token=\(token)"
        let answers = [
            await Self.ask(bench, body: posted, authorization: bearer),
            await Self.ask(bench, body: posted, authorization: "Bearer spa_x"),
            await Self.ask(bench, body: posted, authorization: "DPoP \(token)"),
            await Self.ask(bench, body: "\(posted)&\(posted)"),
            await Self.ask(bench, query: posted, body: posted),
            await Self.ask(bench, "GET", query: posted, type: nil, authorization: bearer),
            await Self.ask(bench, "GET", query: "\(posted)&\(posted)", type: nil),
            await Self.ask(bench, body: "access_token=%", authorization: bearer),
        ]
        for answer in answers {
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
            #expect(answer.field("www-authenticate") == #"Bearer error="invalid_request""#)
            #expect(answer.reason == .oauthInvalidRequest)
        }
    }

    @Test("A token in the query, in JSON, in a form by GET or with an empty value is none")
    func elsewhere() async throws {
        let bench = TokenBench()
        let token = try await bench.redeem(bench.code(["scope": "openid"])).text("access_token")
        let answers = [
            await Self.ask(bench, "GET", query: "access_token=\(token)", type: nil),
            await Self.ask(bench, body: #"{"access_token":"\#(token)"}"#, type: "application/json"),
            await Self.ask(bench, body: "access_token=\(token)", type: "text/plain"),
            await Self.ask(bench, body: "access_token=\(token)", type: nil),
            await Self.ask(bench, "GET", body: "access_token=\(token)"), await Self.ask(bench, body: "access_token="),
        ]
        for answer in answers { #expect(answer.status == 401 && answer.error == "unauthorized", "\(answer.body)") }
        // The header alone, beside a body without a token.
        let header = await Self.ask(bench, body: "schema=openid&access_token=", authorization: "Bearer \(token)")
        #expect(header.status == 200)
    }

    @Test("A token that is bound to a key is not accepted from a form")
    func bound() async throws {
        let bench = TokenBench()
        let maker = DPoPProofMaker(.generated(.es256))
        let proof = maker.proof(method: "POST", url: "https://auth.example.com/oauth/token", at: bench.clock.now)
        let code = try await bench.code(["scope": "openid"])
        let token = await bench.redeem(code, proof: proof).text("access_token")
        let answer = await Self.ask(bench, body: "access_token=\(token)")
        #expect(answer.status == 401 && answer.reason == .credentialBoundToKey, "\(answer.body)")
    }
}
