import Foundation
import GatewayBench
import Testing

/// Handoff cookies that were left by a sibling domain or by an old version of the app, and that the gateway cannot
/// clear.
@Suite("Handoff cookies that come back", .blocking) struct HandoffCookieTests {
    private static let page = ["Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]

    /// The cookie that marks handled cookies, as the browser sends it back.
    private func mark(_ answer: Answer, _ name: String = "sallyport-handled") -> String? {
        answer.values("set-cookie").first { $0.hasPrefix("\(name)=") }.map { String($0.prefix { $0 != ";" }) }
    }

    /// Refused values, each with another reason.
    private func refused(_ gateway: Gateway) throws -> [(reason: String, value: String)] {
        let native = try gateway.native(.grace)
        let used = try gateway.mint(native)
        _ = try gateway.get("/?session_transfer_token=\(used)")
        let burned = try gateway.mint(native)
        _ = try gateway.get("/?session_transfer_token=\(burned)", from: "127.0.0.2")
        return [
            ("handoff.malformed", "x"), ("handoff.malformed", ""),
            ("handoff.unknown", String(used.dropLast(8)) + "AAAAAAAA"),
            ("credential.other_key", "spt_" + String(repeating: "A", count: 55)),
            ("handoff.replayed", used), ("handoff.burned", burned),
            ("binding.ip_mismatch", try gateway.mint(native, from: "127.0.0.2")),
        ]
    }

    @Test("A signed-in user can read pages whatever a handoff cookie contains and however often it comes back")
    func signedIn() throws {
        try Gateway.withApp { gateway, app throws in
            let session = try gateway.browser(.ada)
            for (reason, value) in try self.refused(gateway) {
                let cookies = "a=1; sallyport=\(session); auth0_session_transfer_token=\(value)"
                let first = try gateway.get("/hello", Self.page + ["Cookie: \(cookies)"])
                #expect(first.status == 200, "\(reason): \(first.lines)")
                #expect(first.sessionCookie == nil && first.clearedCookies.contains("auth0_session_transfer_token"))
                let mark = try #require(self.mark(first))
                #expect(value.count < 2 || !mark.contains(value))
                #expect(eventually { gateway.output.contains(reason) })

                let refusals = try gateway.metric(#"sallyport_transfer_tokens_total{result="invalid"}"#)
                for fields in [Self.page, []] {
                    let next = try gateway.get("/hello", fields + ["Cookie: \(cookies); \(mark)"])
                    #expect(next.status == 200 && next.values("set-cookie").isEmpty, "\(reason): \(next.lines)")
                }
                #expect(try gateway.metric(#"sallyport_transfer_tokens_total{result="invalid"}"#) == refusals)
                #expect(app.requests.suffix(3).allSatisfy { $0.values("cookie") == ["a=1"] })
                // Without the mark the cookie is judged again, with the same result.
                #expect(try gateway.get("/hello", ["Cookie: \(cookies)"]).status == 200)
            }
        }
    }

    @Test("T10: where handoff.cookies names a cookie that sibling domains cannot set, no other cookie counts")
    func hostCookie() throws {
        let more = "handoff: {cookies: [__Host-transfer]}"
        try Gateway.withApp({ Config.file(upstream: $0, more: more) }) { gateway, _ throws in
            let token = try gateway.transferToken()
            for name in ["session_transfer_token", "auth0_session_transfer_token"] {
                let planted = try gateway.get("/hello", Self.page + ["Cookie: \(name)=\(token)"])
                #expect(
                    planted.value("location")?.contains("/.sallyport/login") == true && planted.sessionCookie == nil
                )
            }
            let own = try gateway.get("/hello", Self.page + ["Cookie: __Host-transfer=\(token)"])
            #expect(own.status == 303 && own.sessionCookie != nil, "the token is not used up: \(own.lines)")
        }
    }

    @Test("A mark cookie that is longer than the gateway ever sets is ignored")
    func longMarks() throws {
        try Gateway.withApp { gateway, _ throws in
            let cookie = "session_transfer_token=x"
            let mark = try #require(self.mark(try gateway.get("/hello", Self.page + ["Cookie: \(cookie)"])))
            // A marked cookie is left alone. A mark cookie that the gateway cannot have set is ignored.
            let marked = try gateway.get("/hello", Self.page + ["Cookie: \(cookie); \(mark)"])
            #expect(marked.status == 303 && self.mark(marked) == nil)
            let long = try gateway.get(
                "/hello",
                Self.page + ["Cookie: \(cookie); \(mark)\(String(repeating: ".a", count: 4000))"]
            )
            #expect(long.status == 303 && self.mark(long) == mark)
        }
    }

    @Test("An answer that clears a handoff cookie on a public page is private, whatever the app says")
    func notForCaches() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in link.answer("200 OK", "Cache-Control: public\r\n") }
        )
        defer { app.stop() }
        let routes = "  - path: /**\n    auth: public\n    client: web\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway in
            let answer = try gateway.get("/hello", Self.page + ["Cookie: session_transfer_token=x"])
            #expect(answer.status == 200 && self.mark(answer) != nil)
            #expect(answer.values("cache-control") == ["private"], "\(answer.lines)")
            #expect(try gateway.get("/hello", Self.page).values("cache-control") == ["public"])
        }
    }

    @Test("A user who is not signed in is redirected to login, signs in, and then gets the page")
    func signingIn() throws {
        try Gateway.withApp { gateway, app throws in
            for (reason, value) in try self.refused(gateway) {
                let tossed = "session_transfer_token=\(value)"
                let asked = try gateway.get("/hello?a=1", Self.page + ["Cookie: \(tossed)"])
                let login = "\(Request.origin)/.sallyport/login?return_to=/hello%3Fa%3D1"
                #expect(asked.status == 303 && asked.value("location") == login, "\(reason): \(asked.lines)")
                let signedIn = try gateway.request(
                    Request.post(
                        "/.sallyport/login",
                        [
                            "Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded",
                            "Cookie: \(tossed)",
                        ],
                        body: "identifier=\(User.ada.identifier)&password=\(User.ada.password)&return_to=/hello%3Fa%3D1"
                    )
                )
                #expect(signedIn.status == 303 && signedIn.value("location") == "/hello?a=1")
                let session = try #require(signedIn.sessionCookie)
                for mark in [[], self.mark(asked).map { [$0] } ?? []] {
                    let cookies = (["sallyport=\(session)", tossed] + mark).joined(separator: "; ")
                    let page = try gateway.get("/hello?a=1", Self.page + ["Cookie: \(cookies)"])
                    #expect(page.status == 200, "\(reason): \(page.lines)")
                    #expect(app.requests.last?.values("x-auth-subject") == [User.ada.id])
                }
            }
        }
    }

    @Test("A good token is used besides a stale one: in the query at once, in a cookie if the stale one is marked")
    func besideAStaleOne() throws {
        try Gateway.withApp { gateway, app throws in
            let native = try gateway.native()
            let stale = "session_transfer_token=spt_" + String(repeating: "A", count: 55)
            let query = try gateway.get(
                "/hello?session_transfer_token=\(try gateway.mint(native))",
                ["Cookie: \(stale)"]
            )
            #expect(query.status == 303 && query.value("location") == "\(Request.origin)/hello", "\(query.lines)")
            #expect(query.sessionCookie?.isEmpty == false && query.clearedCookies.contains("session_transfer_token"))
            let mark = try #require(self.mark(query))

            let good = try gateway.mint(native)
            let cookies = "\(stale); auth0_session_transfer_token=\(good)"
            let byCookie = try gateway.get("/hello", ["Cookie: \(cookies); \(mark)"])
            #expect(byCookie.status == 303 && byCookie.sessionCookie?.isEmpty == false, "\(byCookie.lines)")
            // From now on both are marked.
            let session = try #require(byCookie.sessionCookie)
            let both = try #require(self.mark(byCookie))
            let next = try gateway.get("/hello", ["Cookie: sallyport=\(session); \(cookies); \(both)"])
            #expect(next.status == 200 && next.values("set-cookie").isEmpty, "\(next.lines)")

            // Neither is marked: none is used, and an existing session stays.
            let other = try gateway.mint(native)
            let neither = try gateway.get(
                "/hello",
                ["Cookie: sallyport=\(session); \(stale); auth0_session_transfer_token=\(other)"]
            )
            #expect(neither.status == 200 && neither.sessionCookie == nil, "\(neither.lines)")
            #expect(eventually { gateway.output.contains(#""reason":"handoff.repeated""#) })
            #expect(try gateway.get("/?session_transfer_token=\(other)").sessionCookie?.isEmpty == false)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") && !$0.text.contains("handled") })
        }
    }

    @Test("A used token that comes back after the sign-out is neither used nor reported as a replay")
    func afterSignOut() throws {
        try Gateway.withApp { gateway, _ throws in
            let cookie = "session_transfer_token=\(try gateway.transferToken())"
            let answer = try gateway.get("/hello", ["Cookie: \(cookie)"])
            let session = try #require(answer.sessionCookie)
            let mark = try #require(self.mark(answer))
            #expect(try gateway.signOut(session).status == 303)
            let next = try gateway.get("/hello", Self.page + ["Cookie: \(cookie); \(mark)"])
            #expect(next.status == 303 && next.value("location")?.contains("/.sallyport/login") == true)
            #expect(try gateway.metric(#"sallyport_transfer_tokens_total{result="replayed"}"#) == 0)
        }
    }

    @Test("Another user's token ends both sessions only once: after the next sign-in its cookie has no effect")
    func otherUser() throws {
        try Gateway.withApp { gateway, _ throws in
            let grace = try gateway.browser(.grace)
            let tossed = "session_transfer_token=\(try gateway.transferToken(.ada))"
            let ended = try gateway.get("/hello", Self.page + ["Cookie: sallyport=\(grace); \(tossed)"])
            #expect(ended.status == 303 && ended.sessionCookie == "", "\(ended.lines)")
            let again = try gateway.browser(.grace)
            for _ in 0..<2 {
                let page = try gateway.get("/hello", Self.page + ["Cookie: sallyport=\(again); \(tossed)"])
                #expect(page.status == 200 && page.sessionCookie == nil, "\(page.lines)")
            }
        }
    }

    @Test(
        "On https the mark is __Host-, Secure, HttpOnly and Lax, and lives for an hour at most; a planted name is ignored"
    )
    func attributes() throws {
        let secure = { (port: Int) in
            Config.file(upstream: port).replacing("public_url: http:", with: "public_url: https:")
                .replacing("cookie: sallyport", with: "cookie: __Host-sallyport")
        }
        try Gateway.withApp(secure) { gateway, app throws in
            let first = try gateway.get("/public/x", ["Cookie: session_transfer_token=x"])
            #expect(first.values("set-cookie").isEmpty, "no client takes tokens there")
            let refused = try gateway.get("/hello", ["Cookie: session_transfer_token=x"])
            let mark = try #require(self.mark(refused, "__Host-sallyport-handled"))
            #expect(mark.wholeMatch(of: /__Host-sallyport-handled=[A-Za-z0-9_-]{16}/) != nil)
            let line = "\(mark); Max-Age=3600; Path=/; Secure; HttpOnly; SameSite=Lax"
            #expect(refused.values("set-cookie").contains(line), "\(refused.lines)")
            let planted = mark.dropFirst("__Host-".count)
            for (cookie, isKnown) in [(mark, true), (String(planted), false), ("\(mark); \(mark)x", false)] {
                let answer = try gateway.get("/hello", ["Cookie: session_transfer_token=x; \(cookie)"])
                #expect(answer.clearedCookies.isEmpty == isKnown, "\(cookie)")
            }
            #expect(try gateway.get("/public/x", ["Cookie: a=1; \(mark)"]).status == 200)
            #expect(app.requests.last?.values("cookie") == ["a=1"])
        }
    }
}
