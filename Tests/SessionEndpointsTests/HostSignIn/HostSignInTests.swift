import EndpointBench
import Endpoints
import Observability
import RequestPath
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("One sign-in for many hosts")
struct HostSignInTests {
    private let a = HostBench.a
    private let b = HostBench.b
    private let c = HostBench.c

    @Test("A host without endpoints leads to the one with them; after the sign-in its own session begins")
    func signIn() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let page = try await browser.visit(self.b, "/reports?year=2026&x=%2F")
        #expect(page.url?.hasPrefix("https://\(self.a)/.sallyport/login?return_to=/.sallyport/share") == true)
        #expect(page.page?.status == 200)
        #expect(bench.store.sessionCount == 0 && bench.outcomes.isEmpty, "nothing is kept for strangers")
        let nonce = try #require(browser.jars[self.b]?.cookies.first)
        #expect(nonce.key.hasPrefix("__Host-sallyport-ticket-") && !nonce.value.contains("reports"))
        #expect(browser.trail.allSatisfy { !$0.contains(nonce.value) })

        #expect(try await browser.submit(page).app == "https://\(self.b)/reports?year=2026&x=%2F")
        #expect(browser.nonces(self.b).isEmpty, "the nonce is used up")
        let issuer = try #require(try await browser.session(self.a))
        let derived = try #require(try await browser.session(self.b))
        #expect(derived.host == self.b && derived.lineage == issuer.lineage && derived.id != issuer.id)
        #expect(derived.subject == "9f1c" && derived.aal == issuer.aal && derived.methods == issuer.methods)
        #expect(derived.expiresAt == issuer.expiresAt && derived.authenticatedAt == issuer.authenticatedAt)
        #expect(derived.origin == .browser && browser.cookie(self.a) != browser.cookie(self.b))
        #expect(bench.outcomes == [.issued, .used])
        let event = try #require(bench.last?.auditEvent)
        #expect(event.kind.rawValue == "host_ticket.used" && event.kind == .hostTicketUsed)
        #expect(event.code == .silentlySignedIn && event.subject == "9f1c")
        #expect(event.session == derived.id && event.details.contains { $0 == ("parent_session", issuer.id) })

