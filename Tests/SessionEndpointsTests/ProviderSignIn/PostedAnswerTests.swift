import EndpointBench
import Endpoints
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// The answer of a provider comes in a form that another site posts, without the browser's cookies.
@Suite("A provider that answers by a form")
struct PostedAnswerTests {
    private static let callback = "/.sallyport/callback"
    private static let crossSite = [
        (name: "content-type", value: "application/x-www-form-urlencoded"),
        (name: "origin", value: "https://idp.example.com"), (name: "sec-fetch-site", value: "cross-site"),
        (name: "sec-fetch-mode", value: "navigate"), (name: "accept", value: "text/html"),
    ]

    /// Posts a form as a page of another site does, and returns where the browser goes next.
    private static func post(
        _ form: String,
        _ fields: [(name: String, value: String)] = crossSite,
        to browser: SigningBrowser
    ) async throws -> EndpointResponse {
        try await browser.gateway.send("POST", Self.callback, fields: fields, body: form)
    }

    /// The way back: the form without cookies, then the page that it leads to with them.
    private static func comeBack(_ browser: inout SigningBrowser, _ form: String) async throws -> EndpointResponse {
        let hop = try await Self.post(form, to: browser)
        return try await Self.follow(hop, &browser)
    }

    private static func follow(_ hop: EndpointResponse, _ browser: inout SigningBrowser) async throws
        -> EndpointResponse
    {
        let location = try #require(hop.value("location"), "\(hop.status)")
        try #require(hop.status == 303 && location.hasPrefix("\(Self.callback)?posted="), "\(location)")
        return try await browser.load(location)
    }

