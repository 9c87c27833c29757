import Endpoints
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("The judge and a provider with its own cookie")
struct ProviderCookieStepTests {
    private static let page = "https://auth.example.com/self-service/login/browser?aal=aal2"
    private static let document = Array(#"{"error":{"id":"session_aal2_required"}}"#.utf8)

    private func bench(_ auth: AuthRequirement = .required) throws -> JudgeBench {
        try JudgeBench([route("/**", auth)]) {
            $0.provider = KratosSettings(publicURL: PublicURL(isHTTPS: false, host: "kratos", port: 4433))
        }
    }

    /// The session of Kratos's cookie: of no host.
    private func session(_ bench: JudgeBench) throws -> CachedSession { try bench.live { $0.host = nil }.session }

    @Test("The provider's cookie signs the browser in on every host")
    func alone() throws {
        let bench = try self.bench()
        let request = JudgedRequest(bench, "GET", "/x", ["Cookie: ory_kratos_session=a"])
        #expect(try request.begin() == .ask(.web, .request))
        #expect(request.isProviders && request.token == "a")
        #expect(try request.found(self.session(bench)) == .permitted(route: "/**", subject: "ada"))
    }

    @Test("The gateway's own cookie comes first; when its session has ended, the provider's counts")
    func both() throws {
        let bench = try self.bench()
        let fields = ["Cookie: ory_kratos_session=a; \(bench.cookie())=b"]
        let live = JudgedRequest(bench, "GET", "/x", fields)
        #expect(try live.begin() == .ask(.web, .request))
        #expect(live.token == "b" && !live.isProviders)
        #expect(try live.found(bench.live().session) == .permitted(route: "/**", subject: "ada"))
        for answer in [
            SessionAnswer.none, .malformed, .otherKey, .refused(.sessionUnknown), .found(try self.session(bench)),
        ] {
            let ended = JudgedRequest(bench, "GET", "/x", fields)
            _ = try ended.begin()
            #expect(try ended.found(answer) == .ask(.web, .request))
            #expect(ended.token == "a" && ended.isProviders)
            #expect(try ended.found(self.session(bench)) == .permitted(route: "/**", subject: "ada"))
        }
    }

    @Test("It is ambient: an unsafe request of another site is refused, with both cookies too")
    func crossSite() throws {
        let bench = try self.bench()
        for (cookie, field, isPermitted) in [
            ("ory_kratos_session=a", "Sec-Fetch-Site: cross-site", false), ("ory_kratos_session=a", "X-Y: z", false),
            ("ory_kratos_session=a", "Sec-Fetch-Site: same-origin", true),
        ] {
            let request = JudgedRequest(bench, "POST", "/x", ["Cookie: \(cookie)", field])
            _ = try request.begin()
            let told = try request.found(self.session(bench))
            #expect(told == (isPermitted ? .permitted(route: "/**", subject: "ada") : .answer(403, .requestCrossSite)))
        }
    }

    @Test(
        "A browser is sent to the page that the provider demands, and comes back to its own, without a transfer token"
    )
    func demandOfBrowser() throws {
        let bench = try self.bench()
        let fields = [
            "Cookie: ory_kratos_session=a", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html",
        ]
        let request = JudgedRequest(bench, "GET", "/x?y=1&session_transfer_token=t", fields)
        _ = try request.begin()
        let demand = ProviderDemand(page: Self.page, document: Self.document)
        #expect(try request.found(.insufficient(demand)) == .answer(303, .requireAAL))
        #expect(
            request.values("Location")
                == ["\(Self.page)&return_to=https%3A%2F%2Fapp.example.com%2Fx%3Fy%3D1"]
        )
        let posted = JudgedRequest(bench, "POST", "/x", fields + ["Sec-Fetch-Site: same-origin"])
        _ = try posted.begin()
        #expect(try posted.found(.insufficient(demand)) == .answer(403, .requireAAL))
        let pageless = JudgedRequest(bench, "GET", "/x", fields)
        _ = try pageless.begin()
        #expect(
            try pageless.found(.insufficient(ProviderDemand(page: nil, document: Self.document)))
                == .answer(403, .requireAAL)
        )
    }

    @Test("A program gets the provider's own document, byte for byte")
    func demandOfProgram() throws {
        let bench = try self.bench()
        let request = JudgedRequest(bench, "GET", "/x", ["X-Session-Token: a"])
        #expect(try request.begin() == .ask(.native, .request))
        let demand = ProviderDemand(page: Self.page, document: Self.document)
        #expect(try request.found(.insufficient(demand)) == .answer(403, .requireAAL))
        #expect(
            request.answer?.response.body == Self.document && request.values("Content-Type") == ["application/json"]
        )
    }

    @Test("Where no session is needed, such a cookie is no session, and such a token is refused")
    func demandWhereOptional() throws {
        let bench = try self.bench(.optional)
        let demand = ProviderDemand(page: Self.page, document: Self.document)
        let browser = JudgedRequest(bench, "GET", "/x", ["Cookie: ory_kratos_session=a"])
        _ = try browser.begin()
        #expect(try browser.found(.insufficient(demand)) == .permitted(route: "/**", subject: nil))
        let app = JudgedRequest(bench, "GET", "/x", ["X-Session-Token: a"])
        _ = try app.begin()
        #expect(try app.found(.insufficient(demand)) == .answer(403, .requireAAL))
    }
}
