import Foundation
import GatewayBench
import TestSupport
import Testing

/// The operator's rules, by the built binary and a real database of places.
@Suite(
    "Rules of an operator",
    .blocking,
    .enabled(if: TestData.isExpected("GeoLite2-City-Test.mmdb"), TestData.absence)
)
struct RuleTests {
    private static let sweden = "X-Forwarded-For: 89.160.20.112"
    private static let britain = "X-Forwarded-For: 2.125.160.216"
    private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
    /// The Action of Auth0's documentation.
    private static let action = """
          - name: other-country
            when: event.session_transfer_token.request.geoip.countryCode != event.request.geoip.countryCode
            then: deny
            text: Network mismatch <detected>
        """
    private static let clients =
        Config.clients(binding: "none") + """

              - client_id: app
                callbacks: ["com.example.app:/callback"]
                session_transfer:
                  can_create_session_transfer_token: true
                  allowed_authentication_methods: [cookie, query]
                  enforce_device_binding: none
            """

    private static func settings(_ rules: String, upstream: Int) throws -> String {
        Config.file(
            upstream: upstream,
            clients: self.clients,
            more: """
                trusted_proxies: [127.0.0.1/32]
                geo: {database: "\(try TestData.path("GeoLite2-City-Test.mmdb"))"}
                rules:
                \(rules)
                """
        )
    }

    private static func with(_ rules: String, _ body: (Gateway, FakeUpstream) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(try self.settings(rules, upstream: app.port)) { try body($0, app) }
    }

    /// A token that an app in Sweden asked for.
    private static func token(_ gateway: Gateway) throws -> String {
        try gateway.mint(gateway.native(fields: [self.sweden]), fields: [self.sweden])
    }

    private static func visit(_ gateway: Gateway, _ token: String, _ fields: [String]) throws -> Answer {
        try gateway.get("/page?session_transfer_token=\(token)", self.navigation + fields)
    }

