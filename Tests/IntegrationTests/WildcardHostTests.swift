import Foundation
import GatewayBench
import Testing

/// Names of one wildcard, whose users sign in on another host.
@Suite("One sign-in for the names of a wildcard", .blocking) struct WildcardHostTests {
    private static let id = "http://login.example.com"
    private static let a = "http://a.example.com"
    private static let b = "http://b.example.com"

    private static func settings(_ upstream: Int, handoff: String = "{}") -> String {
        """
        listen: 127.0.0.1:0
        event_loops: 2
        admin: {listen: 127.0.0.1:0}
        upstream: http://127.0.0.1:\(upstream)
        session: {cookie: sallyport}
        hosts:
          - public_url: "http://*.example.com"
            routes:
              - {path: /**, client: web}
              - {path: /public/**, auth: public}
          - public_url: \(self.id)
            endpoints: true
            upstream: http://127.0.0.1:\(upstream)
        handoff: \(handoff)
        clients:
        \(Config.clients(binding: "none"))
        provider:
          static:
            users:
        \(Config.users)
        drain: {delay: 0s, timeout: 1s}

        """
    }

    private func with(handoff: String = "{}", _ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try Gateway.withApp({ Self.settings($0, handoff: handoff) }, body)
    }

    /// The lines of the head that the app has shown.
    private func lines(_ arrival: WebUser.Arrival) -> [String] {
        arrival.answer.text.split(separator: "\r\n").map { String($0).lowercased() }
    }

    @Test("Each name gets a session of its own by one sign-in, and one sign-out ends them all")
    func signIn() throws {
        try self.with { (gateway, _) throws in
            var user = WebUser(gateway)
            let page = try user.open("\(Self.a)/reports?x=%2F")
            #expect(page.url.hasPrefix("\(Self.id)/.sallyport/login?return_to=/.sallyport/share"), "\(page.url)")
            let arrived = try user.submit(page)
            #expect(arrived.url == "\(Self.a)/reports?x=%2F" && arrived.answer.status == 200, "\(user.trail)")
            let other = try user.open("\(Self.b)/y")
            #expect(other.url == "\(Self.b)/y" && other.answer.status == 200, "\(user.trail)")
            for (arrival, name) in [(arrived, "a"), (other, "b")] {
                let lines = self.lines(arrival)
                for line in ["host: \(name).example.com", "x-forwarded-host: \(name).example.com"] {
                    #expect(lines.contains(line), "\(lines)")
                }
                #expect(lines.contains("x-auth-subject: user-1815"), "\(lines)")
                #expect(!arrival.answer.text.contains("*."))
            }
            // The cookie of one name, replayed by another.
            let cookie = try #require(user.jars["a.example.com"]?["sallyport"])
            let replayed = try gateway.request(
                "GET /x HTTP/1.1\r\nHost: b.example.com\r\nCookie: sallyport=\(cookie)\r\n\r\n"
            )
            #expect(replayed.status == 401 && replayed.reason == "session.other_host", "\(replayed.text)")
            let own = try gateway.request(
                "GET /x HTTP/1.1\r\nHost: A.example.COM.\r\nCookie: sallyport=\(cookie)\r\n\r\n"
            )
            #expect(own.status == 200 && own.text.lowercased().contains("x-forwarded-host: a.example.com\r\n"))

            #expect(try user.signOut(Self.b).status == 303)
            for origin in [Self.a, Self.b, Self.id] {
                #expect(try user.open("\(origin)/x").url.hasPrefix("\(Self.id)/.sallyport/login"))
            }
        }
    }

