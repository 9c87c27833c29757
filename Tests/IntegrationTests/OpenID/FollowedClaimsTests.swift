import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// Users who are moved to another group, at their provider or in the settings.
@Suite("Groups that change during a sign-in", .blocking) struct FollowedClaimsTests {
    private static let form = ["Content-Type: application/x-www-form-urlencoded"]

    private func status(_ field: String, at gateway: Gateway) throws -> Int {
        try gateway.get(field.hasPrefix("Authorization") ? "/api/x" : "/admin/x", [field]).status
    }

    @Test("admins to interns: the next access token is 403, and so are the browser and its handoff")
    func provider() throws {
        var script = OpenIDScript()
        script.accessTokenLifetime = .seconds(3)
        script.user.claims["groups"] = ["admins"]
        let settings = """
            routes:
              - {path: /**, client: web}
              - {path: /admin/**, client: web, require: {groups_any: [admins]}}
              - {path: /api/**, name: api, require: {groups_any: [admins]}}
            clients:
              - client_id: app
                callbacks: ["com.example.app:/callback"]
                session_transfer: {can_create_session_transfer_token: true}
              - client_id: web
                session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
            apis: [{audience: "https://api.example.com", scopes: [read], routes: [api]}]
            """
        try OpenIDSignInBench.with(script, routes: settings) { bench throws in
            let gateway = bench.gateway
            var browser = OpenIDBrowser(bench)
            let back = try LevelDemandTests.authorize(&browser, [("audience", "https://api.example.com")])
            let granted = try LevelDemandTests.redeem(bench, try #require(back["code"], "\(back)"))
            var refresh = try #require(granted.text.firstMatch(of: /spr_[A-Za-z0-9_-]+/), "\(granted.text)").0
            func token(_ more: String = "") throws -> Substring {
                let body = "grant_type=refresh_token&client_id=app&refresh_token=\(refresh)\(more)"
                let answer = try gateway.request(Request.post("/oauth/token", Self.form, body: body))
                refresh = try #require(answer.text.firstMatch(of: /spr_[A-Za-z0-9_-]+/), "\(answer.text)").0
                return try #require(answer.text.firstMatch(of: /sp[at]_[A-Za-z0-9_-]+/), "\(answer.text)").0
            }
            let transfer = try token("&audience=urn:\(Request.host):session_transfer")
            let opened = try gateway.get("/?session_transfer_token=\(transfer)", OpenIDBrowser.navigation)
            let cookies = [browser.session, opened.sessionCookie].map { "Cookie: sallyport=\($0 ?? "")" }
            for field in cookies + ["Authorization: Bearer \(try token())"] {
                #expect(try self.status(field, at: gateway) == 200, "\(field.prefix(20))")
            }

            bench.provider.change { $0.user.claims["groups"] = ["interns"] }
            let changed = #""event":"session.traits_changed""#
            #expect(
                eventually {
                    _ = try? gateway.get("/", [cookies[0]])
                    return gateway.output.contains(changed)
                }
            )
            // The line comes before the sessions have the new groups.
            for cookie in cookies { #expect(eventually { (try? self.status(cookie, at: gateway)) == 403 }) }
            #expect(eventually { (try? self.status("Authorization: Bearer \(try token())", at: gateway)) == 403 })
            let line = try #require(gateway.output.split(separator: "\n").first { $0.contains(changed) })
            #expect(line.contains(#""traits":"groups""#) && !line.contains("interns"), "\(line)")
        }
    }

    @Test("A reload that moves a user of the settings to another group applies to the user's sessions and tokens")
    func file() throws {
        let routes = """
              - {path: /**, name: app, client: web}
              - {path: /admin/**, name: admin, require: {groups_any: [admins]}}
            """
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, routes: routes)
        try Gateway.with(settings) { gateway throws in
            let fields = [
                "Cookie: sallyport=\(try gateway.browser())", "X-Session-Token: \(try gateway.native())",
            ]
            for field in fields { #expect(try self.status(field, at: gateway) == 200) }
            try gateway.reload(settings.replacing("groups: [staff, admins]", with: "groups: [staff, interns]"))
            for field in fields { #expect(eventually { (try? self.status(field, at: gateway)) == 403 }) }
            try gateway.reload(settings)
            for field in fields { #expect(eventually { (try? self.status(field, at: gateway)) == 200 }) }
        }
    }
}