    @Test("Auth0's Action: a token from another country is denied with the rule's text and burned; at home it signs in")
    func otherCountry() throws {
        try Self.with(Self.action) { gateway, app throws in
            let token = try Self.token(gateway)
            let denied = try Self.visit(gateway, token, [Self.britain])
            #expect(denied.status == 403 && denied.sessionCookie == nil)
            #expect(denied.value("content-type")?.hasPrefix("text/html") == true)
            #expect(denied.text.contains("Network mismatch &lt;detected&gt;") && denied.text.contains("rule.denied"))
            #expect(denied.value("cache-control") == "no-store" && denied.value("referrer-policy") == "no-referrer")
            #expect(!denied.text.contains(token))
            #expect(try Self.visit(gateway, token, [Self.sweden]).sessionCookie == nil, "burned")
            #expect(try Self.visit(gateway, Self.token(gateway), [Self.sweden]).sessionCookie != nil)
            #expect(app.requests.isEmpty)
            let line = try #require(gateway.output.split(separator: "\n").first { $0.contains("rule.denied") })
            for part in [
                #""event":"transfer_token.rejected""#, #""rule":"other-country""#, #""burned":"true""#, "2.125.160.216",
                "89.160.20.112", #""code":"w""#,
            ] { #expect(line.contains(part), "\(part): \(line)") }
            #expect(try gateway.metric(#"sallyport_rule_results_total{rule="other-country",result="deny"}"#) == 1)
            #expect(try gateway.metric(#"sallyport_rule_results_total{rule="other-country",result="pass"}"#) == 1)
            #expect(try gateway.metric("sallyport_geo_database_build_timestamp_seconds") > 1_500_000_000)
        }
    }

    @Test("A denied cookie is cleared and its user's session stays; a program reads the text in the problem document")
    func cookie() throws {
        try Self.with(Self.action) { gateway, _ throws in
            let session = "sallyport=\(try gateway.browser())"
            let jar = "\(session); session_transfer_token=\(try Self.token(gateway))"
            let denied = try gateway.get("/page", ["Cookie: \(jar)", Self.britain])
            #expect(denied.status == 403 && denied.reason == "rule.denied")
            #expect(denied.text.contains(#""detail":"Network mismatch <detected>""#))
            #expect(denied.clearedCookies.contains("session_transfer_token") && denied.sessionCookie == nil)
            #expect(try gateway.get("/page", ["Cookie: \(session)", Self.britain]).status == 200)
        }
    }

    @Test("A link on another site is denied before its page asks")
    func preview() throws {
        try Self.with(Self.action) { gateway, _ throws in
            let token = try Self.token(gateway)
            let foreign = [Self.britain, "Sec-Fetch-Site: cross-site"]
            let link = try Self.visit(gateway, token, foreign)
            let cookie = try #require(link.values("set-cookie").first { $0.hasPrefix("sallyport-handoff=") })
            let jar = "Cookie: \(cookie.prefix { $0 != ";" })"
            let page = try gateway.get("/.sallyport/handoff", Self.navigation + foreign + [jar])
            #expect(page.status == 403 && page.text.contains("Network mismatch &lt;detected&gt;"), "\(page.text)")
            #expect(page.clearedCookies.contains("sallyport-handoff"))
            #expect(try Self.visit(gateway, token, [Self.sweden]).sessionCookie == nil, "burned")
            #expect(try gateway.metric(#"sallyport_rule_results_total{rule="other-country",result="deny"}"#) == 1)
        }
    }

    @Test("sign_in refuses the token, and the login page follows; whoever is signed in stays so")
    func signInRequired() throws {
        let rule = Self.action.replacing("then: deny", with: "then: sign_in")
            .replacing("    text: Network mismatch <detected>", with: "")
        try Self.with(rule) { gateway, _ throws in
            let refused = try Self.visit(gateway, Self.token(gateway), [Self.britain])
            #expect(refused.status == 303 && refused.sessionCookie == nil)
            #expect(refused.value("location") == "\(Request.origin)/page")
            let login = try gateway.get("/page", Self.navigation)
            #expect(login.value("location")?.contains("/.sallyport/login") == true)
            let session = "Cookie: sallyport=\(try gateway.browser())"
            #expect(try Self.visit(gateway, Self.token(gateway), [Self.britain, session]).sessionCookie == nil)
            #expect(try gateway.get("/page", [session]).status == 200)
            #expect(eventually { gateway.output.contains("rule.sign_in_required") })
            // At /authorize the user signs in, whoever is signed in.
            let answer = try Self.authorize(gateway, [Self.britain, session])
            #expect(answer.value("location")?.contains("/.sallyport/login") == true, "\(answer.lines)")
        }
    }

    private static func authorize(_ gateway: Gateway, _ fields: [String]) throws -> Answer {
        let query =
            "client_id=app&response_type=code&state=s&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let token = try self.token(gateway)
        return try gateway.get("/authorize?\(query)&session_transfer_token=\(token)", self.navigation + fields)
    }

    @Test("At /authorize a denial is access_denied with the rule's text")
    func authorize() throws {
        try Self.with(Self.action) { gateway, _ throws in
            let denied = try Self.authorize(gateway, [Self.britain])
            let location = try #require(denied.value("location"))
            #expect(location.hasPrefix("com.example.app:/callback?error=access_denied&error_description=Network"))
            #expect(location.contains("mismatch") && location.contains("&state=s&"), "\(location)")
            #expect(try Self.authorize(gateway, [Self.sweden]).value("location")?.contains("code=") == true)
        }
    }

    @Test("At mint a denial is 403 access_denied, and the refresh token stays as it is")
    func mint() throws {
        let rule = """
              - name: no-grace
                at: mint
                when: event.user.email == "grace@example.com" or event.request.geoip.countryCode == "GB"
                then: deny
                text: Not from here.
            """
        try Self.with(rule) { gateway, _ throws in
            let denied = try gateway.exchange(gateway.native(.grace))
            #expect(denied.status == 403, "\(denied.text)")
            #expect(denied.text == #"{"error":"access_denied","error_description":"Not from here."}"#)
            #expect(try gateway.exchange(gateway.native()).status == 200)
            func post(_ form: String, _ field: String) throws -> Answer {
                let type = "Content-Type: application/x-www-form-urlencoded"
                return try gateway.request(Request.post("/oauth/token", [type, field], body: form))
            }
            let query =
                "client_id=app&response_type=code&scope=offline_access&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let back = try gateway.get("/authorize?" + query, ["Cookie: sallyport=\(try gateway.browser())"])
            let code = try #require(back.value("location")?.firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/)).1
            let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            let redemption = "grant_type=authorization_code&client_id=app&code=\(code)&code_verifier=\(verifier)"
            let first = try #require(try post(redemption, Self.sweden).text.firstMatch(of: /(spr_[A-Za-z0-9_-]+)/)).1
            let form =
                "grant_type=refresh_token&client_id=app&refresh_token=\(first)"
                + "&audience=urn:\(Request.host):session_transfer"
            let refused = try post(form, Self.britain)
            #expect(refused.status == 403 && refused.text.contains("access_denied"), "\(refused.text)")
            // The first generation is still the present one: its use gives the second.
            #expect(gateway.output.contains("refresh_token.replayed") == false)
            #expect(try post(form, Self.sweden).status == 200)
            let line = try #require(
                gateway.output.split(separator: "\n").last { $0.contains("rule.denied") && $0.contains("audit") }
            )
            #expect(line.contains(#""rule":"no-grace""#) && line.contains("session_transfer"), "\(line)")
        }
    }