    @Test("A ticket of one name, its request, and its nonce are of no use on a sibling")
    func tickets() throws {
        try self.with { (gateway, _) throws in
            var user = WebUser(gateway)
            _ = try user.submit(try user.open("\(Self.id)/x"))
            _ = try user.open("\(Self.a)/x")
            let ticket = try #require(user.trail.first { $0.contains("/.sallyport/ticket?") })
            #expect(ticket.hasPrefix(Self.a))
            var thief = WebUser(gateway)
            thief.jars["b.example.com"] = user.jars["a.example.com"] ?? [:]
            let moved = try thief.open(ticket.replacing(Self.a, with: Self.b))
            #expect(moved.answer.status == 403 && moved.answer.pageReason == "ticket.other_browser")
            #expect(thief.jars["b.example.com"]?["sallyport"] == user.jars["a.example.com"]?["sallyport"])
            // No name of the wildcard issues tickets, and the sign-in page of one leads to the host that does.
            for path in ["share", "adopt"] {
                #expect(try user.send("GET", "\(Self.b)/.sallyport/\(path)").status == 404)
            }
            var stranger = WebUser(gateway)
            let away = try stranger.open("\(Self.b)/.sallyport/login?return_to=\(Self.a)/x")
            #expect(away.url.hasPrefix("\(Self.id)/.sallyport/login"))
            #expect(try stranger.submit(away).url == "\(Self.b)/", "a page of a sibling is no page of this name")
        }
    }

    @Test("A transfer token for one name is refused on its siblings, and spent there")
    func handoff() throws {
        try self.with { (gateway, _) throws in
            let token = try HostSignInTests.transferToken(gateway, for: "a.example.com")
            var thief = WebUser(gateway)
            let refused = try thief.open("\(Self.b)/x?session_transfer_token=\(token)")
            #expect(refused.url.hasPrefix("\(Self.id)/.sallyport/login"), "\(refused.url)")
            #expect(thief.jars["b.example.com"]?["sallyport"] == nil)
            #expect(gateway.output.contains("handoff.other_host"))
            var user = WebUser(gateway)
            let spent = try user.open("\(Self.a)/x?session_transfer_token=\(token)")
            #expect(spent.url.hasPrefix("\(Self.id)/.sallyport/login"), "\(spent.url)")

            let fresh = try HostSignInTests.transferToken(gateway, for: "a.example.com")
            let arrived = try user.open("\(Self.a)/x?session_transfer_token=\(fresh)")
            #expect(arrived.url == "\(Self.a)/x" && arrived.answer.status == 200, "\(user.trail)")
        }
    }

    @Test("handoff.share takes a browser from one name through the host on which users sign in, and back to that name")
    func share() throws {
        try self.with(handoff: "{share: true}") { (gateway, _) throws in
            let token = try HostSignInTests.transferToken(gateway)
            var user = WebUser(gateway)
            let arrived = try user.open("\(Self.a)/page?q=1&session_transfer_token=\(token)")
            #expect(arrived.url == "\(Self.a)/page?q=1" && arrived.answer.status == 200, "\(user.trail)")
            #expect(user.jars["login.example.com"]?["sallyport"] != nil, "\(user.trail)")
            #expect(try user.open("\(Self.b)/x").url == "\(Self.b)/x")
        }
    }

    @Test("Names that do not fit are 404, and no label that a client makes up is a label of a metric")
    func spoofs() throws {
        try self.with { (gateway, app) throws in
            for name in [
                "*.example.com", ".example.com", "example.com", "a.b.example.com", "a_b.example.com", "-a.example.com",
                "a-.example.com", "xn--a.example.com", String(repeating: "a", count: 64) + ".example.com",
            ] {
                let answer = try gateway.request("GET /public/x HTTP/1.1\r\nHost: \(name)\r\n\r\n")
                #expect(answer.status == 404 || answer.status == 400, "\(name): \(answer.status)")
            }
            for name in ["user@a.example.com", "a%2eb.example.com", "a.example.com, b.example.com"] {
                let answer = try gateway.request("GET /public/x HTTP/1.1\r\nHost: \(name)\r\n\r\n")
                #expect(answer.status == 400 || answer.status == 404, "\(name): \(answer.status)")
            }
            #expect(app.requests.isEmpty)
            for number in 0..<1_000 {
                let name = "label-\(number).example.com"
                #expect(try gateway.request("GET /public/x HTTP/1.1\r\nHost: \(name)\r\n\r\n").status == 200)
            }
            let metrics = try gateway.admin("/metrics").text
            #expect(metrics.contains("*.example.com/public/**") && !metrics.contains("label-"))
        }
    }
}
