import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

@Suite("Logout tokens of an OpenID provider, and its keys", .blocking) struct LogoutTokenTests {
    private func post(_ token: String, to world: OpenIDWorld) throws -> Answer {
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try world.gateway.request(
            Request.post("/.sallyport/backchannel-logout", [type], body: "logout_token=\(token)")
        )
    }

    private func signedIn(_ world: OpenIDWorld) throws -> OpenIDBrowser {
        var browser = OpenIDBrowser(world)
        #expect(try browser.open("/x").status == 200)
        return browser
    }

    private func status(_ browser: OpenIDBrowser) throws -> Int {
        var browser = browser
        return try browser.load("/x", ["Sec-Fetch-Mode: cors", "Accept: */*"]).status
    }

    @Test("A sid that no id_token had ends the subject's sessions without one, and none with another")
    func unnamed() throws {
        try OpenIDWorld.with { world throws in
            let named = try self.signedIn(world)
            let sid = try #require(world.provider.sessionID)
            world.provider.endSession()
            for value in [nil, JSONValue.null] {
                world.provider.change { $0.alterIDToken = { $0["sid"] = value } }
                let unnamed = try self.signedIn(world)
                #expect(
                    try self.post(world.provider.logoutToken(sessionID: "s", subject: nil), to: world).status == 200
                )
                #expect(try self.status(unnamed) == 200)
                let answer = try self.post(world.provider.logoutToken(sessionID: "s", subject: "user-1"), to: world)
                #expect(answer.status == 200)
                #expect(try [self.status(unnamed), self.status(named)] == [401, 200])
            }
            #expect(try self.post(world.provider.logoutToken(sessionID: sid, subject: nil), to: world).status == 200)
            #expect(try self.status(named) == 401)
        }
    }

    /// Sends an access token by a key that the provider does not publish.
    private func strange(_ world: OpenIDWorld) throws {
        world.provider.rotateKey(isPublished: false)
        let bearer = "Authorization: Bearer \(world.provider.accessToken())"
        #expect(try world.gateway.get("/x", [bearer]).status == 401)
    }

    @Test("Strangers' tokens keep no new key from being found, and a flood of them makes no refusal of what is good")
    func strangers() throws {
        try OpenIDWorld.with(OpenIDScript(), "audiences: [api]") { world throws in
            let user = try self.signedIn(world)
            let sid = try #require(world.provider.sessionID)
            try self.strange(world)
            world.provider.rotateKey(keepsOld: false)
            #expect(try self.post(world.provider.logoutToken(sessionID: sid, subject: nil), to: world).status == 200)
            #expect(try self.status(user) == 401)

            let later = try self.signedIn(world)
            let next = try #require(world.provider.sessionID)
            for _ in 0..<4 { try self.strange(world) }
            let fetches = world.provider.count(.keys)
            world.provider.rotateKey(keepsOld: false)
            let token = world.provider.logoutToken(sessionID: next, subject: nil)
            let answer = try self.post(token, to: world)
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(answer.lines)")
            #expect(try self.status(later) == 200)
            var browser = OpenIDBrowser(world)
            let callback = try browser.callback()
            let page = try browser.load(callback)
            #expect(page.status == 503 && page.value("retry-after") != nil, "\(page.lines)")
            try self.strange(world)
            #expect(world.provider.count(.keys) == fetches)
        }
    }
}
