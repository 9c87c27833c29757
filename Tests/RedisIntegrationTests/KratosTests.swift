import Foundation
import GatewayBench
import KratosBench
import RedisServers
import Testing

/// Two gateways in front of one Kratos, over one Redis.
@Suite("Kratos's sessions at two gateways", .blocking) struct KratosTests {
    /// An app with events at `/events`.
    private static let app: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            guard request.target == "/events" else {
                link.answer(body: request.text)
                continue
            }
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: open")
            _ = link.wire.receive(seconds: 30)
            return
        }
    }

    private struct Bench {
        let kratos: KratosDouble
        let gateways: [Gateway]

        func get(_ target: String, _ fields: [String], at index: Int, method: String = "GET") throws -> Answer {
            try self.gateways[index].request(Request.get(target, fields, method: method))
        }
    }

    /// - Parameter more: More keys of `provider.kratos`.
    private func with(kratos more: String = "", _ body: @Sendable (Bench) throws -> Void) async throws {
        try await RedisServer.with { server in
            let kratos = try KratosDouble(publicURL: Request.origin)
            defer { kratos.stop() }
            let app = try FakeUpstream(serve: Self.app)
            defer { app.stop() }
            let settings = """
                public_url: \(Request.origin)
                listen: 127.0.0.1:0
                event_loops: 2
                admin: {listen: 127.0.0.1:0}
                upstream: http://127.0.0.1:\(app.port)
                routes: [{path: /**, client: web}, {path: /staff/**, require: {groups_any: [staff]}}]
                secret_file: secret
                store: {redis: {url: "\(RedisURLs.standalone(server.port))"}}
                session: {cookie: sallyport}
                trusted_proxies: [127.0.0.0/8]
                provider: {kratos: {public_url: "\(kratos.url)"\(more.isEmpty ? "" : ", \(more)")}}
                clients:
                \(Config.clients(binding: "none"))
                drain: {delay: 0s, timeout: 100ms}

                """
            let files = ["secret": "a secret of two gateways in front of Kratos"]
            let first = try Gateway(settings, files: files)
            defer { first.stop() }
            let second = try Gateway(settings, files: files)
            defer { second.stop() }
            try body(Bench(kratos: kratos, gateways: [first, second]))
        }
    }

    @Test("One gateway's answer serves the other, and a sign-out at one ends cookie, token and streams at both")
    func signOut() async throws {
        try await self.with { bench throws in
            let (session, other) = (bench.kratos.newSession(), bench.kratos.newSession())
            let cookie = "Cookie: ory_kratos_session=\(session.cookie)"
            let (token, othersToken) = ("X-Session-Token: \(session.token)", "X-Session-Token: \(other.token)")
            for index in 0..<2 {
                for field in [cookie, token, othersToken] {
                    #expect(try bench.get("/", [field], at: index).status == 200)
                }
            }
            #expect(bench.kratos.calls(of: "/sessions/whoami").count == 3)
            let streams = try bench.gateways.map { gateway in
                let wire = try gateway.connect()
                wire.send(Request.get("/events", [cookie, "Accept: text/event-stream"]))
                guard wire.receive(through: "open\r\n") != nil else { throw BenchFailure("no stream") }
                return wire
            }
            let fields = [cookie, "Sec-Fetch-Site: same-origin", "Accept: application/json"]
            #expect(try bench.gateways[0].request(Request.post("/.sallyport/logout", fields, body: "")).status == 204)
            for index in 0..<2 {
                #expect(eventually { (try? bench.get("/", [cookie], at: index).status) == 401 })
                #expect(eventually { (try? bench.get("/", [token], at: index).status) == 401 })
                #expect(try bench.get("/", [othersToken], at: index).status == 200)
            }
            for wire in streams { #expect(wire.receiveAll(seconds: 10).last == .reset) }
        }
    }

    /// An app's session, a WebView that it signed in, and a transfer token that nobody has used.
    private struct App {
        let session: KratosState.Session
        let webView: String
        let unused: String

        init(_ bench: Bench) throws {
            self.session = bench.kratos.newSession()
            let gateway = bench.gateways[0]
            let target = "/page?session_transfer_token=\(try gateway.mint(self.session.token))"
            let page = try gateway.request(
                Request.get(target, ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"])
            )
            self.webView = "Cookie: sallyport=\(try #require(page.sessionCookie, "\(page.lines)"))"
            self.unused = try gateway.mint(self.session.token)
        }
    }

    @Test("What ends at Kratos through one gateway ends at both: WebViews, their streams, and unused transfer tokens")
    func ends() async throws {
        try await self.with { bench throws in
            let (own, first, second, third) = (try App(bench), try App(bench), try App(bench), try App(bench))
            let streams = try [first, second, third].map { app in
                let wire = try bench.gateways[1].connect()
                wire.send(Request.get("/events", [app.webView, "Accept: text/event-stream"]))
                guard wire.receive(through: "open\r\n") != nil else { throw BenchFailure("no stream") }
                return wire
            }
            let caller = "X-Session-Token: \(own.session.token)"
            let body = #"{"session_token":"\#(first.session.token)"}"#
            let type = ["Content-Type: application/json"]
            let native = Request.get("/self-service/logout/api", type, method: "DELETE", body: body)
            #expect(try bench.gateways[0].request(native).status == 204)
            let one = try bench.get("/sessions/\(second.session.id)", [caller], at: 0, method: "DELETE")
            #expect(one.status == 204)
            #expect(try bench.get("/sessions", [caller], at: 1, method: "DELETE").text == #"{"count":1}"#)
            for app in [first, second, third] {
                for index in 0..<2 {
                    #expect(eventually { (try? bench.get("/", [app.webView], at: index).status) == 401 })
                    let late = try bench.get("/?session_transfer_token=\(app.unused)", [], at: index)
                    #expect(late.sessionCookie == nil)
                }
            }
            for wire in streams { #expect(wire.receiveAll(seconds: 10).last == .reset) }
            for index in 0..<2 { #expect(try bench.get("/", [own.webView], at: index).status == 200) }
        }
    }

    @Test("A session that ended at Kratos alone ends at both gateways when one of them learns of it")
    func learnt() async throws {
        try await self.with(kratos: "cache: 1s") { bench throws in
            let app = try App(bench)
            for index in 0..<2 { #expect(try bench.get("/", [app.webView], at: index).status == 200) }
            bench.kratos.change { state in state.change(app.session) { $0.isActive = false } }
            let field = "X-Session-Token: \(app.session.token)"
            #expect(eventually { (try? bench.get("/", [field], at: 0).status) == 401 })
            for index in 0..<2 { #expect(eventually { (try? bench.get("/", [app.webView], at: index).status) == 401 }) }
        }
    }

    @Test("Hundreds of requests at each gateway for one token that none knows are at most one question of each")
    func herd() async throws {
        try await self.with { bench throws in
            let fields = ["X-Session-Token: \(bench.kratos.newSession().token)"]
            let wires = try (0..<400).map { number in try bench.gateways[number % 2].connect() }
            bench.kratos.fail("/sessions/whoami", with: .slow(0.5))
            for wire in wires { wire.send(Request.get("/staff/x", fields)) }
            let answers = try wires.map { try $0.answer(seconds: 60) }
            // A machine too busy to hear Redis in time says so, and refuses nobody.
            #expect(Set(answers.compactMap(\.reason)).isSubset(of: ["require.groups", "store.unavailable"]))
            #expect(answers.contains { $0.status == 403 } && answers.allSatisfy { [403, 503].contains($0.status) })
            #expect((1...2).contains(bench.kratos.calls(of: "/sessions/whoami").count))
            for wire in wires { wire.close() }
        }
    }

    @Test("Two codes count once, whichever gateways they are brought to, at the same time too")
    func exchange() async throws {
        try await self.with { bench throws in
            let begun = try bench.get("/self-service/login/api?return_session_token_exchange_code=true", [], at: 0)
            let initCode = try #require(begun.text.firstMatch(of: /"session_token_exchange_code":"([^"]+)"/)).1
            let id = try #require(begun.text.firstMatch(of: /"id":"([0-9a-f-]{36})"/)).1
            let back = try bench.get("/self-service/methods/oidc/callback/google?state=\(id)", [], at: 1)
            let code = try #require(back.value("location")?.split(separator: "=").last)
            let target = "/sessions/token-exchange?init_code=\(initCode)&return_to_code=\(code)"
            let wires = try (0..<20).map { number in
                let wire = try bench.gateways[number % 2].connect()
                wire.send(Request.get(target, ["X-Forwarded-For: 203.0.113.\(number)"]))
                return wire
            }
            let statuses = try wires.map { try $0.answer(seconds: 10).status }
            #expect(statuses.filter { $0 == 200 }.count == 1 && statuses.filter { $0 == 404 }.count == 19)
            let winner = try #require(statuses.firstIndex(of: 200))
            for index in 0..<2 {
                let again = try bench.get(target, ["X-Forwarded-For: 203.0.113.\(winner)"], at: index)
                #expect(again.status == 200)
            }
        }
    }
}
