import EndpointBench
import Endpoints
import Providers
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Cookies of sign-ins at a provider")
struct SignInCookieTests {
    private let login = "/.sallyport/login"

    @Test("A browser keeps five sign-ins at most; the oldest go")
    func number() async throws {
        var browser = try SigningBrowser()
        for _ in 0..<9 {
            try await browser.begin()
            browser.gateway.time.advance(by: .seconds(1))
        }
        #expect(browser.kept == (5...9).map { "sign-in-\($0)" })
        #expect(try await browser.comeBack("sign-in-5").status == 303)
    }

    @Test("Of many tabs that come back, each leads to its page: those without room begin again by themselves, once")
    func restoredTabs() async throws {
        var browser = try SigningBrowser()
        for index in 1...20 { try await browser.begin(("return_to", "/tab/\(index)"), ("aal", "aal1")) }
        #expect(browser.kept.count == 5)
        // The first tab has no room any more, and nobody is signed in: it goes to the provider again.
        let first = try await browser.comeBack("sign-in-1")
        #expect(first.status == 303 && first.value("location")?.hasSuffix("state=sign-in-21") == true)
        #expect(browser.provider.completions.isEmpty && browser.reasons.isEmpty)
        #expect(browser.provider.wishes.last?.demand.aal == .aal1)
        let back = try await browser.comeBack("sign-in-21")
        #expect(back.value("location") == "/tab/1" && browser.session != nil)
        // By now the user is signed in: every other tab goes to its page.
        for index in 2...20 {
            let answer = try await browser.comeBack("sign-in-\(index)")
            #expect(answer.status == 303 && answer.value("location") == "/tab/\(index)")
        }
        #expect(browser.provider.completions.count == 1 && browser.reasons.isEmpty)
        #expect(!browser.jar.cookies.keys.contains { $0.contains("signin-") }, "nothing is left")
    }

    @Test("A sign-in that begins again and finds no room again is a page, so that nothing goes in circles")
    func pushedOutTwice() async throws {
        var browser = try SigningBrowser()
        func begin(_ page: String) async throws {
            try await browser.begin(("return_to", page))
            browser.gateway.time.advance(by: .seconds(1))
        }
        for _ in 1...6 { try await begin("/a") }
        #expect(try await browser.comeBack("sign-in-1").value("location")?.hasSuffix("state=sign-in-7") == true)
        browser.gateway.time.advance(by: .seconds(1))
        for _ in 1...6 { try await begin("/b") }
        let answer = try await browser.comeBack("sign-in-7")
        #expect(answer.status == 400 && answer.reason == .signInStateMismatch && answer.value("location") == nil)
        #expect(answer.signIn == "/.sallyport/login?return_to=/a" && browser.provider.completions.isEmpty)
    }

    @Test("Long requests of OAuth clients in many tabs find room, too")
    func longTargets() async throws {
        var browser = try SigningBrowser()
        let query = "client_id=app&response_type=code&state=" + String(repeating: "s", count: 400)
        for index in 1...8 { try await browser.begin(("return_to", "/authorize?tab=\(index)&\(query)")) }
        let total = browser.jar.cookies.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        #expect(total < 9500)
        let begun = try #require(try await browser.comeBack("sign-in-8").value("location"))
        #expect(begun == "/authorize?tab=8&\(query)")
        for index in 1...7 {
            let answer = try await browser.comeBack("sign-in-\(index)")
            #expect(answer.value("location") == "/authorize?tab=\(index)&\(query)")
        }
    }

