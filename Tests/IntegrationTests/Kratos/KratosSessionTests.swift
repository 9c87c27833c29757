import Foundation
import GatewayBench
import KratosBench
import Testing

/// The gateway in front of Kratos: whose session a request presents. Kratos itself cannot be had here; `KratosDouble` stands
/// for it.
@Suite("Kratos's sessions at the gateway", .blocking)
struct KratosSessionTests {
    @Test("A session token signs a request in, in either field, and Kratos is asked once for it")
    func tokens() throws {
        try KratosGatewayBench.with { bench throws in
            let session = bench.kratos.newSession()
            for field in ["X-Session-Token: \(session.token)", "Authorization: Bearer \(session.token)"] {
                let answer = try bench.get("/x", [field, "X-User: mallory"])
                #expect(answer.status == 200)
                #expect(
                    answer.text.contains("\r\nX-User: \(session.identityID)\r\n") && !answer.text.contains("mallory")
                )
                #expect(answer.text.contains("\r\nX-Email: ada@example.com\r\n"))
                #expect(answer.text.contains("\r\nX-First: Ada\r\n") && answer.text.contains("\r\nX-Plan: gold\r\n"))
                #expect(answer.text.contains("\r\nX-Level: aal1\r\n") && !answer.text.contains(session.token))
            }
            #expect(try bench.get("/x", ["X-Session-Token: ory_st_0123456789abcdef0123456789abcdef"]).status == 401)
            #expect(try bench.get("/x", ["Authorization: Bearer eyJh.eyJz.c2ln"]).status == 401)
            #expect(bench.questions == 2, "one for each token that has the syntax of one")
        }
    }

    @Test("Kratos's cookie signs a browser in, is not shown to the app, and obeys the rules of cookies")
    func cookie() throws {
        try KratosGatewayBench.with { bench throws in
            let session = bench.kratos.newSession()
            let cookie = "Cookie: a=b; ory_kratos_session=\(session.cookie); c=d"
            let answer = try bench.get("/x", [cookie] + KratosGatewayBench.navigation)
            #expect(answer.status == 200 && answer.text.contains("\r\nX-User: \(session.identityID)\r\n"))
            #expect(answer.text.contains("\r\nCookie: a=b; c=d\r\n") && !answer.text.contains(session.cookie))
            #expect(
                try bench.get("/public/x", [cookie]).text.contains(cookie),
                "where nothing is judged, it is the app's"
            )
            #expect(try bench.get("/x", [cookie, "Sec-Fetch-Site: cross-site"], method: "DELETE").status == 403)
            #expect(try bench.get("/x", [cookie, "Sec-Fetch-Site: same-origin"], method: "DELETE").status == 200)
            let other = bench.kratos.newSession(email: "grace@example.com")
            let both = "Cookie: ory_kratos_session=\(session.cookie); ory_kratos_session=\(other.cookie)"
            #expect(try bench.get("/x", [both]).status == 401, "two different values: none counts")
            #expect(try bench.get("/x", ["X-Session-Token: \(session.cookie.filter { $0 != "-" })"]).status == 401)
        }
    }

    @Test("A browser without a session goes to Kratos's login, and comes back to the page that it wanted")
    func login() throws {
        try KratosGatewayBench.with { bench throws in
            let page = try bench.get("/page?a=1&b=%20", KratosGatewayBench.navigation)
            #expect(page.status == 303)
            let login = try #require(page.value("location")).replacing(Request.origin, with: "")
            let away = try bench.get(login, KratosGatewayBench.navigation)
            let location = try #require(away.value("location"))
            #expect(
                location == "\(Request.origin)/self-service/login/browser?"
                    + "return_to=http%3A%2F%2Fapp.example.com%2Fpage%3Fa%3D1%26b%3D%2520"
            )
            let flow = try bench.get(location.replacing(Request.origin, with: ""), KratosGatewayBench.navigation)
            #expect(flow.status == 303 && flow.value("set-cookie")?.hasPrefix("csrf_token_") == true)
            let id = try #require(flow.value("location")?.split(separator: "=").last)
            let signedIn = try bench.gateway.request(
                Request.post(
                    "/self-service/login?flow=\(id)",
                    ["Content-Type: application/x-www-form-urlencoded"],
                    body: "method=password&identifier=ada%40example.com&password=ada"
                )
            )
            #expect(signedIn.status == 303 && signedIn.value("location") == "\(Request.origin)/page?a=1&b=%20")
            let cookie = try #require(signedIn.value("set-cookie")?.prefix { $0 != ";" })
            #expect(try bench.get("/page", ["Cookie: \(cookie)"] + KratosGatewayBench.navigation).status == 200)
            let document = try bench.get("/.sallyport/session", ["Cookie: \(cookie)"])
            #expect(document.status == 200 && document.text.contains("ada@example.com"))
        }
    }

    @Test("A browser that comes back again and again without a session gets a page with a link, which asks Kratos anew")
    func loop() throws {
        try KratosGatewayBench.with { bench throws in
            var jar = ""
            var status = 303
            var count = 0
            while status == 303, count < 20 {
                let answer = try bench.get(
                    "/.sallyport/login?return_to=/",
                    KratosGatewayBench.navigation + ["Cookie: \(jar)"]
                )
                jar = answer.value("set-cookie").map { String($0.prefix { $0 != ";" }) } ?? jar
                status = answer.status
                count += 1
            }
            #expect(status == 403 && count == 7)
            let again = try bench.get(
                "/.sallyport/login?return_to=/&prompt=login",
                KratosGatewayBench.navigation + ["Cookie: \(jar)"]
            )
            #expect(again.value("location")?.contains("refresh=true") == true)
        }
    }

    @Test("Kratos's demand for a second factor: a browser goes to its page, a program gets its document")
    func secondFactor() throws {
        try KratosGatewayBench.with { bench throws in
            bench.kratos.change { $0.requiredAAL = "aal2" }
            let session = bench.kratos.newSession()
            let browser = try bench.get(
                "/x?y",
                ["Cookie: ory_kratos_session=\(session.cookie)"] + KratosGatewayBench.navigation
            )
            #expect(browser.status == 303)
            #expect(
                browser.value("location") == "\(Request.origin)/self-service/login/browser?aal=aal2"
                    + "&return_to=http%3A%2F%2Fapp.example.com%2Fx%3Fy"
            )
            let program = try bench.get("/x", ["X-Session-Token: \(session.token)"])
            #expect(program.status == 403 && program.value("content-type") == "application/json")
            #expect(program.text.contains(#""id":"session_aal2_required""#))
            #expect(bench.app.requests.isEmpty)
            bench.kratos.change { state in state.change(session) { $0.aal = "aal2" } }
            #expect(try bench.get("/x", ["X-Session-Token: \(session.token)"]).status == 200, "nothing of it was kept")
        }
    }

    @Test("An app with a token of Kratos hands off to a browser, whose session ends with the token's")
    func handoff() throws {
        let clients =
            "clients:\n" + Config.clients(binding: "none") + "\napis: [{audience: \"https://api.example.com\"}]"
        try KratosGatewayBench.with(more: clients, client: "web") { bench throws in
            let session = bench.kratos.newSession()
            let body =
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=native&subject_token=\(session.token)"
                + "&subject_token_type=urn:ietf:params:oauth:token-type:access_token&audience=https://api.example.com"
            let type = "Content-Type: application/x-www-form-urlencoded"
            let exchanged = try bench.gateway.request(Request.post("/oauth/token", [type], body: body))
            let access = String(
                try #require(exchanged.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/), "\(exchanged.text)").0
            )
            let transfer = try bench.gateway.mint(access)
            let page = try bench.get("/x?session_transfer_token=\(transfer)", KratosGatewayBench.navigation)
            #expect(page.status == 303)
            let set = page.values("set-cookie").first { $0.hasPrefix("sallyport=") }
            let cookie = "Cookie: " + (try #require(set)).prefix { $0 != ";" }
            let signedIn = try bench.get("/x", [cookie])
            #expect(signedIn.status == 200 && signedIn.text.contains(session.identityID))
            // A browser of another user keeps what the handoff gave it: the gateway's own cookie comes first.
            let other = bench.kratos.newSession(email: "grace@example.com")
            let both = "\(cookie); ory_kratos_session=\(other.cookie)"
            #expect(try bench.get("/x", [both]).text.contains(session.identityID))
            let field = "X-Session-Token: \(session.token)"
            #expect(try bench.get("/.sallyport/logout", [field], method: "POST").status == 204)
            #expect(try bench.get("/x", [cookie]).status == 401)
        }
    }

    @Test("A link does not swap the account of a browser that is signed in at Kratos: the token is used up")
    func otherUsersBrowser() throws {
        let clients = "clients:\n" + Config.clients(binding: "none")
        try KratosGatewayBench.with(more: clients, client: "web") { bench throws in
            let (ada, grace) = (bench.kratos.newSession(), bench.kratos.newSession(email: "grace@example.com"))
            let cookie = "Cookie: ory_kratos_session=\(grace.cookie)"
            let transfer = try bench.gateway.mint(ada.token)
            let page = try bench.get("/x?session_transfer_token=\(transfer)", [cookie] + KratosGatewayBench.navigation)
            #expect(page.status == 303 && page.value("location") == "\(Request.origin)/x")
            #expect(page.values("set-cookie").allSatisfy { !$0.hasPrefix("sallyport=") }, "\(page.lines)")
            #expect(try bench.get("/x", [cookie]).text.contains(grace.identityID), "her session stays")
            #expect(eventually { bench.gateway.output.contains("handoff.other_user") })
            let again = try bench.get("/x?session_transfer_token=\(transfer)", KratosGatewayBench.navigation)
            #expect(again.values("set-cookie").allSatisfy { !$0.hasPrefix("sallyport=") }, "the token is burned")
            // The same user keeps the session of Kratos, or gets one of the gateway: both are hers.
            let own = try bench.gateway.mint(grace.token)
            let same = try bench.get("/x?session_transfer_token=\(own)", [cookie] + KratosGatewayBench.navigation)
            #expect(same.status == 303)
            let set = same.values("set-cookie").first { $0.hasPrefix("sallyport=") }?.prefix { $0 != ";" }
            let both = set.map { "\(cookie); \($0)" } ?? cookie
            #expect(try bench.get("/x", [both]).text.contains(grace.identityID))
            #expect(try bench.get("/x", [cookie]).status == 200, "and Kratos's session goes on")
        }
    }

    @Test("While Kratos is away, a token for a browser with Kratos's cookie waits and is not used up")
    func handoffInOutage() throws {
        let clients = "clients:\n" + Config.clients(binding: "none")
        try KratosGatewayBench.with(more: clients, client: "web") { bench throws in
            let session = bench.kratos.newSession()
            let cookie = "Cookie: ory_kratos_session=\(session.cookie)"
            let transfer = try bench.gateway.mint(session.token)
            bench.kratos.fail("/sessions/whoami", with: .status(500))
            let target = "/x?session_transfer_token=\(transfer)"
            let away = try bench.get(target, [cookie, "Accept: */*", "Sec-Fetch-Mode: navigate"])
            #expect(away.status == 503 || away.status == 303, "\(away.lines)")
            #expect(away.values("set-cookie").allSatisfy { !$0.hasPrefix("sallyport=") })
            bench.kratos.heal()
            let page = try bench.get(target, KratosGatewayBench.navigation)
            #expect(page.values("set-cookie").contains { $0.hasPrefix("sallyport=") }, "\(page.lines)")
        }
    }

    @Test("A token of Kratos gives a transfer token at once; without the client's permission, or when it is dead, none")
    func mint() throws {
        try KratosGatewayBench.with(more: "clients:\n" + Config.clients(binding: "none"), client: "web") {
            bench throws in
            let session = bench.kratos.newSession()
            let field = "X-Session-Token: \(session.token)"
            let page = try bench.get(
                "/x?session_transfer_token=\(try bench.gateway.mint(session.token))",
                KratosGatewayBench.navigation
            )
            #expect(page.status == 303)
            let set = page.values("set-cookie").first { $0.hasPrefix("sallyport=") }
            let cookie = "Cookie: " + (try #require(set, "\(page.lines)")).prefix { $0 != ";" }
            #expect(try bench.get("/x", [cookie]).text.contains(session.identityID))
            let refused = try bench.gateway.exchange(session.token, client: "web")
            #expect(refused.status >= 400 && !refused.text.contains("access_token"), "\(refused.text)")
            let unknown = try bench.gateway.exchange("ory_st_" + String(repeating: "a", count: 32))
            #expect(unknown.status == 400 && unknown.text.contains("invalid_grant"), "\(unknown.text)")
            bench.kratos.fail("/sessions/whoami", with: .status(500))
            let away = try bench.gateway.exchange(bench.kratos.newSession().token)
            #expect(away.status == 503 && away.value("retry-after") != nil, "\(away.text)")
            bench.kratos.heal()
            #expect(try bench.get("/.sallyport/logout", [field], method: "POST").status == 204)
            #expect(try bench.get("/x", [cookie]).status == 401, "it ends with the session that it came from")
            #expect(try bench.gateway.exchange(session.token).status == 400)
        }
    }

    @Test("A session whose identity Kratos does not tell gives no identity")
    func noIdentity() throws {
        try KratosGatewayBench.with { bench throws in
            let session = bench.kratos.newSession()
            bench.kratos.change { state in state.change(session) { $0.hasIdentity = false } }
            #expect(try bench.get("/x", ["X-Session-Token: \(session.token)"]).status == 401)
            #expect(bench.app.requests.isEmpty)
        }
    }
}
