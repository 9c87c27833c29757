import Endpoints
import NIOCore
import Sessions
import Settings
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// The refusals of `grant_type=refresh_token` with the audience of session-transfer tokens, as Auth0's SDKs branch on them.
@Suite("Refusals of a mint by refresh token")
struct MintRefusalTests {
    private static let transfer: [String: String?] = ["audience": "urn:auth.example.com:session_transfer"]

    /// A refusal has this status, and these two members and nothing else.
    private static func expect(_ answer: Answer, _ status: Int, _ error: String, _ text: String) {
        #expect(answer.status == status, "\(answer.body)")
        #expect(answer.body == ["error": .string(error), "error_description": .string(text)])
        #expect(answer.field("content-type")?.hasPrefix("application/json") == true)
        #expect(answer.field("cache-control") == "no-store")
    }

    @Test("a client that may not mint, and a session that began with a transfer: unauthorized_client")
    func notPermitted() async throws {
        let bench = TokenBench { $0.canCreateTransferToken = false }
        let tokens = try await bench.tokens()
        Self.expect(
            await bench.refresh(tokens.text("refresh_token"), Self.transfer),
            400,
            "unauthorized_client",
            "The client may not create session transfer tokens."
        )
        #expect(await bench.refresh(tokens.text("refresh_token")).status == 200, "it has not rotated")
        let online = TokenBench { $0.refreshToken.isOnline = true }
        Self.expect(
            await online.refresh(try await online.tokens().text("refresh_token"), Self.transfer),
            400,
            "unauthorized_client",
            "A session that began with a session transfer may not be transferred."
        )
    }

    @Test(
        "a refresh token that is unknown, forged, another client's or a provider's that does not count gets one answer, and no store is asked",
        arguments: [
            "spr_", "spr_forged", "x", "1//0gprovidersOwnRefreshToken-of-Google", "v1.MRrt-provider's-of-Auth0",
            "eyJhbGciOiJkaXIifQ.eyJzdWIiOiIxIn0.c2ln",
        ]
    )
    func unknown(token: String) async {
        let bench = TokenBench()
        bench.store.fail(with: .unavailable)
        Self.expect(
            await bench.refresh(token, Self.transfer),
            400,
            "invalid_grant",
            "Unknown or invalid refresh token."
        )
    }

    @Test("a user who is gone: Auth0's 403 and sentence; a revoked token: the same answer as an unknown one")
    func gone() async throws {
        let bench = TokenBench()
        let tokens = try await bench.tokens()
        bench.records.lostUser.withLock { $0 = "alice" }
        Self.expect(
            await bench.refresh(tokens.text("refresh_token"), Self.transfer),
            403,
            "invalid_grant",
            "The refresh_token was generated for a user who doesn't exist anymore."
        )
        bench.records.lostUser.withLock { $0 = nil }
        let form = ["client_id": "native-app", "token": tokens.text("refresh_token")]
        #expect(await bench.form(form, to: bench.revocation.endpoint).status == 200)
        Self.expect(
            await bench.refresh(tokens.text("refresh_token"), Self.transfer),
            400,
            "invalid_grant",
            "Unknown or invalid refresh token."
        )
    }

    @Test(
        "an audience that names no host of the gateway is invalid_target, and the token does not rotate",
        arguments: [
            "urn:evil.example.com:session_transfer", "urn:auth.example.com:8443:session_transfer",
            "urn:auth.example.com:session_transfer ", "urn:auth.example.com.:session_transfer", "urn::session_transfer",
            "urn:auth.example.com@evil.example.com:session_transfer",
        ]
    )
    func audience(audience: String) async throws {
        let bench = TokenBench()
        let tokens = try await bench.tokens()
        Self.expect(
            await bench.refresh(tokens.text("refresh_token"), ["audience": audience]),
            400,
            "invalid_target",
            "The requested audience is not served here."
        )
        #expect(await bench.refresh(tokens.text("refresh_token"), Self.transfer).status == 200)
    }

    @Test("a missing parameter is named, an outage is 503 and blames no token, and too many mints are 429")
    func others() async throws {
        let bench = TokenBench()
        let form = ["grant_type": "refresh_token", "client_id": "native-app"]
            .merging(Self.transfer.compactMapValues { $0 }) { $1 }
        Self.expect(
            await bench.form(form),
            400,
            "invalid_request",
            "The parameter refresh_token is missing."
        )
        var refresh = try await bench.tokens().text("refresh_token")
        bench.store.fail(with: .unavailable)
        Self.expect(
            await bench.refresh(refresh, Self.transfer),
            503,
            "temporarily_unavailable",
            "The service is temporarily unavailable."
        )
        bench.store.fail(with: nil)
        for _ in 0..<10 {
            let answer = await bench.refresh(refresh, Self.transfer)
            #expect(answer.status == 200 && answer.body["expires_in"] == 60 && answer.text("token_type") == "N_A")
            refresh = answer.text("refresh_token")
        }
        let answer = await bench.refresh(refresh, Self.transfer)
        Self.expect(answer, 429, "too_many_requests", "Too many requests. Please try again later.")
        #expect(answer.field("retry-after") == "6")
    }
}
