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
        try RealWorld.withVariables(kind) { (world) throws in
            var user = WebUser(world.gateway)
            let page = try user.open("\(world.first)/reports?year=2026")
            #expect(try world.provider.asksForPassword(&user, at: page))
            let arrival = try world.provider.signIn(&user, at: page)
            #expect(arrival.url == "\(world.first)/reports?year=2026" && arrival.answer.status == 200)
            self.expectHeaders(of: .ada, world)
            let ada = world.field("X-Auth-Subject")
            #expect(world.app.requests.allSatisfy { !$0.text.contains("/.sallyport/") && $0.values("cookie").isEmpty })

            // The provider knows the user of this browser, whose session here is lost.
            user.jars[String(world.first.dropFirst(7))] = nil
            #expect(try world.open("\(world.first)/again", &user).answer.status == 200)
            #expect(world.app.requests.last?.target == "/again" && world.field("X-Auth-Subject") == ada)

            let end = try world.signOut(&user, at: world.first)
            #expect(end.url.hasPrefix("\(world.first)/.sallyport/signed-out") && end.answer.status == 200, "\(end.url)")
            let next = try user.open("\(world.first)/next")
            #expect(try world.provider.asksForPassword(&user, at: next), "\(next.url)")

            // As another user in the same browser.
            let other = try world.provider.signIn(&user, at: next, as: .grace)
            #expect(other.url == "\(world.first)/next" && other.answer.status == 200)
            self.expectHeaders(of: .grace, world)
            #expect(world.field("X-Auth-Subject") != ada)
        }
    }

    private func expectHeaders(
        of user: RealUser,
        _ world: RealWorld,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let shown = world.app.requests.last?.text ?? ""
        #expect(world.field("X-Auth-Email") == user.email, "\(shown)", sourceLocation: sourceLocation)
        #expect(world.field("X-Auth-Name") == user.name, sourceLocation: sourceLocation)
        #expect(world.field("X-Auth-Subject")?.isEmpty == false, sourceLocation: sourceLocation)
        #expect(world.field("X-Auth-Session-Id")?.hasPrefix("ses_") == true, sourceLocation: sourceLocation)
        #expect(world.field("X-Auth-Aal") == "aal1", sourceLocation: sourceLocation)
        #expect(world.field("X-Auth-Origin") == "browser", sourceLocation: sourceLocation)
    }

    @Test("One sign-in serves two hosts, and a sign-out on one ends both", arguments: RealProviderKind.allCases)
    func hosts(_ kind: RealProviderKind) throws {
        try RealWorld.with(kind) { (world) throws in
            var user = WebUser(world.gateway)
            let arrival = try world.open("\(world.second)/a?b=%2F", &user)
            #expect(arrival.url == "\(world.second)/a?b=%2F" && arrival.answer.status == 200, "\(user.trail)")
            self.expectHeaders(of: .ada, world)
            #expect(try user.open("\(world.first)/c").url == "\(world.first)/c")
            #expect(user.trail.count == 1)
            _ = try world.signOut(&user, at: world.second)
            for origin in [world.first, world.second] {
                let page = try user.open("\(origin)/d")
                #expect(try world.provider.asksForPassword(&user, at: page), "\(page.url)")
            }
            // A sign-in on the first host is a ticket away from the second.
            #expect(try world.open("\(world.first)/e", &user).url == "\(world.first)/e")
            #expect(try user.open("\(world.second)/f").url == "\(world.second)/f")
        }
    }

    @Test(
        "Tabs that are opened at once all sign in and arrive at their own pages",
        arguments: RealProviderKind.allCases
    )
    func tabs(_ kind: RealProviderKind) throws {
        try RealWorld.with(kind) { (world) throws in
            var user = WebUser(world.gateway)
            let urls = ["\(world.first)/1", "\(world.second)/2", "\(world.first)/3"]
            let pages = try user.open(together: urls)
            #expect(pages.count == urls.count)
            for (url, page) in zip(urls, pages) {
                let arrival = try world.provider.signIn(&user, at: page)
                #expect(arrival.url == url && arrival.answer.status == 200, "\(user.trail)")
            }
        }
    }

    @Test(
        "The provider's logout token ends the sessions of other sign-ins with it",
        arguments: RealProviderKind.allCases
    )
    func backChannel(_ kind: RealProviderKind) throws {
        try RealWorld.with(kind) { (world) throws in
            var user = WebUser(world.gateway)
            #expect(try world.open("\(world.first)/a", &user).answer.status == 200)
            var again = user
            again.jars[String(world.first.dropFirst(7))] = nil
            #expect(try world.open("\(world.first)/b", &again).answer.status == 200)
            #expect(try world.isSignedIn(user, at: "\(world.first)/c"))
            // idpyoidc tells each client only of its oldest session.
            _ = try world.signOut(&again, at: world.first)
            #expect(eventually { (try? world.isSignedIn(user, at: "\(world.first)/d")) == false })
            #expect(eventually { world.gateway.output.contains(#""detail":"back-channel""#) })
        }
    }

    @Test(
        "A gateway starts without its provider, sessions outlive its outages, and sign-in works again after them",
        arguments: RealProviderKind.allCases
    )
    func outages(_ kind: RealProviderKind) throws {
        try RealWorld.with(kind, isUp: false) { (world) throws in
            var user = WebUser(world.gateway)
            #expect(!world.isReady)
            let refused = try user.open("\(world.first)/a")
            #expect(refused.answer.status == 503 && refused.answer.text.contains("provider.unavailable"))
            try world.provider.process.start()
            #expect(eventually { world.isReady })
            #expect(try world.open("\(world.first)/b", &user).url == "\(world.first)/b")

            var other = WebUser(world.gateway)
            let callback = try world.provider.grant(&other, at: try other.open("\(world.first)/c"), as: .grace)
            world.provider.process.stop()
            #expect(try user.open("\(world.first)/d").url == "\(world.first)/d")
            let late = try other.open(callback)
            #expect(late.answer.status == 503 && late.answer.text.contains("provider.unavailable"))

            try world.provider.process.start()
            #expect(try user.open("\(world.first)/e").url == "\(world.first)/e")
            #expect(
                eventually {
                    (try? world.open("\(world.first)/f", &other, as: .grace).answer.status) == 200
                }
            )
            #expect(world.field("X-Auth-Email") == RealUser.grace.email)
            #expect(try world.isSignedIn(user, at: "\(world.first)/g"))
        }
    }
}
