import Endpoints
import Sessions
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// What the SDKs for native apps and servers send, byte for byte, and what they refuse to read: as their sources say, or as
/// captured from them.
@Suite("The SDKs' own requests and decoders")
struct SDKShapeTests {
    /// What a decoder demands of a member.
    enum Rule: Sendable {
        case text(String)
        /// A JSON number above 0: Auth0.Android and AppAuth take no text.
        case number(String)
        case equal(String, String)
        case absent(String)

        func holds(_ body: JSONValue) -> Bool {
            switch self {
            case .text(let name): return body[name]?.string?.isEmpty == false
            case .number(let name):
                guard case .integer(let value) = body[name] else { return false }
                return value > 0
            case .equal(let name, let text): return body[name]?.string == text
            case .absent(let name): return body[name] == nil
            }
        }
    }

    /// One SDK: its requests with `CODE`, `VERIFIER`, `REFRESH` and `ACCESS` in place of values.
    struct SDK: Sendable, CustomTestStringConvertible {
        var name: String
        var fields: [(name: String, value: String)]
        var redirectURI: String
        var code: String
        var refresh: String
        /// For a session-transfer token; nil: the SDK has no such call.
        var transfer: String?
        var revoke: String
        /// What the decoder of tokens demands.
        var rules: [Rule]

        var testDescription: String { self.name }
    }

    private static let json = (name: "content-type", value: "application/json")
    private static let telemetry = (
        name: "auth0-client", value: "eyJuYW1lIjoiQXV0aDAuc3dpZnQiLCJ2ZXJzaW9uIjoiMy4xLjAifQ"
    )
    private static let form = (name: "content-type", value: "application/x-www-form-urlencoded")
    /// Auth0.swift and Auth0.Android keep nothing without these.
    private static let credentials: [Rule] = [
        .text("access_token"), .equal("token_type", "Bearer"), .text("id_token"), .text("refresh_token"),
        .number("expires_in"), .text("scope"),
    ]
    private static let transferred: [Rule] = [
        .text("access_token"), .text("id_token"), .equal("token_type", "N_A"), .number("expires_in"),
        .equal("issued_token_type", "urn:auth0:params:oauth:token-type:session_transfer_token"),
    ]
    /// HAAPI's model, and AppAuth's.
    private static let standard: [Rule] = [
        .text("access_token"), .number("expires_in"), .equal("token_type", "Bearer"),
    ]

