import Foundation
import GatewayBench
import KratosBench
import OpenIDBench
import Testing
import Vocabulary

/// A shop with Kratos for its customers and an OpenID provider for its staff runs one gateway. The double of Kratos stands
/// for it.
@Suite("Two providers at one gateway", .blocking)
struct TwoProvidersTests {
    private static let shop = "http://shop.example.com"
    private static let staff = "http://staff.example.com"
    private static let office = "http://office.example.com"

    private struct Bench {
        let kratos: KratosDouble
        let openID: OpenIDProvider
        let gateway: Gateway
        let app: FakeUpstream
        let settings: String

        /// A script's request to a host.
        func get(_ origin: String, _ target: String = "/x", _ fields: [String] = []) throws -> Answer {
            let host = origin.dropFirst("http://".count)
            let lines = ["GET \(target) HTTP/1.1", "Host: \(host)", "Accept: application/json"] + fields
            return try self.gateway.request(lines.joined(separator: "\r\n") + "\r\n\r\n")
        }

        /// A script's request to a host with the cookies of a browser.
        func get(_ origin: String, _ user: WebUser) throws -> Answer {
            let host = String(origin.dropFirst("http://".count))
            let cookies = user.cookies(of: host).split(separator: "\r\n").map(String.init)
            return try self.get(origin, "/x", cookies)
        }
    }

