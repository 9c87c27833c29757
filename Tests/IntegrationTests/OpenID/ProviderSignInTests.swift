import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// Browsers sign in at an OpenID provider, through the built binary.
@Suite("Sign-in at an OpenID provider", .blocking) struct ProviderSignInTests {
    private static let script = ["Sec-Fetch-Mode: cors", "Accept: */*"]

    @Test("A page without a session leads to the provider and back, and the app sees who the user is")
    func signIn() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            let asked = try browser.load("/reports?year=2026&q=a%2Fb")
            let login = "\(Request.origin)/.sallyport/login?return_to=/reports%3Fyear%3D2026%26q%3Da%252Fb"
            #expect(asked.status == 303 && asked.value("location") == login && asked.values("set-cookie").isEmpty)
            let page = try browser.follow(asked)
            #expect(page.status == 200, "\(page.lines)")
            let received = try #require(bench.app.requests.last)
            #expect(received.target == "/reports?year=2026&q=a%2Fb")
            #expect(received.lines.contains("X-Auth-Subject: user-1"))
            #expect(received.lines.contains("X-Auth-Email: ada@example.com"))
            #expect(!received.lines.contains { $0.hasPrefix("Cookie:") }, "\(received.lines)")
            #expect(Set(browser.jar.keys) == ["sallyport", "sallyport-account", "sallyport-recent"])
            let call = try #require(bench.provider.calls(of: .authorization).last)
            #expect(call["redirect_uri"] == "\(Request.origin)/.sallyport/callback")
            let document = try browser.load("/.sallyport/session", Self.script)
            #expect(document.text.contains("\"external_id\":\"user-1\""))
            let metrics = try bench.gateway.admin("/metrics").text
            #expect(metrics.contains(#"sallyport_sign_ins_total{kind="web",result="ok"} 1"#))
        }
    }

    @Test("Groups that are objects are named once in the log, and read by a path that steps into the list")
    func objectGroups() throws {
        let user = OpenIDScript.User("user-1", claims: ["groups": [["name": "top-secret-staff"], ["name": "admin"]]])
        let line = "X-Auth-Groups cannot be written"
        try OpenIDSignInBench.with { bench throws in
            bench.provider.change { $0.user = user }
            for _ in 0..<3 {
                var browser = OpenIDBrowser(bench)
                let callback = try browser.callback()
                #expect(try browser.load(callback).status == 303)
                // The log is written behind the answer.
                let isNamed = eventually { bench.gateway.output.components(separatedBy: line).count == 2 }
                #expect(isNamed, "at the sign-in, once")
                let page = try browser.load("/x")
                #expect(page.status == 403 && page.pageReason == "identity.unsafe_value")
            }
            #expect(bench.gateway.output.contains("from the claim groups, is a list of objects"))
            #expect(!bench.gateway.output.contains("top-secret-staff"))
        }
        try OpenIDSignInBench.with(OpenIDScript(), "claims: {acr: {mfa: aal2}, traits: {groups: \"groups[].name\"}}") {
            bench throws in
            bench.provider.change { $0.user = user }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            #expect(bench.app.requests.last?.lines.contains("X-Auth-Groups: top-secret-staff,admin") == true)
            #expect(!bench.gateway.output.contains(line))
        }
    }

    @Test("Of many groups only those that matter are kept, and a text may be a list")
    func manyGroups() throws {
        let many = (0..<1000).map { JSONValue.string("everyone-of-the-company-\($0)") } + ["app-staff"]
        let settings = """
            claims:
              acr: {mfa: aal2}
              traits: {teams: "custom:teams"}
              text_lists: {teams: comma}
              groups_only: [app-*]
            """
        let identity = "identity: {headers: {X-Groups: identity.traits.groups, X-Teams: identity.traits.teams}}\n"
        try OpenIDSignInBench.with(OpenIDScript(), settings, routes: OpenIDSignInBench.routes + "\n" + identity) {
            bench throws in
            bench.provider.change {
                $0.user = OpenIDScript.User("user-1", claims: ["groups": .array(many), "custom:teams": "[red, blue]"])
            }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let received = try #require(bench.app.requests.last).lines
            #expect(received.contains("X-Groups: app-staff") && received.contains("X-Teams: red,blue"))
        }
    }

    @Test("A callback that a browser sends several times at once redeems its code once, and all get its session")
    func callbackAtOnce() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            let callback = try browser.callback("return_to=/x")
            let request = browser.request(callback)
            bench.provider.hold(.token)
            let wires = try (0..<4).map { _ in try bench.gateway.connect() }
            for wire in wires { wire.send(request) }
            #expect(eventually { bench.provider.waiting(at: .token) > 0 })
            bench.provider.heal(.token)
            let all = try wires.map { try $0.answer() }
            #expect(all.allSatisfy { $0.status == 303 && $0.value("location") == "/x" }, "\(all.map(\.lines))")
            #expect(Set(all.map(\.sessionCookie)).count == 1 && bench.provider.count(.token) == 1)
        }
    }

    @Test("Two tabs sign in at once; a bookmark of the callback and the back button end well")
    func tabs() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            let first = try browser.callback("return_to=/first")
            let second = try browser.callback("return_to=/second")
            #expect(try browser.load(second).value("location") == "/second")
            let session = browser.session
            #expect(try browser.load(first).value("location") == "/first")
            #expect(browser.session == session && session != nil)
            for target in [first, second] {
                let again = try browser.load(target)
                #expect(again.status == 303 && again.value("location") == "/" && browser.session == session)
            }
            #expect(bench.provider.count(.token) == 1)
            var other = OpenIDBrowser(bench)
            let stolen = try other.load(first)
            #expect(stolen.status == 400 && stolen.pageReason == "signin.state_mismatch" && other.jar.isEmpty)
        }
    }

    @Test("A page that needs a second factor asks the provider for it, and leads back")
    func stepUp() throws {
        try OpenIDSignInBench.with { bench throws in
            bench.provider.change { $0.levels = ["mfa"] }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let old = browser.session
            #expect(try browser.open("/strong/x?a=1").status == 200)
            let received = try #require(bench.app.requests.last)
            #expect(received.target == "/strong/x?a=1" && received.lines.contains("X-Auth-Aal: aal2"))
            #expect(browser.session != old)
            let call = try #require(bench.provider.calls(of: .authorization).last)
            #expect(call["acr_values"] == "mfa" && call["prompt"] == nil)
            let program = try browser.load("/strong/x", Self.script)
            #expect(program.status == 200)
        }
    }

    @Test("After a handoff, a page that needs a second factor asks the provider for it instead of ending in 403")
    func stepUpAfterHandoff() throws {
        let routes = """
            routes:
              - {path: /**, client: web}
              - {path: /strong/**, client: web, require: {aal: aal2}}
            clients:
              - {client_id: app, session_transfer: {can_create_session_transfer_token: true}}
              - client_id: web
                session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
            """
        try OpenIDSignInBench.with(OpenIDScript(), "audiences: [api]", routes: routes) { bench throws in
            bench.provider.change { $0.levels = ["mfa"] }
            let form = [
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=app",
                "subject_token=\(bench.provider.accessToken())",
                "subject_token_type=urn:ietf:params:oauth:token-type:access_token",
                "audience=urn:\(Request.host):session_transfer",
            ]
            let type = ["Content-Type: application/x-www-form-urlencoded"]
            let minted = try bench.gateway.request(
                Request.post("/oauth/token", type, body: form.joined(separator: "&"))
            )
            let token = try #require(minted.text.firstMatch(of: /"access_token":"([^"]+)"/), "\(minted.text)").1

            var browser = OpenIDBrowser(bench)
            let arrived = try browser.load("/strong/x?a=1&session_transfer_token=\(token)")
            let transferred = try #require(browser.session)
            #expect(arrived.value("location") == "\(Request.origin)/strong/x?a=1")
            let asked = try browser.load("/strong/x?a=1")
            let login = "\(Request.origin)/.sallyport/login?return_to=/strong/x%3Fa%3D1&aal=aal2"
            #expect(asked.status == 303 && asked.value("location") == login, "\(asked.lines)")
            #expect(bench.provider.count(.authorization) == 0 && bench.app.requests.isEmpty)

            #expect(try browser.follow(asked).status == 200)
            let calls = bench.provider.calls(of: .authorization)
            #expect(calls.count == 1 && calls.last?["acr_values"] == "mfa" && calls.last?["prompt"] == nil)
            let received = try #require(bench.app.requests.last)
            #expect(received.target == "/strong/x?a=1" && received.lines.contains("X-Auth-Aal: aal2"))
            #expect(received.lines.contains("X-Auth-Subject: user-1"))
            #expect(received.lines.contains("X-Auth-Origin: browser"))
            #expect(browser.session != nil && browser.session != transferred)
            #expect(try bench.gateway.get("/x", ["Cookie: sallyport=\(transferred)"]).status == 401)
        }
    }

    @Test("A user who does not reach the level gets a page and keeps the session; a program gets a challenge")
    func insufficient() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let session = browser.session
            let page = try browser.open("/strong/x")
            #expect(page.status == 403 && page.pageReason == "signin.insufficient", "\(page.lines)")
            #expect(page.text.contains("/.sallyport/login?return_to=/strong/x&amp;prompt=login&amp;aal=aal2"))
            #expect(page.values("referrer-policy") == ["no-referrer"])
            #expect(browser.session == session && session != nil)
            #expect(try browser.open("/x").status == 200)
            let program = try browser.load("/strong/x", Self.script)
            let challenge = #"Bearer error="insufficient_user_authentication", acr_values="aal2""#
            #expect(program.status == 403 && program.values("www-authenticate") == [challenge])
        }
    }

    @Test("A page that needs a recent sign-in tells the provider how recent")
    func maxAge() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/fresh/x").status == 200)
            #expect(bench.provider.calls(of: .authorization).last?["max_age"] == "600")
        }
    }

    @Test("A client's login_hint reaches the provider") func loginHint() throws {
        let clients = """
            clients:
              - client_id: app
                callbacks: ["com.example.app:/callback"]
            """
        try OpenIDSignInBench.with(routes: OpenIDSignInBench.routes + "\n" + clients) { bench throws in
            var browser = OpenIDBrowser(bench)
            let query = "client_id=app&response_type=code&code_challenge_method=S256&login_hint=ada%2Bx%26y@example.com"
            let challenge = "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            _ = try? browser.open("/authorize?" + query + challenge)
            let call = try #require(bench.provider.calls(of: .authorization).last)
            #expect(call["login_hint"] == "ada+x&y@example.com" && call["prompt"] == nil)
        }
    }

    @Test(
        "While the provider is away, sign-in is a page with 503 and sessions go on; when it is back, the page's link works"
    )
    func outage() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let session = browser.session
            var other = OpenIDBrowser(bench)
            let callback = try other.callback("return_to=/y")
            let cookies = other.jar
            bench.provider.stop()
            let page = try other.load(callback)
            #expect(page.status == 503 && page.pageReason == "provider.unavailable" && page.value("retry-after") != nil)
            #expect(eventually { bench.gateway.output.contains("provider: it gave no usable answer") })
            #expect(other.jar == cookies && page.text.contains("href=\"/.sallyport/login?return_to=/y\""))
            #expect(try browser.open("/x").status == 200 && browser.session == session)
            try bench.provider.start()
            #expect(eventually { (try? other.open("/.sallyport/login?return_to=/y").status) == 200 })
        }
    }

    @Test(
        "F15: The gateway starts while its issuer is down: it is not ready, sign-in is 503, and it recovers by itself"
    )
    func lateIssuer() throws {
        try OpenIDSignInBench.with(isUp: false) { bench throws in
            var browser = OpenIDBrowser(bench)
            #expect(try bench.gateway.admin("/readyz").status == 503)
            let page = try browser.open("/x")
            #expect(page.status == 503 && page.pageReason == "provider.unavailable" && browser.jar.isEmpty)
            try bench.provider.start()
            #expect(eventually { (try? bench.gateway.admin("/readyz").status) == 200 })
            #expect(try browser.open("/x").status == 200)
        }
    }

    @Test("A posted form without a session is a page that keeps nothing; a script learns where to sign in")
    func forms() throws {
        try OpenIDSignInBench.with { bench throws in
            let fields = [
                "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: same-origin", "Referer: \(Request.origin)/form?id=1",
                "Content-Type: application/x-www-form-urlencoded",
            ]
            let page = try bench.gateway.request(Request.post("/orders", fields, body: "card=4111"))
            #expect(page.status == 401 && page.pageReason == "credential.missing")
            #expect(page.text.contains("was not sent on and is not kept.") && !page.text.contains("4111"))
            #expect(page.text.contains("href=\"/.sallyport/login?return_to=/form%3Fid%3D1\""))
            let told = try bench.gateway.get("/api", Self.script)
            #expect(told.status == 401 && told.text.contains(#""login_url":"\#(Request.origin)/.sallyport/login""#))
            #expect(bench.app.requests.isEmpty)
        }
    }

    @Test("HEAD and prefetches begin nothing, and the callback takes nothing but a page load")
    func speculation() throws {
        try OpenIDSignInBench.with { bench throws in
            var browser = OpenIDBrowser(bench)
            let head = try browser.load("/.sallyport/login", method: "HEAD")
            #expect(head.status == 204 && head.value("location") == nil)
            let prefetch = try browser.load("/.sallyport/login", OpenIDBrowser.navigation + ["Sec-Purpose: prefetch"])
            #expect(prefetch.status == 403 && prefetch.pageReason == "signin.not_navigation" && browser.jar.isEmpty)
            let callback = try browser.callback()
            let jar = browser.jar
            #expect(try browser.load(callback, method: "HEAD").status == 405)
            #expect(try browser.load(callback, OpenIDBrowser.navigation + ["Purpose: prefetch"]).status == 403)
            #expect(try browser.load(callback, Self.script).status == 403)
            #expect(browser.jar == jar && bench.provider.count(.token) == 0)
            #expect(try browser.load(callback).status == 303)
        }
    }
}
