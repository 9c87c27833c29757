import GatewayBench
import Testing

/// nginx asks again whenever it goes on to another location, and says what the client asked for at first.
@Suite("Checks that nginx repeats", .blocking) struct RepeatedCheckTests {
    @Test("A page that is replaced by another one is judged twice, and the browser gets the cookies of one answer")
    func internalRedirect() throws {
        try ProxyBench.with(.nginx) { bench in
            let allowed = #"sallyport_authz_checks_total{dialect="auth-request",result="allowed"}"#
            let cookie = try bench.session()
            let before = try bench.gateway.metric(allowed)
            let plain = try bench.ask("/again/missing", .navigation, [cookie])
            #expect(plain.status == 200, "\(plain.lines)")
            #expect(try bench.gateway.metric(allowed) == before + 2)
            let got = bench.app.requests.suffix(2)
            #expect(got.map(\.target) == ["/again/missing", "/again/instead"])
            #expect(got.allSatisfy { $0.values("x-auth-subject") == [User.ada.id] })

            // A stale token in a cookie is dealt with by both checks alike.
            let native = try bench.gateway.native(.grace, from: ProxyBench.home)
            let used = try bench.gateway.mint(native, from: ProxyBench.home)
            #expect(try bench.ask("/page?session_transfer_token=\(used)", .navigation).sessionCookie != nil)
            let stale = try bench.ask("/again/missing", .navigation, ["\(cookie); session_transfer_token=\(used)"])
            #expect(stale.status == 200 && stale.sessionCookie == nil, "\(stale.lines)")
            #expect(stale.clearedCookies.contains("session_transfer_token"), "\(stale.lines)")
            let set = stale.values("set-cookie").filter { !$0.contains("Domain=") }.map { $0.prefix { $0 != "=" } }
            #expect(Set(set).count == set.count, "\(stale.lines)")
            #expect(bench.app.requests.last?.values("x-auth-subject") == [User.ada.id])

            // A good one is spent by the first check, and signs the browser in before the app is asked.
            for where_ in ["query", "cookie"] {
                let token = try bench.gateway.mint(native, from: ProxyBench.home)
                let count = bench.app.requests.count
                let answer =
                    where_ == "query"
                    ? try bench.ask("/again/missing?session_transfer_token=\(token)", .navigation)
                    : try bench.ask("/again/missing", .navigation, ["Cookie: session_transfer_token=\(token)"])
                let session = try #require(answer.sessionCookie, "\(where_): \(answer.lines)")
                #expect(
                    bench.app.requests.dropFirst(count).allSatisfy { $0.values("x-auth-subject") == [User.grace.id] }
                )
                let next = try bench.ask("/again/missing", .navigation, ["Cookie: sallyport=\(session)"])
                #expect(next.status == 200 && bench.app.requests.last?.values("x-auth-origin") == ["transfer"])
            }
            // Nobody is let through by the second of two checks.
            let count = bench.app.requests.count
            for kind in [Kind.navigation, .fetch, .post, .socket] {
                #expect([303, 401].contains(try bench.ask("/again/missing", kind).status))
            }
            #expect(bench.app.requests.count == count)
        }
    }
}
