import Endpoints
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("A client that was deleted and made again") struct LostClientTests {
    /// Makes the client anew: what it got until now is not the new one's.
    private static func replace(_ id: String, in bench: TokenBench) {
        bench.clock.advance(by: .seconds(1))
        bench.registry.adopt([:], departures: [id: bench.clock.now])
        bench.clock.advance(by: .seconds(1))
    }

    @Test("none of the tokens and codes of the former one count, wherever they are presented")
    func everything() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let code = try await bench.code()
        let session = try await bench.signIn(client: "native-app")
        let access = first.text("access_token")
        func user() async -> Answer {
            await bench.post([], fields: [("authorization", "Bearer \(access)")], to: bench.userInfo.endpoint)
        }
        #expect(await user().reason != .sessionUnknown)
        Self.replace("native-app", in: bench)
        #expect(await user().status == 401)
        for answer in [
            await bench.refresh(first.text("refresh_token")), await bench.redeem(code),
            await bench.post(json: bench.parameters(session)),
        ] {
            #expect(answer.status == 400 && answer.error == "invalid_grant", "\(answer.body)")
        }
        #expect(bench.records.all.map(\.reason).suffix(2) == [.sessionClientGone, .sessionClientGone])
        // Of others nothing ends, and the new one gets its own.
        let other = try await bench.signIn()
        #expect(await bench.post(json: bench.parameters(other)).status == 200)
        let second = try await bench.tokens()
        #expect(await bench.refresh(second.text("refresh_token")).status == 200)
    }

    @Test("a request that the former one pushed is unknown, also within its minute")
    func pushedRequest() async throws {
        for isReplaced in [true, false] {
            let bench = TokenBench()
            let pushed = await bench.form(
                [
                    "client_id": "native-app", "response_type": "code", "redirect_uri": TokenBench.callback,
                    "code_challenge": TokenBench.challenge, "code_challenge_method": "S256",
                ],
                to: bench.pushed.endpoint
            )
            if isReplaced { Self.replace("native-app", in: bench) }
            let answer = await bench.authorize([
                (name: "client_id", value: "native-app"), (name: "request_uri", value: pushed.text("request_uri")),
            ])
            #expect((answer.reason == .oauthRequestUnknown) == isReplaced)
        }
    }

    @Test("its session-transfer tokens sign nobody in; nor do those of one that may not have them any more")
    func transfer() async throws {
        for isReplaced in [true, false] {
            let bench = TokenBench()
            let token = await bench.post(json: bench.parameters(try await bench.signIn())).text("access_token")
            #expect(token.hasPrefix("spt_"))
            if isReplaced { Self.replace("native-app", in: bench) }
            let back = await bench.authorize(
                ["client_id": "web", "redirect_uri": "https://web.example.com/cb", "session_transfer_token": token],
                fields: [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
            )
            #expect((back.redirect["code"] == nil) == isReplaced)
        }
    }
}