    /// - Parameter customers: The kind of provider that customers have.
    private func with(customers: String? = nil, _ body: (Bench) throws -> Void) throws {
        let kratos = try KratosDouble(publicURL: Self.shop)
        defer { kratos.stop() }
        let openID = try OpenIDProvider(OpenIDScript())
        defer { openID.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0, tokens_file: operator-tokens}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            identity: {headers: {X-User: subject, X-Email: identity.traits.email}}
            hosts:
              - public_url: \(Self.shop)
                endpoints: true
                routes: [{path: /**, client: shop-web}]
              - public_url: \(Self.staff)
                endpoints: true
                provider: staff
                routes: [{path: /**, client: staff-web}, {path: /optional/**, auth: optional}]
              - public_url: \(Self.office)
                provider: staff
                routes: [{path: /**}]
            clients:
              - client_id: shop-app
                session_transfer: {can_create_session_transfer_token: true}
              - client_id: shop-web
                session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
              - client_id: staff-app
                provider: staff
                session_transfer: {can_create_session_transfer_token: true}
              - client_id: staff-web
                provider: staff
                session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
            providers:
              - name: customers
                \(customers ?? "kratos: {public_url: \"\(kratos.url)\"}")
              - name: staff
                oidc:
                  issuer: \(openID.issuer)
                  client_id: gateway
                  client_secret_file: client-secret
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = [
            "client-secret": OpenIDScript().clients[0].secret ?? "", "operator-tokens": OperatorTokens.file,
        ]
        try Gateway.with(settings, files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(Bench(kratos: kratos, openID: openID, gateway: gateway, app: app, settings: settings))
        }
    }

    private static let users = """
        static: {users: [{identifier: ada, password_hash: \
        "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"}]}
        """

    @Test(
        "Customers sign in at Kratos, staff at the OpenID provider, each on the hosts that are theirs, with one ticket"
    )
    func signIns() throws {
        try self.with { bench throws in
            let customer = bench.kratos.newSession()
            var staff = WebUser(bench.gateway)
            let arrival = try staff.open("\(Self.staff)/x")
            #expect(arrival.url == "\(Self.staff)/x" && arrival.answer.status == 200, "\(staff.trail)")
            #expect(staff.trail.contains { $0.hasPrefix(bench.openID.issuer) })
            let office = try staff.open("\(Self.office)/y")
            #expect(office.url == "\(Self.office)/y" && office.answer.status == 200, "\(staff.trail)")
            #expect(!staff.trail.contains { $0.hasPrefix(bench.openID.issuer) || $0.hasPrefix(Self.shop) })
            let mine = try bench.get(Self.shop, "/x", ["Cookie: ory_kratos_session=\(customer.cookie)"])
            #expect(mine.status == 200 && mine.text.contains("\r\nX-User: \(customer.identityID)\r\n"))
            var stranger = WebUser(bench.gateway)
            let login = try stranger.send("GET", "\(Self.shop)/x")
            #expect(login.status == 303 && login.value("location")?.hasPrefix("\(Self.shop)/.sallyport/login") == true)
            let away = try stranger.send("GET", login.value("location") ?? "")
            #expect(away.value("location")?.hasPrefix("\(Self.shop)/self-service/login/browser?") == true)
        }
    }

    @Test("A session, cookie or token of one provider does not count on the hosts of the other, nor is the other asked")
    func apart() throws {
        try self.with { bench throws in
            let customer = bench.kratos.newSession()
            let token = ["X-Session-Token: \(customer.token)"]
            let cookie = ["Cookie: ory_kratos_session=\(customer.cookie)"]
            for origin in [Self.staff, Self.office] {
                for fields in [token, cookie] {
                    let answer = try bench.get(origin, "/x", fields)
                    #expect(answer.status == 401 && !answer.text.contains("X-User"), "\(origin) \(fields)")
                }
            }
            #expect(bench.kratos.calls(of: "/sessions/whoami").isEmpty)
            #expect(try bench.get(Self.shop, "/x", token).status == 200)
            // This gateway knows the token now.
            #expect(try bench.get(Self.staff, "/x", token).status == 401)
            #expect(try bench.get(Self.staff, "/optional/x", token).status == 401)
            let open = try bench.get(Self.staff, "/optional/x", cookie)
            #expect(open.status == 200 && !open.text.contains("\r\nX-User:"))
            var staff = WebUser(bench.gateway)
            _ = try staff.open("\(Self.staff)/x")
            let value = try #require(staff.jars["staff.example.com"]?["sallyport"])
            #expect(try bench.get(Self.staff, staff).status == 200)
            #expect(try bench.get(Self.shop, "/x", ["Cookie: sallyport=\(value)"]).status == 401)
            // What Kratos answers itself is on its own host only.
            #expect(try bench.get(Self.shop, "/sessions/whoami", token).status == 200)
            #expect(try bench.get(Self.staff, "/sessions/whoami", token).status == 401)
            #expect(bench.kratos.calls(of: "/sessions/whoami").count == 2)
        }
    }

    @Test("A transfer token signs in on the hosts of its provider only, and is minted for that provider's clients only")
    func handoff() throws {
        try self.with(customers: Self.users) { bench throws in
            let session = try self.native(bench)
            #expect(try bench.get(Self.shop, "/x", ["X-Session-Token: \(session)"]).status == 200)
            let other = try bench.get(Self.staff, "/x", ["X-Session-Token: \(session)"])
            #expect(other.status == 401 && other.reason == "session.other_provider")
            for (origin, client) in [
                (Self.shop, "staff-app"), (Self.staff, "shop-app"), (Self.staff, "staff-app"),
            ] {
                let answer = try self.mint(bench, origin, session, client: client)
                #expect((400...403).contains(answer.status) && !answer.text.contains("access_token"), "\(answer.text)")
            }
            let minted = try self.mint(bench, Self.shop, session, client: "shop-app")
            let token = try #require(minted.text.firstMatch(of: /"access_token":"([^"]+)"/)).1
            var user = WebUser(bench.gateway)
            let target = "/page?session_transfer_token=\(token)"
            let refused = try user.send("GET", Self.staff + target)
            #expect(refused.status == 303 && user.jars["staff.example.com"]?["sallyport"] == nil)
            #expect(eventually { bench.gateway.output.contains("\"reason\":\"session.other_provider\"") })
            // It is burned, as in any other wrong place.
            _ = try user.send("GET", Self.shop + target)
            #expect(user.jars["shop.example.com"]?["sallyport"] == nil)
            let second = try self.mint(bench, Self.shop, session, client: "shop-app")
            let next = try #require(second.text.firstMatch(of: /"access_token":"([^"]+)"/)).1
            let landed = try user.open("\(Self.shop)/page?session_transfer_token=\(next)")
            #expect(landed.answer.status == 200 && landed.answer.text.contains("\r\nX-User: ada\r\n"))
        }
    }

    @Test("Users with the same id are two people: operators name the provider, and end one of them")
    func operators() throws {
        try self.with(customers: Self.users) { bench throws in
            bench.openID.change { $0.user = OpenIDScript.User("ada", claims: ["email": "ada@staff.example.com"]) }
            let session = try self.native(bench)
            var staff = WebUser(bench.gateway)
            #expect(try staff.open("\(Self.staff)/x").answer.text.contains("\r\nX-User: ada\r\n"))
            func listed(_ provider: String) throws -> String {
                let target = "/sessions?subject=ada&provider=\(provider)"
                return try bench.gateway.operate("GET", target, token: OperatorTokens.reader).text
            }
            #expect(try listed("customers").contains("\"kind\":\"native\""))
            #expect(try !listed("customers").contains("\"kind\":\"web\""))
            #expect(try listed("staff").contains("\"provider\":\"staff\""))
            // A sign-out that ends nothing must not look like one.
            #expect(try listed("other").contains("request.parameters"))
            for target in ["/subjects/ada/sign-out?provider=other", "/subjects/ada/sign-out"] {
                #expect(try bench.gateway.operate("POST", target, token: OperatorTokens.all).status == 400)
            }
            let target = "/subjects/ada/sign-out?provider=staff"
            #expect(try bench.gateway.operate("POST", target, token: OperatorTokens.all).status == 204)
            #expect(try bench.get(Self.staff, staff).status == 401)
            #expect(try bench.get(Self.shop, "/x", ["X-Session-Token: \(session)"]).status == 200)
            #expect(eventually { bench.gateway.output.contains(#""subject":"ada","provider":"staff""#) })
        }
    }

    @Test("A session belongs to the name of its provider: under another one it does not count, until the name is back")
    func renamed() throws {
        try self.with { bench throws in
            var staff = WebUser(bench.gateway)
            _ = try staff.open("\(Self.staff)/x")
            #expect(try bench.get(Self.staff, staff).status == 200)
            try bench.gateway.reload(
                bench.settings.replacing("name: staff", with: "name: crew").replacing(
                    "provider: staff",
                    with: "provider: crew"
                )
            )
            #expect(try bench.get(Self.staff, staff).status == 401)
            try bench.gateway.reload(bench.settings)
            #expect(try bench.get(Self.staff, staff).status == 200)
        }
    }

    @Test("Each provider's hosts have an issuer of their own, and the readiness names the provider that is away")
    func issuers() throws {
        try self.with { bench throws in
            for origin in [Self.shop, Self.staff] {
                let metadata = try bench.get(origin, "/.well-known/openid-configuration")
                #expect(metadata.status == 200 && metadata.text.replacing(#"\/"#, with: "/").contains("\"\(origin)/"))
            }
            #expect(try bench.gateway.admin("/readyz?verbose").text.contains("provider staff"))
        }
    }

    // MARK: Steps

    private func native(_ bench: Bench) throws -> String {
        let flow = try bench.get(Self.shop, "/self-service/login/api")
        let action = try #require(flow.text.firstMatch(of: /"action":"https?:\\?\/\\?\/[^\/"]*?(\\?\/self[^"]*)"/)).1
        let body = #"{"method":"password","identifier":"ada","password":"\#(User.ada.password)"}"#
        let answer = try self.post(
            bench,
            Self.shop,
            String(action).replacing(#"\/"#, with: "/"),
            "application/json",
            body
        )
        return String(try #require(answer.text.firstMatch(of: /"session_token":"([^"]+)"/), "\(answer.text)").1)
    }

    private func mint(_ bench: Bench, _ origin: String, _ token: String, client: String) throws -> Answer {
        let form = [
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=\(client)",
            "subject_token=\(token)", "subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
            "requested_token_type=urn:auth0:params:oauth:token-type:session_transfer_token",
            "audience=urn:\(origin.dropFirst("http://".count)):session_transfer",
        ]
        return try self.post(
            bench,
            origin,
            "/oauth/token",
            "application/x-www-form-urlencoded",
            form.joined(separator: "&")
        )
    }

    private func post(
        _ bench: Bench,
        _ origin: String,
        _ target: String,
        _ type: String,
        _ body: String
    ) throws -> Answer {
        let lines = [
            "POST \(target) HTTP/1.1", "Host: \(origin.dropFirst("http://".count))", "Accept: application/json",
            "Content-Type: \(type)", "Content-Length: \(body.utf8.count)",
        ]
        return try bench.gateway.request(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }
}
