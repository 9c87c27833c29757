import Foundation
import GatewayBench
import Testing

/// From native app to browser (DESIGN 3; systems.md T1 to T9).
@Suite("Handoff", .blocking) struct HandoffTests {
    private func with(
        _ settings: (Int) -> String,
        files: [String: String] = [:],
        _ body: (Gateway, FakeUpstream) throws -> Void
    ) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(settings(app.port), files: files) { try body($0, app) }
    }

    private func with(_ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try self.with({ Config.file(upstream: $0) }, body)
    }

    @Test("By query: a new session, and a redirect to the same URL byte for byte without the token (T2)")
    func query() throws {
        try self.with { gateway, app throws in
            let native = try gateway.native()
            for (before, after, rest) in [
                ("/hello?a=1&", "", "/hello?a=1"), ("/hello?", "&b=%2F..%2f&&c", "/hello?b=%2F..%2f&&c"),
                ("/hello?", "", "/hello"),
                ("/hello?SAMLRequest=fZ%2B%3d&", "&Signature=a%2bB", "/hello?SAMLRequest=fZ%2B%3d&Signature=a%2bB"),
                ("//hello//?", "&x", "//hello//?x"),
            ] {
                let token = try gateway.mint(native)
                let answer = try gateway.get("\(before)session_transfer_token=\(token)\(after)")
                #expect(answer.status == 303 && answer.value("location") == Request.origin + rest, "\(answer.lines)")
                #expect(answer.value("cache-control") == "no-store" && answer.value("referrer-policy") == "no-referrer")
                let cookie = try #require(answer.sessionCookie)
                #expect(
                    answer.values("set-cookie").contains {
                        $0.contains("HttpOnly") && $0.contains("SameSite=Lax") && $0.contains("Path=/")
                    }
                )
                #expect(try gateway.get(rest, ["Cookie: sallyport=\(cookie)"]).status == 200)
                #expect(app.requests.last?.values("x-auth-origin") == ["transfer"] && app.requests.last?.target == rest)
            }
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test(
        "By cookie: the session begins, the cookie goes, and the app never sees it",
        arguments: [
            "auth0_session_transfer_token", "session_transfer_token",
        ]
    )
    func cookie(name: String) throws {
        try self.with { gateway, app throws in
            let token = try gateway.transferToken()
            let answer = try gateway.get("/hello", ["Cookie: a=1; \(name)=\(token); b=2"])
            let cookie = try #require(answer.sessionCookie)
            #expect(answer.clearedCookies.contains(name), "\(answer.lines)")
            if answer.status == 303 { #expect(answer.value("location") == "\(Request.origin)/hello") }
            let next = try gateway.get("/hello", ["Cookie: a=1; sallyport=\(cookie); b=2"])
            #expect(next.status == 200 && app.requests.last?.values("x-auth-origin") == ["transfer"])
            #expect(app.requests.last?.values("cookie") == ["a=1; b=2"])
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test("The cookie beats the query, and both are gone afterwards")
    func both() throws {
        try self.with { gateway, app throws in
            let native = try gateway.native()
            let first = try gateway.mint(native)
            let second = try gateway.mint(native)
            let answer = try gateway.get(
                "/hello?session_transfer_token=\(second)",
                ["Cookie: session_transfer_token=\(first)"]
            )
            #expect(answer.sessionCookie?.isEmpty == false && answer.value("location") == "\(Request.origin)/hello")
            // The one in the query was not used.
            #expect(try gateway.get("/hello?session_transfer_token=\(second)").sessionCookie?.isEmpty == false)
            #expect(try gateway.get("/hello?session_transfer_token=\(first)").sessionCookie == nil)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test("T3: HEAD, prefetch, preview and subresources burn nothing, and the app never sees the token")
    func prefetch() throws {
        try self.with { gateway, app throws in
            let token = try gateway.transferToken()
            let target = "/hello?session_transfer_token=\(token)"
            for (method, fields) in [
                ("HEAD", []), ("GET", ["Sec-Purpose: prefetch"]), ("GET", ["Purpose: prefetch"]),
                ("GET", ["X-Purpose: preview"]),
                ("GET", ["X-Moz: prefetch"]), ("GET", ["Sec-Purpose: prefetch;prerender"]),
                ("GET", ["Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"]),
                ("GET", ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"]),
                ("GET", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"]), ("HEAD", ["Accept: text/html"]),
                ("OPTIONS", []), ("POST", ["Content-Length: 0"]),
            ] {
                let answer = try gateway.request(Request.get(target, fields, method: method))
                #expect(answer.status >= 303 && answer.sessionCookie == nil, "\(method) \(fields): \(answer.lines)")
                #expect(!String(latin1: answer.head).contains("spt_"), "the token goes on: \(answer.lines)")
                let byCookie = try gateway.request(
                    Request.get("/hello", fields + ["Cookie: session_transfer_token=\(token)"], method: method)
                )
                #expect(
                    byCookie.status >= 303 && byCookie.sessionCookie == nil,
                    "\(method) \(fields): \(byCookie.lines)"
                )
            }
            let answer = try gateway.get(
                target,
                ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none"]
            )
            #expect(answer.status == 303 && answer.sessionCookie?.isEmpty == false)
            #expect(app.requests.isEmpty)
        }
    }

    @Test("T7: a link on another site signs nobody in, and burns nothing")
    func crossSite() throws {
        try self.with { gateway, _ throws in
            let token = try gateway.transferToken()
            let target = "/hello?a=1&session_transfer_token=\(token)"
            let fields = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
            let answer = try gateway.get(target, fields)
            #expect(answer.sessionCookie == nil && answer.status == 303)
            #expect(
                answer.value("location") == "\(Request.origin)/hello?a=1",
                "the token leaves the address in any case"
            )
            #expect(try gateway.get(target).sessionCookie?.isEmpty == false)
        }
    }

    @Test("A parameter that stands twice is refused, and burns nothing (peers C1 #13)")
    func repeated() throws {
        try self.with { gateway, app throws in
            let native = try gateway.native()
            let first = try gateway.mint(native)
            let second = try gateway.mint(native)
            for target in [
                "/?session_transfer_token=\(first)&session_transfer_token=\(second)",
                "/?session_transfer_token=\(first)&a&session_transfer_token=\(first)",
                "/?session_transfer_token=\(first)&session%5Ftransfer_token=\(second)",
            ] {
                let answer = try gateway.get(target)
                #expect(answer.sessionCookie == nil && answer.status != 200, "\(answer.lines)")
                #expect(answer.value("location")?.contains("spt_") != true)
            }
            #expect(app.requests.isEmpty)
            #expect(try gateway.get("/?session_transfer_token=\(first)").sessionCookie?.isEmpty == false)
        }
    }

    @Test("T9: two transfer cookies of different value are not used, and both are cleared")
    func twoCookies() throws {
        try self.with { gateway, _ throws in
            let token = try gateway.transferToken()
            let answer = try gateway.get(
                "/",
                ["Cookie: session_transfer_token=\(token); session_transfer_token=tossed"]
            )
            #expect(answer.status == 401 && answer.sessionCookie == nil)
            #expect(answer.clearedCookies.contains("session_transfer_token"))
            #expect(
                try gateway.get("/?session_transfer_token=\(token)").sessionCookie?.isEmpty == false,
                "nothing was burned"
            )
        }
    }

    @Test("T5: whoever replays a token is not signed in, and the first session lives on")
    func replay() throws {
        try self.with { gateway, _ throws in
            let token = try gateway.transferToken()
            let cookie = try #require(try gateway.get("/?session_transfer_token=\(token)").sessionCookie)
            for from in [nil, "127.0.0.2"] {
                let query = try gateway.get("/?session_transfer_token=\(token)", from: from)
                #expect(
                    query.status == 303 && query.sessionCookie == nil && query.value("location") == "\(Request.origin)/"
                )
                let byCookie = try gateway.get("/", ["Cookie: session_transfer_token=\(token)"], from: from)
                #expect(byCookie.status == 401 && byCookie.sessionCookie == nil, "\(byCookie.lines)")
                #expect(byCookie.clearedCookies.contains("session_transfer_token"))
            }
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
            #expect(eventually { gateway.output.contains("handoff.replayed") })
        }
    }

    @Test("T6: the browser that was signed in repeats its navigation and keeps its session")
    func reload() throws {
        try self.with { gateway, app throws in
            let token = try gateway.transferToken()
            let target = "/hello?session_transfer_token=\(token)"
            let cookie = try #require(try gateway.get(target).sessionCookie)
            let answer = try gateway.get(target, ["Cookie: sallyport=\(cookie)"])
            #expect(answer.status == 303 && answer.value("location") == "\(Request.origin)/hello")
            #expect(answer.sessionCookie == nil || answer.sessionCookie == cookie)
            #expect(try gateway.get("/hello", ["Cookie: sallyport=\(cookie)"]).status == 200)
            #expect(app.requests.count == 1)
        }
    }

    @Test("T4: of many browsers that race for one token exactly one is signed in")
    func race() throws {
        try self.with({ Config.file(upstream: $0, loops: 2) }) { gateway, _ throws in
            let native = try gateway.native()
            for _ in 0..<10 {
                let token = try gateway.mint(native)
                let wires = try (0..<16).map { _ in try gateway.connect() }
                let text = Request.get("/?session_transfer_token=\(token)")
                for wire in wires { wire.send(text) }
                let cookies = try wires.compactMap { try $0.answer().sessionCookie }.filter { !$0.isEmpty }
                #expect(cookies.count == 1)
            }
        }
    }

    @Test("T7: another user's session and the token end each other, and login follows")
    func otherUser() throws {
        try self.with { gateway, _ throws in
            for byCookie in [false, true] {
                let grace = try gateway.browser(.grace)
                let token = try gateway.transferToken(.ada)
                let answer =
                    try byCookie
                    ? gateway.get("/", ["Cookie: sallyport=\(grace); session_transfer_token=\(token)"])
                    : gateway.get("/?session_transfer_token=\(token)", ["Cookie: sallyport=\(grace)"])
                #expect(answer.sessionCookie == "", "\(answer.lines)")
                #expect(byCookie ? answer.status == 401 : answer.status == 303)
                #expect(try gateway.get("/", ["Cookie: sallyport=\(grace)"]).status == 401)
                #expect(try gateway.get("/?session_transfer_token=\(token)").sessionCookie == nil)
            }
        }
    }

    @Test("The same user's longer session stays when a token is used up, a shorter one is replaced")
    func sameUser() throws {
        try self.with { gateway, _ throws in
            for byCookie in [false, true] {
                let old = try gateway.browser(.ada)
                let token = try gateway.transferToken(.ada)
                let answer =
                    try byCookie
                    ? gateway.get("/", ["Cookie: sallyport=\(old); session_transfer_token=\(token)"])
                    : gateway.get("/?session_transfer_token=\(token)", ["Cookie: sallyport=\(old)"])
                #expect(answer.sessionCookie == nil && answer.status == (byCookie ? 200 : 303), "\(answer.lines)")
                #expect(try gateway.get("/", ["Cookie: sallyport=\(old)"]).status == 200)
                #expect(try gateway.get("/?session_transfer_token=\(token)").sessionCookie == nil, "used up")
            }
            #expect(eventually { gateway.output.contains(#""session_stays":"true""#) })
        }
        let short = "session: {cookie: sallyport, idle: 1m, absolute: 1m}"
        try self.with({
            Config.file(upstream: $0).replacing("session:\n  cookie: sallyport", with: short)
        }) { gateway, _ throws in
            let old = try gateway.browser(.ada)
            let token = try gateway.transferToken(.ada)
            let answer = try gateway.get("/?session_transfer_token=\(token)", ["Cookie: sallyport=\(old)"])
            let new = try #require(answer.sessionCookie)
            #expect(!new.isEmpty && new != old)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(old)"]).status == 401)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(new)"]).status == 200)
        }
    }

    @Test("With handoff off, said so, the parameter and its cookie pass untouched")
    func off() throws {
        let routes =
            "  - path: /**\n  - path: /off/**\n    auth: public\n    client: web\n    handoff: false\n  - path: /none/**\n    auth: public\n    handoff: false\n"
        try self.with({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
            for path in ["/off/x", "/none/x"] {
                let target = "\(path)?a&session_transfer_token=theirs&session_transfer_token=b"
                #expect(
                    try gateway.get(
                        target,
                        ["Cookie: a=1; session_transfer_token=theirs; auth0_session_transfer_token=x"]
                    ).status == 200
                )
                #expect(app.requests.last?.target == target)
                #expect(
                    app.requests.last?.values("cookie") == [
                        "a=1; session_transfer_token=theirs; auth0_session_transfer_token=x"
                    ]
                )
            }
        }
    }

    @Test("On a route without a client the token reaches the app neither by cookie nor by query nor by Referer")
    func noClient() throws {
        let routes = "  - path: /**\n    client: web\n  - path: /assets/**\n    auth: public\n"
        try self.with({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
            let token = try gateway.transferToken()
            let answer = try gateway.get(
                "/assets/x?a=1&session_transfer_token=\(token)",
                [
                    "Cookie: a=1; session_transfer_token=\(token); auth0_session_transfer_token=\(token)",
                    "Referer: \(Request.origin)/?session_transfer_token=\(token)",
                ]
            )
            #expect(answer.status == 200 && answer.values("set-cookie").isEmpty)
            #expect(app.requests.last?.target == "/assets/x?a=1" && app.requests.last?.values("cookie") == ["a=1"])
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
            #expect(
                try gateway.get("/?session_transfer_token=\(token)").sessionCookie?.isEmpty == false,
                "it is unused"
            )
        }
    }

    @Test("On a public route with handoff the token does not reach the app, used or not")
    func publicRoute() throws {
        let routes = "  - path: /**\n    auth: public\n    client: web\n"
        try self.with({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
            let token = try gateway.transferToken()
            #expect(try gateway.get("/x?session_transfer_token=\(token)", ["Sec-Fetch-Mode: cors"]).status == 200)
            #expect(app.requests.last?.target == "/x")
            _ = try gateway.request(
                Request.get(
                    "/y?session_transfer_token=\(token)&a",
                    ["Cookie: session_transfer_token=\(token); b=c"],
                    method: "HEAD"
                )
            )
            #expect(app.requests.last?.target == "/y?a" && app.requests.last?.values("cookie") == ["b=c"])
            let refused = try gateway.get("/z", ["Cookie: session_transfer_token=unknown; b=c"])
            #expect(refused.status == 200 && refused.clearedCookies.contains("session_transfer_token"))
            #expect(app.requests.last?.values("cookie") == ["b=c"])
        }
    }

    @Test("A token in a place where the client takes none is removed, not burned, and does not stand in another's way")
    func methods() throws {
        for (methods, isCookie) in [("cookie", true), ("query", false)] {
            try self.with({
                Config.file(upstream: $0, clients: Config.clients(methods: methods))
            }) { gateway, app throws in
                func get(byCookie: Bool, _ token: String, and other: String? = nil) throws -> Answer {
                    let query = byCookie ? other : token
                    let cookie = byCookie ? token : other
                    return try gateway.get(
                        "/hello" + (query.map { "?session_transfer_token=\($0)" } ?? ""),
                        cookie.map { ["Cookie: session_transfer_token=\($0)"] } ?? []
                    )
                }
                let native = try gateway.native()
                let token = try gateway.mint(native)
                let misplaced = try get(byCookie: !isCookie, token)
                #expect(misplaced.sessionCookie == nil && misplaced.status == (isCookie ? 303 : 401))
                #expect(misplaced.clearedCookies.contains("session_transfer_token") == !isCookie)
                #expect(eventually { gateway.output.contains("handoff.method_not_allowed") })
                #expect(try get(byCookie: isCookie, token).sessionCookie?.isEmpty == false, "it was not burned")

                let good = try gateway.mint(native)
                let stray = try gateway.mint(native)
                let both = try get(byCookie: isCookie, good, and: stray)
                #expect(both.sessionCookie?.isEmpty == false, "\(both.lines)")
                #expect(both.status == 303 && both.value("location") == "\(Request.origin)/hello")
                #expect(try get(byCookie: isCookie, stray).sessionCookie?.isEmpty == false, "nor was the stray one")
                #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
            }
        }
    }

    @Test("T23: a session born of a transfer mints no token")
    func nested() throws {
        try self.with { gateway, _ throws in
            let token = try gateway.transferToken()
            let cookie = try #require(try gateway.get("/?session_transfer_token=\(token)").sessionCookie)
            let answer = try gateway.exchange(cookie)
            #expect(answer.status >= 400 && answer.text.contains("unauthorized_client"), "\(answer.text)")
        }
    }

    @Test("T32: odd tokens are refused like unknown ones, and never redirect twice to the same URL")
    func odd() throws {
        try self.with { gateway, app throws in
            for token in [
                "x", "", "%00", "spt_%41", "a+b", "%ff%fe", String(repeating: "a", count: 6000),
                "spt_" + String(repeating: "A", count: 55),
            ] {
                let query = try gateway.get("/hello?session_transfer_token=\(token)")
                #expect(
                    query.status == 303 && query.value("location") == "\(Request.origin)/hello",
                    "\(token.prefix(20)): \(query.lines)"
                )
                #expect(query.sessionCookie == nil)
            }
            for token in ["x", "\"x\"", "%00", String(repeating: "a", count: 6000)] {
                let answer = try gateway.get(
                    "/hello",
                    ["Cookie: session_transfer_token=\(token)", "Accept: text/html"]
                )
                #expect(
                    answer.status == 303
                        && answer.value("location")?.hasPrefix("\(Request.origin)/.sallyport/login") == true,
                    "\(answer.lines)"
                )
                #expect(answer.clearedCookies.contains("session_transfer_token"))
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("The native session's sign-out ends the web sessions that were born of it, and its tokens")
    func lineage() throws {
        try self.with { gateway, _ throws in
            let native = try gateway.native()
            let cookie = try #require(
                try gateway.get("/?session_transfer_token=\(try gateway.mint(native))").sessionCookie
            )
            let unused = try gateway.mint(native)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
            let body = #"{"session_token":"\#(native)"}"#
            let answer = try gateway.request(
                Request.get(
                    "/self-service/logout/api",
                    ["Content-Type: application/json"],
                    method: "DELETE",
                    body: body
                )
            )
            #expect(answer.status == 204)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 401)
            #expect(try gateway.get("/", ["Authorization: Bearer \(native)"]).status == 401)
            #expect(try gateway.get("/?session_transfer_token=\(unused)").sessionCookie == nil)
        }
    }
}