        // The third host needs no page at all.
        bench.time.advance(by: .seconds(60))
        #expect(try await browser.visit(self.c, "/").app == "https://\(self.c)/")
        #expect(browser.trail.count == 4 && browser.trail[1].hasPrefix("https://\(self.a)/.sallyport/share?id="))
        #expect(try await browser.session(self.c)?.lineage == issuer.lineage)
    }

    @Test("The host with endpoints, and every host where none has them, keep their own sign-in page")
    func ownPage() async throws {
        var browser = HostBrowser(try HostBench())
        let page = try await browser.visit(self.a, "/x")
        #expect(page.url == "https://\(self.a)/.sallyport/login?return_to=/x")
        #expect(try await browser.submit(page).app == "https://\(self.a)/x")
    }

    @Test("No password is checked on a host without endpoints; the form's page is kept")
    func postedForm() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let answer = try #require(
            try await browser.send(
                "POST",
                "https://\(self.b)/.sallyport/login",
                fields: [("content-type", "application/x-www-form-urlencoded"), ("origin", "https://\(self.b)")],
                body: Gateway.credentials + "&return_to=/form"
            )
        )
        #expect(
            answer.status == 303 && answer.value("location")?.hasPrefix("https://\(self.a)/.sallyport/share") == true
        )
        #expect(bench.store.sessionCount == 0)
        let page = try await browser.open(try #require(answer.value("location")))
        #expect(try await browser.submit(page).app == "https://\(self.b)/form")
    }

    @Test("Sign-out on any host ends the sessions of all", arguments: [HostBench.a, HostBench.b, HostBench.c])
    func signOut(host: String) async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let page = try await browser.visit(self.b)
        _ = try await browser.submit(page)
        _ = try await browser.visit(self.c)
        let before = browser.jars
        #expect(try await browser.signOut(host).status == 303)
        for other in [self.a, self.b, self.c] {
            #expect(try await bench.session(before[other]?["__Host-sallyport"], on: other) == nil, "\(other)")
        }
        #expect(try await browser.visit(self.b).url?.hasPrefix("https://\(self.a)/.sallyport/login") == true)
    }

    @Test("Several tabs of one host arrive at their own pages, and share one session")
    func tabs() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        var pages: [HostBrowser.Arrival] = []
        for index in 0..<3 { pages.append(try await browser.visit(self.b, "/tab\(index)")) }
        #expect(browser.nonces(self.b).count == 3)
        #expect(try await browser.submit(pages[0]).app == "https://\(self.b)/tab0")
        let cookie = browser.cookie(self.b)
        // The user reloads the other tabs' way in.
        for index in 1..<3 {
            let share = try #require(browser.requestOf(pages[index]))
            #expect(try await browser.open(share).app == "https://\(self.b)/tab\(index)")
        }
        #expect(browser.cookie(self.b) == cookie && browser.nonces(self.b).isEmpty)
        #expect(bench.outcomes == [.issued, .used, .issued, .sessionStays, .issued, .sessionStays])
        #expect(bench.store.sessionCount == 2)
    }

    @Test("A browser keeps at most 25 nonces; the oldest go")
    func maxNonces() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        var all: [String] = []
        for _ in 0..<28 {
            let before = Set(browser.nonces(self.b))
            _ = try await browser.visit(self.b)
            all += Set(browser.nonces(self.b)).subtracting(before)
            bench.time.advance(by: .seconds(1))
        }
        #expect(browser.nonces(self.b) == all.suffix(25).sorted())
        bench.time.advance(by: .seconds(601))
        _ = try await browser.visit(self.b)
        #expect(browser.nonces(self.b).count == 1, "expired ones are cleared")
        browser.jars[self.b]?["__Host-sallyport-ticket-planted"] = "nonsense"
        _ = try await browser.visit(self.b)
        #expect(browser.nonces(self.b).count == 2)
    }

    @Test("A page that is too long for a cookie leads to the start page, which is still signed in")
    func longPage() async throws {
        var browser = HostBrowser(try HostBench())
        let short = "/" + String(repeating: "a", count: 2700)
        let page = try await browser.visit(self.b, short)
        #expect(try await browser.submit(page).app == "https://\(self.b)\(short)")
        #expect(try await browser.visit(self.b, "/" + String(repeating: "a", count: 4000)).app == "https://\(self.b)/")
        let cookie = try #require(browser.jars[self.b]?.fields.first?.value)
        #expect(cookie.utf8.count < 4096)
    }

    @Test("A used or stolen ticket is of no use: a page for strangers, the start page for the signed-in browser")
    func replay() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let page = try await browser.visit(self.b)
        _ = try await browser.submit(page)
        _ = try await browser.visit(self.c, "/c")
        let ticket = try #require(browser.trail.first { $0.contains("/.sallyport/ticket?") })
        #expect(try await browser.open(ticket).app == "https://\(self.c)/", "back button, reload, bookmark")

        var thief = HostBrowser(bench)
        let refused = try await thief.open(ticket)
        #expect(refused.page?.status == 403 && refused.page?.reason == .ticketOtherBrowser)
        #expect(refused.page?.signIn == "/.sallyport/login?return_to=/" && thief.cookie(self.c) == nil)
        #expect(shown(try #require(refused.page)).reason == .ticketOtherBrowser)
    }

    @Test("A ticket that another browser intercepts before it is used stays good for its own browser")
    func interception() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(self.a))
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login?return_to=/own"))
        let issued = try #require(try await browser.send("GET", away.value("location") ?? ""))
        let ticket = try #require(issued.value("location"))

        var thief = HostBrowser(bench)
        #expect(try await thief.open(ticket).page?.reason == .ticketOtherBrowser)
        // Even with a nonce of its own under the same id.
        _ = try await thief.visit(self.b)
        let own = try #require(thief.nonces(self.b).first)
        let id = try #require(browser.nonces(self.b).first)
        let exchanged = ticket.replacing(id, with: own)
        #expect(try await thief.open(exchanged).page?.reason == .ticketOtherBrowser)
        #expect(try await browser.open(ticket).app == "https://\(self.b)/own")
        #expect(try await browser.session(self.b) != nil)
    }

    @Test("HEAD, prefetches, previews and scripts issue and use nothing")
    func pageLoadsOnly() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(self.a))
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login?return_to=/own"))
        let share = try #require(away.value("location"))
        let other: [[(name: String, value: String)]] = [
            [("sec-purpose", "prefetch")], [("purpose", "prefetch")], [("sec-fetch-mode", "cors")],
            [("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")], [("sec-purpose", "prefetch;prerender")],
        ]
        for fields in other {
            let answer = try await browser.send("GET", share, fields: fields)
            #expect(answer?.status == 403 && answer?.reason == .ticketNotNavigation)
            let begun = try await browser.send("GET", "https://\(self.b)/.sallyport/login", fields: fields)
            #expect(begun?.reason == .ticketNotNavigation && begun?.values("set-cookie") == [])
        }
        #expect(try await browser.send("HEAD", share)?.status == 405)
        #expect(try await browser.send("HEAD", "https://\(self.b)/.sallyport/login")?.status == 204)
        #expect(bench.outcomes.isEmpty)
        let issued = try #require(try await browser.send("GET", share, fields: []))
        let ticket = try #require(issued.value("location"))
        for fields in other {
            let answer = try await browser.send("GET", ticket, fields: fields)
            #expect(answer?.status == 403 && answer?.reason == .ticketNotNavigation)
        }
        #expect(try await browser.send("HEAD", ticket)?.status == 405)
        #expect(try await browser.open(ticket).app == "https://\(self.b)/own")
    }

    @Test("A browser that refuses cookies ends at a page after one round")
    func refusedCookies() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        browser.keepsCookies = false
        let page = try await browser.visit(self.b)
        let end = try await browser.submit(page)
        #expect(end.page?.status == 403 && end.page?.reason == .ticketNoCookie)

        // Only the cookies of the host that asks are refused.
        browser.keepsCookies = true
        _ = try await browser.submit(try await browser.visit(self.a))
        let share = try await browser.visit(self.b)
        #expect(share.app != nil)
        browser.jars[self.b] = nil
        let ticket = try #require(browser.trail.first { $0.contains("/.sallyport/ticket?") })
        let refused = try await browser.open(ticket)
        #expect(refused.page?.status == 403 && refused.page?.reason == .ticketOtherBrowser)
    }

    @Test("A sign-in that took too long begins once more by itself; a ticket that is too old is a page")
    func expiry() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let page = try await browser.visit(self.b, "/deep")
        bench.time.advance(by: .seconds(601))
        #expect(try await browser.submit(page).app == "https://\(self.b)/")
        #expect(try await browser.session(self.b) != nil)

        browser.jars[self.b] = nil
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login?return_to=/own"))
        let issued = try #require(try await browser.send("GET", away.value("location") ?? ""))
        let ticket = try #require(issued.value("location"))
        bench.time.advance(by: .seconds(61))
        let late = try await browser.open(ticket)
        #expect(late.page?.status == 410 && late.page?.reason == .ticketUnknown)
        #expect(late.page?.signIn == "/.sallyport/login?return_to=/own")
        #expect(try await browser.visit(self.b, "/own").app == "https://\(self.b)/own")
    }

    /// A signed-in browser's ticket for `b`, not used yet.
    private func ticket(_ browser: inout HostBrowser) async throws -> String {
        _ = try await browser.submit(try await browser.visit(self.a))
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login?return_to=/own"))
        let issued = try #require(try await browser.send("GET", away.value("location") ?? ""))
        return try #require(issued.value("location"))
    }

    @Test("After a sign-out, a used ticket signs nobody in, not even with the nonce that belongs to it")
    func replayAfterSignOut() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let ticket = try await self.ticket(&browser)
        #expect(bench.last?.auditEvent?.kind.rawValue == "host_ticket.issued")
        var copy = browser
        #expect(try await browser.open(ticket).app == "https://\(self.b)/own")
        _ = try await browser.signOut(self.b)
        let answer = try await copy.open(ticket)
        #expect(answer.page?.reason == .ticketReplayed && copy.cookie(self.b) == nil)
        #expect(bench.last?.auditEvent?.kind.rawValue == "host_ticket.refused")
    }

    @Test("A ticket of a former primary of the store is not used")
    func quarantine() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        let ticket = try await self.ticket(&browser)
        bench.store.change { $0.consumptions = [.quarantined] }
        #expect(try await browser.open(ticket).page?.reason == .ticketQuarantined)
        #expect(browser.cookie(self.b) == nil)
    }

    @Test("A ticket is good on its own host only")
    func otherHost() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(self.a))
        let forC = try #require(try await browser.send("GET", "https://\(self.c)/.sallyport/login"))
        let forB = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login"))
        #expect(forB.status == 303)
        let issued = try #require(try await browser.send("GET", forC.value("location") ?? ""))
        let token = try #require(issued.value("location")?.split(separator: "ticket=").last)
        let id = try #require(browser.nonces(self.b).first)
        let answer = try await browser.open("https://\(self.b)/.sallyport/ticket?id=\(id)&ticket=\(token)")
        #expect(answer.page?.status == 403 && answer.page?.reason == .ticketOtherHost)
        #expect(browser.cookie(self.b) == nil)
    }

    @Test("Requests that no host made, or that were made for another, are refused with a page")
    func forgedRequests() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(self.a))
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login"))
        let share = try #require(away.value("location"))
        let parts = try #require(share.firstMatch(of: /id=([^&]+)&request=(.+)/))
        let other = HostBrowser(try HostBench())
        let forgeries = [
            "", "?id=\(parts.1)", "?request=\(parts.2)", "?id=x&request=\(parts.2)", "?id=\(parts.1)&request=x",
            "?id=\(parts.1)&id=\(parts.1)&request=\(parts.2)", "?id=\(parts.1)&request=\(parts.2)A",
            "?id=\(parts.1)&request=\(parts.2.dropLast(4))AAAA", "?id=\(parts.1)&request=&request=",
        ]
        for forgery in forgeries {
            let answer = try await browser.send("GET", "https://\(self.a)/.sallyport/share\(forgery)")
            #expect(answer?.status == 400 && answer?.reason == .ticketMalformed, "\(forgery)")
        }
        #expect(other.bench.outcomes.isEmpty)
        #expect(bench.outcomes.allSatisfy { $0 == .refused(.ticketMalformed) })
        // A host without endpoints is asked for nothing.
        #expect(bench.endpoint("/.sallyport/share", on: self.b) == nil)
    }

    @Test("An outage is a page that may be loaded again, and nothing is lost")
    func outage() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(self.a))
        let away = try #require(try await browser.send("GET", "https://\(self.b)/.sallyport/login?return_to=/own"))
        let share = try #require(away.value("location"))
        bench.store.fail(with: .unavailable)
        #expect(try await browser.open(share).page?.isOutage == true)
        bench.store.fail(with: nil)
        let issued = try #require(try await browser.send("GET", share))
        let ticket = try #require(issued.value("location"))
        bench.store.fail(with: .unavailable)
        #expect(try await browser.open(ticket).page?.isOutage == true)
        bench.store.fail(with: nil)
        bench.store.change { $0.lostAnswers = 1 }
        #expect(try await browser.open(ticket).page?.isOutage == true)
        #expect(browser.cookie(self.b) == nil && !browser.nonces(self.b).isEmpty)
        #expect(try await browser.open(ticket).app == "https://\(self.b)/own", "the same try is completed")
        #expect(try await browser.session(self.b) != nil)
        #expect(bench.store.sessionCount == 2)
    }
}

extension HostBrowser {
    /// The URL of the request for a ticket behind a sign-in page.
    func requestOf(_ page: Arrival) -> String? {
        guard let text = page.page?.text, let match = text.firstMatch(of: /name="return_to" value="([^"]*)"/) else {
            return nil
        }
        return "https://\(HostBench.a)" + String(match.1).replacing("&amp;", with: "&")
    }
}
