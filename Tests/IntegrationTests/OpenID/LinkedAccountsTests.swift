import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// One person at two providers that vouch for the same address (`accounts.link`), beside one that is not trusted.
@Suite("Accounts of several providers", .blocking)
struct LinkedAccountsTests {
    private static let app = "http://app.example.com"
    private static let link = "accounts: {link: verified_email, key_file: accounts.key}"

    private struct Bench {
        let work: OpenIDProvider
        let google: OpenIDProvider
        let other: OpenIDProvider
        let gateway: Gateway
        let settings: String

        /// Signs in at a provider, and says what the app calls the user.
        func signIn(_ user: inout WebUser, at provider: String) throws -> String {
            let login = "\(LinkedAccountsTests.app)/.sallyport/login?return_to=/x&provider=\(provider)"
            return try Self.subject(try user.open(login).answer)
        }

        /// What the app calls the user of a request; the reason if there is none.
        func subject(of user: WebUser) throws -> String {
            var user = user
            let script = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: application/json"]
            return try Self.subject(try user.send("GET", "\(LinkedAccountsTests.app)/x", script))
        }

        private static func subject(_ answer: Answer) throws -> String {
            if let reason = answer.reason { return reason }
            return String(try #require(answer.text.firstMatch(of: /X-User: (\S+)/), "\(answer.text)").1)
        }

        /// The provider asks for the end of sessions.
        func logout(_ token: String) throws -> Int {
            var server = WebUser(self.gateway)
            return try server.send(
                "POST",
                "\(LinkedAccountsTests.app)/.sallyport/backchannel-logout",
                ["Content-Type: application/x-www-form-urlencoded"],
                body: "logout_token=\(token)"
            ).status
        }
    }

