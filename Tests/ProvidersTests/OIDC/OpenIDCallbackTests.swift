import Calls
import Providers
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("The return of a browser from an OpenID provider")
struct OpenIDCallbackTests {
    private static let refusals: [(changes: [String: String?], cause: Reason)] = [
        (["state": nil], .signInStateMismatch), (["state": ""], .signInStateMismatch),
        (["state": "other"], .signInStateMismatch),
        (["code": nil], .signInStateMismatch), (["code": ""], .signInStateMismatch),
        (["code": String(repeating: "a", count: 4097)], .signInStateMismatch),
        (["iss": "https://evil.example.com"], .signInStateMismatch),
        (["iss": ""], .signInStateMismatch), (["iss": OpenIDProviderBench.issuer + "/"], .signInStateMismatch),
        (["error": "access_denied"], .signInCancelled), (["error": "login_required"], .signInInteractionRequired),
        (["error": "interaction_required"], .signInInteractionRequired),
        (["error": "consent_required"], .signInInteractionRequired),
        (["error": "account_selection_required"], .signInInteractionRequired),
        (["error": "unmet_authentication_requirements"], .signInInsufficient),
        (["error": "invalid_scope"], .signInProviderError),
        (["error": "server_error"], .signInProviderError), (["error": "<script>"], .signInProviderError),
        (["error": ""], .signInProviderError), (["error": "access_denied", "state": "other"], .signInStateMismatch),
        (["error": "access_denied", "iss": "https://evil.example.com"], .signInStateMismatch),
    ]

    @Test(
        "What does not belong to the sign-in, and errors, are refused without asking the provider",
        arguments: Self.refusals
    )
    func refused(_ refusal: (changes: [String: String?], cause: Reason)) async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let completion = await bench.provider.completion(begun.callback(refusal.changes), state: begun.state)
        #expect(completion.cause == refusal.cause, "\(completion)")
        #expect(completion.detail?.contains("<") == false)
        #expect(bench.transport.calls(of: OpenIDProviderBench.tokenURL).isEmpty)
    }

    @Test("A repeated parameter is refused, whichever it is")
    func repeated() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        for name in ["state", "code", "iss", "other"] {
            let parameters = begun.callback() + [(name, "x"), (name, "x")]
            #expect(await bench.provider.completion(parameters, state: begun.state).cause == .signInStateMismatch)
        }
        #expect(bench.transport.calls(of: OpenIDProviderBench.tokenURL).isEmpty)
    }

    @Test("iss must be there if the issuer announces it, and is right if it is the issuer")
    func issuerParameter() async throws {
        let bench = try OpenIDProviderBench(metadata: ["authorization_response_iss_parameter_supported": true])
        let begun = try await bench.begin()
        bench.transport.on(
            OpenIDProviderBench.tokenURL,
            .json(OpenIDProviderBench.tokens(idToken: bench.idToken(bench.claims(nonce: begun.parameters["nonce"]))))
        )
        #expect(await bench.provider.completion(begun.callback(), state: begun.state).cause == .signInStateMismatch)
        #expect(
            await bench.provider.completion(begun.callback(["error": "access_denied"]), state: begun.state).cause
                == .signInStateMismatch
        )
        let right = begun.callback(["iss": OpenIDProviderBench.issuer])
        #expect(await bench.provider.completion(right, state: begun.state).user != nil)
    }

    @Test("The state of another sign-in or of another provider completes nothing, and what is no whole state is none")
    func foreignState() async throws {
        let bench = try OpenIDProviderBench()
        let (first, second) = (try await bench.begin(), try await bench.begin())
        #expect(await bench.provider.completion(first.callback(), state: second.state).cause == .signInStateMismatch)
        let whole = first.state.encoded.bytes
        #expect(PendingSignIn(Secret(whole)) == first.state)
        let others: [[UInt8]] = [[], [1], [1] + whole.dropFirst(), whole + [0]]
        for bytes in others { #expect(PendingSignIn(Secret(bytes)) == nil) }
        for count in 0..<whole.count { #expect(PendingSignIn(Secret(Array(whole.prefix(count)))) == nil) }
        let other = try OpenIDProviderBench { $0.issuer = "https://other.example.com" }
        #expect(await other.provider.completion(first.callback(), state: first.state).cause == .signInStateMismatch)
        #expect(bench.transport.calls(of: OpenIDProviderBench.tokenURL).isEmpty)
    }

    @Test("A fault of the provider that passes is no refusal")
    func temporary() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let parameters = begun.callback(["error": "temporarily_unavailable"])
        let outage = await bench.provider.completion(parameters, state: begun.state).outage
        #expect(outage == "the provider answered temporarily_unavailable")
    }

    @Test("A sign-in that took too long at Keycloak's page begins again; that is no outage")
    func expired() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let fields = ["error": "temporarily_unavailable", "error_description": "authentication_expired"]
        let completion = await bench.provider.completion(begun.callback(fields), state: begun.state)
        #expect(completion.cause == .signInStateMismatch && completion.outage == nil, "\(completion)")
        let other = ["error": "temporarily_unavailable", "error_description": "maintenance"]
        #expect(await bench.provider.completion(begun.callback(other), state: begun.state).outage != nil)
    }

    @Test(
        "The user's own cancel is none of the provider's errors",
        arguments: ["access_denied", "user_cancelled_authorize", "user_cancelled_login", "user_cancelled"]
    )
    func cancelled(error: String) async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let completion = await bench.provider.completion(begun.callback(["error": error]), state: begun.state)
        #expect(completion.cause == .signInCancelled && completion.detail == error, "\(completion)")
    }

    @Test("What the token endpoint answers instead of tokens is a refusal or unavailable; no text shows a secret")
    func tokenEndpoint() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let refusals: [CallAnswer] = [
            .json(["error": "invalid_grant"], status: 400), .json(["error": "invalid_client"], status: 401),
            .json(["error": "code-1 secret"], status: 400), CallAnswer(status: 302), CallAnswer(status: 404),
            .json(["error": "bad_verification_code"]), .json([:], status: 400),
        ]
        for answer in refusals {
            bench.transport.on(OpenIDProviderBench.tokenURL, answer)
            let completion = await bench.provider.completion(begun.callback(), state: begun.state)
            #expect(completion.cause == .signInProviderError, "\(answer): \(completion)")
            #expect(completion.detail?.contains("secret") == false)
        }
        let outages: [CallAnswer] = [
            CallAnswer(status: 500), CallAnswer(status: 503), CallAnswer(status: 429),
            CallAnswer(status: 200, body: Array("<html>".utf8)), .json(["access_token": 1]),
            .json(["access_token": "a b"]), .json(["access_token": "a", "token_type": "mac"]),
            CallAnswer(status: 200, body: Array(#"{"access_token":"a","access_token":"b"}"#.utf8)),
        ]
        for answer in outages {
            bench.transport.on(OpenIDProviderBench.tokenURL, answer)
            let outage = await bench.provider.completion(begun.callback(), state: begun.state).outage
            #expect(outage?.contains("token endpoint") == true, "\(answer)")
        }
        for isUnsent in [true, false] {
            bench.transport.on(
                OpenIDProviderBench.tokenURL,
                failing: CallError(isUnsent: isUnsent, detail: "away")
            )
            #expect(await bench.provider.completion(begun.callback(), state: begun.state).outage?.isEmpty == false)
        }
    }
}
