import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Every kind of request with every kind of credential, through each proxy to an app.
@Suite("Behind another proxy", .blocking) struct ProxyMatrixTests {
    @Test(
        "Each request gets what it gets at the gateway itself, as far as the proxy can pass it on",
        arguments: Proxy.allCases
    )
    func matrix(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy) { bench in
            try self.good(bench)
            try self.absent(bench)
            try self.forbidden(bench)
            try self.handoff(bench)
            try self.refusedHandoff(bench)
            try self.spoofs(bench)
            try self.operation(bench)
            try self.outage(bench)
        }
    }

    @Test("The app gets the signed assertion, and none that a client made", arguments: Proxy.allCases)
    func assertion(_ proxy: Proxy) throws {
        try ProxyBench.with(proxy, more: "identity: {assertion: {enabled: true}}") { bench in
            let forged = "X-Auth-Assertion: forged"
            let answer = try bench.ask("/page", .fetch, [try bench.session(), forged])
            #expect(answer.status == 200, "\(answer.lines)")
            let got = try #require(bench.app.requests.last)
            let parts = got.values("x-auth-assertion").flatMap { $0.split(separator: ".") }
            #expect(parts.count == 3, "\(got.lines)")
            let padded = parts[1].replacing("-", with: "+").replacing("_", with: "/")
            let length = (padded.count + 3) / 4 * 4
            let claims = try #require(
                Data(base64Encoded: padded.padding(toLength: length, withPad: "=", startingAt: 0))
            )
            let text = String(decoding: claims, as: UTF8.self).replacing("\\/", with: "/")
            #expect(text.contains("\"\(User.ada.id)\"") && text.contains("\"\(Request.origin)\""), "\(text)")
            #expect(try bench.ask("/public/x", .fetch, [forged]).status == 200)
            #expect(bench.app.requests.last?.text.contains("forged") == false)
        }
    }

    /// A signed-in user: the app gets identity, body and bytes, and nothing that the client made up.
    private func good(_ bench: ProxyBench) throws {
        let cookie = try bench.session()
        let madeUp = [
            "X-Auth-Subject: root", "X-Auth-Email: root@example.com", "X-Auth-Actor: root", "X_Auth_Subject: root",
            "x-auth-groups: root",
        ]
        for kind in [Kind.navigation, .fetch, .post] {
            let answer = try bench.ask("/page/a%20b?x=1&y=%2F", kind, [cookie] + madeUp)
            #expect(answer.status == 200, "\(kind): \(answer.lines)")
            #expect(answer.values("set-cookie") == ["app=1; Path=/"], "\(kind): \(answer.lines)")
            let got = try #require(bench.app.requests.last)
            #expect(got.target == "/page/a%20b?x=1&y=%2F", "\(kind): \(got.lines)")
            #expect(got.values("x-auth-subject") == [User.ada.id], "\(kind): \(got.lines)")
            #expect(got.values("x-auth-email") == [User.ada.identifier])
            #expect(got.values("x-auth-groups") == ["staff,admins"] || got.values("x-auth-groups") == ["staff, admins"])
            #expect(!got.text.contains("root"), "\(kind): \(got.lines)")
            #expect(kind != .post || got.body == Array("of the client".utf8))
            if bench.proxy == .envoy { #expect(got.values("cookie").isEmpty, "\(got.lines)") }
        }
        let head = try bench.connect().request(Request.get("/page", [cookie], method: "HEAD"))
        #expect(head.status == 200, "\(head.lines)")
        let count = bench.app.requests.count
        let wire = try bench.connect()
        let upgraded = try wire.request(Kind.socket.request("/socket", [cookie] + madeUp))
        #expect(upgraded.status == 101, "\(upgraded.lines)")
        wire.send("through the tunnel")
        #expect(wire.receive(count: 18).map { String(latin1: $0) } == "through the tunnel")
        wire.close()
        #expect(bench.app.requests.count == count + 1)
        #expect(bench.app.requests.last?.values("x-auth-subject") == [User.ada.id])
        // Another site's page has the user's cookie, and no right to use it.
        for fields in [["Origin: https://evil.example"], ["Sec-Fetch-Site: cross-site"]] {
            let request = Kind.socket.request("/socket", [cookie] + fields)
                .replacing("Origin: \(Request.origin)\r\n", with: "")
            #expect(try bench.connect().request(request).status == 403, "\(fields)")
        }
    }

    /// Nobody, and a session that has ended.
    private func absent(_ bench: ProxyBench) throws {
        let ended = try bench.session(.grace)
        let signOut = Request.post(
            "/.sallyport/logout",
            [ended, "Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
            body: "return_to=/public/"
        )
        #expect(try bench.connect().request(signOut).status == 303)
        let count = bench.app.requests.count
        for credential in [[], [ended], ["Cookie: sallyport=x"], ["Authorization: Bearer x"]] {
            try self.expectSignIn(bench, "/page?x=1", credential)
        }
        #expect(bench.app.requests.count == count, "\(bench.app.requests.suffix(2).map(\.lines))")

        // A public path lets everybody through, and the app sees nobody.
        for kind in [Kind.navigation, .fetch, .post] {
            let answer = try bench.ask("/public/x", kind, ["X-Auth-Subject: root", "X-Auth-Email: root"])
            #expect(answer.status == 200, "\(kind): \(answer.lines)")
            let got = try #require(bench.app.requests.last)
            let identity = got.lines.filter { $0.lowercased().hasPrefix("x-auth-") }
            #expect(identity.allSatisfy { $0.hasSuffix(":") || $0.hasSuffix(": ") }, "\(got.lines)")
        }
        self.expectPreflight(bench, try bench.ask("/page", .preflight))
    }

    /// That nobody is signed in with this credential.
    private func expectSignIn(
        _ bench: ProxyBench,
        _ target: String,
        _ fields: [String],
        from source: String = ProxyBench.home,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let login = "\(Request.origin)/.sallyport/login?return_to="
        let navigation = try bench.ask(target, .navigation, fields, from: source)
        if fields.first?.hasPrefix("Authorization") == true {
            #expect([303, 401].contains(navigation.status), "\(navigation.lines)", sourceLocation: sourceLocation)
        } else {
            #expect(
                navigation.status == 303 && navigation.value("location")?.hasPrefix(login) == true,
                "\(fields): \(navigation.lines)",
                sourceLocation: sourceLocation
            )
            #expect(navigation.values("www-authenticate").isEmpty, sourceLocation: sourceLocation)
        }
        for kind in [Kind.fetch, .post, .socket] {
            let answer = try bench.ask(target, kind, fields, from: source)
            #expect(
                answer.status == 401 && answer.value("www-authenticate") != nil && answer.values("location").isEmpty,
                "\(kind) \(fields): \(answer.lines)",
                sourceLocation: sourceLocation
            )
            #expect(answer.value("x-sallyport-reason") != nil, "\(answer.lines)", sourceLocation: sourceLocation)
            #expect(answer.value("cache-control") == "no-store", sourceLocation: sourceLocation)
        }
    }

    private func expectPreflight(_ bench: ProxyBench, _ answer: Answer) {
        if bench.proxy.answersPreflights {
            #expect(answer.status == 204, "\(answer.lines)")
            #expect(answer.value("access-control-allow-origin") == "https://static.example.com", "\(answer.lines)")
        } else {
            #expect([401, 403].contains(answer.status), "\(answer.lines)")
        }
        #expect(bench.app.requests.allSatisfy { $0.method != "OPTIONS" })
    }

    private func forbidden(_ bench: ProxyBench) throws {
        let cookie = try bench.session(.grace)
        let count = bench.app.requests.count
        for kind in [Kind.navigation, .fetch, .post, .socket] {
            let answer = try bench.ask("/admins/x", kind, [cookie])
            #expect(answer.status == 403 && answer.values("location").isEmpty, "\(kind): \(answer.lines)")
            #expect(answer.value("x-sallyport-reason") == "require.groups", "\(kind): \(answer.lines)")
        }
        #expect(bench.app.requests.count == count)
        #expect(try bench.ask("/admins/x", .fetch, [try bench.session(.ada)]).status == 200)

        // Who signed in too long ago may do so again.
        #expect(
            eventually {
                let answer = try? bench.ask("/fresh/x", .navigation, [cookie])
                return answer?.status == 303 && answer?.value("location")?.contains("/.sallyport/login?") == true
            }
        )
        let stale = try bench.ask("/fresh/x", .fetch, [cookie])
        #expect(stale.value("x-sallyport-reason") == "require.max_age" && stale.status != 200, "\(stale.lines)")
        for kind in [Kind.navigation, .fetch, .post, .socket] {
            let answer = try bench.ask("/strong/x", kind, [cookie])
            #expect([401, 403].contains(answer.status), "\(kind): \(answer.lines)")
            #expect(answer.value("x-sallyport-reason") == "require.aal", "\(kind): \(answer.lines)")
        }
        #expect(bench.app.requests.suffix(4).allSatisfy { !$0.target.hasPrefix("/strong/") })
        #expect(try bench.ask("/strong/x", .fetch, [try bench.session(.mary)]).status == 200)
    }

    /// From a native app to the browser, by query and by cookie.
    private func handoff(_ bench: ProxyBench) throws {
        let native = try bench.gateway.native(from: ProxyBench.home)
        func mint() throws -> String { try bench.gateway.mint(native, from: ProxyBench.home) }

        // Only a navigation uses a token.
        let token = try mint()
        let target = "/page?a=1&session_transfer_token=\(token)&b=%2F"
        let count = bench.app.requests.count
        for kind in [Kind.fetch, .post, .socket] {
            let answer = try bench.ask(target, kind)
            #expect([401, 403].contains(answer.status) && answer.sessionCookie == nil, "\(kind): \(answer.lines)")
        }
        let prefetch = try bench.ask(target, .navigation, ["Sec-Purpose: prefetch"])
        #expect(prefetch.status == 403 && prefetch.sessionCookie == nil, "\(prefetch.lines)")
        let first = try bench.ask(target, .navigation)
        #expect(first.status == 303 && first.value("location") == "\(Request.origin)/page?a=1&b=%2F", "\(first.lines)")
        #expect(bench.app.requests.count == count, "the app got a token")
        try self.expectTransfer(bench, first)

        for name in ["session_transfer_token", "auth0_session_transfer_token"] {
            let answer = try bench.ask("/page?a=1", .navigation, ["Cookie: \(name)=\(try mint())"])
            #expect(answer.clearedCookies.contains(name), "\(name): \(answer.lines)")
            if answer.status == 303 {
                #expect(answer.value("location") == "\(Request.origin)/page?a=1", "\(answer.lines)")
            } else {
                #expect(answer.status == 200, "\(answer.lines)")
                #expect(answer.values("set-cookie").contains("app=1; Path=/"), "\(answer.lines)")
            }
            try self.expectTransfer(bench, answer)
        }
    }

    /// That the browser is signed in from now on.
    private func expectTransfer(
        _ bench: ProxyBench,
        _ answer: Answer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let set = answer.values("set-cookie").filter { $0.hasPrefix("sallyport=") }
        #expect(set.count == 1, "\(answer.lines)", sourceLocation: sourceLocation)
        #expect(set.allSatisfy { $0.contains("HttpOnly") && $0.contains("SameSite=Lax") && $0.contains("Path=/") })
        let cookie = try #require(answer.sessionCookie, "\(answer.lines)", sourceLocation: sourceLocation)
        let next = try bench.ask("/page?a=1&b=%2F", .navigation, ["Cookie: sallyport=\(cookie)"])
        #expect(next.status == 200, "\(next.lines)", sourceLocation: sourceLocation)
        let got = try #require(bench.app.requests.last)
        #expect(got.values("x-auth-origin") == ["transfer"], "\(got.lines)", sourceLocation: sourceLocation)
        #expect(got.target == "/page?a=1&b=%2F", sourceLocation: sourceLocation)
    }

    /// Used tokens, and tokens of somebody else.
    private func refusedHandoff(_ bench: ProxyBench) throws {
        let native = try bench.gateway.native(from: ProxyBench.home)
        let used = try bench.gateway.mint(native, from: ProxyBench.home)
        let first = try bench.ask("/page?session_transfer_token=\(used)", .navigation)
        #expect(first.sessionCookie != nil, "\(first.lines)")
        let stolen = try bench.gateway.mint(native, from: ProxyBench.home)
        let count = bench.app.requests.count
        for (token, source) in [(used, ProxyBench.home), (stolen, ProxyBench.elsewhere), ("x", ProxyBench.home)] {
            let answer = try bench.ask("/page?session_transfer_token=\(token)", .navigation, from: source)
            #expect(answer.status == 303 && answer.sessionCookie == nil, "\(answer.lines)")
            #expect(answer.value("location") == "\(Request.origin)/page", "\(answer.lines)")
            let next = try bench.ask("/page", .navigation, ["Cookie: session_transfer_token=\(token)"], from: source)
            #expect(next.status == 303 && next.sessionCookie == nil, "\(next.lines)")
            #expect(next.value("location")?.contains("/.sallyport/login") == true, "\(next.lines)")
        }
        // A forged address does not help the thief.
        let second = try bench.gateway.mint(native, from: ProxyBench.home)
        let forged = ["X-Forwarded-For: \(ProxyBench.home)", "X-Real-IP: \(ProxyBench.home)"]
        let theft = try bench.ask(
            "/page?session_transfer_token=\(second)",
            .navigation,
            forged,
            from: ProxyBench.elsewhere
        )
        #expect(theft.sessionCookie == nil, "\(theft.lines)")
        // The user is signed in, whatever is in the link or the cookie.
        let cookie = try bench.session()
        let link = try bench.ask("/page?session_transfer_token=\(used)", .navigation, [cookie])
        #expect(link.status == 303 && link.value("location") == "\(Request.origin)/page", "\(link.lines)")
        #expect(bench.app.requests.count == count)
        let page = try bench.ask("/page", .navigation, [cookie + "; session_transfer_token=\(used)"])
        #expect(page.status == 200 && page.sessionCookie == nil, "\(page.lines)")
    }

    /// Access lines and metrics tell checks from requests.
    private func operation(_ bench: ProxyBench) throws {
        let marked = "/page/\(bench.proxy.rawValue)?secret=of-the-query"
        _ = try bench.ask(marked, .fetch)
        let dialect = bench.proxy.dialect.rawValue
        #expect(eventually { bench.gateway.output.contains("/page/\(bench.proxy.rawValue)") })
        let line =
            bench.gateway.output.split(separator: "\n").first { $0.contains("/page/\(bench.proxy.rawValue)") } ?? ""
        #expect(line.contains(#""authz":"\#(dialect)""#) && !line.contains("of-the-query"), "\(line)")
        #expect(line.contains("app.example.com") && line.contains(ProxyBench.home), "\(line)")
        for result in ["allowed", "redirected", "denied"] {
            let series = #"sallyport_authz_checks_total{dialect="\#(dialect)",result="\#(result)"}"#
            #expect(try bench.gateway.metric(series) > 0, "\(series)")
        }
    }

    /// Neither yes nor no while the store is out of reach.
    private func outage(_ bench: ProxyBench) throws {
        let cookie = try bench.session(.mary)
        let count = bench.app.requests.count
        bench.stopStore()
        for kind in [Kind.navigation, .fetch, .post, .socket] {
            let answer = try bench.ask("/page", kind, [cookie])
            #expect(answer.status == 503, "\(kind): \(answer.lines)")
            #expect(answer.clearedCookies.isEmpty && answer.values("location").isEmpty, "\(kind): \(answer.lines)")
            // Envoy makes an answer of its own.
            #expect(answer.value("retry-after") != nil || bench.proxy == .envoy, "\(answer.lines)")
        }
        #expect(bench.app.requests.count == count)
        #expect(try bench.ask("/public/x", .fetch).status == 200)
        let failed = #"sallyport_authz_checks_total{dialect="\#(bench.proxy.dialect.rawValue)",result="failed"}"#
        #expect(try bench.gateway.metric(failed) > 0)

        // Nobody is let through when nobody can be asked.
        bench.gateway.signal(SIGKILL)
        _ = bench.gateway.exitStatus()
        let left = bench.app.requests.count
        for kind in Kind.allCases {
            let answer = try bench.ask("/public/x", kind, [cookie])
            #expect((500..<600).contains(answer.status), "\(kind): \(answer.lines)")
        }
        #expect(bench.app.requests.count == left)
    }
}
