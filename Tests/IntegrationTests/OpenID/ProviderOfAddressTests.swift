import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// Users of a host with several providers whom an address or a client leads to one of them.
@Suite("The provider of an address or of a client", .blocking)
struct ProviderOfAddressTests {
    private typealias Several = SeveralProvidersTests

    private static let app = SeveralProvidersTests.app

    private static let clients = """
        clients:
          - {client_id: any, callbacks: ["https://client.example.com/cb"], grant_types: [authorization_code]}
          - client_id: googles
            providers: [google]
            callbacks: ["https://client.example.com/cb"]
            grant_types: [authorization_code]
        """

    /// The bench with `domains` at the OpenID provider.
    private static func with(asksFirst: Bool = false, _ body: (Several.Bench) throws -> Void) throws {
        try Several.with(more: self.clients + "\nexchange: {return_to: [\"myapp://done\"]}") { bench throws in
            var settings = bench.settings.replacing(
                "oidc:\n",
                with: "oidc:\n      domains: [Example.com, xn--bcher-kva.example]\n"
            )
            if asksFirst {
                settings = settings.replacing(
                    "providers: [staff, google, github]\n    routes: [{path: /**}]\n  - public_url: \(Several.twin)",
                    with: """
                        sign_in: identifier_first
                            providers: [staff, google, github]
                            routes: [{path: /**}]
                          - public_url: \(Several.twin)
                        """
                )
                #expect(settings.contains("identifier_first"))
            }
            try bench.gateway.reload(settings)
            try body(bench)
        }
    }

    private static func login(_ query: String) -> String { "\(Self.app)/.sallyport/login?return_to=/z&\(query)" }

