import Testing

/// What a user does with a native app, from the sign-in in the browser to the sign-out. Each step reaches another gateway
/// than the one before, if there are several.
package enum AppJourney {
    /// Settings of a gateway on which `run` works.
    ///
    /// - Parameter more: More top-level keys.
    package static func settings(upstream: Int, more: String = "") -> String {
        Config.file(
            upstream: upstream,
            routes: Config.routes + """

                  - path: /orders/**
                    name: orders
                    require: {scopes: ["orders:read"]}
                """,
            clients: Config.clients(
                binding: "none",
                more: """
                      - client_id: shop
                        callbacks: ["com.example.shop:/callback"]
                        session_transfer:
                          allowed_authentication_methods: [query]
                          allow_refresh_token: true
                          enforce_device_binding: none
                    """
            ),
            more: """
                apis: [{audience: "https://api.example.com", scopes: ["orders:read"], routes: [orders]}]
                exchange: {return_to: ["myapp://auth/callback"]}
                \(more)
                """
        )
    }

    private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]

    /// Runs it: everything that came from the sign-in works until the sign-out, and nothing after it.
    package static func run(at gateways: [Gateway]) throws {
        var turn = 0
        func next() -> Gateway {
            turn += 1
            return gateways[turn % gateways.count]
        }
        func form(_ parameters: String...) throws -> Answer {
            let type = ["Content-Type: application/x-www-form-urlencoded"]
            return try next().request(Request.post("/oauth/token", type, body: parameters.joined(separator: "&")))
        }
        func match(_ text: String, _ pattern: Regex<(Substring, Substring)>) throws -> String {
            try String(#require(text.firstMatch(of: pattern), "\(text)").1)
        }

        // The sign-in in the browser.
        let app = try next().beginAppSignIn()
        let code = try AppSignIn.code(in: try next().signIn(for: app))
        let token = try match(try next().exchange(app, code).text, /"session_token":"([^"]+)"/)
        #expect(try next().get("/page", ["X-Session-Token: \(token)"]).status == 200)

        // The API.
        func exchange() throws -> Answer {
            try form(
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=native&subject_token=\(token)",
                "subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
                "audience=https://api.example.com&scope=orders:read"
            )
        }
        var access = [try match(try exchange().text, /"access_token":"([^"]+)"/)]
        // Whenever it expires, the app gets another one.
        access.append(try match(try exchange().text, /"access_token":"([^"]+)"/))

        // To the web, by query and by cookie. A used token is of no use to anyone else.
        let transfer = try next().mint(token)
        let byQuery = try next().get("/page?session_transfer_token=\(transfer)", Self.navigation)
        let second = try next().mint(token)
        let byCookie = try next().get("/page", Self.navigation + ["Cookie: session_transfer_token=\(second)"])
        let cookies = try [byQuery, byCookie].map { answer in try #require(answer.sessionCookie, "\(answer.lines)") }
        for used in [transfer, second] {
            #expect(try next().get("/page?session_transfer_token=\(used)", Self.navigation).sessionCookie == nil)
        }

        // To another app, which refreshes.
        let query =
            "client_id=shop&response_type=code&scope=openid+offline_access+orders:read&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&audience=https://api.example.com"
        let back = try next().get("/authorize?\(query)&session_transfer_token=\(next().mint(token))", Self.navigation)
        let granted = try form(
            "grant_type=authorization_code&client_id=shop&code=\(match(back.lines.joined(), /[?&]code=([A-Za-z0-9_-]+)/))",
            "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        )
        let first = try match(granted.text, /"refresh_token":"([^"]+)"/)
        let renewed = try form("grant_type=refresh_token&client_id=shop&refresh_token=\(first)")
        let refresh = try match(renewed.text, /"refresh_token":"([^"]+)"/)
        for answer in [granted, renewed] { access.append(try match(answer.text, /"access_token":"([^"]+)"/)) }

        /// The statuses of all that came from the sign-in, at one gateway.
        func statuses(_ gateway: Gateway) throws -> Set<Int> {
            var statuses: Set = [try gateway.get("/page", ["X-Session-Token: \(token)"]).status]
            for token in access {
                statuses.insert(try gateway.get("/orders/1", ["Authorization: Bearer \(token)"]).status)
            }
            for cookie in cookies { statuses.insert(try gateway.get("/page", ["Cookie: sallyport=\(cookie)"]).status) }
            return statuses
        }
        for gateway in gateways { #expect(try statuses(gateway) == [200]) }

        // The sign-out.
        let unused = try next().mint(token)
        let signOut = Request.post(
            "/self-service/logout/api",
            ["Content-Type: application/json"],
            body: #"{"session_token":"\#(token)"}"#
        )
        let deletion = signOut.replacing("POST ", with: "DELETE ")
        for _ in gateways { #expect(try next().request(deletion).status == 204, "it may be repeated") }
        for gateway in gateways {
            #expect(eventually { (try? statuses(gateway)) == [401] }, "\((try? statuses(gateway)) ?? [])")
            #expect(try gateway.get("/page?session_transfer_token=\(unused)", Self.navigation).sessionCookie == nil)
            #expect(try gateway.exchange(app, code).status == 404)
            #expect(try gateway.exchange(token).status == 400)
        }
        let late = try form("grant_type=refresh_token&client_id=shop&refresh_token=\(refresh)")
        #expect(late.text.contains("invalid_grant"), "\(late.text)")
    }
}
