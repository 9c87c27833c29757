import Foundation
import GatewayBench
import Testing

@Suite("A user who was deleted", .blocking)
struct DeletedUserTests {
    /// The fields with the user's sessions.
    private func sessions(_ belongings: Belongings) -> [String] {
        ["Cookie: sallyport=\(belongings.cookie)", "Authorization: Bearer \(belongings.native)"]
    }

    /// Expects that all of it is refused, with these reasons for the session, and these for a refresh.
    private func expectRefused(
        _ belongings: Belongings,
        _ streams: [Wire],
        _ gateway: Gateway,
        _ reason: String,
        refresh: Int
    ) throws {
        for stream in streams { stream.expectEnd() }
        for field in self.sessions(belongings) {
            let answer = try gateway.get("/", [field])
            #expect(answer.status == 401 && answer.reason == reason, "\(answer.lines)")
        }
        #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(belongings.native)"]).status == 401)
        let authorize = try gateway.get(Belongings.authorize, ["Cookie: sallyport=\(belongings.cookie)"])
        #expect(authorize.status == 303 && authorize.value("location")?.contains("/.sallyport/login") == true)
        let mint = try gateway.exchange(belongings.native, client: "app")
        #expect(mint.status == 400 && mint.text.contains("\"invalid_grant\""), "\(mint.text)")
        let exchange = try Belongings.post(
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=app"
                + "&subject_token=\(belongings.native)"
                + "&subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
            to: gateway
        )
        #expect(exchange.status == 400 && exchange.text.contains("\"invalid_grant\""), "\(exchange.text)")
        try belongings.expectTokensRefused(gateway, "invalid_grant", refresh: refresh)
    }

    @Test("a reload without the user ends everything that the user has, on every loop, until the user is back")
    func everything() throws {
        try Belongings.withGateway { gateway, settings in
            let belongings = try Belongings(gateway)
            let streams = try self.sessions(belongings).map { try Belongings.stream(gateway, $0) }
            let other = ["Cookie: sallyport=\(try gateway.browser(.grace))"]
            #expect(try belongings.isActive(belongings.access, gateway))
            let userInfo = ["Authorization: Bearer \(belongings.access)"]
            for method in ["GET", "HEAD"] {
                let answer = try gateway.request(Request.get("/userinfo", userInfo, method: method))
                #expect(answer.status == 200 && answer.body.isEmpty == (method == "HEAD"), "\(answer.lines)")
            }
            try gateway.reload(settings.replacing("id: user-1815", with: "id: user-1816"))
            try self.expectRefused(belongings, streams, gateway, "session.user_gone", refresh: 403)
            #expect(gateway.output.contains(#""reason":"session.user_gone""#))
            let words = ["The refresh_token was generated for a user who doesn't exist anymore.", "invalid_grant"]
            for _ in 0..<2 {
                let gone = try belongings.refreshed(gateway)
                #expect(gone.status == 403 && gone.value("content-type")?.hasPrefix("application/json") == true)
                for word in words { #expect(gone.text.contains(word), "\(gone.text)") }
            }
            #expect(try gateway.request(Request.get("/sessions/whoami", other)).status == 200)
            try gateway.reload(settings)
            let cookie = ["Cookie: sallyport=\(belongings.cookie)"]
            #expect(try gateway.request(Request.get("/sessions/whoami", cookie)).status == 200)
            #expect(try belongings.refreshed(gateway).status == 200)
        }
    }

    @Test("a reload with another password ends everything for good; other traits end nothing")
    func password() throws {
        try Belongings.withGateway { gateway, settings in
            let belongings = try Belongings(gateway)
            let streams = try self.sessions(belongings).map { try Belongings.stream(gateway, $0) }
            let cookie = ["Cookie: sallyport=\(belongings.cookie)"]
            let renamed = settings.replacing("name: Ada Lovelace", with: "name: Ada King")
            try gateway.reload(renamed)
            #expect(try gateway.request(Request.get("/sessions/whoami", cookie)).status == 200)
            let changed = renamed.replacing("JK3x34E88OjnlWzoh", with: "KK3x34E88OjnlWzoh")
            try gateway.reload(changed)
            try self.expectRefused(belongings, streams, gateway, "session.unknown", refresh: 400)
            #expect(gateway.output.contains(#""reason":"session.password_changed""#))
            try gateway.reload(renamed)
            try self.expectRefused(belongings, streams, gateway, "session.unknown", refresh: 400)
        }
    }

    /// Ada's hash at a cost that takes long enough for a reload.
    private static let slowHash =
        "$scrypt$ln=16,r=8,p=8$MDEyMzQ1Njc4OWFiY2RlZg$VmS7SI7Iu32Syo0uahe6lBo4QQ5/VdYCIzZzLunw98Q"

    @Test("a password that changes, or whose user goes, while it is checked begins no session that lives")
    func overtaken() throws {
        let fast = "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"
        func settings(_ port: Int) -> String {
            Config.file(upstream: port).replacing(fast, with: Self.slowHash)
        }
        try Gateway.withApp({ settings($0) }) { gateway, app throws in
            let first = settings(app.port)
            let fields = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"]
            let form = "identifier=\(User.ada.identifier)&password=\(User.ada.password)"
            for changed in [
                first.replacing(Self.slowHash, with: fast.replacing("JK3x", with: "KK3x")),
                first.replacing("id: user-1815", with: "id: user-1816"),
            ] {
                try gateway.reload(first)
                let flow = try gateway.get("/self-service/login/api").text
                let action = try #require(flow.firstMatch(of: /"action":"https?:\/\/[^\/]*(\/[^"]*)"/)).1
                let (browser, app) = (try gateway.connect(), try gateway.connect())
                browser.send(Request.post("/.sallyport/login", fields, body: form))
                app.send(
                    Request.post(
                        String(action).replacing(#"\/"#, with: "/"),
                        [fields[1]],
                        body: "method=password&\(form)"
                    )
                )
                let known = try gateway.request(Request.get("/public/"), seconds: 30)
                #expect(known.status == 200, "the loop has both")
                try gateway.reload(changed)
                let page = try browser.answer(seconds: 30)
                let cookie = "Cookie: sallyport=\(page.sessionCookie ?? "")"
                #expect(try gateway.get("/", [cookie]).status == 401, "\(page.lines)")
                let document = try app.answer(seconds: 30)
                let token = document.text.firstMatch(of: /"session_token":"([^"]+)"/)?.1 ?? ""
                #expect(try gateway.get("/", ["Authorization: Bearer \(token)"]).status == 401, "\(document.lines)")
            }
            #expect(gateway.output.contains(#""reason":"signin.refused""#))
        }
    }

    @Test("a user who was removed and comes back with another password finds no former session")
    func replacement() throws {
        try Belongings.withGateway { gateway, settings in
            let cookie = ["Cookie: sallyport=\(try gateway.browser())"]
            try gateway.reload(settings.replacing("id: user-1815", with: "id: user-1816"))
            let other = settings.replacing("JK3x34E88OjnlWzoh", with: "KK3x34E88OjnlWzoh")
            try gateway.reload(other)
            #expect(try gateway.get("/", cookie).reason == "session.unknown")
        }
    }
}
