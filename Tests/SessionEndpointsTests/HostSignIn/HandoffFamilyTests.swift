import AddressIntelligence
import EndpointBench
import Endpoints
import NIOCore
import NIOPosix
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// Sessions on several hosts that descend from one handoff.
@Suite("Handoffs and many hosts")
struct HandoffFamilyTests {
    private let a = HostBench.a
    private let b = HostBench.b
    private let c = HostBench.c

    /// A native app, and a browser that a handoff from it has signed in on `host`.
    private func handoff(
        _ bench: HostBench,
        on host: String,
        life: Duration = .seconds(1800),
        native: (token: Secret, key: RecordKey, session: Session)? = nil
    ) async throws -> (browser: HostBrowser, native: (token: Secret, key: RecordKey, session: Session)) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let source: (token: Secret, key: RecordKey, session: Session)
        if let native {
            source = native
        } else {
            let lineage = bench.authority.newLineage()
            let (token, key) = bench.authority.make(.session, in: lineage)
            let session = Session(
                id: bench.authority.newSessionID(),
                kind: .native,
                origin: .native,
                lineage: lineage,
                identity: Identity(id: "9f1c", traits: [:]),
                aal: .aal1,
                methods: ["password"],
                authenticatedAt: bench.time.now.advanced(by: .seconds(-3600)),
                issuedAt: bench.time.now,
                expiresAt: bench.time.now.advanced(by: .seconds(86_400)),
                idleLifetime: .seconds(86_400)
            )
            try await bench.store.create(NewSession(key: key, session: session), on: loop).get()
            source = (token, key, session)
        }
        let (token, key) = bench.authority.make(.session, in: source.session.lineage)
        let session = Session.transferred(
            from: source.session,
            through: bench.authority.make(.transfer, in: source.session.lineage).key,
            id: bench.authority.newSessionID(),
            client: ClientSettings(clientID: "web"),
            host: host,
            device: DeviceFacts(address: try #require(IPAddress("192.0.2.1")), asn: nil, userAgent: nil),
            lifetimes: SessionSettings.Lifetimes(idle: .seconds(900), absolute: life),
            now: bench.time.now
        )
        try await bench.store.create(NewSession(key: key, session: session), on: loop).get()
        var browser = HostBrowser(bench)
        browser.jars[host] = BrowserJar()
        browser.jars[host]?["__Host-sallyport"] = String(decoding: token.bytes, as: UTF8.self)
        return (browser, source)
    }

    private func isLive(_ native: Secret, _ bench: HostBench) async throws -> Bool {
        try await SessionService.ifAny(try await bench.sessions.native(native)) != nil
    }

    @Test("A session of a handoff issues tickets; what they make neither exceeds nor outlives it")
    func derived() async throws {
        let bench = try HostBench()
        var (browser, native) = try await self.handoff(bench, on: self.a)
        bench.time.advance(by: .seconds(600))
        #expect(try await browser.visit(self.b).app != nil)
        let parent = try #require(try await browser.session(self.a))
        let derived = try #require(try await browser.session(self.b))
        #expect(derived.origin == .transfer && derived.expiresAt == parent.expiresAt && derived.clientID == "web")
        #expect(derived.authenticatedAt == native.session.authenticatedAt && derived.aal == .aal1)
        #expect(derived.lineage == native.session.lineage && derived.issuedAt == bench.time.now)
        #expect(HandoffMint.objection(to: derived, client: ClientSettings(clientID: "web"), now: bench.time.now) != nil)
        bench.time.advance(by: .seconds(1201))
        #expect(try await browser.session(self.b) == nil)
    }

    @Test("A demand for a new sign-in is not met by a handoff")
    func stepUp() async throws {
        let bench = try HostBench()
        var (browser, _) = try await self.handoff(bench, on: self.a)
        let page = try await browser.visit(self.b, "/x", SignInDemand(isAgain: true))
        #expect(try await browser.submit(page).app == "https://\(self.b)/x")
        #expect(try await browser.session(self.b)?.origin == .browser)
    }

