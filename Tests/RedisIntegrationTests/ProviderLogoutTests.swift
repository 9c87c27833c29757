import Foundation
import GatewayBench
import OpenIDBench
import RedisServers
import Testing
import Vocabulary

/// The provider ends sessions of two gateways that share one Redis (OpenID Connect Back-Channel Logout 1.0 and
/// Front-Channel Logout 1.0).
@Suite("Sign-outs that the provider asks for, at two gateways", .blocking) struct ProviderLogoutTests {
    private typealias Hosts = ProviderHosts

    /// What a logout token names.
    enum Named: String, CaseIterable {
        case session, subject, both
    }

    /// An app with a WebSocket at `/socket` and events at `/events`.
    private static let app: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            switch request.target {
            case "/socket":
                link.send(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nopen"
                )
                _ = link.wire.receive(seconds: 30)
                return
            case "/events":
                link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: open")
                _ = link.wire.receive(seconds: 30)
                return
            default: link.answer()
            }
        }
    }

    private func with(
        _ script: OpenIDScript = OpenIDScript(),
        _ body: @Sendable (ProviderHosts, RedisServer) throws -> Void
    ) async throws {
        try await RedisServer.with { server in
            try Hosts.with(script, count: 2, redis: RedisURLs.standalone(server.port), app: Self.app) {
                try body($0, server)
            }
        }
    }

    /// Opens a WebSocket and a stream of events at each gateway.
    private func streams(_ user: WebUser, _ bench: ProviderHosts) throws -> [Wire] {
        var wires: [Wire] = []
        let cookies = user.cookies(of: "app.example.com")
        for gateway in bench.gateways {
            for (target, fields) in [
                (
                    "/socket",
                    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nOrigin: \(Hosts.b)\r\n"
                        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                ),
                ("/events", "Accept: text/event-stream\r\n"),
            ] {
                let wire = try gateway.connect()
                wire.send("GET \(target) HTTP/1.1\r\nHost: app.example.com\r\n\(cookies)\(fields)\r\n")
                // The second is a chunk of its own.
                guard wire.receive(through: target == "/socket" ? "open" : "open\r\n") != nil else {
                    throw BenchFailure("no stream at \(target)")
                }
                wires.append(wire)
            }
        }
        return wires
    }

    private func post(_ form: String, to gateway: Gateway, _ fields: [String] = []) throws -> Answer {
        let lines = [
            "POST /.sallyport/backchannel-logout HTTP/1.1", "Host: login.example.com",
            "Content-Type: application/x-www-form-urlencoded", "Content-Length: \(form.utf8.count)",
        ]
        return try gateway.request((lines + fields).joined(separator: "\r\n") + "\r\n\r\n" + form)
    }

    private func frame(_ query: String, at gateway: Gateway) throws -> Answer {
        let fields = ["Sec-Fetch-Dest: iframe", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: cross-site"]
        let lines = ["GET /.sallyport/frontchannel-logout\(query) HTTP/1.1", "Host: login.example.com"] + fields
        return try gateway.request(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    @Test(
        "A logout token ends what it names at both gateways, with open streams, once; the provider may use its sid again",
        arguments: Named.allCases
    )
    func backChannel(named: Named) async throws {
        var script = OpenIDScript()
        script.keepsSessionID = true
        try await self.with(script) { bench, _ throws in
            let user = try bench.signedInUser()
            let sid = try #require(bench.provider.sessionID)
            bench.provider.change { $0.keepsSessionID = false }
            bench.provider.endSession()
            // The same user in another browser.
            let elsewhere = try bench.signedInUser()
            let other = try #require(bench.provider.sessionID)
            #expect(other != sid)
            let streams = try self.streams(user, bench)
            let (kept, stays) = (try self.streams(elsewhere, bench), named != .subject)

            let token = bench.provider.logoutToken(
                sessionID: named == .subject ? nil : sid,
                subject: named == .session ? nil : "user-1"
            )
            let answer = try self.post("logout_token=\(token)", to: bench.gateways[0])
            #expect(answer.status == 200 && answer.value("cache-control") == "no-store", "\(answer.lines)")
            #expect(eventually(within: 3) { bench.statuses(user) == [401] })
            for wire in streams { #expect(wire.receive(seconds: 2) != .silence) }
            #expect(eventually(within: 3) { bench.statuses(elsewhere) == [stays ? 200 : 401] })
            for wire in kept { #expect((wire.receive(seconds: stays ? 0.1 : 2) == .silence) == stays) }
            let event = try #require(
                bench.gateways[0].output.split(separator: "\n").last { $0.contains("back-channel") }
            )
            #expect(event.contains(#""event":"session.ended","code":"slo""#), "\(event)")
            let ended = bench.gateways[0].output.split(separator: "\n").last { $0.contains("session.cascaded") }
            #expect(ended?.contains(#""ended_by":"back-channel""#) == true, "\(ended ?? "no event")")

            // A new sign-in with the same sid lives, and the old token cannot end it.
            bench.provider.change { script in
                script.alterIDToken = { $0["sid"] = .string(sid) }
            }
            let again = try bench.signedInUser()
            for gateway in bench.gateways {
                let replayed = try self.post("logout_token=\(token)", to: gateway)
                #expect(replayed.status == 400 && replayed.text.contains("logout.replayed"), "\(replayed.text)")
            }
            #expect(bench.statuses(again) == [200])
            let next = bench.provider.logoutToken(sessionID: sid, subject: nil)
            #expect(try self.post("logout_token=\(next)", to: bench.gateways[1]).status == 200)
            #expect(eventually(within: 3) { bench.statuses(again) == [401] })
        }
    }

    @Test(
        "A logout token at one gateway ends the sign-in that is under way at the other, whatever it names it by",
        arguments: Named.allCases
    )
    func underWay(named: Named) async throws {
        try await self.with { bench, _ throws in
            var user = WebUser(bench.gateways[0])
            func callback() throws -> String {
                let page = try user.send("GET", "\(Hosts.a)/.sallyport/login?return_to=/x")
                let back = bench.provider.follow(try #require(page.value("location")))
                return String(try #require(back).dropFirst(Hosts.a.count))
            }
            let target = try callback()
            let token = bench.provider.logoutToken(
                sessionID: named == .subject ? nil : bench.provider.sessionID,
                subject: named == .session ? nil : "user-1"
            )
            bench.provider.hold(.token)
            defer { bench.provider.heal(.token) }
            let wire = try bench.gateways[0].connect()
            wire.send(
                "GET \(target) HTTP/1.1\r\nHost: login.example.com\r\n\(user.cookies(of: "login.example.com"))"
                    + "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nAccept: text/html\r\n\r\n"
            )
            #expect(eventually { bench.provider.waiting(at: .token) == 1 })
            #expect(try self.post("logout_token=\(token)", to: bench.gateways[1]).status == 200)
            bench.provider.heal(.token)
            let page = try wire.answer(seconds: 30)
            #expect(page.status == 403 && page.pageReason == "signin.ended", "\(page.lines)")
            #expect(page.sessionCookie?.isEmpty != false)
            bench.provider.endSession()
            let again = try user.send("GET", Hosts.a + (try callback()))
            #expect(again.status == 303 && again.sessionCookie?.isEmpty == false, "\(again.lines)")
        }
    }

    @Test("A token that is no valid logout token is 400 with an OAuth error, and ends nothing")
    func refused() async throws {
        try await self.with { bench, _ throws in
            let user = try bench.signedInUser()
            let provider = bench.provider
            let sid = try #require(provider.sessionID)
            let now = Int64(Date.now.timeIntervalSince1970)
            typealias Claims = [String: JSONValue]
            func token(_ type: String = "logout+jwt", _ alter: (inout Claims) -> Void) -> String {
                provider.logoutToken(sessionID: sid, subject: "user-1", type: type, alter)
            }
            let good = token { _ in }
            let parts = good.split(separator: ".")
            let forged = try OpenIDProvider()
            defer { forged.stop() }
            let cases: [(String, String)] = [
                ("typ", token("at+jwt") { _ in }), ("typ", token("dpop+jwt") { _ in }),
                ("nonce", token { $0["nonce"] = "n" }),
                ("iat", token { $0["iat"] = nil }), ("iat", token { $0["iat"] = .integer(now + 3600) }),
                (
                    "old",
                    token {
                        $0["iat"] = .integer(now - 3600)
                        $0["exp"] = nil
                    }
                ),
                ("exp", token { $0["exp"] = .integer(now - 3600) }),
                ("jti", token { $0["jti"] = nil }), ("jti", token { $0["jti"] = "" }),
                ("events", token { $0["events"] = nil }), ("events", token { $0["events"] = [:] }),
                ("events", token { $0["events"] = ["http://schemas.openid.net/event/backchannel-logout"] }),
                ("events", token { $0["events"] = ["http://schemas.openid.net/event/backchannel-logout": true] }),
                ("aud", token { $0["aud"] = "other" }), ("aud", token { $0["aud"] = nil }),
                ("iss", token { $0["iss"] = "https://idp.example.com" }), ("iss", token { $0["iss"] = nil }),
                (
                    "neither",
                    token {
                        $0["sid"] = nil
                        $0["sub"] = nil
                    }
                ),
                ("sid", token { $0["sid"] = 7 }),
                ("alg", "eyJhbGciOiJub25lIn0.\(parts[1])."), ("signature", "\(parts[0]).\(parts[1])."),
                ("payload", "\(parts[0]).e30.\(parts[2])"),
                ("key", forged.logoutToken(sessionID: sid, subject: "user-1") { $0["iss"] = .string(provider.issuer) }),
                ("access token", provider.accessToken { $0["sid"] = .string(sid) }),
                ("text", "x"), ("empty", ""),
            ]
            for (number, (what, token)) in cases.enumerated() {
                let answer = try self.post("logout_token=\(token)", to: bench.gateways[number % 2])
                #expect(answer.status == 400, "\(what): \(answer.lines) \(answer.text)")
                #expect(answer.text.contains(#""error":"invalid_request""#), "\(what): \(answer.text)")
                #expect(answer.value("cache-control") == "no-store" && answer.value("set-cookie") == nil)
            }
            for form in ["", "logout_token=\(good)&logout_token=\(good)", "token=\(good)"] {
                #expect(try self.post(form, to: bench.gateways[0]).status == 400, "\(form.prefix(20))")
            }
            let json = Request.post(
                "/.sallyport/backchannel-logout",
                ["Content-Type: application/json"],
                body: #"{"logout_token":"\#(good)"}"#
            ).replacing("Host: app.example.com", with: "Host: login.example.com")
            #expect(try bench.gateways[0].request(json).status == 400)
            let got =
                "GET /.sallyport/backchannel-logout?logout_token=\(good) HTTP/1.1\r\nHost: login.example.com\r\n\r\n"
            #expect(try bench.gateways[0].request(got).status == 405)
            #expect(
                try bench.gateways[0].request(
                    Request.post(
                        "/.sallyport/backchannel-logout",
                        ["Content-Type: application/x-www-form-urlencoded"],
                        body: "logout_token=\(good)"
                    )
                ).status == 404,
                "a host without endpoints"
            )
            #expect(bench.statuses(user) == [200])
            #expect(try self.post("logout_token=\(good)", to: bench.gateways[1]).status == 200)
            #expect(eventually(within: 3) { bench.statuses(user) == [401] })
        }
    }

    @Test("While Redis cannot be asked, a logout token is 503, and the same one ends the sessions when Redis is back")
    func outage() async throws {
        try await self.with { bench, server throws in
            let user = try bench.signedInUser()
            let sid = try #require(bench.provider.sessionID)
            let token = bench.provider.logoutToken(sessionID: sid, subject: nil)
            server.pause()
            defer { server.resume() }
            let answer = try self.post("logout_token=\(token)", to: bench.gateways[0])
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(answer.lines)")
            #expect(answer.text.contains(#""error":"temporarily_unavailable""#))
            #expect(try self.frame("?iss=\(bench.provider.issuer)&sid=\(sid)", at: bench.gateways[0]).status == 503)
            server.resume()
            #expect(
                eventually {
                    (try? self.post("logout_token=\(token)", to: bench.gateways[0]).status) == 200
                }
            )
            #expect(eventually(within: 3) { bench.statuses(user) == [401] })
        }
    }

    @Test("While a new key of the provider cannot be read, a logout token signed by it is 503, and no refusal")
    func unknownKey() async throws {
        try await self.with { bench, _ throws in
            let user = try bench.signedInUser()
            let sid = try #require(bench.provider.sessionID)
            bench.provider.breakDown(.keys, with: .answer(status: 500))
            bench.provider.rotateKey()
            let token = bench.provider.logoutToken(sessionID: sid, subject: nil)
            let answer = try self.post("logout_token=\(token)", to: bench.gateways[0])
            #expect(answer.status == 503 && answer.value("retry-after") != nil, "\(answer.lines) \(answer.text)")
            #expect(bench.statuses(user) == [200])
        }
    }

    @Test("A frame ends the sessions of its sid at both gateways and revokes no token; all else ends nothing")
    func frontChannel() async throws {
        try await self.with { bench, _ throws in
            let user = try bench.signedInUser()
            let sid = try #require(bench.provider.sessionID)
            bench.provider.endSession()
            let elsewhere = try bench.signedInUser()
            let streams = try self.streams(user, bench)
            let issuer = bench.provider.issuer
            for query in [
                "", "?iss=\(issuer)", "?sid=\(sid)", "?iss=\(issuer)&sid=", "?iss=\(issuer)&sid=\(sid)&sid=\(sid)",
                "?iss=https://idp.example.com&sid=\(sid)", "?iss=\(issuer)/&sid=\(sid)",
                "?iss=\(issuer)&sid=\(String(repeating: "a", count: 1025))",
            ] {
                let answer = try self.frame(query, at: bench.gateways[0])
                #expect(answer.status == 400, "\(query.prefix(80)): \(answer.lines)")
            }
            let unknown = try self.frame("?iss=\(issuer)&sid=unknown", at: bench.gateways[0])
            #expect(unknown.status == 200 && bench.statuses(user) == [200])
            let grants = bench.provider.grantCount
            let answer = try self.frame("?iss=\(issuer)&sid=\(sid)", at: bench.gateways[1])
            #expect(answer.status == 200 && answer.body == unknown.body)
            #expect(answer.value("cache-control") == "no-store" && answer.value("x-frame-options") == nil)
            #expect(answer.value("content-security-policy")?.contains("frame-ancestors") == false)
            #expect(eventually(within: 3) { bench.statuses(user) == [401] })
            for wire in streams { #expect(wire.receive(seconds: 2) != .silence) }
            #expect(bench.statuses(elsewhere) == [200])
            #expect(bench.provider.grantCount == grants && bench.provider.count(.revocation) == 0)
        }
    }
}
