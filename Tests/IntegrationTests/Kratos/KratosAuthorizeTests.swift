import Foundation
import GatewayBench
import KratosBench
import Testing

/// Clients that sign their users in at `/authorize` of a gateway in front of Kratos.
@Suite("Signing in to clients with Kratos's session", .blocking)
struct KratosAuthorizeTests {
    private static let clients = """
        clients:
          - client_id: app
            callbacks: ["com.example.app:/callback"]
            grant_types: [authorization_code, refresh_token]
          - client_id: online
            callbacks: ["com.example.online:/callback"]
            grant_types: [authorization_code, refresh_token]
            refresh_token: {enforce_online_refresh_tokens: true}
          - client_id: care
            callbacks: ["com.example.care:/callback"]
            grant_types: [authorization_code]
            session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
          - client_id: native
            session_transfer: {can_create_session_transfer_token: true}
        """

    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    private static func with(_ body: (KratosGatewayBench) throws -> Void) throws {
        try KratosGatewayBench.with(more: self.clients, body)
    }

    private static func target(_ client: String, _ more: String = "") -> String {
        "/authorize?client_id=\(client)&response_type=code&state=s&scope=openid%20offline_access"
            + "&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\(more)"
    }

    private static func cookie(_ session: KratosState.Session) -> String {
        "Cookie: ory_kratos_session=\(session.cookie)"
    }

    private static func authorize(_ bench: KratosGatewayBench, _ target: String, _ cookie: String) throws -> Answer {
        try bench.get(target, [cookie] + KratosGatewayBench.navigation)
    }

