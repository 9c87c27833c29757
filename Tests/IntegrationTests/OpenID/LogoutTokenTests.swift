import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

@Suite("Logout tokens of an OpenID provider, and its keys", .blocking) struct LogoutTokenTests {
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
                    try bench.post(bench.provider.logoutToken(sessionID: "s", subject: nil)).status == 200
                )
                #expect(try self.status(unnamed) == 200)
                let answer = try bench.post(bench.provider.logoutToken(sessionID: "s", subject: "user-1"))
                #expect(answer.status == 200)
                #expect(try [self.status(unnamed), self.status(named)] == [401, 200])
            }
            #expect(try bench.post(bench.provider.logoutToken(sessionID: sid, subject: nil)).status == 200)
            #expect(try self.status(named) == 401)
        }
    }

    @Test("A logout token that comes while the browser comes back ends that sign-in, whatever it names it by")
    func underWay() throws {
        try OpenIDSignInBench.with { bench throws in
            for (sid, subject, isNamed) in [
                (true, nil, true), (false, "user-1", true), (true, "user-1", true), (false, "user-1", false),
            ] as [(Bool, String?, Bool)] {
                bench.provider.endSession()
                let unnamed: OpenIDScript.Alteration = { $0["sid"] = nil }
                bench.provider.change { $0.alterIDToken = isNamed ? nil : unnamed }
                var browser = OpenIDBrowser(bench)
                let callback = try browser.callback()
                // A sid that no id_token has: it is that of the session without one.
                let session = sid ? bench.provider.sessionID : isNamed ? nil : "s"
                let logout = bench.provider.logoutToken(sessionID: session, subject: subject)
                let page = try bench.comeBack(browser, callback, beside: logout)
                #expect(page.status == 403 && page.pageReason == "signin.ended", "\(page.lines)")
                #expect(page.sessionCookie?.isEmpty != false)
                bench.provider.endSession()
                #expect(try browser.open("/x").status == 200, "a sign-in at once is good")
                let other = bench.provider.logoutToken(sessionID: "another", subject: isNamed ? "user-2" : nil)
                var next = OpenIDBrowser(bench)
                let another = try next.callback()
                #expect(try bench.comeBack(next, another, beside: other).status == 303)
            }
        }
    }

    @Test("An id_token from before the logout of its sid begins no session, and a later one does")
    func olderToken() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            let callback = try browser.callback()
            let sid = try #require(bench.provider.sessionID)
            #expect(try bench.post(bench.provider.logoutToken(sessionID: sid, subject: nil)).status == 200)
            bench.provider.change { script in
                script.alterIDToken = { claims in
                    guard case .integer(let time)? = claims["iat"] else { return }
                    claims["iat"] = .integer(time - 30)
                }
            }
            let page = try browser.load(callback)
            #expect(page.status == 403 && page.pageReason == "signin.ended", "\(page.lines)")
            bench.provider.change { $0.alterIDToken = nil }
            #expect(try browser.load(try browser.callback()).status == 303)
            #expect(bench.provider.sessionID == sid)
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
            #expect(try bench.post(bench.provider.logoutToken(sessionID: sid, subject: nil)).status == 200)
            #expect(try self.status(user) == 401)

            let later = try self.signedIn(bench)
            let next = try #require(bench.provider.sessionID)
            for _ in 0..<4 { try self.strange(bench) }
            let fetches = bench.provider.count(.keys)
            bench.provider.rotateKey(keepsOld: false)
            let token = bench.provider.logoutToken(sessionID: next, subject: nil)
            let answer = try bench.post(token)
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