    private static func with(
        _ accounts: String = Self.link,
        tokenLife: Duration = .seconds(300),
        _ body: (Bench) throws -> Void
    ) throws {
        func provider(_ subject: String, _ email: String, isVerified: JSONValue = true) throws -> OpenIDProvider {
            let claims: [String: JSONValue] = ["email": .string(email), "email_verified": isVerified]
            var script = OpenIDScript(user: OpenIDScript.User(subject, claims: claims))
            script.accessTokenLifetime = tokenLife
            return try OpenIDProvider(script)
        }
        let work = try provider("w-1", "Ada@example.com")
        defer { work.stop() }
        let google = try provider("7", "ada@Example.com")
        defer { google.stop() }
        let other = try provider("7", "ada@example.com")
        defer { other.stop() }
        let upstream = try FakeUpstream()
        defer { upstream.stop() }
        func element(_ name: String, _ provider: OpenIDProvider, isTrusted: Bool) -> String {
            """
              - name: \(name)
                oidc:
                  issuer: \(provider.issuer)
                  client_id: gateway
                  client_secret_file: client-secret
                  trusted_email: \(isTrusted)

            """
        }
        let settings = """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(upstream.port)
            session: {cookie: sallyport}
            identity: {headers: {X-User: subject, X-Provider: provider.name}}
            \(accounts)
            hosts:
              - public_url: \(Self.app)
                endpoints: true
                providers: [work, google, other]
                routes: [{path: /**}]
            providers:
            \(element("work", work, isTrusted: true))\
            \(element("google", google, isTrusted: true))\
            \(element("other", other, isTrusted: false))\
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = [
            "client-secret": OpenIDScript().clients[0].secret ?? "",
            "accounts.key": "a key of accounts that is long enough for that",
        ]
        try Gateway.with(settings, files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(Bench(work: work, google: google, other: other, gateway: gateway, settings: settings))
        }
    }

    @Test("The same verified address at two trusted providers is one user; any other word on an address links nobody")
    func links() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let account = try bench.signIn(&user, at: "work")
            #expect(account.wholeMatch(of: /acc_[A-Za-z0-9_-]{32}/) != nil, "\(account)")
            #expect(try bench.signIn(&user, at: "google") == account)
            var fresh = WebUser(bench.gateway)
            #expect(try bench.signIn(&fresh, at: "google") == account)
            #expect(try bench.signIn(&fresh, at: "other") == "other|7")
            for (provider, count) in [("work", 1.0), ("google", 2), ("other", 1)] {
                let metric = #"sallyport_provider_sign_ins_total{provider="\#(provider)",result="ok"}"#
                #expect(try bench.gateway.metric(metric) == count)
                let event = "\"subject\":\"\(provider == "other" ? "other|7" : account)\",\"provider\":\"\(provider)\""
                #expect(eventually { bench.gateway.output.contains(event) }, "\(event)")
            }
            // Whatever is not plainly verified is nobody's account, and another address is another one.
            for (email, verified) in [
                ("ada@example.com", false), ("ada@example.com", nil), ("ada@example.com", "yes"),
                ("ada@example.com", 1), ("a@da@example.com", true), ("ada", true), ("", true),
            ] as [(String, JSONValue?)] {
                bench.google.change { script in
                    script.user.claims["email"] = .string(email)
                    script.user.claims["email_verified"] = verified
                }
                var user = WebUser(bench.gateway)
                #expect(try bench.signIn(&user, at: "google") == "google|7", "\(email) \(String(describing: verified))")
            }
            bench.google.change { script in
                script.user.claims["email"] = "ada@sub.example.com"
                script.user.claims["email_verified"] = true
            }
            let another = try bench.signIn(&fresh, at: "google")
            #expect(another.hasPrefix("acc_") && another != account)
        }
    }

    @Test("No provider can call its user by the id of an account")
    func lookalike() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let account = try bench.signIn(&user, at: "google")
            bench.work.change { script in
                script.user.subject = account
                script.user.claims = [:]
            }
            var thief = WebUser(bench.gateway)
            let login = "\(Self.app)/.sallyport/login?return_to=/x&provider=work"
            let refused = try thief.open(login).answer
            #expect(refused.status == 502 && refused.text.contains("signin.provider_error"), "\(refused.text)")
            #expect(thief.jars["app.example.com"]?["sallyport"] == nil)
        }
    }

    @Test("The list of sessions has those of both providers; a provider ends one session, or all of the account")
    func ends() throws {
        try Self.with { bench throws in
            var phone = WebUser(bench.gateway)
            var desk = WebUser(bench.gateway)
            let account = try bench.signIn(&phone, at: "google")
            #expect(try bench.signIn(&desk, at: "work") == account)
            let list = try phone.send("GET", "\(Self.app)/.sallyport/sessions")
            #expect(list.text.matches(of: /<li>/).count == 2, "\(list.text)")
            // By its own id of the user, and then by its id of the session.
            #expect(try bench.logout(bench.google.logoutToken(sessionID: nil, subject: "7")) == 200)
            #expect(try bench.subject(of: phone).hasPrefix("session."))
            #expect(try bench.subject(of: desk).hasPrefix("session."))
            bench.google.endSession()
            bench.work.endSession()
            #expect(try bench.signIn(&desk, at: "work") == account)
            #expect(try bench.signIn(&phone, at: "google") == account)
            let sid = try #require(bench.work.sessionID)
            #expect(try bench.logout(bench.work.logoutToken(sessionID: sid, subject: "w-1")) == 200)
            #expect(try bench.subject(of: desk).hasPrefix("session."))
            #expect(try bench.subject(of: phone) == account)
        }
    }

    @Test("Tokens are renewed at the provider of the session, and the user stays the account")
    func renewal() throws {
        try Self.with(tokenLife: .seconds(2)) { bench throws in
            var user = WebUser(bench.gateway)
            let account = try bench.signIn(&user, at: "google")
            #expect(eventually { (try? bench.subject(of: user)) == account && bench.google.count(.token) > 2 })
            // Also when the provider calls the address unverified by now: the session is the account's until it ends.
            bench.google.change { $0.user.claims["email_verified"] = false }
            let before = bench.google.count(.token)
            #expect(eventually { (try? bench.subject(of: user)) == account && bench.google.count(.token) > before })
            // Tokens of another user end it.
            bench.google.change { $0.alterIDToken = { $0["sub"] = "8" } }
            #expect(eventually { (try? bench.subject(of: user))?.hasPrefix("session.") == true })
        }
    }

    @Test("Sessions from before stay what they are, and so do the accounts' once nothing is linked any more")
    func upgrade() throws {
        try Self.with("accounts: {link: none, key_file: accounts.key}") { bench throws in
            var old = WebUser(bench.gateway)
            #expect(try bench.signIn(&old, at: "google") == "google|7")
            try bench.gateway.reload(bench.settings.replacing("link: none", with: "link: verified_email"))
            #expect(try bench.subject(of: old) == "google|7")
            var new = WebUser(bench.gateway)
            let account = try bench.signIn(&new, at: "google")
            #expect(account.hasPrefix("acc_"))
            try bench.gateway.reload(bench.settings)
            #expect(try bench.subject(of: new) == account)
            #expect(try bench.subject(of: old) == "google|7")
        }
    }
}
