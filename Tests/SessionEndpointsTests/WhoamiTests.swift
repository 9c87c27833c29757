import EndpointBench
import Endpoints
import Observability
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Whoami and native sign-out")
struct WhoamiTests {
    @Test("A native token is accepted in either field, and the answer has the identity's id in a field")
    func native() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        for field in [
            ("x-session-token", token), ("authorization", "Bearer \(token)"), ("authorization", "bearer \(token)"),
        ] {
            let answer = try await gateway.whoami(field)
            #expect(answer.status == 200)
            #expect(answer.value("x-kratos-authenticated-identity-id") == "9f1c")
            #expect(answer.document?["identity"]?["traits"]?["email"] == "alice@example.com")
            #expect(!answer.text.contains(token))
        }
    }

    @Test(
        "X-Session-Token is preferred to the cookie and the cookie to Bearer, and a token that is refused does not fall back"
    )
    func precedence() async throws {
        let gateway = try Gateway()
        let native = try await gateway.nativeToken()
        let other = try await gateway.nativeToken()
        let web = try await gateway.signInBrowser()
        let cookie = (name: "cookie", value: "__Host-sallyport=\(web)")
        func id(_ fields: (name: String, value: String)...) async throws -> String? {
            try await gateway.send("GET", "/sessions/whoami", fields: fields).document?["id"]?.string
        }
        let nativeID = try await id(("x-session-token", native))
        let otherID = try await id(("x-session-token", other))
        let webID = try await id(cookie)
        #expect(Set([nativeID, otherID, webID]).count == 3 && nativeID != nil && otherID != nil && webID != nil)
        #expect(try await id(("x-session-token", native), cookie, ("authorization", "Bearer \(other)")) == nativeID)
        #expect(try await id(cookie, ("authorization", "Bearer \(other)")) == webID)
        #expect(try await id(("cookie", "__Host-sallyport=junk"), ("authorization", "Bearer \(other)")) == otherID)
        #expect(try await id(("x-session-token", "junk"), cookie) == nil)
        let ended = web.prefix(58) + (web.hasSuffix("A") ? "B" : "A")
        #expect(try await id(("cookie", "__Host-sallyport=\(ended)"), ("authorization", "Bearer \(other)")) == nil)
    }

    @Test("Missing, malformed, unknown and ended credentials get the same 401")
    func unauthorized() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        #expect(try await self.logout(gateway, token).status == 204)
        let unknown = String(token.prefix(58)) + (token.hasSuffix("A") ? "B" : "A")
        let missing = try await gateway.whoami()
        #expect(missing.status == 401)
        let error = missing.document?["error"]
        #expect(error?["code"] == 401)
        #expect(error?["status"] == "Unauthorized")
        #expect(error?["reason"] == "No valid session credentials found in the request.")
        #expect(error?["message"] == "The request could not be authorized")
        for value in [token, unknown, "sps_", "", String(repeating: "x", count: 8000), "a b c"] {
            for field in [("x-session-token", value), ("authorization", "Bearer \(value)")] {
                let answer = try await gateway.whoami(field)
                #expect(answer.status == 401)
                #expect(answer.body == missing.body)
            }
        }
        for value in ["Basic YTpi", "Bearer", "Bearer  x", "Bearer x y", token] {
            #expect(try await gateway.whoami(("authorization", value)).body == missing.body)
        }
    }

    @Test("A repeated credential field is refused")
    func repeated() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        for name in ["x-session-token", "authorization"] {
            let answer = try await gateway.whoami((name, token), (name, token))
            #expect(answer.status == 400)
            #expect(answer.reason == .credentialRepeated)
        }
    }

    /// T8: a session is bound to the kind of credential that presents it.
    @Test("A browser's token is not accepted as a bearer token, and a native token not as a cookie")
    func kinds() async throws {
        let gateway = try Gateway()
        let web = try await gateway.signInBrowser()
        let native = try await gateway.nativeToken()
        #expect(try await gateway.whoami(("authorization", "Bearer \(web)")).status == 401)
        #expect(try await gateway.whoami(("x-session-token", web)).status == 401)
        #expect(try await gateway.whoami(("cookie", "__Host-sallyport=\(native)")).status == 401)
        #expect(try await self.logout(gateway, web).status == 403)
        #expect(try await gateway.session(web).status == 200)
    }

    @Test("Sessions end at the end of their lifetime")
    func lifetime() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        gateway.time.advance(by: .seconds(31 * 86_400))
        #expect(try await gateway.whoami(("x-session-token", token)).status == 401)
    }

    @Test("If the store cannot answer, the answer is 503, never 401")
    func outage() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let web = try await gateway.signInBrowser()
        gateway.store.fail(with: .unavailable)
        #expect(try await gateway.whoami(("x-session-token", token)).isOutage)
        #expect(try await gateway.whoami(("cookie", "__Host-sallyport=\(web)")).isOutage)
        #expect(try await self.logout(gateway, token).isOutage)
        gateway.store.fail(with: nil)
        #expect(try await gateway.whoami(("x-session-token", token)).status == 200)
    }

    /// Kratos's logout/handler_test.go has the statuses for a retry and for a body without the token.
    @Test("Sign-out ends the session and can be repeated; a token that cannot be a session's is forbidden")
    func signOut() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let other = try await gateway.nativeToken()
        #expect(try await self.logout(gateway, token).status == 204)
        #expect(try await gateway.whoami(("x-session-token", token)).status == 401)
        #expect(try await gateway.whoami(("x-session-token", other)).status == 200)
        #expect(try await self.logout(gateway, token).status == 204)
        let stranger = TokenAuthority(secret: Secret("the secret of another deployment"))
        let foreign = stranger.make(.session, in: stranger.newLineage()).token
        let never = String(
            decoding: gateway.authority.make(.session, in: gateway.authority.newLineage()).token.bytes,
            as: UTF8.self
        )
        let altered = other.dropLast() + (other.hasSuffix("A") ? "Q" : "A")
        for (value, reason) in [
            ("\"\(never)\"", .sessionUnknown), ("\"\(altered)\"", .sessionUnknown),
            ("\"\(String(decoding: foreign.bytes, as: UTF8.self))\"", .credentialOtherKey),
            ("\"x\"", .credentialMalformed), ("\"\"", .credentialMissing), ("null", .credentialMissing),
        ] as [(String, Reason)] {
            let refused = try await gateway.send(
                "DELETE",
                "/self-service/logout/api",
                fields: [("content-type", "application/json")],
                body: #"{"session_token":\#(value)}"#
            )
            #expect(refused.status == 403)
            #expect(refused.reason == reason)
            #expect(
                refused.document?["error"]?["reason"]
                    == "The provided Ory Session Token could not be found, is invalid, or otherwise malformed."
            )
        }
        let without = try await gateway.send(
            "DELETE",
            "/self-service/logout/api",
            fields: [("content-type", "application/json")],
            body: "{}"
        )
        #expect(without.status == 403)
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["ssa", "ssa", "slo"])
        #expect(gateway.audit.records.last?.subject == "9f1c")
        for body in ["", "{", "[]", #"{"session_token":1}"#] {
            let answer = try await gateway.send(
                "DELETE",
                "/self-service/logout/api",
                fields: [("content-type", "application/json")],
                body: body
            )
            #expect(answer.status == 400)
        }
    }

    @Test(
        "Every method of Kratos's route is answered, including OPTIONS",
        arguments: ["OPTIONS", "POST", "PUT", "DELETE"]
    )
    func methods(method: String) async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        #expect(try await gateway.send(method, "/sessions/whoami").status == 401)
        let answer = try await gateway.send(method, "/sessions/whoami", fields: [("x-session-token", token)])
        #expect(answer.status == 200)
        #expect(answer.value("x-kratos-authenticated-identity-id") == "9f1c")
    }

    @Test("A request for tokenization is refused, not ignored")
    func tokenize() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let answer = try await gateway.send(
            "GET",
            "/sessions/whoami?tokenize_as=jwt",
            fields: [("x-session-token", token)]
        )
        #expect(answer.status == 400)
    }

    private func logout(_ gateway: Gateway, _ token: String) async throws -> EndpointResponse {
        try await gateway.send(
            "DELETE",
            "/self-service/logout/api",
            fields: [("content-type", "application/json")],
            body: #"{"session_token":"\#(token)"}"#
        )
    }
}
