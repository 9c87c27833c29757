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

        /// The tokens for what google's kit gives to an app of its user.
        func kitTokens() throws -> (access: String, refresh: String) {
            let idToken = self.google.logoutToken(sessionID: nil, subject: "7", type: "JWT") { claims in
                claims["events"] = nil
                claims["email"] = "ada@example.com"
                claims["email_verified"] = true
            }
            let answer = try self.tokens(
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&scope=openid+offline_access"
                    + "&subject_token_type=http://auth0.com/oauth/token-type/google-id-token&subject_token=\(idToken)"
            )
            let document = JSONText.decode(Array(answer.text.utf8))
            let access = try #require(document?["access_token"]?.string, "\(answer.text)")
            return (access, try #require(document?["refresh_token"]?.string))
        }

        /// The answer of the token endpoint to the client `app`.
        func tokens(_ form: String) throws -> Answer {
            var app = WebUser(self.gateway)
            let type = "Content-Type: application/x-www-form-urlencoded"
            let url = "\(LinkedAccountsTests.app)/oauth/token"
            return try app.send("POST", url, [type], body: "client_id=app&\(form)")
        }

        /// Whose access token it is; nil: nobody's any more.
        func subject(ofToken token: String) throws -> String? {
            var app = WebUser(self.gateway)
            let url = "\(LinkedAccountsTests.app)/userinfo"
            let answer = try app.send("GET", url, ["Authorization: Bearer \(token)"])
            return JSONText.decode(Array(answer.text.utf8))?["sub"]?.string
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
        google.signAsKits()
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
            admin: {listen: 127.0.0.1:0, tokens_file: operator-tokens}
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
            native_social:
              google: {audiences: [gateway], issuers: ["\(google.issuer)"], jwks_url: "\(google.issuer)/jwks.json"}
            clients:
              - {client_id: app, native_social_login: {google: {enabled: true}}}
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = [
            "operator-tokens": OperatorTokens.file,
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

    @Test("A kit's user is the account, which the provider and operators end by the provider's own id of the user")
    func kitsAndOperators() throws {
        try Self.with { bench throws in
            var desk = WebUser(bench.gateway)
            let account = try bench.signIn(&desk, at: "work")
            let first = try bench.kitTokens()
            #expect(try bench.subject(ofToken: first.access) == account)
            for provider in ["work", "google"] {
                let metric = #"sallyport_provider_sign_ins_total{provider="\#(provider)",result="ok"}"#
                #expect(try bench.gateway.metric(metric) == 1, "\(provider)")
            }
            let own = "google%7C7"
            func list(_ query: String) throws -> String {
                try bench.gateway.operate("GET", "/sessions?\(query)", token: OperatorTokens.reader).text
            }
            for (id, provider) in [(own, "google"), ("w-1", "work"), (account, "work")] {
                let listed = try list("subject=\(id)&provider=\(provider)")
                for kind in ["web", "native"] { #expect(listed.contains("\"kind\":\"\(kind)\""), "\(id): \(listed)") }
            }
            #expect(try !list("subject=w-1&provider=google").contains("kind"))
            #expect(try bench.logout(bench.google.logoutToken(sessionID: nil, subject: "7")) == 200)
            #expect(try bench.subject(ofToken: first.access) == nil)
            let refreshed = try bench.tokens("grant_type=refresh_token&refresh_token=\(first.refresh)")
            #expect(refreshed.status == 400 && refreshed.text.contains("invalid_grant"), "\(refreshed.text)")
            #expect(try bench.subject(of: desk).hasPrefix("session."))
            bench.work.endSession()
            #expect(try bench.signIn(&desk, at: "work") == account)
            let second = try bench.kitTokens()
            let target = "/subjects/\(own)/sign-out?provider=google"
            #expect(try bench.gateway.operate("POST", target, token: OperatorTokens.all).status == 204)
            #expect(try bench.subject(ofToken: second.access) == nil)
            #expect(try bench.subject(of: desk).hasPrefix("session."))
        }
    }

    @Test("Another key of accounts takes effect at the next start, and the reload says so")
    func otherKey() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let account = try bench.signIn(&user, at: "google")
            let file = bench.gateway.folder.appending(path: "accounts.key")
            try "another key of accounts that is long enough".write(to: file, atomically: true, encoding: .utf8)
            try bench.gateway.reload(bench.settings)
            #expect(bench.gateway.output.contains("accounts.key_file: the new key takes effect"))
            var other = WebUser(bench.gateway)
            #expect(try bench.signIn(&other, at: "work") == account)
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
            // One list of both, the latest first.
            let target = "/sessions?subject=google%7C7&provider=google"
            let listed = try bench.gateway.operate("GET", target, token: OperatorTokens.reader).text
            guard case .array(let sessions)? = JSONText.decode(Array(listed.utf8))?["sessions"] else {
                throw BenchFailure(listed)
            }
            #expect(sessions.compactMap { $0["subject"]?.string } == [account, "google|7"], "\(listed)")
            try bench.gateway.reload(bench.settings)
            #expect(try bench.subject(of: new) == account)
            #expect(try bench.subject(of: old) == "google|7")
        }
    }
}
