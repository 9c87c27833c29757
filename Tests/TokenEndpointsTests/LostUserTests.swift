import Endpoints
import Sessions
import Settings
import Synchronization
import Testing
import Vocabulary

@Suite("A user whom the provider lost") struct LostUserTests {
    private let bench = TokenBench(
        apis: [APISettings(audience: TokenBench.api, scopes: ["orders:read"]).read(by: "server app")]
    )

    private func lose(_ user: String?) { self.bench.records.lostUser.withLock { $0 = user } }

    private func exchange(_ token: String, for audience: String) async -> Answer {
        var parameters = self.bench.parameters(token)
        parameters["audience"] = audience
        return await self.bench.form(parameters)
    }

    private func isActive(_ token: String) async -> Bool {
        let parameters = ["token": token, "client_id": "server app", "client_secret": "s3cr%t+:ü"]
        return await self.bench.form(parameters, to: self.bench.introspection.endpoint).body["active"] == true
    }

    @Test("nothing new comes of what the user has, and all of it comes back with the user") func everything()
        async throws
    {
        let bench = self.bench
        let native = try await bench.signIn()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let code = try await bench.code(["audience": TokenBench.api])
        let audience: [String: String?] = ["audience": TokenBench.api, "scope": "openid offline_access orders:read"]
        let tokens = await bench.redeem(try await bench.code(audience))
        let bearer = [(name: "authorization", value: "Bearer \(tokens.text("access_token"))")]
        for isLost in [true, false] {
            self.lose(isLost ? "alice" : nil)
            #expect(await self.isActive(tokens.text("access_token")) != isLost)
            let user = await bench.post([], fields: bearer, to: bench.userInfo.endpoint)
            #expect(user.status == (isLost ? 401 : 200))
            for audience in [TokenBench.api, "urn:auth.example.com:session_transfer"] {
                let answer = await self.exchange(native, for: audience)
                #expect(answer.status == (isLost ? 400 : 200))
                #expect(answer.reason == (isLost ? .sessionUnknown : nil))
            }
            let authorized = await bench.authorize(cookie: cookie)
            #expect((authorized.redirect["code"] == nil) == isLost)
            let redeemed = await bench.redeem(code)
            #expect(redeemed.error == (isLost ? "invalid_grant" : nil))
            #expect(redeemed.reason == (isLost ? .sessionUserGone : nil))
        }
        self.lose("bob")
        #expect(await self.isActive(tokens.text("access_token")))
    }

    @Test("a client can still revoke what it has, so that it does not come back with the user") func revocation()
        async throws
    {
        let tokens = try await self.bench.tokens()
        self.lose("alice")
        let parameters = ["token": tokens.text("refresh_token"), "client_id": "native-app"]
        #expect(await self.bench.form(parameters, to: self.bench.revocation.endpoint).status == 200)
        self.lose(nil)
        #expect(await self.bench.refresh(tokens.text("refresh_token")).reason == .refreshUnknown)
        #expect(try await !self.bench.lives(tokens.text("access_token")))
    }
}

extension APISettings {
    fileprivate func read(by client: String) -> APISettings {
        var api = self
        api.resourceServers = [client]
        return api
    }
}
