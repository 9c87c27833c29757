import Foundation
import GatewayBench
import Testing

/// Tokens in links: from which sites, on which hosts, and where they do not go.
@Suite("Handoff links", .blocking) struct HandoffLinkTests {
    /// The audit events of a refused token.
    private func refusals(_ gateway: Gateway, _ reason: String) -> [Substring] {
        gateway.output.split(separator: "\n").filter {
            $0.contains(#""event":"transfer_token.rejected""#) && $0.contains(#""reason":"\#(reason)""#)
        }
    }

    @Test("A token in a link on another site is used when the user confirms it, and not before")
    func confirmed() throws {
        try Gateway.withApp { gateway, app throws in
            let token = try gateway.transferToken()
            let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
            let foreign = navigation + ["Sec-Fetch-Site: cross-site"]
            let link = try gateway.get("/hello?a=1&session_transfer_token=\(token)", foreign)
            #expect(link.status == 303 && link.value("location") == "\(Request.origin)/.sallyport/handoff")
            let cookie = try #require(link.values("set-cookie").first { $0.hasPrefix("sallyport-handoff=") })
            #expect(!link.text.contains(token) && !cookie.contains(token))
            let jar = "Cookie: \(cookie.prefix { $0 != ";" })"

            let page = try gateway.get("/.sallyport/handoff", foreign + [jar])
            #expect(page.status == 200 && page.text.contains("ada@example.com") && page.sessionCookie == nil)
            let proof = try #require(page.text.firstMatch(of: /name="proof" value="([^"]+)"/)).1
            let own = navigation + ["Sec-Fetch-Site: same-origin", "Origin: \(Request.origin)"]
            let form = [jar, "Content-Type: application/x-www-form-urlencoded"]
            let body = "proof=\(proof)"
            let stranger = try gateway.request(Request.post("/.sallyport/handoff", foreign + form, body: body))
            #expect(stranger.status == 403)
            let answer = try gateway.request(Request.post("/.sallyport/handoff", own + form, body: body))
            #expect(answer.status == 303 && answer.value("location") == "\(Request.origin)/hello?a=1")
            let moved = try #require(answer.values("set-cookie").first { $0.hasPrefix("sallyport-attempt=") })

            let signedIn = try gateway.get("/hello?a=1", own + ["Cookie: \(moved.prefix { $0 != ";" })"])
            let session = try #require(signedIn.sessionCookie)
            #expect(signedIn.status == 303 && signedIn.value("location") == "\(Request.origin)/hello?a=1")
            #expect(try gateway.get("/hello?a=1", navigation + ["Cookie: sallyport=\(session)"]).status == 200)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") && !$0.text.contains("sallyport-") })
            #expect(try gateway.get("/.sallyport/handoff", ["Cookie: sallyport=\(session)"]).status == 303)
            // The audit stream tells the link from an app's own handoff.
            _ = try gateway.get("/hello?session_transfer_token=\(try gateway.transferToken())", navigation)
            func events(_ kind: String) -> [Substring] {
                gateway.output.split(separator: "\n").filter { $0.contains(#""event":"\#(kind)""#) }
            }
            #expect(eventually { events("transfer_token.consumed").count == 2 })
            #expect(events("transfer_token.asked").map { $0.contains(#""reason":"handoff.cross_site""#) } == [true])
            #expect(events("transfer_token.consumed").map { $0.contains(#""confirmed":"true""#) } == [true, false])
        }
    }

    @Test(
        "T10: a token for another account than the browser used last is used when the user confirms it, and not before",
        arguments: ["query", "cookie"]
    )
    func otherAccount(transport: String) throws {
        // The client takes tokens only where this one is.
        let clients = Config.clients(methods: transport)
        try Gateway.withApp({ Config.file(upstream: $0, clients: clients) }) { gateway, app throws in
            let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
            // Grace has signed in, and out again.
            let form = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"]
            let credentials = "identifier=\(User.grace.identifier)&password=\(User.grace.password)&return_to=/"
            let own = try gateway.request(Request.post("/.sallyport/login", form, body: credentials))
            let account = try #require(own.values("set-cookie").first { $0.hasPrefix("sallyport-account=") })
            #expect(account.contains("; Max-Age=") && account.contains("; HttpOnly") && !account.contains("user-"))
            _ = try gateway.signOut(try #require(own.sessionCookie))
            let mark = String(account.prefix { $0 != ";" })

            func arrive(_ token: String) throws -> Answer {
                transport == "query"
                    ? try gateway.get("/hello?a=1&session_transfer_token=\(token)", navigation + ["Cookie: \(mark)"])
                    : try gateway.get(
                        "/hello?a=1",
                        navigation + ["Cookie: \(mark); session_transfer_token=\(token)"]
                    )
            }
            let same = try arrive(try gateway.transferToken(.grace))
            #expect(same.status == 303 && same.sessionCookie != nil, "her own account: \(same.lines)")

            let token = try gateway.transferToken(.ada)
            let link = try arrive(token)
            #expect(link.status == 303 && link.value("location") == "\(Request.origin)/.sallyport/handoff")
            #expect(link.sessionCookie == nil && !link.lines.joined().contains(token))
            #expect(link.clearedCookies.contains("session_transfer_token") == (transport == "cookie"))
            let waiting = try #require(link.values("set-cookie").first { $0.hasPrefix("sallyport-handoff=") })
            let jar = "Cookie: \(mark); \(waiting.prefix { $0 != ";" })"
            let page = try gateway.get("/.sallyport/handoff", navigation + [jar])
            #expect(page.status == 200 && page.text.contains(User.ada.identifier) && page.sessionCookie == nil)
            let proof = try #require(page.text.firstMatch(of: /name="proof" value="([^"]+)"/)).1
            let answer = try gateway.request(
                Request.post(
                    "/.sallyport/handoff",
                    form + navigation + ["Sec-Fetch-Site: same-origin", jar],
                    body: "proof=\(proof)"
                )
            )
            let moved = try #require(answer.values("set-cookie").first { $0.hasPrefix("sallyport-attempt=") })
            #expect(answer.status == 303 && answer.value("location") == "\(Request.origin)/hello?a=1")
            let signedIn = try gateway.get(
                "/hello?a=1",
                navigation + ["Sec-Fetch-Site: same-origin", "Cookie: \(mark); \(moved.prefix { $0 != ";" })"]
            )
            let session = try #require(signedIn.sessionCookie, "\(signedIn.lines)")
            #expect(
                signedIn.values("set-cookie").contains { $0.hasPrefix("sallyport-account=") && !$0.hasPrefix(mark) }
            )
            #expect(try gateway.get("/hello", navigation + ["Cookie: sallyport=\(session)"]).status == 200)
            #expect(app.requests.allSatisfy { !$0.text.contains("spt_") && !$0.text.contains("sallyport-") })
            #expect(eventually { gateway.output.contains(#""transport":"\#(transport)","binding""#) })
        }
    }

    @Test("A cross-site link, a repeated token and a token in the wrong place are audited with the device")
    func audited() throws {
        let clients = Config.clients(methods: "query")
        let more = "handoff: {confirm: never}"
        try Gateway.withApp({ Config.file(upstream: $0, clients: clients, more: more) }) { gateway, _ throws in
            let token = try gateway.transferToken()
            let target = "/hello?session_transfer_token=\(token)"
            _ = try gateway.get(target, ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "User-Agent: UA/1"])
            _ = try gateway.get("\(target)&session_transfer_token=x")
            _ = try gateway.get("/hello", ["Cookie: session_transfer_token=\(token)"])
            for reason in ["handoff.cross_site", "handoff.repeated", "handoff.method_not_allowed"] {
                #expect(eventually { self.refusals(gateway, reason).count == 1 }, "\(reason)")
                let line = try #require(self.refusals(gateway, reason).first)
                for part in [
                    #""code":"w""#, #""address":"127.0.0.1""#, #""client_id":"web""#, #""host":"app.example.com""#,
                ] {
                    #expect(line.contains(part), "\(line)")
                }
            }
            #expect(self.refusals(gateway, "handoff.cross_site").first?.contains("UA/1") == true)
            #expect(try gateway.get(target).sessionCookie?.isEmpty == false, "nothing was burned")
        }
    }

    @Test("A mint's event has the audience in Auth0's place, and a refused token has Auth0's message")
    func auth0Words() throws {
        try Gateway.withApp { gateway, _ throws in
            let token = try gateway.transferToken()
            _ = try gateway.get("/?session_transfer_token=\(token)", from: "127.0.0.2")
            _ = try gateway.get("/?session_transfer_token=\(token)")
            let sentence = "Single Sign-On failed: Session Transfer Token"
            for part in [
                #""code":"sertft","audience":"urn:app.example.com:session_transfer","#,
                #""code":"w","reason":"binding.ip_mismatch","description":"\#(sentence) device binding validation failed"#,
                #""code":"w","reason":"handoff.burned","description":"\#(sentence) not found or expired."#,
            ] {
                #expect(eventually { gateway.output.contains(part) }, "\(part)")
            }
        }
    }

    @Test("A token for a host with endpoints is valid on every host, a token for another host only on that host")
    func audience() throws {
        let settings = { (port: Int) in
            """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(port)
            session: {cookie: sallyport}
            hosts:
              - public_url: http://app.example.com
                endpoints: true
                routes: [{path: /**, client: web}]
              - public_url: http://wiki.example.com
                routes: [{path: /**, client: web}]
              - public_url: http://shop.example.com
                routes: [{path: /**, client: web}]
            clients:
            \(Config.clients())
            provider:
              static:
                users:
            \(Config.users)

            """
        }
        try Gateway.withApp(settings) { gateway, _ throws in
            let native = try gateway.native()
            func signsIn(_ token: String, on host: String) throws -> Bool {
                let text = Request.get("/?session_transfer_token=\(token)")
                    .replacing("Host: \(Request.host)", with: "Host: \(host)")
                let answer = try gateway.request(text)
                #expect(answer.status == 303, "\(answer.lines)")
                return answer.sessionCookie?.isEmpty == false
            }
            let hosts = ["app.example.com", "wiki.example.com", "shop.example.com"]
            for host in hosts {
                #expect(try signsIn(try gateway.mint(native, audience: "app.example.com"), on: host), "\(host)")
                let wiki = try gateway.mint(native, audience: "wiki.example.com:80")
                #expect(try signsIn(wiki, on: host) == (host == "wiki.example.com"), "\(host)")
            }
            let misplaced = try gateway.mint(native, audience: "wiki.example.com")
            #expect(try !signsIn(misplaced, on: "shop.example.com"))
            #expect(eventually { !self.refusals(gateway, "handoff.other_host").isEmpty })
            #expect(try !signsIn(misplaced, on: "wiki.example.com"), "a token in the wrong place burns")
        }
    }

    @Test("No return_to contains a token, neither in a refusal on any route nor in one that a client sends")
    func returnTo() throws {
        let routes = "  - path: /**\n    client: web\n  - path: /off/**\n    handoff: false\n  - path: /none/**\n"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, _ throws in
            let token = try gateway.transferToken()
            let nested = "/y%3Fsession_transfer_token%3D\(token)"
            let page = ["Accept: text/html"]
            for path in ["/off/x", "/none/x", "/x"] {
                for (query, kept) in [
                    ("a=1&session_transfer_token=\(token)", "a%3D1"),
                    ("session%5ftransfer_token=\(token)&a=1", "a%3D1"), ("a=1&next=\(nested)", "a%3D1"),
                ] {
                    // HEAD uses no token.
                    let answer = try gateway.request(Request.get("\(path)?\(query)", page, method: "HEAD"))
                    let login = "\(Request.origin)/.sallyport/login?return_to=\(path)%3F\(kept)"
                    #expect(answer.status == 303 && answer.value("location") == login, "\(answer.lines)")
                }
            }
            let form = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"]
            // Nobody is asked to sign out who is not signed in.
            let signedIn = ["Cookie: sallyport=\(try gateway.browser())"]
            for smuggled in [
                "/x%3Fa%3D1%26session_transfer_token%3D\(token)",
                "/x%3Fa%3D1%26n%3D/y%253Fsession_transfer_token%253Dt",
            ] {
                let signOut = try gateway.request(
                    Request.post("/.sallyport/logout", form, body: "return_to=\(smuggled)")
                )
                #expect(signOut.status == 303 && signOut.value("location") == "/x?a=1", "\(signOut.lines)")
                for path in ["login", "logout"] {
                    let shown = try gateway.get("/.sallyport/\(path)?return_to=\(smuggled)", signedIn)
                    #expect(shown.status == 200 && shown.text.contains(#"value="/x?a=1""#), "\(shown.text)")
                }
            }
        }
    }

    @Test("A Referer that contains a token reaches the app without its query, any other Referer unchanged")
    func referer() throws {
        let routes = "  - path: /**\n    auth: public\n  - path: /off/**\n    auth: public\n    handoff: false\n"
        try Gateway.withApp({ Config.file(upstream: $0, routes: routes) }) { gateway, app throws in
            let page = "\(Request.origin)/page"
            for (sent, received) in [
                ("\(page)?session_transfer_token=spt_x", page), ("\(page)?a=1&session%5Ftransfer_token=spt_x&b", page),
                ("\(page)?return_to=%2Fx%3Fsession_transfer_token%3Dspt_x", page),
                ("\(page)?next=%252Fx%253Fsession_transfer_token%253Dspt_x", page),
                ("\(page)?a=1&b=%2F", "\(page)?a=1&b=%2F"), (page, page), ("\(page)?", "\(page)?"), ("", ""),
            ] {
                let fields = ["A: 1", "Referer: \(sent)", "Cookie: sallyport=x; c=d", "B: 2"]
                #expect(try gateway.get("/x", fields).status == 200)
                let request = try #require(app.requests.last)
                #expect(request.values("referer") == [received], "\(request.lines)")
                #expect(request.values("a") == ["1"] && request.values("b") == ["2"])
                #expect(request.values("cookie") == ["c=d"])
                _ = try gateway.get("/off/x", fields)
                #expect(app.requests.last?.values("referer") == [sent], "that app reads tokens itself")
            }
            _ = try gateway.get("/x", ["referer:\(page)?session_transfer_token=spt_x", "REFERER: \(page)?a"])
            #expect(app.requests.last?.values("referer") == [page, "\(page)?a"])
        }
    }
}