    /// The code in the answer of `/authorize`.
    private static func code(_ answer: Answer) throws -> String {
        let location = try #require(answer.value("location"), "\(answer.lines)")
        return String(try #require(location.firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/), "\(location)").1)
    }

    private static func post(_ bench: KratosGatewayBench, _ form: String) throws -> Answer {
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try bench.gateway.request(Request.post("/oauth/token", [type], body: form))
    }

    private static func redeem(_ bench: KratosGatewayBench, _ code: String, client: String) throws -> Answer {
        try self.post(
            bench,
            "grant_type=authorization_code&client_id=\(client)&code=\(code)&code_verifier=\(self.verifier)"
        )
    }

    private static func refresh(_ bench: KratosGatewayBench, _ token: String, client: String) throws -> Answer {
        try self.post(bench, "grant_type=refresh_token&client_id=\(client)&refresh_token=\(token)")
    }

    private static func refreshToken(_ answer: Answer) throws -> String {
        String(try #require(answer.text.firstMatch(of: /"refresh_token":"([^"]+)"/), "\(answer.text)").1)
    }

    /// Signs in at Kratos's own page, to which `away` leads, and returns with the cookie that Kratos sets.
    private static func signIn(
        _ bench: KratosGatewayBench,
        _ away: Answer,
        cookies: [String] = [],
        email: String = "ada@example.com"
    ) throws -> (target: String, cookie: String) {
        func path(_ answer: Answer) throws -> String {
            try #require(answer.value("location"), "\(answer.lines)").replacing(Request.origin, with: "")
        }
        let login = try bench.get(try path(away), KratosGatewayBench.navigation + cookies)
        let flow = try bench.get(try path(login), KratosGatewayBench.navigation + cookies)
        let id = try #require(try path(flow).firstMatch(of: /flow=(.+)/), "\(flow.lines)").1
        let signedIn = try bench.gateway.request(
            Request.post(
                "/self-service/login?flow=\(id)",
                ["Content-Type: application/x-www-form-urlencoded"] + cookies,
                body: "method=password&identifier=\(email.replacing("@", with: "%40"))&password=ada"
            )
        )
        let cookie = try #require(signedIn.value("set-cookie")?.prefix { $0 != ";" }, "\(signedIn.lines)")
        return (try path(signedIn), "Cookie: \(cookie)")
    }

    @Test("Kratos's session signs in to a client, whose tokens name Kratos's user")
    func signedIn() throws {
        try Self.with { bench throws in
            let session = bench.kratos.newSession()
            let back = try Self.authorize(bench, Self.target("app"), Self.cookie(session))
            #expect(back.value("location")?.hasPrefix("com.example.app:/callback?code=") == true, "\(back.lines)")
            let tokens = try Self.redeem(bench, try Self.code(back), client: "app")
            #expect(tokens.status == 200, "\(tokens.text)")
            let access = try #require(tokens.text.firstMatch(of: /"access_token":"([^"]+)"/)).1
            let info = try bench.get("/userinfo", ["Authorization: Bearer \(access)"])
            #expect(info.text.contains(session.identityID), "\(info.text)")
            let metadata = try bench.get("/.well-known/oauth-authorization-server", [])
            #expect(metadata.text.contains(#""authorization_endpoint":"\#(Request.origin)/authorize""#))
        }
    }

    @Test("A browser without a session signs in at Kratos, and comes back to the client with a code")
    func signsIn() throws {
        try Self.with { bench throws in
            let away = try bench.get(Self.target("app"), KratosGatewayBench.navigation)
            let (target, cookie) = try Self.signIn(bench, away)
            #expect(target.hasPrefix("/authorize?"))
            let code = try Self.code(try Self.authorize(bench, target, cookie))
            #expect(try Self.redeem(bench, code, client: "app").status == 200)
            let none = try bench.get(Self.target("app", "&prompt=none"), KratosGatewayBench.navigation)
            #expect(none.value("location")?.contains("error=login_required") == true)
        }
    }

    @Test("prompt=login asks a user who is signed in at Kratos once more, and once only")
    func again() throws {
        try Self.with { bench throws in
            let session = bench.kratos.newSession()
            bench.kratos.change { $0.backdate(by: 600) }
            let away = try Self.authorize(bench, Self.target("app", "&prompt=login"), Self.cookie(session))
            #expect(away.value("location")?.contains("prompt=login") == true, "\(away.lines)")
            let (target, cookie) = try Self.signIn(bench, away, cookies: [Self.cookie(session)])
            // The former cookie shows nothing of the new sign-in.
            let early = try Self.authorize(bench, target, Self.cookie(session))
            #expect(early.value("location")?.contains("prompt=login") == true, "\(early.lines)")
            #expect(try !Self.code(try Self.authorize(bench, target, cookie)).isEmpty)
        }
    }

    @Test("A user whose second factor Kratos demands gives it first")
    func secondFactor() throws {
        try Self.with { bench throws in
            bench.kratos.change { $0.requiredAAL = "aal2" }
            let session = bench.kratos.newSession()
            let away = try Self.authorize(bench, Self.target("app"), Self.cookie(session))
            #expect(away.value("location")?.contains("aal=aal2") == true, "\(away.lines)")
            bench.kratos.change { state in state.change(session) { $0.aal = "aal2" } }
            #expect(try !Self.code(try Self.authorize(bench, Self.target("app"), Self.cookie(session))).isEmpty)
        }
    }

    @Test("While Kratos is away, the client is told to try again; nobody is signed out")
    func outage() throws {
        try Self.with { bench throws in
            let session = bench.kratos.newSession()
            bench.kratos.fail("/sessions/whoami", with: .status(500))
            let answer = try Self.authorize(bench, Self.target("app"), Self.cookie(session))
            #expect(answer.value("location")?.contains("error=temporarily_unavailable") == true, "\(answer.lines)")
            bench.kratos.heal()
            #expect(try !Self.code(try Self.authorize(bench, Self.target("app"), Self.cookie(session))).isEmpty)
        }
    }

    @Test("Online refresh tokens end with a sign-out under any later cookie of the session; others go on")
    func signOut() throws {
        try Self.with { bench throws in
            let session = bench.kratos.newSession()
            func tokens(_ client: String) throws -> String {
                let code = try Self.code(try Self.authorize(bench, Self.target(client), Self.cookie(session)))
                return try Self.refreshToken(try Self.redeem(bench, code, client: client))
            }
            let (own, online) = (try tokens("app"), try tokens("online"))
            // Kratos gives the session a new cookie when its user signs in again.
            let away = try Self.authorize(bench, Self.target("app", "&prompt=login"), Self.cookie(session))
            let (_, cookie) = try Self.signIn(bench, away, cookies: [Self.cookie(session)])
            let out = try bench.gateway.request(
                Request.post(
                    "/.sallyport/logout",
                    [cookie, "Accept: application/json", "Sec-Fetch-Site: same-origin", "Origin: \(Request.origin)"],
                    body: ""
                )
            )
            #expect(out.status == 204)
            let ended = try Self.refresh(bench, online, client: "online")
            #expect(ended.status == 400 && ended.text.contains("invalid_grant"), "\(ended.text)")
            #expect(try Self.refresh(bench, own, client: "app").status == 200)
        }
    }

    @Test("A transfer token of another user than Kratos's signs nobody in: the user signs in anew")
    func otherUser() throws {
        try Self.with { bench throws in
            let (ada, grace) = (bench.kratos.newSession(), bench.kratos.newSession(email: "grace@example.com"))
            let transfer = try bench.gateway.mint(ada.token)
            let target = Self.target("care", "&session_transfer_token=\(transfer)")
            let answer = try Self.authorize(bench, target, Self.cookie(grace))
            let location = try #require(answer.value("location"))
            #expect(location.hasPrefix("/.sallyport/login") || location.contains("/.sallyport/login"), "\(location)")
            #expect(location.contains("prompt=login") && !location.contains(transfer))
            let own = try bench.gateway.mint(ada.token)
            let same = try Self.authorize(
                bench,
                Self.target("care", "&session_transfer_token=\(own)"),
                Self.cookie(ada)
            )
            #expect(try !Self.code(same).isEmpty)
        }
    }
}
