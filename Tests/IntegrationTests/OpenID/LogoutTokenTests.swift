import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

@Suite("Logout tokens of an OpenID provider, and its keys", .blocking) struct LogoutTokenTests {
    private func post(_ token: String, to bench: OpenIDSignInBench) throws -> Answer {
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try bench.gateway.request(
            Request.post("/.sallyport/backchannel-logout", [type], body: "logout_token=\(token)")
        )
    }

    private func signedIn(_ bench: OpenIDSignInBench) throws -> OpenIDBrowser {
        var browser = OpenIDBrowser(bench)
        #expect(try browser.open("/x").status == 200)
        return browser
    }

    private func status(_ browser: OpenIDBrowser) throws -> Int {
        var browser = browser
        return try browser.load("/x", ["Sec-Fetch-Mode: cors", "Accept: */*"]).status
    }

    @Test("A sid that no id_token had ends the subject's sessions without one, and none with another")
    func unnamed() throws {
        try OpenIDSignInBench.with { bench throws in
            let named = try self.signedIn(bench)
            let sid = try #require(bench.provider.sessionID)
            bench.provider.endSession()
            for value in [nil, JSONValue.null] {
                bench.provider.change { $0.alterIDToken = { $0["sid"] = value } }
                let unnamed = try self.signedIn(bench)
                #expect(
                    try self.post(bench.provider.logoutToken(sessionID: "s", subject: nil), to: bench).status == 200
                )
                #expect(try self.status(unnamed) == 200)
                let answer = try self.post(bench.provider.logoutToken(sessionID: "s", subject: "user-1"), to: bench)
                #expect(answer.status == 200)
                #expect(try [self.status(unnamed), self.status(named)] == [401, 200])
            }
            #expect(try self.post(bench.provider.logoutToken(sessionID: sid, subject: nil), to: bench).status == 200)
            #expect(try self.status(named) == 401)
        }
    }

    /// Sends an access token by a key that the provider does not publish.
    private func strange(_ bench: OpenIDSignInBench) throws {
        bench.provider.rotateKey(isPublished: false)
        let bearer = "Authorization: Bearer \(bench.provider.accessToken())"
        #expect(try bench.gateway.get("/x", [bearer]).status == 401)
    }

    @Test("Strangers' tokens keep no new key from being found, and a flood of them makes no refusal of what is good")
    func strangers() throws {
        try OpenIDSignInBench.with(OpenIDScript(), "audiences: [api]") { bench throws in
            let user = try self.signedIn(bench)
            let sid = try #require(bench.provider.sessionID)
            try self.strange(bench)
            bench.provider.rotateKey(keepsOld: false)
            #expect(try self.post(bench.provider.logoutToken(sessionID: sid, subject: nil), to: bench).status == 200)
            #expect(try self.status(user) == 401)

            let later = try self.signedIn(bench)
            let next = try #require(bench.provider.sessionID)
            for _ in 0..<4 { try self.strange(bench) }
            let fetches = bench.provider.count(.keys)
            bench.provider.rotateKey(keepsOld: false)
            let token = bench.provider.logoutToken(sessionID: next, subject: nil)
            let answer = try self.post(token, to: bench)
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(answer.lines)")
            #expect(try self.status(later) == 200)
            var browser = OpenIDBrowser(bench)
            let callback = try browser.callback()
            let page = try browser.load(callback)
            #expect(page.status == 503 && page.value("retry-after") != nil, "\(page.lines)")
            try self.strange(bench)
            #expect(bench.provider.count(.keys) == fetches)
        }
    }
}
