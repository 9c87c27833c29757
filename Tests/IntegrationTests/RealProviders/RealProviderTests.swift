import Foundation
import GatewayBench
import Synchronization
import Testing

/// The built binary with OpenID providers that others have made.
@Suite("Providers of others", .blocking) struct RealProviderTests {
    @Test(
        "Five variables: users sign in, arrive at the app as themselves, sign out here and there, and sign in again",
        arguments: RealProviderKind.allCases
    )
    func variables(_ kind: RealProviderKind) throws {
        try RealProviderBench.withVariables(kind) { (bench) throws in
            var user = WebUser(bench.gateway)
            let page = try user.open("\(bench.first)/reports?year=2026")
            #expect(try bench.provider.asksForPassword(&user, at: page))
            let arrival = try bench.provider.signIn(&user, at: page)
            #expect(arrival.url == "\(bench.first)/reports?year=2026" && arrival.answer.status == 200)
            self.expectHeaders(of: .ada, bench)
            let ada = bench.field("X-Auth-Subject")
            #expect(bench.app.requests.allSatisfy { !$0.text.contains("/.sallyport/") && $0.values("cookie").isEmpty })

            // The provider knows the user of this browser, whose session here is lost.
            user.jars[String(bench.first.dropFirst(7))] = nil
            #expect(try bench.open("\(bench.first)/again", &user).answer.status == 200)
            #expect(bench.app.requests.last?.target == "/again" && bench.field("X-Auth-Subject") == ada)

            let end = try bench.signOut(&user, at: bench.first)
            #expect(end.url.hasPrefix("\(bench.first)/.sallyport/signed-out") && end.answer.status == 200, "\(end.url)")
            let next = try user.open("\(bench.first)/next")
            #expect(try bench.provider.asksForPassword(&user, at: next), "\(next.url)")

            // As another user in the same browser.
            let other = try bench.provider.signIn(&user, at: next, as: .grace)
            #expect(other.url == "\(bench.first)/next" && other.answer.status == 200)
            self.expectHeaders(of: .grace, bench)
            #expect(bench.field("X-Auth-Subject") != ada)
        }
    }

    private func expectHeaders(
        of user: RealUser,
        _ bench: RealProviderBench,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let shown = bench.app.requests.last?.text ?? ""
        #expect(bench.field("X-Auth-Email") == user.email, "\(shown)", sourceLocation: sourceLocation)
        #expect(bench.field("X-Auth-Name") == user.name, sourceLocation: sourceLocation)
        #expect(bench.field("X-Auth-Subject")?.isEmpty == false, sourceLocation: sourceLocation)
        #expect(bench.field("X-Auth-Session-Id")?.hasPrefix("ses_") == true, sourceLocation: sourceLocation)
        #expect(bench.field("X-Auth-Aal") == "aal1", sourceLocation: sourceLocation)
        #expect(bench.field("X-Auth-Origin") == "browser", sourceLocation: sourceLocation)
    }

    @Test("One sign-in serves two hosts, and a sign-out on one ends both", arguments: RealProviderKind.allCases)
    func hosts(_ kind: RealProviderKind) throws {
        try RealProviderBench.with(kind) { (bench) throws in
            var user = WebUser(bench.gateway)
            let arrival = try bench.open("\(bench.second)/a?b=%2F", &user)
            #expect(arrival.url == "\(bench.second)/a?b=%2F" && arrival.answer.status == 200, "\(user.trail)")
            self.expectHeaders(of: .ada, bench)
            #expect(try user.open("\(bench.first)/c").url == "\(bench.first)/c")
            #expect(user.trail.count == 1)
            _ = try bench.signOut(&user, at: bench.second)
            for origin in [bench.first, bench.second] {
                let page = try user.open("\(origin)/d")
                #expect(try bench.provider.asksForPassword(&user, at: page), "\(page.url)")
            }
            // A sign-in on the first host is a ticket away from the second.
            #expect(try bench.open("\(bench.first)/e", &user).url == "\(bench.first)/e")
            #expect(try user.open("\(bench.second)/f").url == "\(bench.second)/f")
        }
    }

    @Test(
        "Tabs that are opened at once all sign in and arrive at their own pages",
        arguments: RealProviderKind.allCases
    )
    func tabs(_ kind: RealProviderKind) throws {
        try RealProviderBench.with(kind) { (bench) throws in
            var user = WebUser(bench.gateway)
            let urls = ["\(bench.first)/1", "\(bench.second)/2", "\(bench.first)/3"]
            let pages = try user.open(together: urls)
            #expect(pages.count == urls.count)
            for (url, page) in zip(urls, pages) {
                let arrival = try bench.provider.signIn(&user, at: page)
                #expect(arrival.url == url && arrival.answer.status == 200, "\(user.trail)")
            }
        }
    }

    @Test(
        "The provider's logout token ends the sessions of other sign-ins with it",
        arguments: RealProviderKind.allCases
    )
    func backChannel(_ kind: RealProviderKind) throws {
        try RealProviderBench.with(kind) { (bench) throws in
            var user = WebUser(bench.gateway)
            #expect(try bench.open("\(bench.first)/a", &user).answer.status == 200)
            var again = user
            again.jars[String(bench.first.dropFirst(7))] = nil
            #expect(try bench.open("\(bench.first)/b", &again).answer.status == 200)
            #expect(try bench.isSignedIn(user, at: "\(bench.first)/c"))
            // idpyoidc tells each client only of its oldest session.
            _ = try bench.signOut(&again, at: bench.first)
            #expect(eventually { (try? bench.isSignedIn(user, at: "\(bench.first)/d")) == false })
            #expect(eventually { bench.gateway.output.contains(#""detail":"back-channel""#) })
        }
    }

    @Test(
        "A gateway starts without its provider, sessions outlive its outages, and sign-in works again after them",
        arguments: RealProviderKind.allCases
    )
    func outages(_ kind: RealProviderKind) throws {
        try RealProviderBench.with(kind, isUp: false) { (bench) throws in
            var user = WebUser(bench.gateway)
            #expect(!bench.isReady)
            let refused = try user.open("\(bench.first)/a")
            #expect(refused.answer.status == 503 && refused.answer.text.contains("provider.unavailable"))
            try bench.provider.process.start()
            #expect(eventually { bench.isReady })
            #expect(try bench.open("\(bench.first)/b", &user).url == "\(bench.first)/b")

            var other = WebUser(bench.gateway)
            let callback = try bench.provider.grant(&other, at: try other.open("\(bench.first)/c"), as: .grace)
            bench.provider.process.stop()
            #expect(try user.open("\(bench.first)/d").url == "\(bench.first)/d")
            let late = try other.open(callback)
            #expect(late.answer.status == 503 && late.answer.text.contains("provider.unavailable"))

            try bench.provider.process.start()
            #expect(try user.open("\(bench.first)/e").url == "\(bench.first)/e")
            #expect(
                eventually {
                    (try? bench.open("\(bench.first)/f", &other, as: .grace).answer.status) == 200
                }
            )
            #expect(bench.field("X-Auth-Email") == RealUser.grace.email)
            #expect(try bench.isSignedIn(user, at: "\(bench.first)/g"))
        }
    }
}
