import Foundation
import GatewayBench
import Testing

/// Effects of a token by the route and by the browser's session.
@Suite("Handoff by route and session", .blocking) struct HandoffRouteTests {
    @Test("With handoff: false, the parameter and its cookie pass unchanged")
    func off() throws {
        let routes =
            "  - path: /**\n  - path: /off/**\n    auth: public\n    client: web\n    handoff: false\n  - path: /none/**\n    auth: public\n    handoff: false\n"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
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
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
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

    @Test("On a public route with handoff the token does not reach the app, whether it is used or not")
    func publicRoute() throws {
        let routes = "  - path: /**\n    auth: public\n    client: web\n"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
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

    @Test("A token in a place that the client does not allow is removed, not burned, and does not block another token")
    func methods() throws {
        for (methods, isCookie) in [("cookie", true), ("query", false)] {
            try Gateway.withApp({
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

    @Test("T7: another user's session and the token end each other, and the user must sign in")
    func otherUser() throws {
        try Gateway.withApp { gateway, _ throws in
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

    @Test("A copy of the cookie of a session that stays is worth nothing after the next handoff; its streams go on")
    func copiedCookie() throws {
        let isReplaced = Flag()
        let app = try FakeUpstream { link in
            while let request = link.next() {
                guard request.target == "/stream" else {
                    link.answer(body: "ok")
                    continue
                }
                link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
                _ = isReplaced.isRaised(within: 30)
                link.send("data: 2\n\n")
                _ = link.wire.receiveAll(seconds: 30)
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway in
            let stolen = try gateway.browser(.ada)
            let stream = try gateway.connect()
            stream.send(Request.get("/stream", ["Cookie: sallyport=\(stolen)"]))
            #expect(stream.receive(through: "data: 1") != nil)
            var cookies = [stolen]
            for _ in 0..<2 {
                let token = try gateway.transferToken(.ada)
                let fields = ["Cookie: sallyport=\(cookies[cookies.count - 1])"]
                let answer = try gateway.get("/hello?session_transfer_token=\(token)", fields)
                cookies.append(try #require(answer.sessionCookie, "\(answer.lines)"))
            }
            #expect(Set(cookies).count == 3)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(stolen)"]).status == 401)
            #expect(eventually { gateway.output.contains("session.token_replaced") })
            // Nor does it sign the user out.
            _ = try gateway.signOut(stolen)
            for cookie in cookies[1...] {
                #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
            }
            // It is one session, for apps and for its user.
            let ids = Set(app.requests.flatMap { $0.values("x-auth-session-id") })
            let id = try #require(ids.first)
            #expect(ids.count == 1)
            let others = try gateway.get("/sessions", ["Cookie: sallyport=\(cookies[2])"])
            #expect(others.status == 200 && !others.text.contains(id), "\(others.text)")
            isReplaced.raise()
            #expect(stream.receive(through: "data: 2") != nil)

            _ = try gateway.signOut(cookies[2])
            for cookie in cookies { #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 401) }
            _ = stream.receiveAll()
        }
    }

    @Test("The same user's longer session stays and the token is used up; a shorter session is replaced")
    func sameUser() throws {
        try Gateway.withApp { gateway, _ throws in
            for byCookie in [false, true] {
                let old = try gateway.browser(.ada)
                let token = try gateway.transferToken(.ada)
                let answer =
                    try byCookie
                    ? gateway.get("/", ["Cookie: sallyport=\(old); session_transfer_token=\(token)"])
                    : gateway.get("/?session_transfer_token=\(token)", ["Cookie: sallyport=\(old)"])
                #expect(answer.status == (byCookie ? 200 : 303), "\(answer.lines)")
                // It goes on under a new token; the former one serves what the browser had sent before.
                let new = try #require(answer.sessionCookie, "\(answer.lines)")
                #expect(!new.isEmpty && new != old)
                for cookie in [new, old] {
                    #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
                }
                #expect(try gateway.get("/?session_transfer_token=\(token)").sessionCookie == nil, "used up")
            }
            #expect(eventually { gateway.output.contains(#""session_stays":"true""#) })
        }
        let short = "session: {cookie: sallyport, idle: 1m, absolute: 1m}"
        try Gateway.withApp({
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
}
