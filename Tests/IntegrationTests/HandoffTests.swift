import Foundation
import GatewayBench
import Testing

/// From native app to browser (T1 to T9).
@Suite("Handoff", .blocking) struct HandoffTests {
    @Test("By query: a new session, and a redirect to the same URL byte for byte without the token (T2)")
    func query() throws {
        try Gateway.withApp { gateway, app throws in
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
        "By cookie: the session begins, the cookie is cleared, and the app never sees it",
        arguments: [
            "auth0_session_transfer_token", "session_transfer_token",
        ]
    )
    func cookie(name: String) throws {
        try Gateway.withApp { gateway, app throws in
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

    @Test("The cookie is preferred to the query, and both are removed afterwards")
    func both() throws {
        try Gateway.withApp { gateway, app throws in
            let native = try gateway.native()
            let first = try gateway.mint(native)
            let second = try gateway.mint(native)
            let answer = try gateway.get(
                "/hello?session_transfer_token=\(second)",
                ["Cookie: session_transfer_token=\(first)"]
            )
            #expect(answer.sessionCookie?.isEmpty == false && answer.value("location") == "\(Request.origin)/hello")
            // The token in the query was not used.
            #expect(try gateway.get("/hello?session_transfer_token=\(second)").sessionCookie?.isEmpty == false)
            #expect(try gateway.get("/hello?session_transfer_token=\(first)").sessionCookie == nil)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") })
        }
    }

    @Test("T3: HEAD, prefetch, preview and subresources burn nothing, and the app never sees the token")
    func prefetch() throws {
        try Gateway.withApp { gateway, app throws in
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

    @Test("T7: a link on another site does not sign in and burns nothing")
    func crossSite() throws {
        try Gateway.withApp { gateway, _ throws in
            let token = try gateway.transferToken()
            let target = "/hello?a=1&session_transfer_token=\(token)"
            let fields = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
            let answer = try gateway.get(target, fields)
            #expect(answer.sessionCookie == nil && answer.status == 303)
            #expect(
                answer.value("location") == "\(Request.origin)/.sallyport/handoff",
                "the token leaves the address in any case"
            )
            #expect(try gateway.get(target).sessionCookie?.isEmpty == false)
        }
    }

    @Test("A repeated parameter is refused and burns nothing")
    func repeated() throws {
        try Gateway.withApp { gateway, app throws in
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

    @Test("T9: two transfer cookies with different values are not used, and both are cleared")
    func twoCookies() throws {
        try Gateway.withApp { gateway, _ throws in
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

    @Test("T5: a replay does not sign in, and the first session lives on")
    func replay() throws {
        try Gateway.withApp { gateway, _ throws in
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
        try Gateway.withApp { gateway, app throws in
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
        try Gateway.withApp({ Config.file(upstream: $0, loops: 2) }) { gateway, _ throws in
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

    @Test("T23: a session that a transfer created cannot mint a token")
    func nested() throws {
        try Gateway.withApp { gateway, _ throws in
            let token = try gateway.transferToken()
            let cookie = try #require(try gateway.get("/?session_transfer_token=\(token)").sessionCookie)
            let answer = try gateway.exchange(cookie)
            #expect(answer.status >= 400 && answer.text.contains("unauthorized_client"), "\(answer.text)")
        }
    }

    @Test("T32: odd tokens are refused like unknown ones, and never cause two redirects to the same URL")
    func odd() throws {
        try Gateway.withApp { gateway, app throws in
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

    @Test("The native session's sign-out ends its unused tokens and the web sessions that its tokens created")
    func lineage() throws {
        try Gateway.withApp { gateway, _ throws in
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
