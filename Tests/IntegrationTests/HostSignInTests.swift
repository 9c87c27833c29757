import Foundation
import GatewayBench
import Synchronization
import Testing

/// Users sign in on one host, and other hosts of the same gateway take that over.
@Suite("One sign-in for many hosts", .blocking) struct HostSignInTests {
    static let a = "http://login.example.com"
    static let b = "http://app.example.com"
    static let c = "http://other.example.com:8080"

    static func settings(_ upstream: Int, handoff: String = "{}", more: String = "") -> String {
        """
        listen: 127.0.0.1:0
        event_loops: 2
        admin: {listen: 127.0.0.1:0}
        upstream: http://127.0.0.1:\(upstream)
        session: {cookie: sallyport}
        hosts:
          - public_url: \(self.b)
            routes:
              - {path: /**, client: web}
              - {path: /fresh/**, require: {max_age: 3s}}
              - {path: /public/**, auth: public}
          - public_url: \(self.a)
            endpoints: true
            routes: [{path: /**}]
          - public_url: \(self.c)
            routes: [{path: /**}]
        handoff: \(handoff)
        clients:
        \(Config.clients(binding: "none"))
        provider:
          static:
            users:
        \(Config.users)
        drain: {delay: 0s, timeout: 1s}
        \(more)

        """
    }

    private func with(handoff: String = "{}", _ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try Gateway.withApp({ Self.settings($0, handoff: handoff) }, body)
    }

