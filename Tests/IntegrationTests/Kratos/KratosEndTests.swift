import Foundation
import GatewayBench
import KratosBench
import Testing

/// Ends that apps and browsers ask Kratos for, or that nobody tells the gateway of.
@Suite("What Kratos ends has ended at the gateway", .blocking)
struct KratosEndTests {
    private static let clients = "clients:\n" + Config.clients(binding: "none")
    private static let json = "Content-Type: application/json"

    private static func with(_ body: (KratosGatewayBench) throws -> Void) throws {
        try KratosGatewayBench.with(more: self.clients, client: "web", body)
    }

    /// What an app has of its session: the token, a WebView that is signed in, and a transfer token that nobody has used.
    private struct App {
        let session: KratosState.Session
        let webView: String
        let unused: String
        private let bench: KratosGatewayBench

        init(_ bench: KratosGatewayBench, email: String = "ada@example.com") throws {
            self.bench = bench
            self.session = bench.kratos.newSession(email: email)
            let page = try bench.get(
                "/x?session_transfer_token=\(try bench.gateway.mint(self.session.token))",
                KratosGatewayBench.navigation
            )
            self.webView = "Cookie: sallyport=\(try #require(page.sessionCookie, "\(page.lines)"))"
            self.unused = try bench.gateway.mint(self.session.token)
            #expect(try bench.get("/x", [self.webView]).status == 200)
        }

        var field: String { "X-Session-Token: \(self.session.token)" }

        /// Everything that has ended: the token, the WebView, and the unused transfer token.
        func expectEnded(_ note: Comment? = nil, at location: SourceLocation = #_sourceLocation) throws {
            #expect(try self.bench.get("/x", [self.webView]).status == 401, note, sourceLocation: location)
            let late = try self.bench.get("/x?session_transfer_token=\(self.unused)", KratosGatewayBench.navigation)
            #expect(late.sessionCookie == nil, note, sourceLocation: location)
            #expect(try self.bench.get("/x", [self.field]).status == 401, note, sourceLocation: location)
        }

        /// The WebView goes on, and the transfer token signs another one in.
        func expectLive(_ note: Comment? = nil, at location: SourceLocation = #_sourceLocation) throws {
            #expect(try self.bench.get("/x", [self.webView]).status == 200, note, sourceLocation: location)
            #expect(try self.bench.get("/x", [self.field]).status == 200, note, sourceLocation: location)
            let other = try self.bench.get("/x?session_transfer_token=\(self.unused)", KratosGatewayBench.navigation)
            #expect(other.sessionCookie != nil, note, sourceLocation: location)
        }
    }

    private func logOut(_ bench: KratosGatewayBench, _ body: String, _ fields: [String] = []) throws -> Answer {
        try bench.gateway.request(
            Request.get("/self-service/logout/api", [Self.json] + fields, method: "DELETE", body: body)
        )
    }

