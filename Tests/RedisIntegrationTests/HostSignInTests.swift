import Foundation
import GatewayBench
import OpenIDBench
import RedisServers
import Testing
import Vocabulary

/// One sign-in at a provider for three hosts of two gateways: each request of a browser reaches another gateway than the
/// one before.
@Suite("One sign-in for many hosts, at two gateways", .blocking) struct HostSignInTests {
    private typealias Hosts = ProviderHosts

    private func with(_ body: @Sendable (ProviderHosts) throws -> Void) async throws {
        try await RedisServer.with { server in
            try Hosts.with(count: 2, redis: RedisURLs.standalone(server.port)) { try body($0) }
        }
    }

    /// The cookies of sign-ins and tickets that have begun.
    private func waits(_ user: WebUser) -> [String] {
        user.jars.values.flatMap(\.keys).filter {
            $0.hasPrefix("sallyport-") && !["sallyport-recent", "sallyport-account"].contains($0)
        }
    }

    /// The first URL of the last navigation that has this path.
    private func step(_ path: String, of user: WebUser) throws -> String {
        try #require(user.trail.first { $0.contains("/.sallyport/\(path)?") }, "\(user.trail)")
    }

    @Test("One sign-in at the provider serves all hosts; what the provider says is asked for once")
    func signIn() async throws {
        try await self.with { bench throws in
            var user = bench.user()
            let arrived = try user.open("\(Hosts.b)/reports?x=%2F")
            #expect(arrived.url == "\(Hosts.b)/reports?x=%2F" && arrived.answer.status == 200)
            let steps = user.trail.map { url in
                String(url.prefix { $0 != "?" }).replacing(bench.provider.issuer, with: "provider")
            }
            #expect(
                steps == [
                    "\(Hosts.b)/reports", "\(Hosts.b)/.sallyport/login", "\(Hosts.a)/.sallyport/share",
                    "\(Hosts.a)/.sallyport/login", "provider/authorize", "\(Hosts.a)/.sallyport/callback",
                    "\(Hosts.a)/.sallyport/share", "\(Hosts.b)/.sallyport/ticket", "\(Hosts.b)/reports",
                ]
            )
            #expect(try user.open("\(Hosts.c)/x").url == "\(Hosts.c)/x" && user.trail.count == 5)
            #expect(bench.statuses(user) == [200] && bench.provider.count(.token) == 1)
            #expect(self.waits(user) == [], "\(user.jars)")
        }
    }

    @Test("Tabs that are opened at once by a browser that is not signed in all arrive at their own pages")
    func tabs() async throws {
        try await self.with { bench throws in
            for urls in [
                (0..<5).map { "\(Hosts.b)/tab\($0)" },
                (0..<5).map { "\(Hosts.all[$0 % 3])/tab\($0)?x=%20\($0)" },
            ] {
                var user = bench.user()
                let arrived = try user.open(together: urls)
                for (arrival, url) in zip(arrived, urls) {
                    let (status, reason) = (arrival.answer.status, arrival.answer.pageReason ?? "")
                    #expect(arrival.url == url && status == 200, "\(url) ended at \(arrival.url): \(status) \(reason)")
                }
                let isEverywhere = urls.contains { $0.hasPrefix(Hosts.c) }
                #expect(bench.statuses(user) == (isEverywhere ? [200] : [200, 401]))
                #expect(self.waits(user) == [], "\(user.jars)")
            }
        }
    }

    @Test("Of more tabs than a browser keeps cookies for, every one ends at a page, and the browser is signed in")
    func manyTabs() async throws {
        try await self.with { bench throws in
            var user = bench.user()
            let urls = (0..<12).map { "\(Hosts.all[$0 % 3])/tab\($0)" }
            for arrival in try user.open(together: urls) {
                let isApp = arrival.answer.status == 200 && Hosts.all.contains { arrival.url.hasPrefix($0) }
                #expect(isApp || arrival.answer.pageReason == "signin.state_mismatch", "\(arrival.url)")
            }
            #expect(try user.open("\(Hosts.b)/again").url == "\(Hosts.b)/again")
            #expect(try user.open("\(Hosts.c)/again").url == "\(Hosts.c)/again")
        }
    }

    @Test("The back button leads to the start page of a signed-in browser, and after a sign-out to a page")
    func backButton() async throws {
        try await self.with { bench throws in
            var user = bench.user()
            _ = try user.open("\(Hosts.b)/x")
            let used = try ["callback", "share", "ticket"].map { try self.step($0, of: user) }
            let (callback, share, ticket) = (used[0], used[1], used[2])
            for _ in 0..<2 {
                #expect(try user.open(callback).url == "\(Hosts.a)/")
                #expect(try user.open(ticket).url == "\(Hosts.b)/")
                // The nonce of that request has been used.
                #expect(try user.open(share).url == "\(Hosts.b)/")
            }
            #expect(bench.statuses(user) == [200, 401], "the third host was not opened")
            _ = try user.signOut(Hosts.b)
            bench.provider.endSession()
            for (url, reason) in [(callback, "signin.state_mismatch"), (ticket, "ticket.other_browser")] {
                let arrived = try user.open(url)
                #expect(arrived.answer.pageReason == reason && user.trail.count == 1, "\(arrived.answer.lines)")
            }
            #expect(self.waits(user) == [] && bench.statuses(user) == [401])
        }
    }

    @Test("Whichever cookies a browser refuses, it ends at a page that says so, after one round")
    func refusedCookies() async throws {
        let (a, b) = ("login.example.com", "app.example.com")
        let cases: [(@Sendable (String, String) -> Bool, String)] = [
            ({ _, _ in false }, "signin.state_mismatch"),
            // On one host only.
            ({ host, _ in host != a }, "signin.state_mismatch"), ({ host, _ in host != b }, "ticket.other_browser"),
            // What completes the sign-in, and not the session.
            ({ host, name in host != a || name != "sallyport" }, "ticket.no_cookie"),
            ({ host, name in host != b || name != "sallyport" }, "signin.repeated"),
        ]
        try await self.with { bench throws in
            for (keeps, reason) in cases {
                var user = bench.user()
                user.keeps = keeps
                let arrived = try user.open("\(Hosts.b)/x")
                #expect(arrived.answer.pageReason == reason, "\(user.trail) \(arrived.answer.lines)")
                let page = arrived.answer.text
                let (isLast, hasLink) = (reason == "signin.repeated", page.contains("href=\"/.sallyport/login"))
                #expect(user.trail.count <= (isLast ? 20 : 9) && hasLink == (reason != "ticket.no_cookie"), "\(page)")
                if isLast { #expect(page.contains("return_to=/x&amp;prompt=login")) }
            }
        }
    }

    @Test("A ticket is of no use on another host, in another browser, or a second time, at neither gateway")
    func tickets() async throws {
        try await self.with { bench throws in
            var user = bench.user()
            _ = try user.open("\(Hosts.a)/x")
            // The way of a ticket, until the browser is to present it.
            var url = "\(Hosts.b)/.sallyport/login?return_to=/x"
            for _ in 0..<2 { url = try #require(try user.send("GET", url).value("location")) }
            #expect(url.hasPrefix("\(Hosts.b)/.sallyport/ticket?"), "\(url)")
            let presented = url

            var thief = bench.user()
            for _ in 0..<2 {
                let stolen = try thief.open(presented)
                #expect(stolen.answer.status == 403 && stolen.answer.pageReason == "ticket.other_browser")
            }
            // Another browser that waits for a ticket of its own.
            var waiting = try #require(try thief.send("GET", "\(Hosts.b)/.sallyport/login").value("location"))
            let ids = [waiting, presented].map { String($0.firstMatch(of: /[?&]id=([^&]+)/)?.1 ?? "") }
            waiting = presented.replacing("id=\(ids[1])", with: "id=\(ids[0])")
            let exchanged = try thief.open(waiting)
            #expect(exchanged.answer.status == 403 && exchanged.answer.pageReason == "ticket.other_browser")
            // Another host, on which the browser waits for a ticket too.
            let asked = try #require(try user.send("GET", "\(Hosts.c)/.sallyport/login").value("location"))
            let id = String(asked.firstMatch(of: /[?&]id=([^&]+)/)?.1 ?? "")
            let elsewhere = try user.open(
                presented.replacing(Hosts.b, with: Hosts.c).replacing("id=\(ids[1])", with: "id=\(id)")
            )
            #expect(elsewhere.answer.status == 403 && elsewhere.answer.pageReason == "ticket.other_host")
            #expect(thief.jars.values.allSatisfy { $0["sallyport"] == nil })

            // It is still good for its own browser, once.
            let before = user
            #expect(try user.open(presented).url == "\(Hosts.b)/x")
            for index in 0..<2 {
                var copy = before
                copy.ports = [bench.gateways[index].port]
                // The browser's own copy of the nonce makes the same session; nothing new begins.
                let again = try copy.open(presented)
                #expect(again.url == "\(Hosts.b)/x" && copy.jars["app.example.com"]?["sallyport"] != nil)
                #expect(copy.jars["app.example.com"]?["sallyport"] == user.jars["app.example.com"]?["sallyport"])
            }
            _ = try user.signOut(Hosts.a)
            var copy = before
            let late = try copy.open(presented)
            #expect(late.answer.pageReason == "ticket.replayed", "\(late.answer.lines)")
            #expect(copy.jars["app.example.com"]?["sallyport"] == nil)
        }
    }
}
