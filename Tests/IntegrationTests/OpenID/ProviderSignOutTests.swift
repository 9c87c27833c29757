import Foundation
import GatewayBench
import OpenIDBench
import Testing

/// A sign-out that goes on at the provider, through the built binary with three hosts.
@Suite("Sign-out at an OpenID provider", .blocking) struct ProviderSignOutTests {
    private typealias Hosts = ProviderHosts

    /// The parameters of a URL.
    private func query(_ url: String?) -> [String: String] {
        let items = url.flatMap { URLComponents(string: $0)?.queryItems } ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { "\($0) and \($1)" })
    }

    @Test(
        "A sign-out on any host ends the sessions of all, leads by the provider to the page, and the next sign-in is new",
        arguments: ProviderHosts.all
    )
    func everywhere(origin: String) throws {
        try Hosts.with { (bench) throws in
            var user = try bench.signedInUser()
            let (before, session) = (user, try #require(bench.provider.sessionID))
            let answer = try user.signOut(origin, returnTo: "/public/bye?x=%2F&y")
            #expect(answer.status == 303 && answer.clearedCookies == ["sallyport"])
            #expect(bench.statuses(before) == [401], "ended before the answer")
            let location = try #require(answer.value("location"))
            #expect(
                location.hasPrefix("\(bench.provider.issuer)/logout?") && !location.contains("/bye")
                    && !location.contains("%2Fbye")
            )
            let asked = self.query(location)
            #expect(asked["client_id"] == "gateway" && asked["id_token_hint"]?.split(separator: ".").count == 3)
            #expect(asked["post_logout_redirect_uri"] == "\(Hosts.a)/.sallyport/signed-out")

            let arrived = try user.follow(answer, from: origin)
            #expect(arrived.url == "\(origin)/public/bye?x=%2F&y" && arrived.answer.status == 200, "\(user.trail)")
            #expect(user.trail.count == 3 && user.trail[1].hasPrefix("\(Hosts.a)/.sallyport/signed-out?state="))
            #expect(bench.provider.sessionID == nil)
            #expect(eventually { bench.provider.grantCount == 0 }, "the tokens are revoked")
            #expect(try user.open("\(origin)/x").url == "\(origin)/x")
            #expect(bench.provider.sessionID != session)
        }
    }

    @Test("Without a page to return to, the user stays on a page that leads to a sign-in, and is not signed in again")
    func signedOutPage() throws {
        try Hosts.with { (bench) throws in
            var user = try bench.signedInUser()
            let arrived = try user.follow(try user.signOut(Hosts.b), from: Hosts.b)
            #expect(arrived.url.hasPrefix("\(Hosts.a)/.sallyport/signed-out?state=") && arrived.answer.status == 200)
            #expect(arrived.answer.text.contains("href=\"\(Hosts.b)/.sallyport/login\""), "\(arrived.answer.text)")
            #expect(bench.provider.sessionID == nil && bench.statuses(user) == [401])
            let state = try #require(self.query(arrived.url)["state"])
            let (head, tail) = (state.prefix(10), state.dropFirst(11))
            for query in [
                "", "?state=", "?state=x", "?state=\(head)\(state.dropFirst(10).first == "A" ? "B" : "A")\(tail)",
                "?state=\(state)&state=\(state)", "?state=https://evil.example/", "?return_to=https://evil.example/",
            ] {
                let page = try user.open("\(Hosts.a)/.sallyport/signed-out\(query)")
                #expect(page.answer.status == 200 && user.trail.count == 1, "\(query)")
                #expect(!page.answer.text.contains("evil") && page.answer.value("cache-control") == "no-store")
            }
            var other = try bench.signedInUser()
            let asked = try other.open("\(Hosts.a)/.sallyport/signed-out")
            #expect(asked.url == "\(Hosts.a)/.sallyport/logout" && asked.answer.status == 200)
            #expect(asked.answer.text.contains("Do you want to sign out"), "it is not said to be signed out")
        }
    }

    @Test("A client's logout asks, ends the sessions of all hosts, leads by the provider, and only then to the client")
    func ofClient() throws {
        try Hosts.with { (bench) throws in
            var user = try bench.signedInUser()
            let before = user
            let wish = "client_id=rp&post_logout_redirect_uri=https%3A%2F%2Frp.example.com%2Fbye&state=a+b"
            let page = try user.open("\(Hosts.a)/oidc/logout?\(wish)", ["Sec-Fetch-Site: cross-site"])
            #expect(page.answer.status == 200 && page.answer.text.contains("Do you want to sign out"))
            #expect(bench.statuses(before) == [200], "nothing ended")
            let form = try #require(page.answer.text.firstMatch(of: /name="return_to" value="([^"]*)"/)).1
            let answer = try user.signOut(Hosts.a, returnTo: String(form).replacing("&amp;", with: "&"))
            #expect(bench.statuses(before) == [401])
            let atProvider = try #require(answer.value("location"))
            #expect(atProvider.hasPrefix("\(bench.provider.issuer)/logout?"))
            let back = try #require(bench.provider.follow(atProvider))
            let last = try user.send("GET", back)
            let client = try user.send("GET", try #require(last.value("location")))
            #expect(client.status == 303 && client.value("location") == "https://rp.example.com/bye?state=a%20b")
            #expect(bench.provider.sessionID == nil)
        }
    }

    @Test("A script gets the provider's page as redirect_to; a request of another site ends nothing")
    func scripts() throws {
        try Hosts.with { (bench) throws in
            var user = try bench.signedInUser()
            let forged = try user.send(
                "POST",
                "\(Hosts.b)/.sallyport/logout",
                ["Origin: https://evil.example"],
                body: ""
            )
            #expect(forged.status == 403 && forged.value("location") == nil && bench.statuses(user) == [200])
            let page = try user.open("\(Hosts.b)/.sallyport/logout?return_to=//evil.example")
            #expect(page.answer.status == 200 && !page.answer.text.contains("evil") && bench.statuses(user) == [200])

            let before = user
            let answer = try user.signOut(Hosts.b, ["Accept: application/json"])
            #expect(answer.status == 200 && answer.value("location") == nil)
            let text = answer.text.replacing("\\/", with: "/")
            let onward = try #require(text.firstMatch(of: /"redirect_to":"([^"]+)"/)?.1)
            #expect(onward.hasPrefix("\(bench.provider.issuer)/logout?"))
            #expect(bench.statuses(before) == [401])
            // Nothing is left to end, at the provider neither.
            let again = try user.signOut(Hosts.b, ["Accept: application/json"])
            #expect(again.status == 204)
            let repeated = try user.signOut(Hosts.b)
            #expect(
                repeated.status == 303 && repeated.value("location") == "/.sallyport/signed-out",
                "\(repeated.lines)"
            )
        }
    }

    @Test("A provider that hands out no refresh token still gets the hint for whom the sign-out is")
    func withoutRefreshToken() throws {
        var script = OpenIDScript()
        script.refresh = .none
        try Hosts.with(script) { (bench) throws in
            var user = try bench.signedInUser()
            let asked = self.query(try user.signOut(Hosts.c).value("location"))
            #expect(asked["id_token_hint"]?.split(separator: ".").count == 3, "\(asked.keys)")
        }
    }

    @Test("A provider without a page for it, or one that is away, keeps no sign-out from ending the sessions")
    func withoutProvider() throws {
        var script = OpenIDScript()
        script.missing = [.logout, .revocation]
        try Hosts.with(script) { (bench) throws in
            for returnTo in ["/", "/public/bye"] {
                var user = try bench.signedInUser()
                let before = user
                let answer = try user.signOut(Hosts.b, returnTo: returnTo)
                #expect(answer.status == 303 && bench.statuses(before) == [401])
                let arrived = try user.follow(answer, from: Hosts.b)
                let page = returnTo == "/" ? "/.sallyport/signed-out" : returnTo
                #expect(arrived.answer.status == 200 && arrived.url == Hosts.b + page, "\(arrived.url)")
            }
        }
        try Hosts.with { (bench) throws in
            var user = try bench.signedInUser()
            let before = user
            bench.provider.stop()
            #expect(try user.signOut(Hosts.b).status == 303)
            #expect(bench.statuses(before) == [401])
        }
    }
}
