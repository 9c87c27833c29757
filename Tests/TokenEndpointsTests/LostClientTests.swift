import Endpoints
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("A client that was deleted and made again") struct LostClientTests {
    /// Makes the client anew: what it got until now is not the new one's.
    private static func replace(_ id: String, in world: TokenWorld) {
        world.clock.advance(by: .seconds(1))
        world.registry.adopt([:], departures: [id: world.clock.now])
        world.clock.advance(by: .seconds(1))
    }

    @Test("none of the tokens and codes of the former one count, wherever they are presented")
    func everything() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let code = try await world.code()
        let session = try await world.signIn(client: "native-app")
        let access = first.text("access_token")
        func user() async -> Answer {
            await world.post([], fields: [("authorization", "Bearer \(access)")], to: world.userInfo.endpoint)
        }
        #expect(await user().reason != .sessionUnknown)
        Self.replace("native-app", in: world)
        #expect(await user().status == 401)
        for answer in [
            await world.refresh(first.text("refresh_token")), await world.redeem(code),
            await world.post(json: world.parameters(session)),
        ] {
            #expect(answer.status == 400 && answer.error == "invalid_grant", "\(answer.body)")
        }
        #expect(world.records.all.map(\.reason).suffix(2) == [.sessionClientGone, .sessionClientGone])
        // Of others nothing ends, and the new one gets its own.
        let other = try await world.signIn()
        #expect(await world.post(json: world.parameters(other)).status == 200)
        let second = try await world.tokens()
        #expect(await world.refresh(second.text("refresh_token")).status == 200)
    }

    @Test("a request that the former one pushed is unknown, also within its minute")
    func pushedRequest() async throws {
        for isReplaced in [true, false] {
            let world = TokenWorld()
            let pushed = await world.form(
                [
                    "client_id": "native-app", "response_type": "code", "redirect_uri": TokenWorld.callback,
                    "code_challenge": TokenWorld.challenge, "code_challenge_method": "S256",
                ],
                to: world.pushed.endpoint
            )
            if isReplaced { Self.replace("native-app", in: world) }
            let answer = await world.authorize([
                (name: "client_id", value: "native-app"), (name: "request_uri", value: pushed.text("request_uri")),
            ])
            #expect((answer.reason == .oauthRequestUnknown) == isReplaced)
        }
    }

    @Test("its session-transfer tokens sign nobody in; nor do those of one that may not have them any more")
    func transfer() async throws {
        for isReplaced in [true, false] {
            let world = TokenWorld()
            let token = await world.post(json: world.parameters(try await world.signIn())).text("access_token")
            #expect(token.hasPrefix("spt_"))
            if isReplaced { Self.replace("native-app", in: world) }
            let back = await world.authorize(
                ["client_id": "web", "redirect_uri": "https://web.example.com/cb", "session_transfer_token": token],
                fields: [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
            )
            #expect((back.redirect["code"] == nil) == isReplaced)
        }
    }
}