    /// The identity field in the head that the app has shown.
    private func field(_ name: String, _ arrival: WebUser.Arrival) -> String? {
        arrival.answer.text.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    @Test("One sign-in serves three hosts, each with a session of its own; one sign-out ends them all")
    func signInAndOut() throws {
        try self.with { (gateway, app) throws in
            var user = WebUser(gateway)
            let page = try user.open("\(Self.b)/reports?year=2026&x=%2F")
            #expect(page.url.hasPrefix("\(Self.a)/.sallyport/login?return_to=/.sallyport/share"), "\(page.url)")
            #expect(page.answer.status == 200 && page.answer.text.contains("login.example.com"))
            let arrived = try user.submit(page)
            #expect(arrived.url == "\(Self.b)/reports?year=2026&x=%2F" && arrived.answer.status == 200)
            let other = try user.open("\(Self.c)/x")
            #expect(other.url == "\(Self.c)/x" && user.trail.count == 5, "\(user.trail)")
            let first = try user.open("\(Self.a)/x")
            #expect(user.trail.count == 1)
            for arrival in [arrived, other, first] {
                #expect(self.field("X-Auth-Subject", arrival) == "user-1815", "\(arrival.answer.text)")
                #expect(self.field("X-Auth-Origin", arrival) == "browser")
                #expect(self.field("Cookie", arrival) == nil)
            }
            #expect(Set([arrived, other, first].compactMap { self.field("X-Auth-Session-Id", $0) }).count == 3)
            #expect(app.requests.allSatisfy { !$0.text.contains("sph_") && !$0.text.contains("/.sallyport/") })
            let kept = Set(user.jars.values.flatMap(\.keys))
            #expect(kept == ["sallyport", "sallyport-recent", "sallyport-account"], "\(user.jars)")
            #expect(try gateway.metric(#"sallyport_host_tickets_total{result="issued"}"#) == 2)
            #expect(try gateway.metric(#"sallyport_host_tickets_total{result="used"}"#) == 2)

            #expect(try user.signOut(Self.c).status == 303)
            for origin in [Self.a, Self.b, Self.c] {
                let page = try user.open("\(origin)/x")
                #expect(page.url.hasPrefix("\(Self.a)/.sallyport/login"), "\(page.url)")
            }
        }
    }

    @Test("Every tab that is opened at once arrives at its own page")
    func tabs() throws {
        try self.with { (gateway, _) throws in
            var user = WebUser(gateway)
            _ = try user.submit(try user.open("\(Self.a)/"))
            let signedIn = user
            let arrivals = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { index in
                var tab = signedIn
                let url = index.isMultiple(of: 2) ? "\(Self.b)/tab\(index)" : "\(Self.c)/tab\(index)"
                let arrival = try? tab.open(url)
                arrivals.withLock { $0.append("\(arrival?.answer.status ?? 0) \(arrival?.url == url)") }
            }
            #expect(arrivals.withLock { $0 } == Array(repeating: "200 true", count: 8))
        }
    }

    @Test("A ticket's URL that another browser opens, or that is opened again, signs nobody in")
    func stolenURL() throws {
        try self.with { (gateway, _) throws in
            var user = WebUser(gateway)
            _ = try user.submit(try user.open("\(Self.a)/"))
            _ = try user.open("\(Self.b)/x")
            let ticket = try #require(user.trail.first { $0.contains("/.sallyport/ticket?") })
            #expect(try user.open(ticket).url == "\(Self.b)/", "the browser itself is signed in")
            var thief = WebUser(gateway)
            let refused = try thief.open(ticket)
            #expect(refused.answer.status == 403 && refused.answer.pageReason == "ticket.other_browser")
            #expect(refused.answer.text.contains("href=\"/.sallyport/login?return_to=/\""))
            #expect(thief.jars.isEmpty && thief.trail.count == 1)
            #expect(refused.answer.value("referrer-policy") == "no-referrer")
            for method in ["HEAD", "POST"] { #expect(try thief.send(method, ticket).status == 405) }
            let scanned = try thief.send("GET", ticket, ["Sec-Purpose: prefetch"])
            #expect(scanned.status == 403 && scanned.pageReason == "ticket.not_navigation")
        }
    }

    @Test("A page that needs a recent sign-in leads to the sign-in page once, and the new sign-in serves all hosts")
    func stepUp() throws {
        try self.with { (gateway, _) throws in
            var user = WebUser(gateway)
            _ = try user.submit(try user.open("\(Self.b)/x"))
            _ = try user.open("\(Self.c)/x")
            sleep(4)
            let page = try user.open("\(Self.b)/fresh/x")
            #expect(
                page.url.hasPrefix("\(Self.a)/.sallyport/login") && page.url.contains("prompt=login"),
                "\(page.url)"
            )
            #expect(try user.submit(page).url == "\(Self.b)/fresh/x")
            let other = try user.open("\(Self.c)/x")
            #expect(other.url == "\(Self.c)/x" && user.trail.count == 5, "the old sign-in has ended everywhere")
        }
    }

    @Test("A script on a host without endpoints gets 401, and its form posts no password here")
    func scripts() throws {
        try self.with { (gateway, _) throws in
            var user = WebUser(gateway)
            let told = try gateway.request(
                "GET /x HTTP/1.1\r\nHost: app.example.com\r\nAccept: application/json\r\n\r\n"
            )
            #expect(told.status == 401 && told.reason == "credential.missing")
            #expect(told.text.contains("\"login_url\":\"\(Self.b)/.sallyport/login\""))
            let posted = try user.send(
                "POST",
                "\(Self.b)/.sallyport/login",
                ["Origin: \(Self.b)", "Content-Type: application/x-www-form-urlencoded"],
                body: "identifier=ada@example.com&password=analytical-engine&return_to=/x"
            )
            #expect(posted.status == 303 && posted.value("location")?.hasPrefix("\(Self.a)/.sallyport/share?") == true)
            #expect(posted.sessionCookie == nil)
            for path in ["share", "adopt"] {
                #expect(try user.send("GET", "\(Self.b)/.sallyport/\(path)").status == 404)
            }
        }
    }

    // MARK: handoff.share

    /// Mints a transfer token at the first host.
    ///
    /// - Parameter audience: The host for which it is.
    static func transferToken(_ gateway: Gateway, for audience: String = "login.example.com") throws -> String {
        func post(_ path: String, _ type: String, _ body: String) throws -> String {
            try gateway.request(
                "POST \(path) HTTP/1.1\r\nHost: login.example.com\r\nContent-Type: \(type)\r\nAccept: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            ).text
        }
        let begun = try gateway.request(
            "GET /self-service/login/api HTTP/1.1\r\nHost: login.example.com\r\n\r\n"
        ).text
        let flow = try #require(begun.firstMatch(of: /flow=([^"]+)"/)?.1)
        let session = try post(
            "/self-service/login?flow=\(flow)",
            "application/json",
            #"{"method":"password","identifier":"ada@example.com","password":"analytical-engine"}"#
        )
        let token = try #require(session.firstMatch(of: /"session_token":"([^"]+)"/)?.1)
        let form = [
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=native", "subject_token=\(token)",
            "subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
            "audience=urn:\(audience):session_transfer",
        ]
        let minted = try post("/oauth/token", "application/x-www-form-urlencoded", form.joined(separator: "&"))
        return String(try #require(minted.firstMatch(of: /"access_token":"([^"]+)"/)?.1))
    }

    @Test("A handoff on one host signs the browser in on that host, and with handoff.share on the others too")
    func share() throws {
        for isShared in [false, true] {
            try self.with(handoff: "{share: \(isShared)}") { (gateway, app) throws in
                let target = "/a//b?SAMLRequest=fZ%2B%3d&x=%20y&&z"
                let token = try Self.transferToken(gateway)
                var user = WebUser(gateway)
                let arrival = try user.open("\(Self.b)\(target)&session_transfer_token=\(token)")
                #expect(arrival.url == "\(Self.b)\(target)" && arrival.answer.status == 200, "\(user.trail)")
                #expect(user.trail.count == (isShared ? 5 : 2), "\(user.trail)")
                #expect(self.field("X-Auth-Origin", arrival) == "transfer")
                #expect(app.requests.last?.target == target)
                #expect(user.trail.dropFirst().allSatisfy { !$0.contains(token) })
                let other = try user.open("\(Self.c)/x")
                #expect((other.url == "\(Self.c)/x") == isShared, "\(other.url)")
                guard isShared else { return }
                #expect(self.field("X-Auth-Origin", other) == "transfer")

                // By a cookie as well, in a browser of its own.
                var web = WebUser(gateway)
                web.jars["app.example.com"] = ["session_transfer_token": try Self.transferToken(gateway)]
                let page = try web.open("\(Self.b)/page?q=1")
                #expect(page.url == "\(Self.b)/page?q=1" && page.answer.status == 200)
                #expect(web.jars["login.example.com"]?["sallyport"] != nil)

                #expect(try user.signOut(Self.a).status == 303)
                for origin in [Self.b, Self.c] {
                    #expect(try user.open("\(origin)/x").url.hasPrefix("\(Self.a)/.sallyport/login"))
                }
                #expect(try web.open("\(Self.b)/x").answer.status == 200, "another handoff goes on")
            }
        }
    }
}

/// The same over several gateways that share Redis.
@Suite("One sign-in over several gateways", .blocking) struct HostSignInFleetTests {
    private typealias Hosts = HostSignInTests

    @Test("Requests of one sign-in may reach any gateway; a sign-out at one is known to all")
    func fleet() throws {
        guard Servers.find(["/usr/bin/redis-server"]) != nil else { try Servers.missing("redis-server") }
        let redis = try RedisProcess()
        defer { redis.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "secret_file: secret\nstore: {redis: {url: \"redis://127.0.0.1:\(redis.port)\"}}"
        let files = ["secret": String(repeating: "s", count: 48) + "\n"]
        try Gateway.with(Hosts.settings(app.port, handoff: "{share: true}", more: more), files: files) {
            (first) throws in
            try Gateway.with(Hosts.settings(app.port, handoff: "{share: true}", more: more), files: files) {
                (second) throws in
                for gateway in [first, second] { #expect(eventually { (try? gateway.admin("/readyz").status) == 200 }) }
                var user = WebUser(first, second)
                #expect(try user.submit(try user.open("\(Hosts.b)/x")).url == "\(Hosts.b)/x")
                #expect(try user.open("\(Hosts.c)/x").url == "\(Hosts.c)/x")
                #expect(try user.open("\(Hosts.c)/y").answer.status == 200)
                // A handoff on one host, each step at the other gateway.
                var shared = WebUser(first, second)
                let token = try Hosts.transferToken(first)
                let arrived = try shared.open("\(Hosts.b)/page?q=%2F&session_transfer_token=\(token)")
                #expect(arrived.url == "\(Hosts.b)/page?q=%2F" && shared.trail.count == 5, "\(shared.trail)")
                #expect(try shared.open("\(Hosts.c)/x").url == "\(Hosts.c)/x")
                let familiar = shared.jars
                #expect(try shared.signOut(Hosts.c).status == 303)
                shared.jars = familiar
                #expect(
                    eventually {
                        (0..<2).allSatisfy { _ in
                            let page = try? shared.open("\(Hosts.b)/x")
                            return page?.url.hasPrefix("\(Hosts.a)/.sallyport/login") == true
                        }
                    }
                )
                #expect(try user.open("\(Hosts.c)/z").answer.status == 200)
                let before = user.jars
                #expect(try user.signOut(Hosts.b).status == 303)
                user.jars = before
                #expect(
                    eventually {
                        guard let a = try? user.open("\(Hosts.c)/x"), let b = try? user.open("\(Hosts.c)/x") else {
                            return false
                        }
                        return [a, b].allSatisfy { $0.url.hasPrefix("\(Hosts.a)/.sallyport/login") }
                    }
                )
            }
        }
    }
}