    @Test("The shortened value of another sign-in, host or browser leads nowhere")
    func shortenedElsewhere() async throws {
        var browser = try SigningBrowser()
        for _ in 1...6 { try await browser.begin(("return_to", "/a")) }
        let value = try #require(browser.jar["__Host-sallyport-past-signin-sign-in-1"])
        for (name, value) in [
            ("sign-in-9", value), ("sign-in-1", value.altered), ("sign-in-1", "x"),
        ] {
            var other = SigningBrowser(beside: browser)
            other.jar["__Host-sallyport-past-signin-\(name)"] = value
            let answer = try await other.comeBack(name)
            #expect(answer.status == 400 && answer.reason == .signInStateMismatch)
            #expect(!other.jar.cookies.keys.contains { $0.contains("signin-") }, "what cannot be opened is cleared")
        }
    }

    @Test("Expired sign-ins, and what cannot be opened, are cleared with the next sign-in")
    func expired() async throws {
        var browser = try SigningBrowser()
        try await browser.begin()
        browser.jar["__Host-sallyport-signin-odd"] = "x"
        browser.jar["__Host-sallyport-signin-a b"] = "y"
        browser.jar["__Host-sallyport-other"] = "z"
        browser.gateway.time.advance(by: .seconds(601))
        let answer = try await browser.load(self.login)
        #expect(answer.values("set-cookie").count == 3)
        #expect(
            browser.jar["__Host-sallyport-signin-sign-in-1"] == nil && browser.jar["__Host-sallyport-signin-odd"] == nil
        )
        #expect(browser.jar["__Host-sallyport-other"] == "z", "cookies for other purposes stay")
        #expect(browser.jar["__Host-sallyport-signin-a b"] == "y", "such a name is not written into an answer")
    }

    @Test("A long target has room in a cookie that browsers accept, and several of them in a request")
    func size() async throws {
        var browser = try SigningBrowser()
        let long = "/saml?SAMLRequest=" + String(repeating: "a", count: 2400)
        for _ in 0..<5 {
            let id = try await browser.begin(("return_to", long))
            let value = try #require(browser.jar["__Host-sallyport-signin-\(id)"])
            #expect(value.utf8.count < 3900)
            browser.gateway.time.advance(by: .seconds(1))
        }
        let total = browser.jar.cookies.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        #expect(browser.kept.count == 2 && total < 8500)
        #expect(try await browser.comeBack("sign-in-5").value("location") == long)
    }

    @Test("A target that no cookie can hold becomes the start page, and the sign-in works")
    func tooLong() async throws {
        var browser = try SigningBrowser()
        let id = try await browser.begin(("return_to", "/x?" + String(repeating: "a", count: 5000)))
        #expect((browser.jar["__Host-sallyport-signin-\(id)"] ?? "").utf8.count < 300)
        #expect(try await browser.comeBack(id).value("location") == "/")
    }

    @Test("A browser that signs in again and again without getting a session gets a page, not a loop")
    func loop() async throws {
        var browser = try SigningBrowser()
        for _ in 0..<3 {
            try await browser.signIn(("return_to", "/a"))
            // Something loses the session, but no other cookie.
            browser.jar["__Host-sallyport"] = nil
            browser.gateway.time.advance(by: .seconds(5))
        }
        let answer = try await browser.load(self.login, [("return_to", "/a")])
        #expect(answer.status == 403 && answer.reason == .signInRepeated && answer.value("location") == nil)
        #expect(answer.signIn == "/.sallyport/login?return_to=/a&prompt=login")
        // The page's link works, and so does a sign-in after a while.
        try await browser.signIn(("prompt", "login"))
        browser.jar["__Host-sallyport"] = nil
        browser.gateway.time.advance(by: .seconds(60))
        try await browser.signIn()
        #expect(try await browser.user() == "user-1")
    }

    @Test(
        "A note of completed sign-ins in another form is ignored",
        arguments: [
            "", "x", "....", "-1.-2.-3", "-9223372036854775808", "9223372036854775807",
            "99999999999.99999999999.99999999999", String(repeating: "1.", count: 99),
        ]
    )
    func note(value: String) async throws {
        var browser = try SigningBrowser()
        browser.jar["__Host-sallyport-recent"] = value
        try await browser.signIn()
    }
}