    @Test(
        "Sign-out on any host ends the sessions of the handoff on all, but not the native app",
        arguments: [HostBench.a, HostBench.b, HostBench.c]
    )
    func signOut(host: String) async throws {
        let bench = try HostBench()
        var (browser, native) = try await self.handoff(bench, on: self.a)
        var (other, _) = try await self.handoff(bench, on: self.a, native: native)
        for host in [self.b, self.c] {
            #expect(try await browser.visit(host).app != nil)
            #expect(try await other.visit(host).app != nil)
        }
        let before = browser.jars
        #expect(try await browser.signOut(host).status == 303)
        for each in [self.a, self.b, self.c] {
            #expect(try await bench.session(before[each]?["__Host-sallyport"], on: each) == nil, "\(each)")
            #expect(try await other.session(each) != nil, "another handoff of the same app goes on: \(each)")
        }
        #expect(try await self.isLive(native.token, bench))
        #expect(try await browser.visit(self.b).url?.hasPrefix("https://\(self.a)/.sallyport/login") == true)
    }

    @Test("A sign-out that fails half-way can be repeated and then ends everything")
    func repeatedSignOut() async throws {
        var failures = 0
        for calls in 0..<12 {
            let bench = try HostBench()
            var (browser, native) = try await self.handoff(bench, on: self.a)
            for host in [self.b, self.c] { _ = try await browser.visit(host) }
            let before = browser.jars
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let first = try await browser.signOut(self.b)
            bench.store.fail(with: nil)
            if first.status == 503 {
                failures += 1
                #expect(browser.cookie(self.b) != nil)
                #expect(try await browser.signOut(self.b).status == 303)
            }
            for host in [self.a, self.b, self.c] {
                #expect(try await bench.session(before[host]?["__Host-sallyport"], on: host) == nil, "\(calls) \(host)")
            }
            #expect(try await self.isLive(native.token, bench))
        }
        #expect(failures > 0)
    }

    @Test("Sign-out of the native app ends the sessions of its handoffs on every host")
    func nativeSignOut() async throws {
        let bench = try HostBench()
        var (browser, native) = try await self.handoff(bench, on: self.a)
        #expect(try await browser.visit(self.b).app != nil)
        let requester = Requester(
            address: try #require(IPAddress("192.0.2.9")),
            userAgent: nil,
            authority: self.a,
            requestID: "r"
        )
        try await bench.sessions.signOutApp(native.token, for: requester)
        #expect(try await browser.session(self.a) == nil)
        #expect(try await browser.session(self.b) == nil)
    }

    @Test("A ticket that is used while its user signs out makes no session that outlives the sign-out")
    func race() async throws {
        for host in [self.a, self.b] {
            let bench = try HostBench()
            var (browser, _) = try await self.handoff(bench, on: self.a)
            _ = try await browser.visit(self.b)
            let away = try #require(try await browser.send("GET", "https://\(self.c)/.sallyport/login"))
            let issued = try #require(try await browser.send("GET", away.value("location") ?? ""))
            let ticket = try #require(issued.value("location"))
            let signingOut = browser
            bench.store.change { script in
                script.beforeConsume = {
                    var copy = signingOut
                    _ = try await copy.signOut(host)
                }
            }
            let end = try await browser.open(ticket)
            #expect(end.page?.reason == .ticketUnknown, "\(host)")
            #expect(try await browser.session(self.c) == nil)
        }
    }

    @Test("A new sign-in on the first host ends what a handoff has begun on all")
    func replaced() async throws {
        let bench = try HostBench()
        var (browser, native) = try await self.handoff(bench, on: self.a)
        _ = try await browser.visit(self.b)
        let before = browser.jars
        _ = try await browser.submit(try await browser.visit(self.a))
        #expect(try await bench.session(before[self.b]?["__Host-sallyport"], on: self.b) == nil)
        #expect(try await self.isLive(native.token, bench))
    }

    // MARK: handoff.share

    private func adopting(_ bench: HostBench, from host: String, _ target: String) throws -> String {
        let page = HandoffShare.Page(host: host, target: target)
        let link = try #require(bench.share?.link(to: page, now: bench.time.now))
        return link.host.origin + TicketPath.adopting(from: host, link.text)
    }

