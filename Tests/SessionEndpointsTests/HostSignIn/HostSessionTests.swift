import AddressIntelligence
import EndpointBench
import Endpoints
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

/// What the sessions of several hosts owe to each other.
@Suite("Sessions of one sign-in on many hosts")
struct HostSessionTests {
    private let a = HostBench.a
    private let b = HostBench.b
    private let c = HostBench.c

    /// A browser that is signed in on these hosts.
    private func browser(_ bench: HostBench, on hosts: [String]) async throws -> HostBrowser {
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(self.a))
        for host in hosts { #expect(try await browser.visit(host).app != nil) }
        bench.time.advance(by: .seconds(10))
        return browser
    }

    @Test("A demand for a new sign-in asks once, and the new sign-in takes the place of the old one on every host")
    func again() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [self.b, self.c])
        let before = browser.jars
        let page = try await browser.visit(self.b, "/secret", SignInDemand(isAgain: true))
        #expect(page.url?.hasSuffix("&prompt=login") == true)
        #expect(page.page?.text.contains("asks you to sign in again") == true)
        #expect(try await browser.submit(page).app == "https://\(self.b)/secret")
        let renewed = try #require(try await browser.session(self.b))
        #expect(renewed.authenticatedAt == bench.time.now)
        for host in [self.a, self.b, self.c] {
            #expect(try await bench.session(before[host]?["__Host-sallyport"], on: host) == nil, "\(host)")
        }
        #expect(try await browser.session(self.a)?.lineage == renewed.lineage)
        #expect(try await browser.visit(self.c).app != nil)
        #expect(try await browser.session(self.c)?.lineage == renewed.lineage)
    }

    @Test(
        "A session that does not meet the demand is asked for once; what a new sign-in cannot reach is the host's to judge",
        arguments: [
            (SignInDemand(aal: .aal2), true), (SignInDemand(aal: .aal1), false),
            (SignInDemand(maxAge: .seconds(5)), true), (SignInDemand(maxAge: .seconds(60)), false),
            (SignInDemand(isAgain: true, aal: .aal3), true),
        ]
    )
    func demands(demand: SignInDemand, asks: Bool) async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [])
        let end = try await browser.visit(self.b, "/x", demand)
        #expect((end.app == nil) == asks)
        guard asks else { return }
        // Alice has one factor only: the host refuses with a page, and no sign-in follows by itself.
        #expect(try await browser.submit(end).app == "https://\(self.b)/x")
    }

    @Test("Another user who signs in takes the place of the former one on every host that is opened")
    func otherUser() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [self.b, self.c])
        let former = browser.jars
        let page = try await browser.visit(self.a)
        _ = try await browser.submit(page, as: "bob")
        for host in [self.b, self.c] {
            #expect(try await bench.session(former[host]?["__Host-sallyport"], on: host) == nil)
            #expect(try await browser.visit(host).app != nil)
            #expect(try await browser.session(host)?.subject == "b0b")
        }
    }

    @Test("A session of another user is not replaced silently: the user signs in first")
    func noSilentChange() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [self.b])
        // The browser has lost its session on the first host, where another user signs in.
        browser.jars[self.a] = nil
        _ = try await browser.submit(try await browser.visit(self.a), as: "bob")
        #expect(try await browser.session(self.b)?.subject == "9f1c")
        bench.time.advance(by: .seconds(10))
        let page = try await browser.visit(self.b, "/x")
        #expect(page.url?.hasPrefix("https://\(self.a)/.sallyport/login") == true)
        #expect(page.url?.hasSuffix("&prompt=login") == true)
        #expect(try await browser.session(self.b)?.subject == "9f1c", "nothing has changed yet")
        #expect(bench.outcomes.last == .refused(.ticketOtherUser))
        #expect(try await browser.submit(page, as: "bob").app == "https://\(self.b)/x")
        #expect(try await browser.session(self.b)?.subject == "b0b")
    }

    @Test("A session of a former sign-in of the same user ends when a ticket replaces it, with all of its sign-in")
    func formerSignIn() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [self.b, self.c])
        let former = browser.jars
        browser.jars[self.a] = nil
        _ = try await browser.submit(try await browser.visit(self.a))
        #expect(try await browser.visit(self.b).app != nil)
        for host in [self.b, self.c] {
            #expect(try await bench.session(former[host]?["__Host-sallyport"], on: host) == nil)
        }
        #expect(try await browser.session(self.b)?.lineage == browser.session(self.a)?.lineage)
        #expect(bench.last?.endedSessionID != nil)
    }

    @Test("Two session cookies with different values end at a page, not in a circle")
    func plantedCookie() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [])
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login"))
        let issued = try #require(try await browser.send("GET", away.value("location") ?? ""))
        let ticket = try #require(issued.value("location"))
        let answer = try #require(
            try await browser.send(
                "GET",
                ticket,
                fields: [("cookie", "__Host-sallyport=x; __Host-sallyport=y"), ("sec-fetch-mode", "navigate")]
            )
        )
        #expect(answer.status == 401 && answer.reason == .credentialAmbiguousCookie)
        #expect(answer.values("set-cookie").contains { $0.hasPrefix("__Host-sallyport=;") })
    }

    @Test("A session that cannot be recorded is not handed out")
    func fullJournal() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [])
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login"))
        let share = try #require(away.value("location"))
        let issued = try #require(try await browser.send("GET", share))
        bench.fillJournal()
        #expect(try await browser.open(try #require(issued.value("location"))).page?.reason == .gatewayOverloaded)
        #expect(browser.cookie(self.b) == nil && bench.store.sessionCount == 1)
        #expect(try await browser.open(share).page?.reason == .gatewayOverloaded)
    }

    @Test("One session gets a few tickets at once, then no more; nobody else is slowed down")
    func throttling() async throws {
        let bench = try HostBench()
        var browser = try await self.browser(bench, on: [])
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login"))
        let share = try #require(away.value("location"))
        for _ in 0..<30 { #expect(try await browser.send("GET", share)?.status == 303) }
        let refused = try #require(try await browser.send("GET", share))
        #expect(refused.status == 429 && refused.reason == .ticketThrottled && refused.value("retry-after") == "2")
        var other = HostBrowser(bench)
        _ = try await other.submit(try await other.visit(self.a), as: "bob")
        #expect(try await other.visit(self.b).app != nil)
        bench.time.advance(by: .seconds(2))
        #expect(try await browser.send("GET", share)?.status == 303)
    }

    // MARK: Live binding

    @Test("A cookie stolen from the first host is of no more use on a host that binds its sessions to the device")
    func stolenCookie() async throws {
        let bench = try HostBench(binding: .ip)
        var browser = try await self.browser(bench, on: [self.b])
        var thief = HostBrowser(bench)
        thief.jars[self.a] = browser.jars[self.a]
        for host in [self.a, self.b, self.c] { thief.addresses[host] = "198.51.100.7" }
        #expect(try await thief.visit(self.b).url?.hasPrefix("https://\(self.a)/.sallyport/login") == true)
        #expect(try await thief.visit(self.c).app != nil, "a host that binds nothing does not ask")
        #expect(try await browser.visit(self.b).app != nil)
    }

    @Test(
        "Where a device reaches the hosts by different addresses, its session is bound to the address on its own host"
    )
    func ownAddress() async throws {
        let bench = try HostBench(binding: .ip)
        var browser = HostBrowser(bench)
        browser.addresses[self.a] = "2001:db8::1"
        let page = try await browser.visit(self.b)
        #expect(try await browser.submit(page).app != nil)
        #expect(try await browser.session(self.b)?.device?.address.description == "192.0.2.1")
        // The device has moved: its session here no longer matches, and the user signs in.
        bench.time.advance(by: .seconds(10))
        for host in [self.a, self.b] { browser.addresses[host] = "203.0.113.5" }
        let moved = try await browser.visit(self.b, "/x")
        #expect(moved.url?.hasPrefix("https://\(self.a)/.sallyport/login") == true)
        #expect(try await browser.submit(moved).app == "https://\(self.b)/x")
        #expect(try await browser.session(self.b)?.device?.address.description == "203.0.113.5")
    }
}
