import Cryptography
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// `acr_values` and `claims` at `/authorize` of a gateway whose provider calls its second level `mfa`.
@Suite("Clients that demand a level of the sign-in", .blocking)
struct LevelDemandTests {
    private static let callback = "com.example.app:/callback"
    private static let settings = """
        routes: [{path: /**}, {path: /strong/**, require: {aal: aal2}}]
        clients:
          - client_id: app
            callbacks: ["\(Self.callback)"]
            grant_types: [authorization_code, refresh_token]
        """

    private static func with(_ body: (OpenIDSignInBench) throws -> Void) throws {
        try OpenIDSignInBench.with(routes: self.settings, body)
    }

    /// What the client gets for the request: the parameters at its callback.
    static func authorize(
        _ browser: inout OpenIDBrowser,
        _ more: [(String, String)]
    ) throws -> [String: String] {
        let parameters = [
            ("client_id", "app"), ("response_type", "code"), ("state", "s"), ("scope", "openid offline_access"),
            ("code_challenge_method", "S256"), ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ]
        var answer = try browser.load("/authorize?" + FormText.encoded((parameters + more).map { ($0.0, $0.1) }))
        for _ in 0..<8 {
            let location = try #require(answer.value("location"), "\(answer.lines) \(answer.text)")
            guard !location.hasPrefix(Self.callback) else {
                let query = location.split(separator: "?", maxSplits: 1).last.map { Array($0.utf8) } ?? []
                let pairs = FormText.pairs(query).map { ($0.name, $0.value) }
                return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
            }
            answer = try browser.load(try browser.target(of: location))
        }
        throw BenchFailure("a loop: \(answer.lines)")
    }

    /// The tokens for a code.
    static func redeem(_ bench: OpenIDSignInBench, _ code: String) throws -> Answer {
        let form =
            "grant_type=authorization_code&client_id=app&code=\(code)"
            + "&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try bench.gateway.request(Request.post("/oauth/token", [type], body: form))
    }

    /// The claims of the id_token for a code.
    private static func claims(_ bench: OpenIDSignInBench, _ code: String) throws -> JSONValue {
        let answer = try Self.redeem(bench, code)
        let token = try #require(answer.text.firstMatch(of: /"id_token":"[^".]+\.([^".]+)\./), "\(answer.text)").1
        return try #require(Base64URL.decode(String(token)).flatMap { JSONText.decode($0) })
    }

