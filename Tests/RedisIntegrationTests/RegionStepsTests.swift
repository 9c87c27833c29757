import GatewayBench
import RedisServers
import TestSupport
import Testing

/// What the gateway of one region does with what another region gave: each step of a sign-in, of a handoff, of an app's
/// tokens and of a sign-out reaches the wrong region first.
@Suite("Steps that reach another region", .blocking) struct RegionStepsTests {
    private static let form = ["Content-Type: application/x-www-form-urlencoded"]

    private static func token(_ gateway: Gateway, _ parameters: String...) throws -> Answer {
        try patiently {
            let body = parameters.joined(separator: "&")
            let answer = try gateway.request(Request.post("/oauth/token", Self.form, body: body))
            guard answer.status != 503 else { throw BenchFailure("Redis is late") }
            return answer
        }
    }

    private static func match(_ text: String, _ pattern: Regex<(Substring, Substring)>) throws -> String {
        try String(#require(text.firstMatch(of: pattern), "\(text)").1)
    }

    @Test(
        "A code is refused elsewhere and good at home, and so is each refresh token",
        arguments: RegionSecrets.allCases
    )
    func codes(_ secrets: RegionSecrets) async throws {
        try await RegionGateways.with(secrets) { home, away throws in
            let cookie = try patiently { try home.browser() }
            let query =
                "client_id=shop&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let code = try patiently {
                let back = try home.get("/authorize?\(query)", ["Cookie: sallyport=\(cookie)"]).value("location") ?? ""
                guard let code = back.firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/) else { throw BenchFailure(back) }
                return String(code.1)
            }
            let redemption = "grant_type=authorization_code&client_id=shop&code=\(code)"
            let verifier = "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            let astray = try Self.token(away, redemption, verifier)
            #expect(astray.status == 400)
            #expect(astray.text.contains("invalid_grant"))
            let granted = try Self.token(home, redemption, verifier)
            #expect(granted.status == 200, "\(granted.text)")

            var refresh = try Self.match(granted.text, /"refresh_token":"([^"]+)"/)
            for _ in 0..<3 {
                let rotation = "grant_type=refresh_token&client_id=shop&refresh_token=\(refresh)"
                let astray = try Self.token(away, rotation)
                #expect(astray.status == 400)
                #expect(astray.text.contains("invalid_grant"))
                // The family is as it was: it has neither ended nor rotated.
                let renewed = try Self.token(home, rotation)
                #expect(renewed.status == 200, "\(renewed.text)")
                refresh = try Self.match(renewed.text, /"refresh_token":"([^"]+)"/)
            }
            // A revocation elsewhere is answered as RFC 7009 has it, and ends nothing; with a secret of its own it is audited.
            let revocation = Request.post("/oauth/revoke", Self.form, body: "client_id=shop&token=\(refresh)")
            #expect(try away.request(revocation).status == 200)
            if secrets == .own {
                let result = #"act="revoked",result="credential.other_key""#
                #expect(eventually { (try? away.admin("/metrics").text.contains(result + "} 1")) == true })
            }
            let rotation = "grant_type=refresh_token&client_id=shop&refresh_token=\(refresh)"
            let renewed = try Self.token(home, rotation)
            #expect(renewed.status == 200, "\(renewed.text)")
            #expect(try Self.token(home, redemption, verifier).status == 400, "a code is used once")
        }
    }

    @Test("The codes of a sign-in with the browser are exchanged at home alone", arguments: RegionSecrets.allCases)
    func exchange(_ secrets: RegionSecrets) async throws {
        try await RegionGateways.with(secrets) { home, away throws in
            let app = try patiently { try home.beginAppSignIn() }
            // The browser has to come to the region in which the app began.
            #expect(throws: BenchFailure.self) { try away.signIn(for: app) }
            let back = try patiently { try home.signIn(for: app) }
            let code = try AppSignIn.code(in: back)
            #expect(eventually { (try? away.exchange(app, code).status) == 404 })
            let exchanged = try patiently {
                let answer = try home.exchange(app, code)
                guard answer.status != 503 else { throw BenchFailure("Redis is late") }
                return answer
            }
            #expect(exchanged.status == 200, "\(exchanged.text)")
            #expect(eventually { (try? away.exchange(app, code).status) == 404 })

            let token = try Self.match(exchanged.text, /"session_token":"([^"]+)"/)
            let field = ["X-Session-Token: \(token)"]
            #expect(eventually { (try? away.get("/sessions/whoami", field).status) == 401 })
            #expect(eventually { (try? away.exchange(token).status) == 400 }, "it mints nothing elsewhere")
            #expect(eventually { (try? home.get("/sessions/whoami", field).status) == 200 })
        }
    }

    @Test("A sign-out ends what its own region knows, and nothing elsewhere", arguments: RegionSecrets.allCases)
    func signOut(_ secrets: RegionSecrets) async throws {
        try await RegionGateways.with(secrets) { home, away throws in
            let (cookie, native) = try patiently { (try home.browser(), try home.native()) }
            let (other, abroad) = try patiently { (try away.browser(), try away.native()) }
            func deletion(_ token: String) -> String {
                let body = #"{"session_token":"\#(token)"}"#
                return Request.post("/self-service/logout/api", ["Content-Type: application/json"], body: body)
                    .replacing("POST ", with: "DELETE ")
            }
            func statuses(_ gateway: Gateway, _ cookie: String, _ token: String) -> [Int?] {
                [["Cookie: sallyport=\(cookie)"], ["X-Session-Token: \(token)"]]
                    .map { try? gateway.get("/", $0).status }
            }
            // In the wrong region an app is told that its token is none, and a browser forgets its cookie.
            #expect(try away.request(deletion(native)).status == 403)
            #expect(try away.signOut(cookie).clearedCookies.contains("sallyport"))
            #expect(eventually { statuses(home, cookie, native) == [200, 200] })

            #expect(try patiently { try home.request(deletion(native)).status } == 204)
            #expect(try patiently { try home.signOut(cookie).status } == 303)
            #expect(eventually { statuses(home, cookie, native) == [401, 401] })
            // The same user's sessions in the other region go on.
            #expect(eventually { statuses(away, other, abroad) == [200, 200] })
        }
    }

    @Test(
        "A browser that is signed in stays so when it brings a token of another region",
        arguments: RegionSecrets.allCases
    )
    func signedIn(_ secrets: RegionSecrets) async throws {
        try await RegionGateways.with(secrets) { home, away throws in
            let token = try patiently { try home.transferToken() }
            let cookie = try patiently { try away.browser(.grace) }
            let fields = ["Cookie: sallyport=\(cookie)", "Accept: text/html"]
            let byQuery = try away.get("/page?a=1&session_transfer_token=\(token)", fields)
            #expect(byQuery.status == 303)
            #expect(byQuery.value("location") == "\(Request.origin)/page?a=1", "the token leaves the URL")
            #expect(byQuery.sessionCookie == nil)
            let byCookie = try away.get("/page", [fields[0] + "; session_transfer_token=\(token)", fields[1]])
            #expect(byCookie.status == 200)
            #expect(byCookie.clearedCookies.contains("session_transfer_token"))
            #expect(byCookie.sessionCookie == nil)
            #expect(eventually { (try? away.get("/", fields).status) == 200 })
            // At home the token is still good, once.
            let first = try home.get("/page?session_transfer_token=\(token)", ["Accept: text/html"])
            #expect(first.sessionCookie != nil, "\(first.lines)")
            let again = try home.get("/page?session_transfer_token=\(token)", ["Accept: text/html"])
            #expect(again.sessionCookie == nil)
        }
    }
}