    @Test("A hint at a listed domain leads straight to its provider, which gets the hint; any other shows the page")
    func hints() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            for hint in ["ada%40example.com", "Ada%40EXAMPLE.com", "x%40XN--bcher-kva.example"] {
                let answer = try user.send("GET", Self.login("login_hint=\(hint)"))
                let location = try #require(answer.value("location"), "\(hint)")
                #expect(location.hasPrefix(bench.google.issuer) && location.contains("login_hint="), "\(location)")
            }
            let others = [
                "ada%40sub.example.com", "ada%40example.com.", "ada%40example.com%40evil.example", "example.com",
                "%40example.com", "ada%40b%C3%BCcher.example",
                "ada%40ex%CE%B1mple.com", "a%20da%40example.com", "ada%40%E2%84%AAxample.com", "",
            ]
            for hint in others {
                let page = try user.send("GET", Self.login("login_hint=\(hint)"))
                #expect(page.status == 200 && page.text.contains("Continue with Google"), "\(hint)")
                #expect(page.text.contains("name=\"password\""))
            }
            // From a host without endpoints, the hint goes along to the one on which its users sign in.
            var far = WebUser(bench.gateway)
            let landed = try far.open("\(Several.twin)/.sallyport/login?return_to=/z&login_hint=ada%40example.com")
            #expect(landed.url == "\(Several.twin)/z" && landed.answer.text.contains("\r\nX-User: google|7\r\n"))
            let hinted = "login_hint=ada%40example.com"
            #expect(far.trail.contains { $0.hasPrefix(bench.google.issuer) && $0.contains(hinted) }, "\(far.trail)")
            let typed = try far.open("\(Several.twin)/.sallyport/login?return_to=/z&prompt=login&login_hint=ada%40b.c")
            #expect(typed.answer.text.contains("value=\"ada@b.c\""), "\(far.trail)")
            // What is hinted at stands in the form as text, whatever it is.
            let page = try user.send("GET", Self.login("login_hint=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"))
            #expect(page.text.contains("value=\"&quot;&gt;&lt;script&gt;alert(1)"), "\(page.text)")
            // A provider that is named, and a demand that leaves the domain's provider out, come first.
            let named = try user.send("GET", Self.login("login_hint=ada%40example.com&provider=github"))
            #expect(named.value("location")?.hasPrefix(bench.github.issuer) == true)
            let left = try user.send("GET", Self.login("login_hint=ada%40example.com&provider=github&provider=staff"))
            #expect(left.status == 200 && !left.text.contains("Continue with Google"))
        }
    }

    private static func authorize(_ client: String, _ more: String = "") -> String {
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        return "\(Self.app)/authorize?client_id=\(client)&response_type=code&state=s"
            + "&redirect_uri=https%3A%2F%2Fclient.example.com%2Fcb"
            + "&code_challenge=\(challenge)&code_challenge_method=S256\(more)"
    }

    /// Where an authorization request leads: a URL of the client, of a provider, or the page.
    private static func end(_ user: inout WebUser, _ url: String) throws -> String {
        var url = url
        for _ in 0...10 {
            let answer = try user.send("GET", url)
            guard let location = answer.value("location") else { return "page \(answer.text)" }
            url = location.hasPrefix("/") ? Self.app + location : location
            if url.hasPrefix("https://client.example.com") { return url }
        }
        return url
    }

    @Test("connection and a client's providers decide where its users sign in, and who may be sent back")
    func clients() throws {
        try Self.with { bench throws in
            // A connection leads there without a page, and back to the client.
            var user = WebUser(bench.gateway)
            #expect(try Self.end(&user, Self.authorize("any", "&connection=google")).contains("?code="))
            // Signed in there, nothing is asked; of another connection, the user signs in at that one.
            #expect(try Self.end(&user, Self.authorize("any", "&prompt=none")).contains("?code="))
            #expect(try Self.end(&user, Self.authorize("any", "&prompt=none&connection=google")).contains("?code="))
            let silent = try Self.end(&user, Self.authorize("any", "&prompt=none&connection=github"))
            #expect(silent.contains("error=login_required"), "\(silent)")
            #expect(try Self.end(&user, Self.authorize("any", "&connection=github")).contains("?code="))
            #expect(bench.github.count(.token) == 1)
            // The client of one provider: its users are the only ones.
            let refused = try Self.end(&user, Self.authorize("googles", "&prompt=none"))
            #expect(refused.contains("error=login_required"), "\(refused)")
            #expect(try Self.end(&user, Self.authorize("googles", "&connection=github")).contains("?code="))
            #expect(try Self.end(&user, Self.authorize("googles", "&prompt=none")).contains("?code="))
            // Names that are not there are as none.
            for name in ["Google", "other"] {
                var fresh = WebUser(bench.gateway)
                let page = try Self.end(&fresh, Self.authorize("any", "&connection=\(name)"))
                #expect(page.hasPrefix("page ") && page.contains("Continue with GitHub"), "\(name): \(page)")
            }
            var hinted = WebUser(bench.gateway)
            #expect(try Self.end(&hinted, Self.authorize("any", "&login_hint=a%40example.com")).contains("?code="))
            #expect(bench.google.count(.token) == 3)
        }
    }

    /// The answer to the form for an address.
    private static func post(
        _ user: inout WebUser,
        _ page: WebUser.Arrival,
        _ address: String,
        _ fields: [String] = ["Origin: \(Self.app)"]
    ) throws -> Answer {
        let action = try #require(page.answer.text.firstMatch(of: /<form method="post" action="([^"]*)"/)).1
        let type = "Content-Type: application/x-www-form-urlencoded"
        let url = Self.app + String(action).replacing("&amp;", with: "&")
        return try user.send("POST", url, fields + [type], body: "identifier_first=1&identifier=\(address)")
    }

    @Test(
        "The address is asked for first: a listed domain leads to its provider, any other to all ways, with the address"
    )
    func addressFirst() throws {
        try Self.with(asksFirst: true) { bench throws in
            var user = WebUser(bench.gateway)
            let page = try user.open("\(Self.app)/x?a=1")
            #expect(page.answer.text.contains("name=\"identifier\"") && page.answer.text.contains(">Continue<"))
            #expect(!page.answer.text.contains("name=\"password\"") && !page.answer.text.contains("Continue with"))
            #expect(!page.answer.text.contains("<script"))
            let led = try Self.post(&user, page, "+Grace%40Example.COM+")
            let location = try #require(led.value("location"), "\(led.text)")
            #expect(location.hasPrefix(bench.google.issuer) && location.contains("login_hint=Grace%40Example.COM"))
            for pasted in ["%C2%A0grace%40example.com%E2%80%8B", "%EF%BB%BFgrace%EF%BC%A0example%E3%80%82com%0D%0A"] {
                let led = try Self.post(&user, page, pasted)
                let location = try #require(led.value("location"), "\(led.text)")
                #expect(location.hasPrefix(bench.google.issuer) && location.contains("login_hint=grace%40example.com"))
            }
            let landed = try user.follow(led, from: Self.app)
            #expect(landed.url == "\(Self.app)/x?a=1" && landed.answer.text.contains("\r\nX-User: google|7\r\n"))
            // Known and unknown users of the list get the same page.
            var other = WebUser(bench.gateway)
            let second = try other.open("\(Self.app)/x?a=1")
            let known = try Self.post(&other, second, "ada%40staff.example")
            let unknown = try Self.post(&other, second, "bob%40staff.example")
            #expect(known.status == 200 && unknown.status == 200)
            #expect(known.text.replacing("ada@", with: "bob@").replacing("ada%40", with: "bob%40") == unknown.text)
            #expect(known.text.contains("value=\"ada@staff.example\"") && known.text.contains("name=\"password\""))
            #expect(known.text.contains("Continue with GitHub") && known.text.contains("Continue with Google"))
            let signedIn = try other.submit(WebUser.Arrival(url: second.url, answer: known))
            #expect(signedIn.url == "\(Self.app)/x?a=1" && signedIn.answer.text.contains("\r\nX-User: 7\r\n"))
            // A link that names a provider, or an address, asks for none.
            var third = WebUser(bench.gateway)
            #expect(try third.send("GET", Self.login("provider=github")).status == 303)
            #expect(try third.send("GET", Self.login("login_hint=a%40example.com")).status == 303)
            #expect(try third.send("GET", Self.login("login_hint=a")).text.contains("name=\"password\""))
        }
    }

    @Test(
        "The form for the address speaks four languages, keeps the page's demand, and is taken from its own page alone"
    )
    func addressForm() throws {
        try Self.with(asksFirst: true) { bench throws in
            var user = WebUser(bench.gateway)
            let words = ["de": "Weiter", "fr": "Continuer", "es": "Continuar", "en": "Continue"]
            for (language, word) in words {
                let page = try user.send("GET", Self.login("prompt=login"), ["Accept-Language: \(language)"])
                #expect(page.text.contains(">\(word)</button>") && page.text.contains("<html lang=\"\(language)\" "))
            }
            let page = try user.open(Self.login("prompt=login&provider=google&provider=github"))
            #expect(page.answer.text.contains("asks you to sign in again"))
            let led = try Self.post(&user, page, "a%40example.com")
            #expect(led.value("location")?.contains("prompt=login") == true, "\(led.lines)")
            let choice = try Self.post(&user, page, "a%40other.example")
            #expect(choice.text.contains("Continue with GitHub") && !choice.text.contains("name=\"password\""))
            let empty = try Self.post(&user, page, "++")
            #expect(empty.status == 422, "\(empty.lines)")
            #expect(empty.text.contains("role=\"alert\"") && empty.text.contains("aria-describedby=\"notice\""))
            let attacks = [
                ["Origin: https://evil.example"], ["Origin: \(Self.app)", "Sec-Fetch-Site: cross-site"],
                ["Sec-Fetch-Site: same-site"], [],
            ]
            for fields in attacks {
                let refused = try Self.post(&user, page, "a%40example.com", fields)
                #expect(refused.status == 403 && refused.pageReason == "request.cross_site", "\(fields)")
                #expect(refused.value("location") == nil && refused.values("set-cookie").isEmpty)
            }
        }
    }

    @Test("A native app's user is asked for the address as well")
    func native() throws {
        try Self.with(asksFirst: true) { bench throws in
            var app = WebUser(bench.gateway)
            let begin = "/self-service/login/api?return_session_token_exchange_code=true&return_to=myapp://done"
            let flow = try app.send("GET", Self.app + begin, ["Accept: application/json"])
            let id = try #require(flow.text.firstMatch(of: /"id":"([^"]+)"/)).1
            var user = WebUser(bench.gateway)
            let page = try user.open("\(Self.app)/.sallyport/app?flow=\(id)")
            #expect(!page.answer.text.contains("Continue with"), "\(page.answer.text)")
            let choice = try Self.post(&user, page, "ada%40other.example")
            #expect(choice.status == 200 && choice.text.contains("value=\"ada@other.example\""), "\(choice.text)")
            let led = try Self.post(&user, page, "a%40example.com")
            let back = try user.send("GET", try #require(led.value("location"), "\(led.text)"))
            let done = try user.send("GET", try #require(back.value("location")))
            #expect(done.value("location")?.hasPrefix("myapp://done?code=") == true, "\(done.text)")
        }
    }
}