    private func logOut(_ bench: KratosGatewayBench, _ app: App) throws -> Answer {
        try self.logOut(bench, #"{"session_token":"\#(app.session.token)"}"#)
    }

    // MARK: The native logout

    @Test("An app's logout at Kratos ends its WebViews and its unused transfer tokens; other sessions go on")
    func nativeLogout() throws {
        try Self.with { bench throws in
            let (app, other) = (try App(bench), try App(bench))
            let answer = try self.logOut(bench, app)
            #expect(answer.status == 204 && answer.text.isEmpty)
            try app.expectEnded()
            try other.expectLive()
            let call = try #require(bench.kratos.calls(of: "/self-service/logout/api").last)
            #expect(call.body == Array(#"{"session_token":"\#(app.session.token)"}"#.utf8))
            #expect(eventually { bench.gateway.output.contains("session.signed_out") })
            #expect(try self.logOut(bench, app).status == 204, "with PostgreSQL it can be repeated")
        }
    }

    @Test("A logout whose answer was lost ends everything when it is repeated, though Kratos then refuses it")
    func lostAnswers() throws {
        try Self.with { bench throws in
            bench.kratos.change { $0.forgetsRevoked = true }
            let app = try App(bench)
            bench.kratos.change { state in state.change(app.session) { $0.isActive = false } }
            bench.kratos.fail("/self-service/logout/api", with: .closes)
            for _ in 0..<2 {
                let lost = try self.logOut(bench, app)
                #expect(lost.status == 503 && lost.value("retry-after") != nil)
            }
            #expect(try bench.get("/x", [app.webView]).status == 200, "nobody knows yet what Kratos did")
            bench.kratos.heal()
            #expect(try self.logOut(bench, app).status == 403)
            try app.expectEnded()
            #expect(try self.logOut(bench, app).status == 403)
        }
    }

    @Test(
        "A logout that Kratos refuses ends nothing while its session lives there",
        arguments: [400, 403, 404, 429, 500, 503]
    )
    func refusedLogout(status: Int) throws {
        try Self.with { bench throws in
            let app = try App(bench)
            bench.kratos.fail("/self-service/logout/api", with: .status(status))
            #expect(try self.logOut(bench, app).status == status)
            try app.expectLive()
        }
    }

    @Test("A Kratos that has lost its database ends nothing: it is not ready, so its refusals do not count")
    func notReady() throws {
        try Self.with { bench throws in
            bench.kratos.change { $0.forgetsRevoked = true }
            let app = try App(bench)
            bench.kratos.fail("/self-service/logout/api", with: .status(403))
            bench.kratos.fail("/sessions/whoami", with: .refusesAll)
            bench.kratos.fail("/health/ready", with: .status(503))
            #expect(try self.logOut(bench, app).status == 503)
            bench.kratos.heal()
            try app.expectLive()
        }
    }

    @Test(
        "A body that the gateway and Kratos could read differently is refused; one without a token is Kratos's to refuse"
    )
    func bodies() throws {
        try Self.with { bench throws in
            let app = try App(bench)
            let token = app.session.token
            for body in [
                #"{"session_token":"x","session_token":"\#(token)"}"#, #"{"session_token":"\#(token)"} x"#,
                #"{"session_token":"x","Session_Token":"\#(token)"}"#, #"["\#(token)"]"#, "session_token=\(token)", "",
            ] {
                let answer = try self.logOut(bench, body)
                #expect(answer.status == 400 && answer.text.contains(#""code":400"#), "\(body)")
            }
            #expect(bench.kratos.calls(of: "/self-service/logout/api").isEmpty)
            let large = #"{"session_token":"\#(token)","x":"\#(String(repeating: "x", count: 16_384))"}"#
            #expect(try self.logOut(bench, large).status == 413)
            #expect(try self.logOut(bench, #"{"session_token":null}"#).status == 403, "Kratos's own")
            try app.expectLive()
        }
    }

    // MARK: The logout of browsers

    /// The logout token for a browser, from Kratos's own endpoint.
    private func logoutToken(_ bench: KratosGatewayBench, _ cookie: String) throws -> String {
        let begun = try bench.get("/self-service/logout/browser", [cookie, "Accept: application/json"])
        return String(try #require(begun.text.firstMatch(of: /"logout_token":"([^"]+)"/), "\(begun.text)").1)
    }

    @Test("A browser's logout at Kratos ends every cookie of the session; a redirect that refuses it ends nothing")
    func browserLogout() throws {
        try Self.with { bench throws in
            let (session, other) = (bench.kratos.newSession(), bench.kratos.newSession())
            let cookie = "Cookie: ory_kratos_session=\(session.cookie)"
            for field in [cookie, "X-Session-Token: \(session.token)"] {
                #expect(try bench.get("/x", [field]).status == 200)
            }
            let token = try self.logoutToken(bench, cookie)
            for target in ["/self-service/logout", "/self-service/logout?token=ory_lo_wrong"] {
                let refused = try bench.get(target, [cookie] + KratosGatewayBench.navigation)
                #expect(refused.status == 303 && refused.value("location")?.contains("/ui/error") == true, "\(target)")
                #expect(try bench.get("/x", [cookie]).status == 200, "\(target)")
            }
            let fields = ["\(cookie); theme=dark; sallyport=x"] + KratosGatewayBench.navigation
            let answer = try bench.get("/self-service/logout?token=\(token)", fields)
            #expect(answer.status == 303 && answer.value("location") == "\(Request.origin)/")
            #expect(answer.value("set-cookie")?.hasPrefix("ory_kratos_session=;") == true)
            let call = try #require(bench.kratos.calls(of: "/self-service/logout").last)
            #expect(call.target == "/self-service/logout?token=\(token)")
            #expect(call.values("cookie") == ["ory_kratos_session=\(session.cookie); theme=dark"])
            for field in [cookie, "X-Session-Token: \(session.token)"] {
                #expect(try bench.get("/x", [field]).status == 401, "\(field)")
            }
            #expect(try bench.get("/x", ["Cookie: ory_kratos_session=\(other.cookie)"]).status == 200)
        }
    }

    @Test("A browser's logout by a program is 204 and ends the session; without Kratos's word on it, 503")
    func browserLogoutByProgram() throws {
        try Self.with { bench throws in
            let session = bench.kratos.newSession()
            let cookie = "Cookie: ory_kratos_session=\(session.cookie)"
            #expect(try bench.get("/x", [cookie]).status == 200)
            let target = "/self-service/logout?token=\(try self.logoutToken(bench, cookie))"
            let wrong = try bench.get("/self-service/logout?token=x", [cookie, "Accept: application/json"])
            #expect(wrong.status == 403 && wrong.text.contains("does not match"))
            #expect(try bench.get("/x", [cookie]).status == 200)
            bench.kratos.fail("/sessions/whoami", with: .status(500))
            let unknown = try bench.get(target, [cookie, "Accept: application/json"])
            #expect(unknown.status == 503 && unknown.value("retry-after") != nil)
            bench.kratos.heal()
            let again = try bench.get(target, [cookie] + KratosGatewayBench.navigation)
            #expect(again.status == 303, "\(again.lines)")
            #expect(try bench.get("/x", [cookie]).status == 401)
        }
    }

    // MARK: Other sessions

    @Test("DELETE /sessions ends the others' WebViews and transfer tokens; the caller's and other users' go on")
    func others() throws {
        try Self.with { bench throws in
            let (own, first, second) = (try App(bench), try App(bench), try App(bench))
            let grace = try App(bench, email: "grace@example.com")
            let cookie = bench.kratos.newSession()
            let plain = "Cookie: ory_kratos_session=\(cookie.cookie)"
            #expect(try bench.get("/x", [plain]).status == 200)
            let answer = try bench.get("/sessions", [own.field], method: "DELETE")
            #expect(answer.status == 200 && answer.text == #"{"count":3}"#)
            try first.expectEnded()
            try second.expectEnded()
            #expect(try bench.get("/x", [plain]).status == 401, "of a session that gave nothing, its own cookie ends")
            try own.expectLive()
            try grace.expectLive()
        }
    }

    @Test(
        "Without Kratos's list, and when its answer was lost, DELETE /sessions ends the others' WebViews all the same"
    )
    func othersWithoutList() throws {
        try Self.with { bench throws in
            let (own, other) = (try App(bench), try App(bench))
            bench.kratos.fail("/sessions", with: .closes)
            #expect(try bench.get("/sessions", [own.field], method: "DELETE").status == 503)
            bench.kratos.heal()
            bench.kratos.change { state in state.change(other.session) { $0.isActive = false } }
            let repeated = try bench.get("/sessions", [own.field], method: "DELETE")
            #expect(repeated.status == 200 && repeated.text == #"{"count":0}"#)
            #expect(try bench.get("/x", [other.webView]).status == 401)
            try own.expectLive()
        }
    }

    @Test("More sessions than Kratos has on a page end together")
    func manyOthers() throws {
        try Self.with { bench throws in
            let own = try App(bench)
            let oldest = bench.kratos.newSession()
            let others = (0..<270).map { _ in bench.kratos.newSession() }
            let last = try #require(others.last)
            let fields = [oldest, others[255], last].map { "X-Session-Token: \($0.token)" }
            for field in fields { #expect(try bench.get("/x", [field]).status == 200) }
            #expect(try bench.get("/sessions", [own.field], method: "DELETE").text == #"{"count":271}"#)
            for field in fields { #expect(try bench.get("/x", [field]).status == 401) }
            try own.expectLive()
        }
    }

    @Test("A refused DELETE /sessions ends nothing, and so does one with a session that Kratos does not know")
    func refusedOthers() throws {
        try Self.with { bench throws in
            let (own, other) = (try App(bench), try App(bench))
            #expect(try bench.get("/sessions", ["X-Session-Token: ory_st_x"], method: "DELETE").status == 401)
            #expect(try bench.get("/sessions", [], method: "DELETE").status == 401)
            bench.kratos.fail("/sessions", with: .status(500))
            #expect(try bench.get("/sessions", [own.field], method: "DELETE").status == 500)
            bench.kratos.heal()
            try other.expectLive()
        }
    }

    @Test("DELETE /sessions/{id} ends that session in any spelling of its id; 204 for another user's ends nothing")
    func one() throws {
        try Self.with { bench throws in
            let (own, other, third) = (try App(bench), try App(bench), try App(bench))
            let grace = try App(bench, email: "grace@example.com")
            func end(_ id: String) throws -> Answer {
                try bench.get("/sessions/\(id)", [own.field], method: "DELETE")
            }
            #expect(try end(grace.session.id).status == 204, "Kratos's own answer")
            try grace.expectLive()
            #expect(try end(own.session.id).status == 400)
            bench.kratos.fail("/sessions/\(other.session.id)", with: .status(500))
            #expect(try end(other.session.id).status == 500)
            bench.kratos.heal()
            #expect(try bench.get("/x", [other.webView]).status == 200)
            #expect(try end(other.session.id).status == 204)
            try other.expectEnded()
            #expect(try end(third.session.id.uppercased()).status == 204)
            try third.expectEnded()
            try own.expectLive()
        }
    }

    @Test("DELETE /sessions/{id} ends a session that gave nothing here but its own cookie and token")
    func oneWithoutRecord() throws {
        try Self.with { bench throws in
            let (own, other) = (bench.kratos.newSession(), bench.kratos.newSession())
            let fields = ["X-Session-Token: \(other.token)", "Cookie: ory_kratos_session=\(other.cookie)"]
            for field in fields { #expect(try bench.get("/x", [field]).status == 200) }
            let target = "/sessions/\(other.id)"
            let caller = "Cookie: ory_kratos_session=\(own.cookie)"
            #expect(try bench.get(target, [caller], method: "DELETE").status == 204)
            for field in fields { #expect(try bench.get("/x", [field]).status == 401) }
            #expect(try bench.get("/x", [caller]).status == 200)
        }
    }

    // MARK: Ends that are learnt

    @Test(
        "A session that ended at Kratos alone ends with its WebViews when whoami says so; not while Kratos is not ready"
    )
    func learnt() throws {
        try KratosGatewayBench.with(provider: "cache: 1s", more: Self.clients, client: "web") { bench throws in
            let app = try App(bench)
            bench.kratos.fail("/sessions/whoami", with: .refusesAll)
            bench.kratos.fail("/health/ready", with: .status(503))
            let before = bench.questions
            #expect(eventually { (try? bench.get("/x", [app.field], method: "POST").status) == 503 })
            #expect(bench.questions > before)
            #expect(try bench.get("/x", [app.webView]).status == 200, "it may have lost its database")
            bench.kratos.heal()
            #expect(eventually { (try? bench.get("/x", [app.field], method: "POST").status) == 200 })
            bench.kratos.change { state in state.change(app.session) { $0.isActive = false } }
            #expect(eventually { (try? bench.get("/x", [app.field]).status) == 401 })
            try app.expectEnded()
            #expect(eventually { bench.gateway.output.contains("session.provider_ended") })
        }
    }

    @Test("A disabled user's WebView and unused transfer token end, though the app does not use its token again")
    func disabledIdentity() throws {
        try KratosGatewayBench.with(provider: "cache: 1s", more: Self.clients, client: "web") { bench throws in
            let (app, other) = (try App(bench), try App(bench, email: "grace@example.com"))
            bench.kratos.change { _ = $0.disabled.insert("ada@example.com") }
            #expect(eventually { (try? bench.get("/x", [app.webView]).status) == 401 })
            try app.expectEnded()
            #expect(eventually { bench.gateway.output.contains("session.provider_ended") })
            try other.expectLive()
        }
    }

    @Test("A Kratos that is away ends no WebView that an app handed off, and its next answer is awaited")
    func awayFromWebViews() throws {
        try KratosGatewayBench.with(provider: "cache: 1s", more: Self.clients, client: "web") { bench throws in
            let app = try App(bench)
            bench.kratos.fail("/sessions/whoami", with: .status(503))
            let wasAsked = eventually {
                (try? bench.get("/x", [app.webView]).status) == 200
                    && bench.gateway.output.contains("tokens could not be renewed")
            }
            #expect(wasAsked)
            #expect(try bench.get("/x", [app.webView]).status == 200)
            bench.kratos.heal()
            bench.kratos.change { state in state.change(app.session) { $0.isActive = false } }
            #expect(eventually { (try? bench.get("/x", [app.webView]).status) == 401 })
        }
    }

    @Test("A 401 of whoami that passes through ends what came of the session here; not while Kratos is not ready")
    func passedWhoami() throws {
        try Self.with { bench throws in
            let (app, other) = (try App(bench), try App(bench))
            let whoami = "/sessions/whoami?tokenize_as=jwt"
            let live = try bench.get(whoami, [app.field])
            #expect(live.status == 200 && live.text.contains(app.session.id), "\(live.lines)")
            bench.kratos.fail("/sessions/whoami", with: .refusesAll)
            bench.kratos.fail("/health/ready", with: .status(503))
            #expect(try bench.get(whoami, [app.field]).status == 401, "Kratos's answer")
            bench.kratos.heal()
            try other.expectLive()
            #expect(try bench.get("/x", [app.webView]).status == 200, "it may have lost its database")
            bench.kratos.change { state in state.change(app.session) { $0.isActive = false } }
            // Whether Kratos is ready is known for a moment. Nothing but whoami asks about the app's token here.
            let hasEnded = eventually {
                (try? bench.get(whoami, [app.field]).status) == 401
                    && (try? bench.get("/x", [app.webView]).status) == 401
            }
            #expect(hasEnded)
            try app.expectEnded()
            #expect(try bench.get(whoami, ["X-Session-Token: ory_st_nobody"]).status == 401)
        }
    }

    @Test("POST /oauth/revoke with Kratos's token ends it there and here; during an outage it is 503 and not 200")
    func revoke() throws {
        try Self.with { bench throws in
            let app = try App(bench)
            func revoke(_ token: String) throws -> Answer {
                let type = "Content-Type: application/x-www-form-urlencoded"
                return try bench.gateway.request(
                    Request.post("/oauth/revoke", [type], body: "client_id=native&token=\(token)")
                )
            }
            bench.kratos.fail("/self-service/logout/api", with: .status(500))
            let away = try revoke(app.session.token)
            #expect(away.status == 503 && away.value("retry-after") != nil, "\(away.lines)")
            bench.kratos.heal()
            #expect(try revoke(app.session.token).status == 200)
            #expect(
                bench.kratos.change { state in state.sessions.first { $0.id == app.session.id }?.isActive } == false
            )
            try app.expectEnded()
            #expect(try revoke("ory_st_" + String(repeating: "a", count: 32)).status == 200, "RFC 7009 2.2")
            bench.kratos.fail("/sessions/whoami", with: .status(500))
            #expect(try revoke(bench.kratos.newSession().token).status == 503)
        }
    }

    @Test("An operator ends what came of Kratos's session by Kratos's id of it, at once")
    func operators() throws {
        try Self.with { bench throws in
            let (app, other) = (try App(bench), try App(bench))
            func end(_ query: String, _ token: String = OperatorTokens.all) throws -> Answer {
                try Wire(to: bench.gateway.adminPort).request(
                    "DELETE /sessions?\(query) HTTP/1.1\r\nHost: admin\r\nAuthorization: Bearer \(token)\r\n"
                        + "Connection: close\r\n\r\n"
                )
            }
            #expect(try end("provider_session=\(app.session.id)", "x").status == 401)
            for query in [
                "provider_session=", "provider_session=a&provider_session=b", "provider_session=a&provider=nobody",
                "provider_session=a&subject=b",
            ] {
                #expect(try end(query).status == 400, "\(query)")
            }
            #expect(try end("provider_session=\(app.session.id)").status == 204)
            try app.expectEnded()
            try other.expectLive()
            #expect(eventually { bench.gateway.output.contains("session.operator_ended") })
        }
    }
}
