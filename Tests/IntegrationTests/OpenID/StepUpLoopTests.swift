import GatewayBench
import OpenIDBench
import Testing

/// What a native app does when its sign-in is too weak for an API or a page, at a provider that calls `aal2` `mfa`.
@Suite("A native app that signs its user in at a higher level", .blocking)
struct StepUpLoopTests {
    private static let settings = """
        routes:
          - {path: /**, client: web}
          - {path: /strong/**, client: web, require: {aal: aal2}}
          - {path: /api/**, name: api}
          - {path: /api/strong/**, name: strong-api, require: {aal: aal2}}
        clients:
          - client_id: app
            callbacks: ["com.example.app:/callback"]
            session_transfer: {can_create_session_transfer_token: true}
          - client_id: web
            session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
        apis: [{audience: "https://api.example.com", scopes: [read], routes: [api, strong-api]}]
        """

    private struct Tokens {
        let access: String
        var refresh: String

        init(_ answer: Answer) throws {
            self.access = String(try #require(answer.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/), "\(answer.text)").0)
            self.refresh = String(try #require(answer.text.firstMatch(of: /spr_[A-Za-z0-9_-]+/), "\(answer.text)").0)
        }

        /// Signs the user in at `/authorize` in the system's browser.
        init(in browser: inout OpenIDBrowser, _ parameters: [(String, String)] = []) throws {
            let back = try LevelDemandTests.authorize(&browser, parameters)
            try self.init(LevelDemandTests.redeem(browser.bench, try #require(back["code"], "\(back)")))
        }
    }

    private static func with(_ body: (OpenIDSignInBench) throws -> Void) throws {
        try OpenIDSignInBench.with(routes: self.settings) { bench throws in
            bench.provider.change { $0.levels = ["mfa"] }
            try body(bench)
        }
    }

    private static func refresh(_ token: String, _ more: String = "", at bench: OpenIDSignInBench) throws -> Answer {
        let body = "grant_type=refresh_token&client_id=app&refresh_token=\(token)\(more)"
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try bench.gateway.request(Request.post("/oauth/token", [type], body: body))
    }

    @Test("acr loop ends at one sign-in: the new tokens have the level, and the former ones stay as they are")
    func call() throws {
        try Self.with { bench throws in
            func call(_ path: String, _ token: String) throws -> Answer {
                try bench.gateway.get(path, ["Authorization: Bearer \(token)"])
            }
            var browser = OpenIDBrowser(bench)
            let weak = try Tokens(in: &browser)
            #expect(try call("/api/x", weak.access).status == 200)
            let before = bench.provider.count(.authorization)
            var tokens = weak
            var signIns = 0
            for _ in 0..<3 {
                let answer = try call("/api/strong/x", tokens.access)
                guard answer.status != 200 else { break }
                #expect(answer.status == 403 && answer.reason == "require.aal", "\(answer.lines)")
                let challenge = try #require(answer.value("www-authenticate"))
                let values = try #require(challenge.firstMatch(of: /acr_values="([^"]+)"/), "\(challenge)").1
                tokens = try Tokens(in: &browser, [("acr_values", String(values))])
                signIns += 1
            }
            #expect(signIns == 1 && bench.provider.count(.authorization) == before + 1)
            #expect(try call("/api/strong/x", tokens.access).status == 200)
            let former = try Tokens(Self.refresh(weak.refresh, at: bench))
            #expect(try call("/api/x", former.access).status == 200)
            #expect(try call("/api/strong/x", former.access).status == 403)
        }
    }

    /// Mints a transfer token and opens a page with it, in a WebView that announces itself.
    private static func open(
        _ target: String,
        in view: inout OpenIDBrowser,
        with tokens: inout Tokens
    ) throws -> Answer {
        let audience = "&audience=urn:\(Request.host):session_transfer"
        let minted = try self.refresh(tokens.refresh, audience, at: view.bench)
        let transfer = try #require(minted.text.firstMatch(of: /spt_[A-Za-z0-9_-]+/), "\(minted.text)").0
        if let next = minted.text.firstMatch(of: /spr_[A-Za-z0-9_-]+/) { tokens.refresh = String(next.0) }
        let arrived = try view.load("\(target)&session_transfer_token=\(transfer)", self.announced)
        let location = try #require(arrived.value("location"), "\(arrived.lines)")
        return try view.load(try view.target(of: location), self.announced)
    }

    private static let announced = OpenIDBrowser.navigation + ["Sallyport-Native: 1"]

    @Test("WebView step-up by a new family: a token of the former family leads to the challenge again")
    func webView() throws {
        try Self.with { bench throws in
            var browser = OpenIDBrowser(bench)
            var view = OpenIDBrowser(bench)
            var former = try Tokens(in: &browser)
            let plain = #"SessionTransfer realm="\#(Request.origin)", return_to="/strong/x?a=1""#
            for _ in 0..<2 {
                let page = try Self.open("/strong/x?a=1", in: &view, with: &former)
                #expect(page.status == 403 && page.pageReason == "require.aal", "\(page.lines)")
                #expect(page.values("www-authenticate") == [plain + #", acr_values="aal2""#])
                #expect(page.text.contains(#"data-return-to="/strong/x?a=1" data-acr-values="aal2">"#))
            }
            #expect(try view.load("/x", Self.announced).status == 200)
            #expect(try view.load("/strong/x?a=1").status == 303, "a browser goes to the sign-in page")
            let before = bench.provider.count(.authorization)
            var tokens = try Tokens(in: &browser, [("acr_values", "aal2")])
            #expect(bench.provider.count(.authorization) == before + 1)
            let page = try Self.open("/strong/x?a=1", in: &view, with: &tokens)
            #expect(page.status == 200, "\(page.lines) \(page.text)")
            let seen = try #require(bench.app.requests.last)
            #expect(seen.values("x-auth-aal") == ["aal2"] && seen.values("x-auth-origin") == ["transfer"])
            // Another token of this family suffices then.
            view.loseSession()
            let ended = try view.load("/strong/x?a=1", Self.announced)
            #expect(ended.status == 401 && ended.values("www-authenticate") == [plain], "\(ended.lines)")
            #expect(try Self.open("/strong/x?a=1", in: &view, with: &tokens).status == 200)
        }
    }
}