    @Test("One hop on this host takes the form up: the browser is signed in on the page that it wanted")
    func signsIn() async throws {
        var browser = try SigningBrowser(byForm: true)
        let id = try await browser.begin(("return_to", "/reports?year=2026"))
        let user = #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"ada@example.com"}"#
        let form = FormText.encoded([("state", id), ("code", "c-1"), ("id_token", "a.b.c"), ("user", user), ("x", "y")])
        let hop = try await Self.post(form, to: browser)
        let location = try #require(hop.value("location"))
        #expect(hop.value("cache-control") == "no-store" && hop.value("referrer-policy") == "no-referrer")
        #expect(hop.value("set-cookie") == nil && browser.gateway.store.sessionCount == 0)
        for secret in ["c-1", "Ada", "Lovelace", "a.b.c", id] { #expect(!location.contains(secret), "\(location)") }

        let back = try await Self.follow(hop, &browser)
        #expect(back.status == 303 && back.value("location") == "/reports?year=2026", "\(back.text)")
        #expect(browser.provider.completions == [["state=\(id)", "code=c-1", "user=\(user)"]])
        #expect(try await browser.user() == "user-1" && browser.kept.isEmpty)
        #expect(browser.gateway.audit.records.count == 1)
    }

    @Test("A form that is posted twice redeems its code once, and the browser stays signed in")
    func twice() async throws {
        var browser = try SigningBrowser(byForm: true)
        let id = try await browser.begin()
        let form = "state=\(id)&code=c-1"
        let hops = [try await Self.post(form, to: browser), try await Self.post(form, to: browser)]
        // Both pages are loaded before one is answered.
        let (first, second) = (browser, browser)
        async let one = Self.loaded(hops[0], first)
        async let other = Self.loaded(hops[1], second)
        let answers = [try await one, try await other]
        #expect(answers.allSatisfy { $0.status == 303 && $0.value("location") == "/" })
        #expect(browser.provider.completions.count == 1)
        browser.jar.take(answers[0])
        // And once more afterwards, by the button for the last page.
        let third = try await Self.comeBack(&browser, form)
        #expect(third.status == 303 && browser.provider.completions.count == 1)
        #expect(try await browser.user() == "user-1" && browser.gateway.store.sessionCount == 1)
    }

    private static func loaded(_ hop: EndpointResponse, _ browser: SigningBrowser) async throws -> EndpointResponse {
        var browser = browser
        return try await Self.follow(hop, &browser)
    }

    @Test("A form that another browser's sign-in began, or nobody's, signs nobody in (login CSRF)")
    func injected() async throws {
        var attacker = try SigningBrowser(byForm: true)
        let theirs = try await attacker.begin()
        var victim = SigningBrowser(beside: attacker)
        let own = try await victim.begin()
        for form in ["state=\(theirs)&code=c-1", "state=nobody&code=c-1", "code=c-1", "state=&code=c-1", ""] {
            let answer = try await Self.comeBack(&victim, form)
            #expect(answer.status == 400 && answer.reason == .signInStateMismatch, "\(form)")
        }
        #expect(victim.session == nil && victim.provider.completions.isEmpty)
        // The attacker's own page, opened by the victim, and altered, on the way of another host, or made up.
        let hop = try await Self.post("state=\(own)&code=stolen", to: attacker)
        let location = try #require(hop.value("location"))
        let text = String(location.dropFirst("\(Self.callback)?posted=".count))
        let elsewhere = try SigningBrowser(host: "other.example.com", byForm: true)
        let foreign = try #require(try await Self.post("state=\(own)&code=c-1", to: elsewhere).value("location"))
        for target in [
            "\(Self.callback)?posted=\(text.altered)", "\(Self.callback)?posted=", "\(Self.callback)?posted=x", foreign,
            "\(Self.callback)?posted=\(text)&posted=\(text)",
        ] {
            let answer = try await victim.load(target)
            #expect(answer.status == 400 && answer.reason == .signInStateMismatch, "\(target)")
        }
        #expect(victim.session == nil && victim.provider.completions.isEmpty)
        // What completes a sign-in is the browser's own cookie, as for an answer in the query.
        #expect(victim.kept == [own])
        #expect(try await Self.comeBack(&victim, "state=\(own)&code=c-1").status == 303)
        #expect(try await victim.user() == "user-1")
    }

    @Test("Whoever posts a form changes nothing by it, and what is no navigation or no form of a provider is refused")
    func refused() async throws {
        var browser = try SigningBrowser(byForm: true)
        let id = try await browser.begin()
        let form = "state=\(id)&code=c-1"
        func fields(_ name: String, _ value: String) -> [(name: String, value: String)] {
            Self.crossSite.map { $0.name == name ? (name, value) : $0 }
        }
        // The origin does not matter, because the form does nothing: not even the browser's cookies are looked at.
        for origin in ["https://evil.example", "null"] {
            let hop = try await Self.post(form, fields("origin", origin) + browser.jar.fields, to: browser)
            #expect(hop.status == 303 && hop.value("set-cookie") == nil)
        }
        #expect(browser.kept == [id] && browser.gateway.audit.records.isEmpty)
        let refusals: [(String, [(name: String, value: String)], Reason)] = [
            (form, fields("sec-fetch-mode", "cors"), .signInNotNavigation),
            (form, fields("sec-fetch-mode", "no-cors"), .signInNotNavigation),
            (form, fields("content-type", "text/plain"), .signInMalformed),
            (form, fields("content-type", "multipart/form-data; boundary=x"), .signInMalformed),
            ("state=\(id)&state=\(id)&code=c-1", Self.crossSite, .signInMalformed),
            ("state=\(id)&code=%", Self.crossSite, .signInMalformed),
            ("state=\(id)&code=\(String(repeating: "c", count: 4097))", Self.crossSite, .signInMalformed),
        ]
        for (form, fields, reason) in refusals {
            let answer = try await Self.post(form, fields, to: browser)
            #expect(answer.reason == reason && answer.value("location") == nil, "\(form.prefix(60))")
        }
        let query = try await browser.gateway.send(
            "POST",
            "\(Self.callback)?code=1",
            fields: Self.crossSite,
            body: form
        )
        #expect(query.reason == .signInMalformed)
        // A name that is too long is left out, since a sign-in needs none.
        let long = try await Self.comeBack(&browser, form + "&user=" + String(repeating: "u", count: 1025))
        #expect(long.status == 303 && browser.provider.completions == [["state=\(id)", "code=c-1"]])
    }

    @Test("An error that is posted is told as one in the query, and an outage leaves the page to be loaded again")
    func errors() async throws {
        var browser = try SigningBrowser(byForm: true)
        let id = try await browser.begin()
        let hop = try await Self.post("state=\(id)&error=access_denied", to: browser)
        browser.provider.answer(.failure(NotDone(.providerUnavailable)))
        #expect(try await Self.follow(hop, &browser).status == 503)
        browser.provider.answer(.failure(NotDone(.signInCancelled)))
        let answer = try await Self.follow(hop, &browser)
        #expect(answer.reason == .signInCancelled, "\(answer.text)")
        #expect(browser.provider.completions.last == ["state=\(id)", "error=access_denied"])
    }

    @Test("An answer in the query still completes a sign-in, and a provider that answers so takes no form")
    func query() async throws {
        var browser = try SigningBrowser(byForm: true)
        let id = try await browser.begin()
        #expect(try await browser.comeBack(id).status == 303)
        #expect(try await browser.user() == "user-1")
        let other = try SigningBrowser()
        #expect(try other.gateway.endpoint(Self.callback).methods == ["GET"])
    }
}
