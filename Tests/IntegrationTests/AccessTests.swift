import Foundation
import GatewayBench
import Testing

/// Which requests pass, and how the others are refused.
@Suite("Access", .blocking) struct AccessTests {
    @Test("A browser's navigation is redirected to login with its target; every other request gets 401 with a reason")
    func unauthenticated() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            for fields in [["Accept: text/html,*/*;q=0.8"], ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]] {
                let answer = try gateway.get("/hello?a=1&b=//evil", fields)
                #expect(answer.status == 303)
                #expect(
                    answer.value("location")
                        == "\(Request.origin)/.sallyport/login?return_to=/hello%3Fa%3D1%26b%3D//evil"
                )
                #expect(answer.value("cache-control") == "no-store")
            }
            for (method, fields) in [
                ("GET", []), ("GET", ["Accept: application/json"]), ("GET", ["Accept: */*"]),
                ("GET", ["Accept: text/html", "Sec-Fetch-Mode: cors"]), ("POST", ["Accept: */*"]),
                ("OPTIONS", ["Accept: text/html"]),
            ] {
                let answer = try gateway.request(Request.get("/hello", fields, method: method))
                #expect(
                    answer.status == 401 && answer.reason == "credential.missing",
                    "\(method) \(fields): \(answer.lines)"
                )
                #expect(answer.value("www-authenticate") == #"Bearer realm="sallyport""#)
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("A script that asks for HTML gets 401 and a problem document, also where its browser sends no Fetch Metadata")
    func scripts() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let html = "Accept: text/html, application/xhtml+xml"
            for field in [
                "X-Requested-With: XMLHttpRequest", "HX-Request: true", "X-PJAX: true", "Turbo-Frame: main",
                "X-Turbo-Request-Id: 1",
            ] {
                let answer = try gateway.get("/hello", [html, field])
                #expect(answer.status == 401 && answer.reason == "credential.missing", "\(field): \(answer.lines)")
                #expect(answer.value("content-type") == "application/problem+json" && answer.value("location") == nil)
            }
            let webView = try gateway.get("/hello", [html, "X-Requested-With: com.example.app"])
            #expect(webView.status == 303)
            #expect(app.requests.isEmpty)
            // The app gets these fields as they came.
            _ = try gateway.get("/public/", [html, "X-Requested-With: XMLHttpRequest", "HX-Request: true"])
            let received = try #require(app.requests.last)
            #expect(received.values("x-requested-with") == ["XMLHttpRequest"])
            #expect(received.values("hx-request") == ["true"])
        }
    }

    @Test("The login page leads back to exactly the page that was asked for, and nowhere else")
    func returnTo() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            func landing(_ target: String) throws -> String? {
                try gateway.request(
                    Request.post(
                        "/.sallyport/login",
                        ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
                        body: "identifier=ada@example.com&password=analytical-engine&return_to=\(target)"
                    )
                ).value("location")
            }
            #expect(try landing("/hello%3Fa%3D1") == "/hello?a=1")
            for evil in [
                "//evil.example", "/%5Cevil.example", "https://evil.example", "http:evil.example", "///evil.example",
                "/%09/evil.example",
                "/%0D%0ASet-Cookie:a=b", "javascript:alert(1)", "https://app.example.com@evil.example",
                "/./%5Cevil.example", "%2F%2Fevil.example",
                "/..%2F..%2F%5Cevil", "%20//evil.example", "%0B//evil.example", "/%00",
            ] {
                #expect(try landing(evil) == "/", "\(evil)")
            }
        }
    }

    @Test(
        "On optional routes no credential means anonymous, a valid one a user, and a bad explicit one 401"
    )
    func optional() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: "  - path: /**\n    auth: optional\n")) {
            gateway throws in
            let token = try gateway.native()
            let cookie = try gateway.browser()
            #expect(try gateway.get("/").status == 200)
            #expect(app.requests.last?.values("x-auth-subject") == [])
            #expect(try gateway.get("/", ["Authorization: Bearer \(token)"]).status == 200)
            #expect(app.requests.last?.values("x-auth-subject") == ["user-1815"])
            let count = app.requests.count
            let unknown = "sps_" + String(repeating: "A", count: 55)
            for field in [
                "Authorization: Bearer x", "Authorization: Bearer \(unknown)", "Authorization: Bearer",
                "X-Session-Token: x",
                "Authorization: DPoP \(token)", "X-Session-Token: \(token)x",
            ] {
                // A valid cookie in the same request does not help.
                for more in [[], ["Cookie: sallyport=\(cookie)"]] {
                    let answer = try gateway.get("/", [field] + more)
                    #expect(answer.status == 401, "\(field): \(answer.lines)")
                    let scheme = field.contains("DPoP") ? "DPoP" : "Bearer"
                    #expect(answer.value("www-authenticate")?.hasPrefix(#"\#(scheme) error="invalid_token""#) == true)
                }
            }
            #expect(app.requests.count == count)
            // With a stale cookie the request is anonymous.
            #expect(try gateway.get("/", ["Cookie: sallyport=stale"]).status == 200)
            #expect(app.requests.last?.values("x-auth-subject") == [])
        }
    }

    @Test("CVE-2022-29226, T32: a token that is not a session of this gateway gets 401")
    func garbage() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let native = try gateway.native()
            let browser = try gateway.browser()
            for token in [
                "x", "", String(repeating: "a", count: 8000), "sps_%00", native + "%20", native.lowercased(),
                String(native.dropLast()),
                native + "A", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.", "\u{e9}", "a+b", browser,
            ] {
                #expect(try gateway.get("/", ["Authorization: Bearer \(token)"]).status == 401, "\(token.prefix(80))")
            }
            for cookie in [native, browser + "x", "\"\(browser)\"", "%22\(browser)"] {
                #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 401, "\(cookie.prefix(80))")
            }
            #expect(try gateway.get("/", ["Authorization: bearer   \(native)"]).status == 200)
            #expect(app.requests.count == 1)
        }
    }

    @Test("A route's requirements are judged on every request, and a 403 says which one is not met")
    func require() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = """
              - path: /**
              - path: /aal2/**
                require: {aal: aal2}
              - path: /admins/**
                require: {groups_any: [admins, root]}
              - path: /browser/**
                require: {origin: [browser]}
              - path: /fresh/**
                require: {max_age: 2s}
            """
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let ada = "Authorization: Bearer \(try gateway.native(.ada))"
            let mary = "Authorization: Bearer \(try gateway.native(.mary))"
            let cookie = "Cookie: sallyport=\(try gateway.browser(.grace))"
            let cases = [
                ("/aal2/x", mary, nil), ("/aal2/x", ada, "require.aal"), ("/aal2/x", cookie, "require.aal"),
                ("/admins/x", ada, nil),
                ("/admins/x", cookie, "require.groups"), ("/admins/x", mary, "require.groups"),
                ("/browser/x", cookie, nil),
                ("/browser/x", ada, "require.origin"), ("/fresh/x", ada, nil), ("/fresh/x", cookie, nil),
            ]
            for (target, credential, reason) in cases {
                let answer = try gateway.get(target, [credential])
                #expect(
                    answer.status == (reason == nil ? 200 : 403) && answer.reason == reason,
                    "\(target): \(answer.lines)"
                )
            }
            sleep(3)
            #expect(try gateway.get("/fresh/x", [ada]).reason == "require.max_age")
            #expect(try gateway.get("/x", [ada]).status == 200)
        }
    }

    @Test("Two session cookies do not sign in, are cleared, and do not lock the user out")
    func twoCookies() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let cookie = try gateway.browser()
            for field in ["sallyport=\(cookie); sallyport=tossed", "sallyport=tossed; a=b; sallyport=\(cookie)"] {
                let refused = try gateway.get("/", ["Cookie: \(field)"])
                #expect(refused.status == 401 && refused.sessionCookie == "", "\(refused.lines)")
                let open = try gateway.get("/public/", ["Cookie: \(field)"])
                #expect(open.status == 200 && open.sessionCookie == "")
                #expect(app.requests.last?.values("x-auth-subject") == [])
            }
            // The same value twice counts as one cookie.
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie); sallyport=\(cookie)"]).status == 200)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200, "the session lives on")
        }
    }

    @Test("T8: a session id that a client brings is never adopted; sign-in makes a new one and ends the old session")
    func fixation() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let planted = try gateway.browser(.grace)
            let answer = try gateway.request(
                Request.post(
                    "/.sallyport/login",
                    [
                        "Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded",
                        "Cookie: sallyport=\(planted)",
                    ],
                    body: "identifier=ada@example.com&password=analytical-engine"
                )
            )
            let fresh = try #require(answer.sessionCookie)
            #expect(fresh != planted && fresh.utf8.count == 59)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(planted)"]).status == 401)
            #expect(try gateway.get("/", ["Cookie: sallyport=\(fresh)"]).status == 200)
            #expect(app.requests.last?.values("x-auth-subject") == ["user-1815"])
        }
    }

    @Test("Sign-out is seen by every loop before it is answered")
    func signOut() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, loops: 4)) { gateway throws in
            for _ in 0..<5 {
                let cookie = try gateway.browser()
                let wires = try (0..<12).map { _ in try gateway.connect() }
                let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
                for wire in wires { #expect(try wire.request(request).status == 200) }
                let answer = try gateway.signOut(cookie)
                #expect(answer.status == 303 && answer.sessionCookie == "")
                for wire in wires { #expect(try wire.request(request).status == 401) }
            }
        }
    }

    @Test("F20: If no session can be stored, sign-in gets 503 with Retry-After, and the user is not signed out")
    func storeFull() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "store:\n  memory:\n    max_sessions: 1\n"
        try Gateway.with(Config.file(upstream: app.port, more: more)) { gateway throws in
            #expect(try !gateway.admin("/readyz?verbose").text.contains("store full"))
            let cookie = try gateway.browser()
            // The users who are signed in still need this gateway.
            let readiness = try gateway.admin("/readyz?verbose")
            #expect(readiness.status == 200 && readiness.text.contains("store full: 1 sessions"), "\(readiness.text)")
            let metrics = try gateway.admin("/metrics").text
            #expect(metrics.contains(#"sallyport_store_records{kind="sessions"} 1"#))
            #expect(metrics.contains(#"sallyport_store_records_limit{kind="sessions"} 1"#))
            let flow = try gateway.get("/self-service/login/api")
            let action = flow.text.firstMatch(of: /"action":"http:\/\/[^\/]*(\/[^"]*)"/).map { String($0.1) } ?? ""
            let body = #"{"method":"password","identifier":"ada@example.com","password":"analytical-engine"}"#
            let answer = try gateway.request(Request.post(action, ["Content-Type: application/json"], body: body))
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(answer.lines)")
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
        }
    }
}
