import Foundation
import GatewayBench
import Testing

/// A handoff that failed because of the store, and the reload that completes it. A memory store never loses an answer,
/// but it can be full.
@Suite("Handoff attempts", .blocking) struct HandoffAttemptTests {
    private static let full = "store: {memory: {max_sessions: 2}}"

    /// A gateway with room for two sessions: Ada's native one, and Grace's, which can be ended to make room.
    private func whenFull(
        _ change: (String) -> String = { $0 },
        _ body: (Gateway, FakeUpstream, _ token: String, _ grace: String) throws -> Void
    ) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(change(Config.file(upstream: app.port, more: Self.full))) { gateway in
            let token = try gateway.transferToken()
            try body(gateway, app, token, try gateway.native(.grace))
        }
    }

    private func makeRoom(_ gateway: Gateway, _ native: String) throws {
        let answer = try gateway.request(
            Request.get(
                "/self-service/logout/api",
                ["Content-Type: application/json"],
                method: "DELETE",
                body: #"{"session_token":"\#(native)"}"#
            )
        )
        #expect(answer.status == 204)
    }

    /// The value of the attempt cookie, which is treated as a secret from then on.
    private func attempt(_ answer: Answer, _ name: String = "sallyport-attempt") throws -> String {
        let line = try #require(answer.values("set-cookie").first { $0.hasPrefix("\(name)=") }, "\(answer.lines)")
        let value = String(line.dropFirst(name.count + 1).prefix { $0 != ";" })
        #expect(value.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
        Secrets.shared.note(value)
        return value
    }

    @Test("A 503 does not burn, clear or move the token; the reload signs in and clears the attempt cookie")
    func reload() throws {
        for byCookie in [false, true] {
            try self.whenFull { gateway, app, token, grace in
                let target = byCookie ? "/hello?a=1" : "/hello?a=1&session_transfer_token=\(token)"
                let cookies = byCookie ? "a=b; session_transfer_token=\(token)" : "a=b"
                let first = try gateway.get(target, ["Cookie: \(cookies)"])
                #expect(first.status == 503 && first.reason == "store.full", "\(first.lines)")
                #expect(first.value("retry-after") != nil && first.value("cache-control") == "no-store")
                #expect(first.value("location") == nil && first.clearedCookies.isEmpty)
                #expect(first.values("set-cookie").count == 1)
                let attempt = try self.attempt(first)

                let again = try gateway.get(target, ["Cookie: \(cookies); sallyport-attempt=\(attempt)"])
                #expect(again.status == 503)
                #expect(try self.attempt(again) == attempt, "the same attempt goes on")

                try self.makeRoom(gateway, grace)
                let last = try gateway.get(target, ["Cookie: \(cookies); sallyport-attempt=\(attempt)"])
                #expect(last.status == 303 && last.value("location") == "\(Request.origin)/hello?a=1", "\(last.lines)")
                let session = try #require(last.sessionCookie)
                #expect(!session.isEmpty && last.clearedCookies.contains("sallyport-attempt"))
                #expect(try gateway.get("/hello", ["Cookie: sallyport=\(session)"]).status == 200)
                #expect(app.requests.allSatisfy { !$0.text.contains(attempt) && !$0.text.contains("spt_") })
            }
        }
    }

    private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none"]

    @Test(
        "After a failure a browser's URL no longer has the token, and a reload of that URL signs in"
    )
    func movedOutOfTheURL() throws {
        try self.whenFull { gateway, app, token, grace in
            let clean = "/hello?a=%20&b=2"
            let first = try gateway.get("/hello?a=%20&session_transfer_token=\(token)&b=2", Self.navigation)
            #expect(first.status == 303 && first.value("location") == Request.origin + clean, "\(first.lines)")
            #expect(first.value("cache-control") == "no-store" && first.value("referrer-policy") == "no-referrer")
            let line = try #require(first.values("set-cookie").first)
            #expect(
                first.values("set-cookie").count == 1 && line.contains("; Max-Age=60;") && line.contains("HttpOnly")
            )
            let value = String(line.dropFirst("sallyport-attempt=".count).prefix { $0 != ";" })
            #expect(value.wholeMatch(of: /[A-Za-z0-9_-]{43}\.spt_[A-Za-z0-9_-]+/) != nil)
            Secrets.shared.note(value)

            let fields = Self.navigation + ["Cookie: sallyport-attempt=\(value)"]
            let page = try gateway.get(clean, fields)
            #expect(page.status == 503 && page.pageReason == "store.full", "\(page.lines)")
            #expect(page.values("retry-after") == ["1"] && !page.text.contains("spt_"))
            #expect(page.values("set-cookie") == [line], "the same attempt goes on")
            // A request that may not use a token leaves the cookie alone and reaches the app unchanged.
            for target in ["/public/x", "/public/x?y"] {
                #expect(try gateway.request(Request.post(target, fields, body: "a=b")).status == 200)
                #expect(app.requests.last?.target == target && app.requests.last?.values("cookie") == [])
            }

            try self.makeRoom(gateway, grace)
            let last = try gateway.get(clean, fields)
            #expect(last.status == 303 && last.value("location") == Request.origin + clean, "\(last.lines)")
            let session = try #require(last.sessionCookie)
            #expect(last.clearedCookies.contains("sallyport-attempt"))
            // A reload after a lost answer gets the same session. With that session the URL shows the page and does not
            // redirect.
            #expect(try gateway.get(clean, fields).sessionCookie == session)
            #expect(try gateway.get(clean, Self.navigation + ["Cookie: sallyport=\(session)"]).status == 200)
            let stranger = try gateway.get("/?session_transfer_token=\(token)", Self.navigation)
            #expect(stranger.status == 303 && stranger.sessionCookie == nil, "others only replay it")
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test(
        "If the store fails on the cookie's token, a token in another site's link is not moved into the attempt cookie"
    )
    func crossSiteTokenIsNotMoved() throws {
        try self.whenFull { gateway, _, token, grace in
            let planted = try gateway.mint(grace)
            let site = Self.navigation.dropLast()
            let target = "/hello?a=1&session_transfer_token=\(planted)"
            let jar = ["Cookie: session_transfer_token=\(token)"]
            let foreign = try gateway.get(target, site + ["Sec-Fetch-Site: cross-site"] + jar)
            #expect(foreign.status == 303 && foreign.value("location") == "\(Request.origin)/hello?a=1")
            _ = try self.attempt(foreign)
            // The token of the site's own link is kept for the reload.
            let own = try gateway.get(target, Self.navigation + jar)
            #expect(own.values("set-cookie").contains { $0.hasPrefix("sallyport-attempt=") && $0.contains(planted) })
        }
    }

    @Test("A moved token never causes a redirect to the same URL twice, from whatever site and for whatever page")
    func movedAndNotWanted() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = "  - path: /**\n    client: web\n  - path: /cookie/**\n    client: other\n"
        let other = """
              - client_id: other
                session_transfer:
                  allowed_authentication_methods: [cookie]
            """
        let settings = Config.file(upstream: app.port, routes: routes, clients: Config.clients(more: other))
        try Gateway.with(settings) { gateway in
            let value = "\(String(repeating: "A", count: 43)).\(try gateway.transferToken())"
            let jar = ["Sec-Fetch-Mode: navigate", "Cookie: sallyport-attempt=\(value)"]
            let foreign = try gateway.get("/hello", jar + ["Sec-Fetch-Site: cross-site"])
            #expect(foreign.value("location")?.contains("/.sallyport/login?") == true, "\(foreign.lines)")
            #expect(foreign.sessionCookie == nil && foreign.clearedCookies.isEmpty)
            let elsewhere = try gateway.get("/cookie/x", jar + ["Sec-Fetch-Site: none"])
            #expect(elsewhere.sessionCookie == nil)
            #expect(elsewhere.value("location") != "\(Request.origin)/cookie/x" || !elsewhere.clearedCookies.isEmpty)
        }
    }

    @Test("A moved token that is refused is cleared with its attempt, and the browser is asked to sign in")
    func movedAndRefused() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway in
            let secret = String(repeating: "A", count: 43)
            for token in ["spt_" + String(repeating: "A", count: 55), "x", "", "a.b", "spt_%00"] {
                let fields = Self.navigation + ["Cookie: sallyport-attempt=\(secret).\(token)"]
                var answer = try gateway.get("/hello", fields)
                if answer.value("location") == "\(Request.origin)/hello" {
                    #expect(answer.clearedCookies.contains("sallyport-attempt"))
                    answer = try gateway.get("/hello", Self.navigation)
                }
                #expect(answer.value("location")?.contains("/.sallyport/login?") == true, "\(token): \(answer.lines)")
                #expect(answer.sessionCookie == nil)
            }
        }
    }

    @Test("A completed attempt gives the same session again, and a replay to every other client")
    func sameSession() throws {
        try self.whenFull { gateway, _, token, grace in
            let target = "/?session_transfer_token=\(token)"
            let attempt = try self.attempt(try gateway.get(target))
            try self.makeRoom(gateway, grace)
            let fields = ["Cookie: sallyport-attempt=\(attempt)"]
            let session = try #require(try gateway.get(target, fields).sessionCookie)
            // Repeats the request as if the answer had been lost.
            #expect(try gateway.get(target, fields).sessionCookie == session)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(session)"]).status == 200)
            for other in [[], ["Cookie: sallyport-attempt=\(String(repeating: "A", count: 43))"]] {
                let replay = try gateway.get(target, other)
                #expect(replay.status == 303 && replay.sessionCookie == nil, "\(replay.lines)")
            }
            #expect(eventually { gateway.output.contains("handoff.replayed") })
        }
    }

    @Test("Two different attempt cookies, or a malformed one, are ignored and then cleared")
    func oddCookies() throws {
        try self.whenFull { gateway, _, token, grace in
            let target = "/?session_transfer_token=\(token)"
            let attempt = try self.attempt(try gateway.get(target))
            let other = String(attempt.reversed())
            for cookies in [
                "sallyport-attempt=\(attempt); sallyport-attempt=\(other)", "sallyport-attempt=\(attempt)A",
                "sallyport-attempt=", "sallyport-attempt=\"\(attempt.dropFirst(2))\"",
            ] {
                let fresh = try self.attempt(try gateway.get(target, ["Cookie: \(cookies)"]))
                #expect(fresh != attempt && fresh != other, "\(cookies)")
            }
            try self.makeRoom(gateway, grace)
            let answer = try gateway.get(target, ["Cookie: sallyport-attempt=x"])
            #expect(answer.sessionCookie?.isEmpty == false && answer.clearedCookies.contains("sallyport-attempt"))
        }
    }

    @Test("A refusal is also final and clears the attempt cookie")
    func refusal() throws {
        try self.whenFull { gateway, _, _, _ in
            let value = String(repeating: "A", count: 43)
            let cookie = "Cookie: sallyport-attempt=\(value)"
            let query = try gateway.get("/?session_transfer_token=unknown", [cookie])
            #expect(query.status == 303 && query.clearedCookies.contains("sallyport-attempt"))
            let byCookie = try gateway.get("/", ["\(cookie); session_transfer_token=unknown"])
            #expect(byCookie.status == 401 && byCookie.clearedCookies.contains("sallyport-attempt"))
            #expect(try gateway.get("/", [cookie]).clearedCookies.isEmpty, "no handoff, no final answer")
        }
    }

    @Test("On https the cookie is __Host-, Secure, HttpOnly and Lax, and lives for a minute at most")
    func attributes() throws {
        let secure = { (settings: String) in
            settings.replacing("public_url: http:", with: "public_url: https:")
                .replacing("cookie: sallyport", with: "cookie: __Host-sallyport")
        }
        try self.whenFull(secure) { gateway, app, token, grace in
            let target = "/?session_transfer_token=\(token)"
            let first = try gateway.get(target)
            let attempt = try self.attempt(first, "__Host-sallyport-attempt")
            #expect(
                first.values("set-cookie") == [
                    "__Host-sallyport-attempt=\(attempt); Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax"
                ]
            )
            // A sibling domain can plant a cookie only under another name.
            let planted = try gateway.get(target, ["Cookie: sallyport-attempt=\(attempt)"])
            #expect(try self.attempt(planted, "__Host-sallyport-attempt") != attempt)
            try self.makeRoom(gateway, grace)
            let last = try gateway.get(target, ["Cookie: __Host-sallyport-attempt=\(attempt)"])
            #expect(last.status == 303 && last.clearedCookies.contains("__Host-sallyport-attempt"))
        }
    }

    @Test("The app does not see the attempt cookie on any route")
    func notForwarded() throws {
        let routes =
            "  - path: /**\n    auth: public\n    client: web\n  - path: /off/**\n    auth: public\n    handoff: false\n"
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway in
            for path in ["/on", "/off/x"] {
                let answer = try gateway.get(path, ["Cookie: a=1; sallyport-attempt=secret; b=2"])
                #expect(answer.status == 200 && app.requests.last?.values("cookie") == ["a=1; b=2"])
                _ = try gateway.get(path, ["Cookie: sallyport-attempt=x; sallyport-attempt=y"])
                #expect(app.requests.last?.values("cookie") == [])
            }
        }
    }
}
