import EndpointBench
import Endpoints
import SessionEndpoints
import StoreBench
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