    @Test("At sign-in a denial is a page, for programs an error, and the former session stays")
    func signIn() throws {
        let rule = """
              - name: no-grace
                at: [sign_in, mint]
                when: not ("admins" in event.user.groups)
                then: deny
                text: Admins only.
            """
        try Self.with(rule) { gateway, _ throws in
            let session = "Cookie: sallyport=\(try gateway.browser())"
            let form = "identifier=grace@example.com&password=compiler-a0&return_to=/"
            let fields = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded", session]
            let denied = try gateway.request(
                Request.post("/.sallyport/login", fields + Self.navigation, body: form)
            )
            #expect(denied.status == 403 && denied.text.contains("Admins only."), "\(denied.text)")
            #expect(denied.sessionCookie == nil)
            #expect(try gateway.get("/page", [session]).status == 200)
            let error = #expect(throws: BenchFailure.self) { try gateway.native(.grace) }
            #expect(error?.description.contains("Admins only.") == true, "\(String(describing: error))")
            let line = gateway.output.split(separator: "\n").first { $0.contains("sign_in.failed") }
            #expect(line?.contains(#""rule":"no-grace""#) == true)
        }
    }

    @Test("A dry run changes nothing, is counted and audited; a reload with a bad rule keeps the rules")
    func dryRunAndReload() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = try Self.settings(Self.action + "\n    dry_run: true", upstream: app.port)
        try Gateway.with(settings) { gateway throws in
            #expect(try Self.visit(gateway, Self.token(gateway), [Self.britain]).sessionCookie != nil)
            let series = #"sallyport_rule_results_total{rule="other-country",result="would_deny"}"#
            #expect(try gateway.metric(series) == 1)
            let line = try #require(gateway.output.split(separator: "\n").first { $0.contains("rule.dry_run") })
            #expect(line.contains(#""rule":"other-country""#) && line.contains(#""reason":"rule.denied""#), "\(line)")
            try gateway.reload(settings.replacing("event.request.geoip", with: "event.request.geo"))
            #expect(gateway.output.contains("configuration not reloaded"))
            #expect(gateway.output.contains("event.request.geoip.countryCode?"), "the mend")
            #expect(try Self.visit(gateway, Self.token(gateway), [Self.britain]).sessionCookie != nil)
            #expect(try gateway.metric(series) == 2)
            try gateway.reload(try Self.settings(Self.action, upstream: app.port))
            #expect(try Self.visit(gateway, Self.token(gateway), [Self.britain]).status == 403)
        }
    }
}