    @Test(
        "A demanded level is reached in one sign-in, by each of its names; the next request is answered at once",
        arguments: [
            ("acr_values", "aal2"), ("acr_values", "mfa"), ("acr_values", "urn:unknown  aal3 mfa aal1"),
            ("claims", #"{"id_token":{"acr":{"essential":true,"value":"mfa"}}}"#),
            ("claims", #"{"id_token":{"acr":{"essential":true,"values":["x","aal2"]},"sub":null}}"#),
        ]
    )
    func reached(name: String, value: String) throws {
        try Self.with { bench throws in
            bench.provider.change { $0.levels = ["mfa"] }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let before = bench.provider.count(.authorization)
            let back = try Self.authorize(&browser, [(name, value)])
            let code = try #require(back["code"], "\(back)")
            let claims = try Self.claims(bench, code)
            #expect(claims["acr"] == "aal2" && claims["amr"] == ["pwd"])
            let calls = bench.provider.calls(of: .authorization)
            #expect(calls.count == before + 1 && calls.last?["acr_values"] == "mfa")
            #expect(try Self.authorize(&browser, [(name, value)])["code"] != nil)
            #expect(bench.provider.count(.authorization) == before + 1)
        }
    }

    @Test("A level that the user does not reach is an error for the client, after one sign-in: no page, and no loop")
    func unmet() throws {
        try Self.with { bench throws in
            var fresh = OpenIDBrowser(bench)
            let back = try Self.authorize(&fresh, [("acr_values", "aal2")])
            #expect(back["error"] == "unmet_authentication_requirements" && back["state"] == "s", "\(back)")
            #expect(bench.provider.count(.authorization) == 1)
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let again = try Self.authorize(&browser, [("acr_values", "aal2")])
            #expect(again["error"] == "unmet_authentication_requirements" && again["code"] == nil)
            #expect(try browser.load("/x").status == 200, "the session stays")
            // What the client also accepts is what it gets then.
            #expect(try Self.authorize(&browser, [("acr_values", "aal2 aal1")])["code"] != nil)
            #expect(eventually { bench.gateway.output.contains("require.aal") })
        }
    }

    @Test(
        "A level that nobody reaches here is refused at once, and a demand that cannot be read is one",
        arguments: [
            ("acr_values", "aal3", "unmet_authentication_requirements"),
            ("acr_values", "urn:mace:incommon:iap:silver", "unmet_authentication_requirements"),
            ("acr_values", "aal0", "unmet_authentication_requirements"),
            ("claims", #"{"id_token":{"acr":{"essential":true,"value":"x"}}}"#, "unmet_authentication_requirements"),
            ("claims", "{", "invalid_request"), ("claims", "[]", "invalid_request"),
            ("claims", #"{"id_token":{"acr":{"essential":true,"value":2}}}"#, "invalid_request"),
            ("claims", #"{"id_token":{"acr":{"essential":true,"values":"aal2"}}}"#, "invalid_request"),
        ]
    )
    func unreachable(name: String, value: String, error: String) throws {
        try Self.with { bench throws in
            var browser = OpenIDBrowser(bench)
            #expect(try Self.authorize(&browser, [(name, value)])["error"] == error)
            #expect(bench.provider.count(.authorization) == 0)
            let form = FormText.encoded([
                ("client_id", "app"), ("response_type", "code"), (name, value), ("code_challenge_method", "S256"),
                ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
            ])
            let type = "Content-Type: application/x-www-form-urlencoded"
            let pushed = try bench.gateway.request(Request.post("/oauth/par", [type], body: form))
            #expect(pushed.status == 400 && pushed.text.contains(#""error":"\#(error)""#), "\(pushed.text)")
        }
    }

    @Test("prompt=none asks nobody: interaction_required for a weaker session, login_required without one")
    func silent() throws {
        try Self.with { bench throws in
            bench.provider.change { $0.levels = ["mfa"] }
            var browser = OpenIDBrowser(bench)
            let silent = [("prompt", "none"), ("acr_values", "aal2")]
            #expect(try Self.authorize(&browser, silent)["error"] == "login_required")
            #expect(try browser.open("/x").status == 200)
            #expect(try Self.authorize(&browser, silent)["error"] == "interaction_required")
            #expect(try Self.authorize(&browser, [("prompt", "none"), ("acr_values", "aal2 aal1")])["code"] != nil)
            #expect(try browser.open("/strong/x").status == 200)
            #expect(try Self.authorize(&browser, silent)["code"] != nil)
        }
    }

    @Test("A claim that is not essential, and an acr without values, demand nothing")
    func voluntary() throws {
        try Self.with { bench throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            for claims in [
                #"{"id_token":{"acr":{"value":"mfa"}}}"#, #"{"id_token":{"acr":{"essential":true}}}"#,
                #"{"id_token":{"acr":null}}"#, #"{"userinfo":{"email":null}}"#, "{}",
            ] {
                #expect(try Self.authorize(&browser, [("claims", claims)])["code"] != nil, "\(claims)")
            }
        }
    }

    @Test("A pushed request demands the level as well, and the metadata names the values")
    func pushed() throws {
        try Self.with { bench throws in
            bench.provider.change { $0.levels = ["mfa"] }
            let form = FormText.encoded([
                ("client_id", "app"), ("response_type", "code"), ("acr_values", "aal2"), ("scope", "openid"),
                ("code_challenge_method", "S256"), ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
            ])
            let type = "Content-Type: application/x-www-form-urlencoded"
            let pushed = try bench.gateway.request(Request.post("/oauth/par", [type], body: form))
            let uri = String(try #require(pushed.text.firstMatch(of: /"request_uri":"([^"]+)"/), "\(pushed.text)").1)
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let back = try Self.authorize(&browser, [("request_uri", uri)])
            #expect(try Self.claims(bench, try #require(back["code"], "\(back)"))["acr"] == "aal2")
            let metadata = try bench.gateway.request(Request.get("/.well-known/openid-configuration")).text
            #expect(metadata.contains(#""acr_values_supported":["aal1","aal2","mfa"]"#), "\(metadata)")
        }
    }
}
