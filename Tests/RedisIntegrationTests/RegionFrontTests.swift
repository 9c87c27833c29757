import GatewayBench
import TestSupport
import Testing

/// Two regions that serve one name: whichever front a client reaches, its request gets to the region of its token.
@Suite("Fronts of two regions", .blocking) struct RegionFrontTests {
    private static let form = ["Content-Type: application/x-www-form-urlencoded"]
    private static let json = ["Content-Type: application/json"]
    private static let page = ["Accept: text/html"]

    /// What a user and an app have in their region, from before the fronts were there.
    private struct Holdings: Sendable {
        let cookie: String
        let native: String
        let refresh: String
        /// Of the tokens of its region.
        let mark: String

        init(_ gateway: Gateway) throws {
            self.cookie = try patiently { try gateway.browser() }
            self.native = try patiently { try gateway.native() }
            self.mark = String(self.cookie.dropFirst(4).prefix(2))
            let query =
                "client_id=shop&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let back = try gateway.get("/authorize?\(query)", ["Cookie: sallyport=\(self.cookie)"])
            let code = try RegionFrontTests.match(back.lines.joined(), /[?&]code=([A-Za-z0-9_-]+)/)
            let redemption = "grant_type=authorization_code&client_id=shop&code=\(code)"
            let verifier = "&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            let request = Request.post("/oauth/token", RegionFrontTests.form, body: redemption + verifier)
            let granted = try gateway.request(request)
            self.refresh = try RegionFrontTests.match(granted.text, /"refresh_token":"([^"]+)"/)
        }
    }

    private static func match(_ text: String, _ pattern: Regex<(Substring, Substring)>) throws -> String {
        try String(#require(text.firstMatch(of: pattern), "\(text)").1)
    }

    /// A browser follows a link of another site, is asked, and says yes. It keeps its cookies.
    private static func confirm(_ token: String, at gateway: Gateway) throws {
        var cookies: [String: String] = [:]
        func fields() -> [String] {
            Self.page + ["Cookie: " + cookies.map { "\($0)=\($1)" }.joined(separator: "; ")]
        }
        func keep(_ answer: Answer) throws -> Answer {
            for line in answer.values("set-cookie") {
                let parts = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
                if let name = parts.first, let value = parts.dropFirst().first { cookies[String(name)] = String(value) }
            }
            return answer
        }
        let crossing = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        let sent = try keep(gateway.get("/p?session_transfer_token=\(token)", Self.page + crossing))
        #expect(sent.value("location") == "\(Request.origin)/.sallyport/handoff", "\(sent.lines)")
        let asked = try keep(gateway.get("/.sallyport/handoff", fields()))
        let proof = try Self.match(asked.text, /name="proof" value="([^"]+)"/)
        let more = fields() + Self.form + ["Origin: \(Request.origin)"]
        let said = try keep(gateway.request(Request.post("/.sallyport/handoff", more, body: "proof=\(proof)")))
        #expect(said.value("location") == "\(Request.origin)/p", "\(said.lines)")
        let answer = try gateway.get("/p", fields())
        #expect(answer.sessionCookie?.isEmpty == false, "\(answer.lines)")
    }

    private static func with(
        _ front: Front,
        _ body: @Sendable (_ home: Gateway, _ away: Gateway, [Holdings], RegionFronts) throws -> Void
    ) async throws {
        try await RegionGateways.with(.own) { home, away in
            let holdings = [try Holdings(home), try Holdings(away)]
            // One pair of secrets in 4,096 has the same mark, and operators make another then.
            if holdings[0].mark == holdings[1].mark { try Test.cancel("both secrets have the same id") }
            let fronts = try RegionFronts(front, home, away, marks: holdings.map(\.mark))
            defer { fronts.stop() }
            try body(home, away, holdings, fronts)
        }
    }

    @Test("Sessions, tokens and sign-outs reach their region through the front of the other", arguments: Front.allCases)
    func everything(_ front: Front) async throws {
        try await Self.with(front) { home, away, holdings, _ throws in
            for (own, far) in [(0, away), (1, home)] {
                let held = holdings[own]
                let near = own == 0 ? home : away
                let cookie = "Cookie: sallyport=\(held.cookie)"
                #expect(eventually { (try? far.get("/", [cookie]).status) == 200 })
                for field in ["X-Session-Token: ", "Authorization: Bearer ", "Authorization: bearer "] {
                    #expect(try far.get("/", [field + held.native]).status == 200, "\(field)")
                }
                // A handoff by query and by cookie, each minted through the far front. A used token is refused by both.
                for isQuery in [true, false] {
                    // Its session is in a body, which nginx does not read.
                    let token = try (front == .haproxy ? far : near).mint(held.native)
                    #expect(token.dropFirst(4).hasPrefix(held.mark))
                    func present(_ gateway: Gateway) throws -> Answer {
                        try isQuery
                            ? gateway.get("/p?session_transfer_token=\(token)", Self.page)
                            : gateway.get("/p", Self.page + ["Cookie: session_transfer_token=\(token)"])
                    }
                    let session = try #require(try present(far).sessionCookie)
                    #expect(session.dropFirst(4).hasPrefix(held.mark))
                    for gateway in [home, away] {
                        #expect(try present(gateway).sessionCookie == nil)
                        #expect(try gateway.get("/", ["Cookie: sallyport=\(session)"]).status == 200)
                    }
                }
                // nginx decodes no more than the sign between the prefix and the mark.
                var signs = try near.mint(held.native).replacing("_", with: "%5F", maxReplacements: 1)
                if front == .haproxy { signs = signs.replacing("_", with: "%5F").replacing("-", with: "%2D") }
                #expect(try far.get("/p?session_transfer_token=\(signs)", Self.page).sessionCookie != nil)
                // A handoff that is tried again after a 503, and one that asks first.
                let retried = try near.mint(held.native)
                let attempt = "sallyport-attempt=\(String(repeating: "A", count: 43)).\(retried)"
                #expect(try far.get("/p", Self.page + ["Cookie: \(attempt)"]).sessionCookie != nil)
                try Self.confirm(try near.mint(held.native), at: far)

                // Refresh tokens in a form and in an object.
                let reader = front == .haproxy ? far : near
                func rotate(_ fields: [String], _ body: String) throws -> String {
                    let answer = try reader.request(Request.post("/oauth/token", fields, body: body))
                    return try Self.match(answer.text, /"refresh_token":"([^"]+)"/)
                }
                let one = try rotate(Self.form, "grant_type=refresh_token&client_id=shop&refresh_token=\(held.refresh)")
                let object = """
                    {
                      "grant_type": "refresh_token", "client_id": "shop",
                      "refresh_token":"\(one)"
                    }
                    """
                var two = try rotate(Self.json, object)
                // Some apps encode every sign.
                let encoded = two.replacing("_", with: "%5F").replacing("-", with: "%2D")
                two = try rotate(Self.form, "grant_type=refresh_token&client_id=shop&refresh_token=\(encoded)")

                // Sign-outs: of the family, of the app, of the browser.
                let revocation = Request.post("/oauth/revoke", Self.form, body: "client_id=shop&token=\(two)")
                #expect(try reader.request(revocation).status == 200)
                let rotation = "grant_type=refresh_token&client_id=shop&refresh_token=\(two)"
                let late = try near.request(Request.post("/oauth/token", Self.form, body: rotation))
                #expect(late.text.contains("invalid_grant"), "\(late.text)")
                let body = #"{"session_token":"\#(held.native)"}"#
                let end = Request.post("/self-service/logout/api", Self.json, body: body)
                    .replacing("POST ", with: "DELETE ")
                #expect(try reader.request(end).status == 204)
                #expect(try far.signOut(held.cookie).status == 303)
                for gateway in [home, away] {
                    #expect(eventually { (try? gateway.get("/", [cookie]).status) == 401 })
                    #expect(eventually { (try? gateway.get("/", ["X-Session-Token: \(held.native)"]).status) == 401 })
                }
            }
        }
    }

    @Test(
        "A session wins over a token of another region, a forged id opens nothing, and no client chooses its address",
        arguments: Front.allCases
    )
    func precedence(_ front: Front) async throws {
        try await Self.with(front) { home, away, holdings, _ throws in
            let token = try home.mint(holdings[0].native)
            let signedIn = ["Cookie: sallyport=\(holdings[1].cookie)"] + Self.page
            let kept = try away.get("/p?session_transfer_token=\(token)", signedIn)
            #expect(kept.status == 303)
            #expect(kept.sessionCookie == nil)
            #expect(eventually { away.output.contains(#""reason":"credential.other_key""#) })
            #expect(try away.get("/", signedIn).status == 200)

            // The mark of the other region in a token is refused there, and so is an unknown one here.
            for mark in [holdings[1].mark, "~~"] {
                let forged = "sps_" + mark + holdings[0].cookie.dropFirst(6)
                // The fronts find each other within their first checks.
                #expect(eventually { (try? home.get("/", ["Cookie: sallyport=\(forged)"]).status) == 401 })
                let handoff = "spt_" + mark + token.dropFirst(6)
                #expect(try home.get("/p?session_transfer_token=\(handoff)", Self.page).sessionCookie == nil)
            }
            // The app behind the far region gets the client's address as its front saw it.
            let field = "X-Forwarded-For: 192.0.2.7"
            let text = try away.get("/", ["Cookie: sallyport=\(holdings[0].cookie)", field]).text.lowercased()
            #expect(text.contains("x-forwarded-for: 127.0.0.1"), "\(text)")
            #expect(!text.contains("192.0.2.7"))
            // None of this has used the token up.
            #expect(try away.get("/p?session_transfer_token=\(token)", Self.page).sessionCookie != nil)
        }
    }

    @Test("A sign-in goes on in the region in which it has begun", arguments: Front.allCases)
    func signIn(_ front: Front) async throws {
        try await Self.with(front) { home, away, holdings, _ throws in
            let begun = try home.get("/.sallyport/login", Self.page)
            #expect(begun.values("set-cookie").contains { $0.hasPrefix("region=eu;") })
            let answer = try away.request(
                Request.post(
                    "/.sallyport/login",
                    Self.form + ["Origin: \(Request.origin)", "Cookie: region=eu"],
                    body: "identifier=ada@example.com&password=analytical-engine&return_to=/"
                )
            )
            #expect(answer.sessionCookie?.dropFirst(4).hasPrefix(holdings[0].mark) == true, "\(answer.lines)")
        }
    }

    @Test(
        "Without the front of its region a page asks to sign in here, and all else gets 503 until it is back",
        arguments: Front.allCases
    )
    func lost(_ front: Front) async throws {
        try await Self.with(front) { home, away, holdings, fronts throws in
            let held = holdings[0]
            let cookie = "Cookie: sallyport=\(held.cookie)"
            fronts.stop(0)
            #expect(eventually { (try? away.get("/", [cookie] + Self.page).status) == 303 })
            let asked = try away.get("/", [cookie] + Self.page)
            #expect(asked.value("location")?.hasPrefix("\(Request.origin)/.sallyport/login") == true)
            #expect(asked.clearedCookies.isEmpty)
            let revocation = Request.post("/oauth/revoke", Self.form, body: "client_id=shop&token=\(held.refresh)")
            let rotation = "grant_type=refresh_token&client_id=shop&refresh_token=\(held.refresh)"
            var answers = [
                ("a call", try away.get("/", [cookie])),
                ("an app", try away.get("/sessions/whoami", ["X-Session-Token: \(held.native)"])),
                ("a sign-out", try away.signOut(held.cookie)),
                ("a sign-out by navigation", try away.get("/v2/logout", [cookie] + Self.page)),
                ("a sign-out of Kratos", try away.get("/self-service/logout/browser", [cookie] + Self.page)),
            ]
            // Java's own client accepts text/html if nobody says otherwise.
            for field in ["X-Session-Token: ", "Authorization: Bearer "] {
                answers.append((field, try away.get("/sessions/whoami", [field + held.native] + Self.page)))
            }
            if front == .haproxy {
                answers.append(("a revocation", try away.request(revocation)))
                answers.append(
                    ("a rotation", try away.request(Request.post("/oauth/token", Self.form, body: rotation)))
                )
            }
            for (what, answer) in answers { expectUnavailable(answer, "\(what)") }
            // The other region serves its own users, and those who sign in again.
            #expect(try away.get("/", ["Cookie: sallyport=\(holdings[1].cookie)"]).status == 200)
            // The cookie of the lost region does not keep them from that.
            let again = try away.request(
                Request.post(
                    "/.sallyport/login",
                    Self.form + ["Origin: \(Request.origin)", cookie + "; region=eu"],
                    body: "identifier=ada@example.com&password=analytical-engine&return_to=/"
                )
            )
            #expect(again.sessionCookie?.dropFirst(4).hasPrefix(holdings[1].mark) == true, "\(again.lines)")

            try fronts.start(0)
            #expect(eventually { (try? away.get("/", [cookie]).status) == 200 })
            let back = front == .haproxy ? away : home
            #expect(try back.request(Request.post("/oauth/token", Self.form, body: rotation)).status == 200)
        }
    }

    @Test("A front starts while nobody knows the name of the other region's, and serves its own region")
    func unknownName() async throws {
        try await Self.with(.haproxy) { home, _, holdings, fronts throws in
            fronts.stop(0)
            try fronts.start(0, isOtherKnown: false)
            #expect(eventually { (try? home.get("/", ["Cookie: sallyport=\(holdings[0].cookie)"]).status) == 200 })
            let far = ["Cookie: sallyport=\(holdings[1].cookie)"]
            expectUnavailable(try home.get("/", far), "a call")
            #expect(try home.get("/", far + Self.page).value("location")?.contains("/.sallyport/login") == true)
        }
    }
}