    @Test(
        "A handoff on one host also signs the browser in where users sign in, and the page is the one that was asked for"
    )
    func share() async throws {
        let bench = try HostBench(share: true)
        var (browser, native) = try await self.handoff(bench, on: self.b)
        let target = "/a//b%2F?SAMLRequest=fZ%2B&x=%20y&&z"
        let end = try await browser.open(try self.adopting(bench, from: self.b, target))
        #expect(end.app == "https://\(self.b)\(target)")
        #expect(browser.trail.count == 4)
        let own = try #require(try await browser.session(self.b))
        let shared = try #require(try await browser.session(self.a))
        #expect(shared.origin == .transfer && shared.expiresAt == own.expiresAt && shared.lineage == own.lineage)
        #expect(browser.nonces(self.a).isEmpty)
        #expect(try await browser.visit(self.c).app != nil, "and from there on every host")

        let before = browser.jars
        #expect(try await browser.signOut(self.c).status == 303)
        for host in [self.a, self.b, self.c] {
            #expect(try await bench.session(before[host]?["__Host-sallyport"], on: host) == nil, "\(host)")
        }
        #expect(try await self.isLive(native.token, bench))
    }

    @Test("A session on the first host stays, whoever its user is; the browser returns at once")
    func shareBeside() async throws {
        let bench = try HostBench(share: true)
        var (browser, _) = try await self.handoff(bench, on: self.b)
        _ = try await browser.submit(try await browser.visit(self.a), as: "bob")
        let cookie = browser.cookie(self.a)
        #expect(try await browser.open(try self.adopting(bench, from: self.b, "/x")).app == "https://\(self.b)/x")
        #expect(browser.trail.count == 2 && browser.cookie(self.a) == cookie)
        #expect(try await browser.session(self.a)?.subject == "b0b")
    }

    @Test("Whatever fails on the way, the browser returns to its page")
    func shareFails() async throws {
        for failure in 0..<6 {
            let bench = try HostBench(share: true)
            var (browser, _) = try await self.handoff(bench, on: self.b)
            let link = try self.adopting(bench, from: self.b, "/x?y=1")
            switch failure {
            case 0: browser.keepsCookies = false
            case 1: bench.store.fail(with: .unavailable)
            case 2: browser.jars[self.b] = nil
            case 3: bench.time.advance(by: .seconds(61))
            case 4: bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 1) }
            default: bench.fillJournal()
            }
            #expect(try await browser.open(link).app == "https://\(self.b)/x?y=1", "\(failure)")
            #expect(browser.cookie(self.a) == nil)
        }
    }

    @Test("Only a host of this gateway makes such a link, and only for hosts whose users sign in elsewhere")
    func shareForgeries() async throws {
        let bench = try HostBench(share: true)
        var browser = HostBrowser(bench)
        let link = try self.adopting(bench, from: self.b, "/x")
        let text = try #require(link.split(separator: "link=").last)
        for query in [
            "", "?from=\(self.b)", "?link=\(text)", "?from=\(self.c)&link=\(text)", "?from=evil.example&link=\(text)",
            "?from=\(self.b)&link=x", "?from=\(self.b)&from=\(self.b)&link=\(text)", "?from=\(self.b)&link=\(text)A",
        ] {
            let answer = try await browser.send("GET", "https://\(self.a)/.sallyport/adopt\(query)")
            #expect(answer?.status == 400 && answer?.reason == .ticketMalformed, "\(query)")
        }
        let own = HandoffShare.Page(host: self.a, target: "/")
        #expect(bench.share?.link(to: own, now: bench.time.now) == nil)
        let long = HandoffShare.Page(host: self.b, target: "/" + String(repeating: "a", count: 2800))
        #expect(bench.share?.link(to: long, now: bench.time.now) == nil)
        let off = try HostBench()
        #expect(off.endpoint("/.sallyport/adopt", on: self.a) == nil)
    }

    @Test("A link that is followed by another browser signs nobody in")
    func shareElsewhere() async throws {
        let bench = try HostBench(share: true)
        let (victim, _) = try await self.handoff(bench, on: self.b)
        let link = try self.adopting(bench, from: self.b, "/x")
        var attacker = HostBrowser(bench)
        #expect(try await attacker.open(link).app == "https://\(self.b)/x")
        #expect(attacker.cookie(self.a) == nil && attacker.cookie(self.b) == nil)
        // The attacker begins, the victim's browser answers.
        let begun = try #require(try await attacker.send("GET", link))
        var lured = victim
        #expect(try await lured.open(try #require(begun.value("location"))).app == "https://\(self.b)/x")
        #expect(lured.cookie(self.a) == nil)
    }
}