    static let all: [SDK] = [
        SDK(
            name: "Auth0.swift",
            fields: [json, telemetry],
            redirectURI: "myapp://auth/callback",
            // Foundation writes / as \/.
            code: #"{"code":"CODE","code_verifier":"VERIFIER","redirect_uri":"myapp:\/\/auth\/callback","#
                + #""grant_type":"authorization_code","client_id":"native-app"}"#,
            refresh: #"{"grant_type":"refresh_token","refresh_token":"REFRESH","client_id":"native-app"}"#,
            transfer: #"{"audience":"urn:auth.example.com:session_transfer","client_id":"native-app","#
                + #""grant_type":"refresh_token","refresh_token":"REFRESH"}"#,
            revoke: #"{"token":"REFRESH","client_id":"native-app"}"#,
            rules: credentials
        ),
        SDK(
            name: "Auth0.Android",
            fields: [("content-type", "application/json; charset=utf-8"), ("accept-language", "en_US"), telemetry],
            redirectURI: TokenBench.callback,
            // Gson writes = as \u003d.
            code: #"{"client_id":"native-app","grant_type":"authorization_code","code":"CODE","#
                + #""redirect_uri":"https://app.example.com/callback?tenant\u003d1","code_verifier":"VERIFIER"}"#,
            refresh: #"{"client_id":"native-app","refresh_token":"REFRESH","grant_type":"refresh_token"}"#,
            transfer: #"{"client_id":"native-app","grant_type":"refresh_token","#
                + #""audience":"urn:auth.example.com:session_transfer","refresh_token":"REFRESH"}"#,
            revoke: #"{"client_id":"native-app","token":"REFRESH"}"#,
            rules: credentials
        ),
        SDK(
            name: "react-native-auth0",
            fields: [("accept", "application/json"), json, telemetry],
            redirectURI: "myapp://auth/callback",
            code: #"{"grant_type":"authorization_code","client_id":"native-app","code":"CODE","#
                + #""code_verifier":"VERIFIER","redirect_uri":"myapp://auth/callback"}"#,
            // Always with a scope, wider than what was granted.
            refresh: #"{"grant_type":"refresh_token","client_id":"native-app","refresh_token":"REFRESH","#
                + #""scope":"openid profile email"}"#,
            transfer: #"{"grant_type":"refresh_token","client_id":"native-app","refresh_token":"REFRESH","#
                + #""audience":"urn:auth.example.com:session_transfer"}"#,
            revoke: #"{"client_id":"native-app","token":"REFRESH"}"#,
            rules: credentials
        ),
        SDK(
            name: "auth0-python",
            fields: [json, telemetry],
            redirectURI: TokenBench.callback,
            code: #"{"client_id": "native-app", "code_verifier": "VERIFIER", "code": "CODE", "#
                + #""grant_type": "authorization_code", "redirect_uri": "https://app.example.com/callback?tenant=1", "#
                + #""organization": null}"#,
            refresh: #"{"client_id": "native-app", "refresh_token": "REFRESH", "scope": "", "#
                + #""grant_type": "refresh_token"}"#,
            transfer: #"{"client_id": "native-app", "grant_type": "refresh_token", "refresh_token": "REFRESH", "#
                + #""audience": "urn:auth.example.com:session_transfer"}"#,
            revoke: #"{"client_id": "native-app", "token": "REFRESH"}"#,
            rules: [.text("access_token"), .text("refresh_token"), .number("expires_in")]
        ),
        SDK(
            name: "AppAuth for iOS",
            fields: [("content-type", "application/x-www-form-urlencoded; charset=UTF-8")],
            redirectURI: "myapp://auth/callback",
            code: "code_verifier=VERIFIER&grant_type=authorization_code&client_id=native-app&code=CODE"
                + "&redirect_uri=myapp://auth/callback",
            refresh: "refresh_token=REFRESH&client_id=native-app&grant_type=refresh_token",
            transfer: nil,
            revoke: "token=REFRESH&token_type_hint=refresh_token&client_id=native-app",
            rules: standard
        ),
        SDK(
            name: "AppAuth for Android",
            fields: [form, ("accept", "application/json")],
            redirectURI: TokenBench.callback,
            code: "client_id=native-app&code=CODE&code_verifier=VERIFIER&grant_type=authorization_code"
                + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ftenant%3D1",
            refresh: "grant_type=refresh_token&refresh_token=REFRESH&client_id=native-app",
            transfer: nil,
            revoke: "token=REFRESH&client_id=native-app",
            rules: standard
        ),
        SDK(
            name: "Curity HAAPI",
            fields: [form, ("accept", "application/json")],
            redirectURI: "myapp://auth/callback",
            code: "grant_type=authorization_code&code=CODE&client_id=native-app"
                + "&redirect_uri=myapp%3A%2F%2Fauth%2Fcallback&code_verifier=VERIFIER",
            refresh: "grant_type=refresh_token&refresh_token=REFRESH&client_id=native-app",
            transfer: nil,
            revoke: "token=REFRESH&token_type_hint=refresh_token&client_id=native-app",
            rules: standard
        ),
    ]

    /// Sends a request of the SDK as it stands.
    private static func send(
        _ body: String,
        _ sdk: SDK,
        _ bench: TokenBench,
        code: String = "",
        refresh: String = "",
        to endpoint: Endpoint? = nil
    ) async -> Answer {
        let bytes = body.replacing("CODE", with: code).replacing("VERIFIER", with: TokenBench.verifier)
            .replacing("REFRESH", with: refresh)
        return await bench.post(Array(bytes.utf8), fields: sdk.fields, to: endpoint ?? bench.endpoint.endpoint)
    }

    private static func signIn(_ sdk: SDK, _ bench: TokenBench) async throws -> Answer {
        let code = try await bench.code([
            "redirect_uri": sdk.redirectURI, "scope": "openid profile email offline_access",
        ])
        return await Self.send(sdk.code, sdk, bench, code: code)
    }

