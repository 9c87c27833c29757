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
