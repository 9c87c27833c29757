import Endpoints
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// `acr_values` and `claims` at `/authorize` of a gateway that reaches `aal2`, which its provider calls `mfa`.
@Suite("The level that a client requires of the sign-in")
struct RequiredLevelTests {
    enum Told: Equatable {
        case code
        /// Sent to the sign-in page, which must reach this level.
        case signIn(String?)
        case error(String)

        static let strong = Told.signIn("aal2")
        static let unmet = Told.error("unmet_authentication_requirements")
        static let interaction = Told.error("interaction_required")
        static let login = Told.error("login_required")
        static let invalid = Told.error("invalid_request")

        init(_ answer: Answer) {
            if answer.redirect["code"] != nil {
                self = .code
            } else if answer.field("location")?.hasPrefix("/.sallyport/login?") == true {
                self = .signIn(answer.redirect["aal"])
            } else {
                self = .error(answer.redirect["error"] ?? "\(answer.status)")
            }
        }
    }

    /// Signs a user in at the level and returns the cookie. Returns `nil` without a level.
    private static func cookie(_ bench: TokenBench, _ level: AssuranceLevel?) async throws -> String? {
        guard let level else { return nil }
        return try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com", aal: level)
    }

    @Test(
        "A session that has the first reachable level answers; otherwise, the user signs in, or prompt=none is an error",
        arguments: [
            (nil, "aal2", .strong, .login), (.aal1, "aal2", .strong, .interaction),
            (.aal1, "mfa", .strong, .interaction), (.aal1, "urn:x  aal3 mfa", .strong, .interaction),
            (.aal1, "aal2 aal1", .strong, .code), (.aal1, "aal1 aal2", .code, .code),
            (.aal1, "urn:x aal1", .code, .code),
            (.aal2, "aal2", .code, .code), (.aal2, "mfa", .code, .code), (.aal2, "aal1", .code, .code),
            (.aal2, "aal3 aal2", .code, .code), (.aal1, " ", .code, .code),
            (nil, "aal3", .unmet, .unmet), (.aal2, "aal3", .unmet, .unmet), (.aal1, "urn:x urn:y", .unmet, .unmet),
            (.aal1, "aal0", .unmet, .unmet), (.aal2, "AAL2", .unmet, .unmet),
        ] as [(AssuranceLevel?, String, Told, Told)]
    )
    func decision(level: AssuranceLevel?, values: String, expected: Told, silent: Told) async throws {
        let bench = TokenBench()
        let cookie = try await Self.cookie(bench, level)
        #expect(Told(await bench.authorize(["acr_values": values], cookie: cookie)) == expected)
        #expect(Told(await bench.authorize(["acr_values": values, "prompt": "none"], cookie: cookie)) == silent)
    }

    @Test(
        "A user who comes back from the sign-in page is not sent there again, and any requested level is an answer",
        arguments: [
            ("aal2", .aal2, .code), ("aal2", .aal1, .unmet), ("aal2", nil, .unmet), ("mfa aal1", .aal1, .code),
        ] as [(String, AssuranceLevel?, Told)]
    )
    func afterSignIn(values: String, reached: AssuranceLevel?, expected: Told) async throws {
        let bench = TokenBench()
        let sent = await bench.authorize(["acr_values": values])
        #expect(Told(sent) == .strong)
        let back = try #require(sent.redirect["return_to"]).split(separator: "?", maxSplits: 1)[1]
        let query = FormText.pairs(Array(back.utf8)).map { (name: $0.name, value: $0.value) }
        bench.clock.advance(by: .seconds(1))
        let cookie = try await Self.cookie(bench, reached)
        #expect(Told(await bench.authorize(query, cookie: cookie)) == expected)
    }

    @Test(
        "An essential acr of the id_token is required, before acr_values; any other claim leaves acr_values in force",
        arguments: [
            (#"{"id_token":{"acr":{"essential":true,"value":"mfa"}}}"#, nil, .strong),
            (#"{"id_token":{"acr":{"essential":true,"values":["x","aal2"]}}}"#, nil, .strong),
            (#"{"id_token":{"acr":{"essential":true,"values":["x","y"]}}}"#, nil, .unmet),
            (#"{"id_token":{"acr":{"essential":true,"value":"aal1"}}}"#, "aal2", .code),
            (#"{"id_token":{"acr":{"value":"aal2"}}}"#, nil, .code),
            (#"{"id_token":{"acr":{"value":"aal1"}}}"#, "aal2", .strong),
            (#"{"id_token":{"acr":{"essential":"true","value":"aal2"}}}"#, nil, .code),
            (#"{"id_token":{"acr":{"essential":true}}}"#, "aal2", .strong),
            (#"{"id_token":{"acr":{"essential":true}}}"#, nil, .code),
            (#"{"userinfo":{"acr":{"essential":true,"value":"aal2"}}}"#, nil, .code), ("{}", "mfa", .strong),
            ("{", nil, .invalid), ("[]", nil, .invalid), ("x", "aal1", .invalid),
            (#"{"id_token":{"acr":{"essential":true,"value":2}}}"#, nil, .invalid),
            (#"{"id_token":{"acr":{"essential":true,"values":"aal2"}}}"#, nil, .invalid),
            (#"{"id_token":{"acr":{"essential":true,"values":[]}}}"#, nil, .invalid),
            (#"{"id_token":{"acr":{"essential":true,"values":["aal2",1]}}}"#, nil, .invalid),
        ] as [(String, String?, Told)]
    )
    func claims(claims: String, values: String?, expected: Told) async throws {
        let bench = TokenBench()
        let cookie = try await Self.cookie(bench, .aal1)
        #expect(Told(await bench.authorize(["claims": claims, "acr_values": values], cookie: cookie)) == expected)
    }

    @Test("A transfer token's user has the level of the native sign-in")
    func transferToken() async throws {
        for (level, expected, silent) in [
            (.aal1, .strong, .interaction), (.aal2, .code, .code),
        ] as [(AssuranceLevel, Told, Told)] {
            for (prompt, expected) in [(nil, expected), ("none", silent)] as [(String?, Told)] {
                let bench = TokenBench()
                let session = try await bench.signIn(aal: level)
                let token = await bench.post(json: bench.parameters(session)).text("access_token")
                let answer = await bench.authorize([
                    "client_id": "web", "redirect_uri": "https://web.example.com/cb", "scope": "openid",
                    "session_transfer_token": token, "acr_values": "aal2", "prompt": prompt,
                ])
                #expect(Told(answer) == expected, "\(level) \(prompt ?? "")")
            }
        }
    }
}