    /// Every SDK reads JSON only when it is called so, and none follows a redirect.
    private static func expectJSON(_ answer: Answer, _ status: Int, _ rules: [Rule]) {
        #expect(answer.status == status, "\(answer.body)")
        #expect(answer.field("content-type")?.hasPrefix("application/json") == true)
        #expect(answer.field("cache-control") == "no-store" && answer.field("location") == nil)
        for rule in rules { #expect(rule.holds(answer.body), "\(rule): \(answer.body)") }
    }

    /// What all of them parse of an error.
    private static func error(_ code: String, _ description: String) -> [Rule] {
        [.equal("error", code), .equal("error_description", description), .absent("access_token")]
    }

    @Test("A code, refreshes, a mint and a revocation: each answer passes the SDK's decoder", arguments: all)
    func life(sdk: SDK) async throws {
        let bench = TokenBench()
        let first = try await Self.signIn(sdk, bench)
        Self.expectJSON(first, 200, sdk.rules)
        var refresh = first.text("refresh_token")
        let second = await Self.send(sdk.refresh, sdk, bench, refresh: refresh)
        Self.expectJSON(second, 200, sdk.rules)
        refresh = second.text("refresh_token")
        if let transfer = sdk.transfer {
            let minted = await Self.send(transfer, sdk, bench, refresh: refresh)
            Self.expectJSON(minted, 200, Self.transferred)
            refresh = minted.text("refresh_token")
        }
        let revoked = await Self.send(sdk.revoke, sdk, bench, refresh: refresh, to: bench.revocation.endpoint)
        #expect(revoked.status == 200 && revoked.response.body.isEmpty)
        let ended = await Self.send(sdk.refresh, sdk, bench, refresh: refresh)
        Self.expectJSON(ended, 400, Self.error("invalid_grant", "Unknown or invalid refresh token."))
    }

    @Test("A code that is no good is invalid_grant, in words without the code", arguments: all)
    func badCode(sdk: SDK) async {
        let bench = TokenBench()
        let answer = await Self.send(sdk.code, sdk, bench, code: "spc_forged")
        Self.expectJSON(answer, 400, Self.error("invalid_grant", "Invalid authorization code."))
    }

    @Test("A user who was deleted: Auth0.Android's isRefreshTokenDeleted compares status and words", arguments: all)
    func deleted(sdk: SDK) async throws {
        let bench = TokenBench()
        let tokens = try await Self.signIn(sdk, bench)
        bench.records.lostUser.withLock { $0 = "alice" }
        let answer = await Self.send(sdk.refresh, sdk, bench, refresh: tokens.text("refresh_token"))
        let words = "The refresh_token was generated for a user who doesn't exist anymore."
        Self.expectJSON(answer, 403, Self.error("invalid_grant", words))
    }

    @Test(
        "An outage is 503 with Retry-After: invalid_grant would cost HAAPI its key and the user the sign-in",
        arguments: all
    )
    func outage(sdk: SDK) async throws {
        let bench = TokenBench()
        let tokens = try await Self.signIn(sdk, bench)
        bench.store.fail(with: .unavailable)
        let answer = await Self.send(sdk.refresh, sdk, bench, refresh: tokens.text("refresh_token"))
        Self.expectJSON(answer, 503, [.equal("error", "temporarily_unavailable"), .text("error_description")])
        #expect(answer.field("retry-after").flatMap(Int.init) ?? 0 > 0)
        bench.store.fail(with: nil)
        let later = await Self.send(sdk.refresh, sdk, bench, refresh: tokens.text("refresh_token"))
        Self.expectJSON(later, 200, sdk.rules)
    }

    @Test("Too many requests are 429 with Retry-After and blame neither client nor token", arguments: all)
    func throttled(sdk: SDK) async throws {
        let bench = TokenBench()
        let tokens = try await Self.signIn(sdk, bench)
        for _ in 0..<500 { _ = await Self.send(sdk.refresh, sdk, bench, refresh: "spr_x") }
        let answer = await Self.send(sdk.refresh, sdk, bench, refresh: tokens.text("refresh_token"))
        Self.expectJSON(answer, 429, [.equal("error", "too_many_requests"), .text("error_description")])
        #expect(answer.field("retry-after").flatMap(Int.init) ?? 0 > 0)
    }

    @Test("/userinfo answers what the SDKs' profiles need, and errors as JSON with one challenge", arguments: all)
    func userInfo(sdk: SDK) async throws {
        let bench = TokenBench()
        let tokens = try await Self.signIn(sdk, bench)
        func ask(_ token: String) async -> Answer {
            await bench.post([], fields: [("authorization", "Bearer \(token)")], to: bench.userInfo.endpoint)
        }
        Self.expectJSON(
            await ask(tokens.text("access_token")),
            200,
            [.equal("sub", "alice"), .equal("email", "a@example.com"), .equal("name", "Ada")]
        )
        let refused = await ask("spa_x")
        Self.expectJSON(refused, 401, [.equal("error", "invalid_token"), .text("error_description")])
        #expect(refused.response.fields.filter { $0.name == "www-authenticate" }.count == 1)
    }
}
