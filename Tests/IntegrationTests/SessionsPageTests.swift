import GatewayBench
import Testing

/// Users see where they are signed in, and end sessions there: in the app, and on a page that the app opens.
@Suite("Where a user is signed in", .blocking) struct SessionsPageTests {
    private static let page = "/.sallyport/sessions"
    private static let navigation = [
        "Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none",
    ]

    private static func status(_ gateway: Gateway, _ cookie: String) throws -> Int {
        try gateway.get("/hello", ["Cookie: sallyport=\(cookie)"]).status
    }

    @Test("An app opens the page with a transfer token, by query or cookie, which signs its user in there")
    func transferToken() throws {
        try Gateway.withApp { gateway, app throws in
            let native = try gateway.native()
            let desk = try gateway.browser()
            let target = "\(Self.page)?session_transfer_token=\(try gateway.mint(native))"
            let answer = try gateway.get(target, Self.navigation)
            #expect(answer.status == 303 && answer.value("location") == Request.origin + Self.page, "\(answer.lines)")
            #expect(answer.value("referrer-policy") == "no-referrer")
            let cookie = try #require(answer.sessionCookie)
            let fields = Self.navigation + ["Cookie: sallyport=\(cookie)"]
            let page = try gateway.get(Self.page, fields)
            #expect(page.status == 200)
            // The WebView and the app are one sign-in, and the browser on the desk is another.
            #expect(page.text.matches(of: /class="here"/).count == 2, "\(page.text)")
            #expect(page.text.matches(of: /name="session"/).count == 1)

            let token = try gateway.mint(native)
            let byCookie = try gateway.get(Self.page, Self.navigation + ["Cookie: session_transfer_token=\(token)"])
            #expect(byCookie.status == 303 && byCookie.sessionCookie?.isEmpty == false, "\(byCookie.lines)")
            #expect(byCookie.clearedCookies.contains("session_transfer_token"))

            let form = ["Content-Type: application/x-www-form-urlencoded", "Origin: \(Request.origin)"]
            let post = Request.post(Self.page, form + ["Cookie: sallyport=\(cookie)"], body: "others=1")
            #expect(try gateway.request(post).status == 303)
            #expect(try Self.status(gateway, desk) == 401)
            #expect(try Self.status(gateway, cookie) == 200)
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(native)"]).status == 200)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test("A token that was used, or that another device presents, signs nobody in, and the page asks for a sign-in")
    func refused() throws {
        try Gateway.withApp { gateway, _ throws in
            let native = try gateway.native()
            let used = "\(Self.page)?session_transfer_token=\(try gateway.mint(native))"
            #expect(try gateway.get(used, Self.navigation).sessionCookie?.isEmpty == false)
            let stolen = "\(Self.page)?session_transfer_token=\(try gateway.mint(native))"
            let burned = try gateway.get(stolen, Self.navigation, from: "127.0.0.2")
            for answer in [
                try gateway.get(used, Self.navigation), burned, try gateway.get(stolen, Self.navigation),
            ] {
                #expect(answer.status == 303 && answer.sessionCookie == nil, "\(answer.lines)")
                #expect(answer.value("location") == Request.origin + Self.page)
            }
            for reason in ["handoff.replayed", "binding.ip_mismatch"] {
                #expect(eventually { gateway.output.contains(reason) })
            }
            let page = try gateway.get(Self.page, Self.navigation)
            #expect(page.status == 401 && page.text.contains("/.sallyport/login?return_to=\(Self.page)"))
            // A prefetch uses up nothing.
            let fresh = "\(Self.page)?session_transfer_token=\(try gateway.mint(native))"
            #expect(try gateway.get(fresh, ["Sec-Purpose: prefetch"]).status == 403)
            #expect(try gateway.get(fresh, Self.navigation).sessionCookie?.isEmpty == false)
        }
    }

    @Test("An app's access token lists and ends the other sessions, as long as its client has manage_sessions")
    func accessToken() throws {
        let app = "  - {client_id: app, callbacks: [\"com.example.app:/callback\"], manage_sessions: true}"
        func settings(_ port: Int, _ client: String) -> String {
            Config.file(upstream: port, clients: Config.clients(more: client))
        }
        try Gateway.withApp({ settings($0, app) }) { gateway, upstream throws in
            let cookies = [try gateway.browser(), try gateway.browser()]
            let authorize =
                "/authorize?client_id=app&response_type=code&scope=openid+offline_access+sessions"
                + "&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let back = try gateway.get(authorize, ["Cookie: sallyport=\(cookies[0])"])
            let location = try #require(back.value("location"), "\(back.lines)")
            let code = try #require(location.firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/))
            let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            let form = "grant_type=authorization_code&client_id=app&code=\(code.1)&code_verifier=\(verifier)"
            let redeemed = try Belongings.post(form, to: gateway)
            let access = try #require(redeemed.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/), "\(redeemed.text)").0
            let bearer = ["Authorization: Bearer \(access)"]

            let list = try gateway.get("/sessions", bearer)
            #expect(list.status == 200 && list.value("x-total-count") == "2", "\(list.lines) \(list.text)")
            try gateway.reload(settings(upstream.port, app.replacing(", manage_sessions: true", with: "")))
            for method in ["GET", "DELETE"] {
                let refused = try gateway.request(Request.get("/sessions", bearer, method: method))
                #expect(refused.status == 403 && refused.text.contains("insufficient_scope"), "\(refused.lines)")
            }
            #expect(try gateway.get("/sessions/whoami", bearer).status == 200)
            for cookie in cookies { #expect(try Self.status(gateway, cookie) == 200) }
            try gateway.reload(settings(upstream.port, app))
            let ended = try gateway.request(Request.get("/sessions", bearer, method: "DELETE"))
            #expect(ended.text == #"{"count":2}"#, "\(ended.text)")
            for cookie in cookies { #expect(try Self.status(gateway, cookie) == 401) }
            #expect(try gateway.get("/sessions/whoami", bearer).status == 200)
        }
    }
}
