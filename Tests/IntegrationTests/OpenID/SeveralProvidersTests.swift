import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// One host at which users sign in with a password, at an OpenID provider or at one of plain OAuth 2.0, as they choose; one
/// without endpoints that has all three, and one that has one of them.
@Suite("Several providers on one host", .blocking)
struct SeveralProvidersTests {
    static let app = "http://app.example.com"
    static let twin = "http://twin.example.com"
    static let partner = "http://partner.example.com"

    struct Bench {
        let google: OpenIDProvider
        let github: OpenIDProvider
        let gateway: Gateway
        let upstream: FakeUpstream
        let settings: String

        /// A script's request to a host with the cookies of a browser.
        func get(_ url: String, _ user: WebUser, _ fields: [String] = []) throws -> Answer {
            var user = user
            let script = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: application/json"]
            return try user.send("GET", url, script + fields)
        }
    }

    /// - Parameters:
    ///   - element: A key of the element `google`.
    ///   - routes: The routes of the first host.
    ///   - isAway: Whether the OpenID provider is away.
    static func with(
        element: String = "",
        routes: String = "[{path: /**}]",
        more: String = "",
        isAway: Bool = false,
        _ body: (Bench) throws -> Void
    ) throws {
        var script = OpenIDScript(user: OpenIDScript.User("7", claims: ["email": "grace@example.com"]))
        script.clients[0].redirectURIs = [
            "\(self.app)/.sallyport/callback/google", "\(self.partner)/.sallyport/callback",
        ]
        let google = try OpenIDProvider(script, isUp: !isAway)
        defer { google.stop() }
        var plain = OpenIDScript(user: OpenIDScript.User("7", userinfo: ["id": 7, "email": "linus@example.com"]))
        plain.isOpenID = false
        plain.clients[0].redirectURIs = ["\(self.app)/.sallyport/callback/github"]
        let github = try OpenIDProvider(plain)
        defer { github.stop() }
        let upstream = try FakeUpstream()
        defer { upstream.stop() }
        let settings = """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(upstream.port)
            session: {cookie: sallyport}
            identity: {headers: {X-User: subject, X-Email: identity.traits.email, X-Provider: provider.name}}
            hosts:
              - public_url: \(self.app)
                endpoints: true
                providers: [staff, google, github]
                routes: \(routes)
              - public_url: \(self.twin)
                providers: [staff, google, github]
                routes: [{path: /**}]
              - public_url: \(self.partner)
                endpoints: true
                provider: google
                routes: [{path: /**}]
            providers:
              - name: staff
                label: Company account
                static: {users: [{identifier: ada@example.com, id: "7", traits: {email: ada@example.com}, password_hash: \
            "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"}]}
              - name: google
            \(element.isEmpty ? "" : "    \(element)\n")\
                oidc:
                  issuer: \(google.issuer)
                  client_id: gateway
                  client_secret_file: client-secret
              - name: github
                oauth2:
                  name: hub
                  authorization_url: \(github.issuer)/authorize
                  token_url: \(github.issuer)/token
                  userinfo_url: \(github.issuer)/userinfo
                  client_id: gateway
                  client_secret_file: client-secret
                  claims: {subject: id}
            drain: {delay: 0s, timeout: 100ms}
            \(more)

            """
        let files = ["client-secret": script.clients[0].secret ?? ""]
        try Gateway.with(settings, files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(
                Bench(google: google, github: github, gateway: gateway, upstream: upstream, settings: settings)
            )
        }
    }

    /// The page on which the user chooses, for a page of a host.
    static func page(_ user: inout WebUser, _ url: String = "\(Self.app)/x?a=1") throws -> WebUser.Arrival {
        let arrival = try user.open(url)
        #expect(arrival.answer.status == 200 && arrival.url.contains("/.sallyport/login?"), "\(user.trail)")
        return arrival
    }

    /// Where the page's link to a provider leads.
    static func link(to provider: String, on page: WebUser.Arrival) throws -> String {
        let links = page.answer.text.matches(of: /<a class="provider" href="([^"]*)"/).map { String($0.1) }
        let found = links.map { $0.replacing("&amp;", with: "&") }.first { $0.hasSuffix("provider=\(provider)") }
        return try #require(found, "\(links)")
    }

    /// Chooses a provider on the page and comes back.
    static func choose(_ provider: String, _ user: inout WebUser, _ page: WebUser.Arrival) throws -> WebUser.Arrival {
        try user.open(self.app + (try self.link(to: provider, on: page)))
    }

    @Test(
        "The page has the form, a link for each other provider in their order, and each leads to the page that was asked for"
    )
    func choices() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let page = try Self.page(&user)
            let text = page.answer.text
            let places = ["name=\"password\"", ">Continue with Google<", ">Continue with GitHub<"].map { part in
                text.firstRange(of: part)?.lowerBound
            }
            #expect(!places.contains(nil) && places.compactMap(\.self) == places.compactMap(\.self).sorted(), "\(text)")
            #expect(!text.contains("Last used"))
            for (provider, name, email) in [
                ("google", "google|7", "grace@example.com"), ("github", "github|7", "linus@example.com"),
            ] {
                var user = WebUser(bench.gateway)
                let landed = try Self.choose(provider, &user, try Self.page(&user))
                #expect(landed.url == "\(Self.app)/x?a=1" && landed.answer.status == 200, "\(user.trail)")
                #expect(landed.answer.text.contains("\r\nX-User: \(name)\r\n"), "\(landed.answer.text)")
                #expect(landed.answer.text.contains("\r\nX-Email: \(email)\r\n"))
                #expect(user.trail.contains { $0.hasPrefix("\(Self.app)/.sallyport/callback/\(provider)?") })
                // The other hosts that have the provider take the same sign-in, without the page.
                let twin = try user.open("\(Self.twin)/y")
                #expect(twin.url == "\(Self.twin)/y" && twin.answer.text.contains("\r\nX-Email: \(email)\r\n"))
            }
            let landed = try user.submit(page)
            #expect(landed.url == "\(Self.app)/x?a=1" && landed.answer.text.contains("\r\nX-User: 7\r\n"))
        }
    }

    @Test("The way that was used last comes first and is marked, and no cookie that tells it reaches the app")
    func lastUsed() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let landed = try Self.choose("github", &user, try Self.page(&user))
            #expect(user.jars["app.example.com"]?["sallyport-way"] == "github")
            #expect(!landed.answer.text.contains("sallyport-way"))
            _ = try user.signOut(Self.app)
            let text = try Self.page(&user).answer.text
            let hub = try #require(text.firstRange(of: "Continue with GitHub<small>Last used"))
            let form = try #require(text.firstRange(of: "name=\"password\""))
            let google = try #require(text.firstRange(of: "Continue with Google<"))
            #expect(hub.lowerBound < google.lowerBound && google.lowerBound < form.lowerBound)
            // Whoever writes something else into it sees the page as it is for everybody.
            user.jars["app.example.com"]?["sallyport-way"] = "%3Cb%3E"
            #expect(try !Self.page(&user).answer.text.contains("Last used"))
        }
    }

    @Test("A query that names a provider leads straight there; one that names none that is there shows the page")
    func named() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let login = "\(Self.app)/.sallyport/login?return_to=/z&provider="
            #expect(try user.send("GET", login + "google").value("location")?.hasPrefix(bench.google.issuer) == true)
            #expect(try user.send("GET", login + "github").value("location")?.hasPrefix(bench.github.issuer) == true)
            let form = try user.send("GET", login + "staff")
            #expect(form.status == 200 && form.text.contains("name=\"password\""))
            #expect(!form.text.contains("Continue with"))
            for name in ["", "other", "default", "Google", "%3Cscript%3E"] {
                let page = try user.send("GET", login + name)
                #expect(page.status == 200 && page.text.contains("Continue with Google"), "\(name)")
                #expect(!page.text.contains("<script>alert"))
            }
        }
    }

    @Test(
        "A session counts where its provider is listed and nowhere else; a host with one of them never shows the page"
    )
    func listed() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            _ = try Self.choose("google", &user, try Self.page(&user))
            let token = try #require(user.jars["app.example.com"]?["sallyport"])
            #expect(try bench.get("\(Self.app)/x", user).status == 200)
            var thief = WebUser(bench.gateway)
            thief.jars["partner.example.com"] = ["sallyport": token]
            #expect(try bench.get("\(Self.partner)/x", thief).reason == "session.other_host")
            let partner = try user.open("\(Self.partner)/p")
            #expect(partner.url == "\(Self.partner)/p" && partner.answer.text.contains("\r\nX-User: google|7\r\n"))
            #expect(user.trail.contains { $0.hasPrefix("\(Self.partner)/.sallyport/callback?") })
            // Taken from the list, the provider's users are no users of the host any more.
            try bench.gateway.reload(
                bench.settings.replacing("providers: [staff, google, github]", with: "providers: [staff, github]")
            )
            #expect(try bench.get("\(Self.app)/x", user).reason == "session.other_provider")
            #expect(try bench.get("\(Self.partner)/p", user).status == 200)
        }
    }

    @Test("What one provider sends back never completes what another began, whatever its place, state or code")
    func mixUp() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            let page = try Self.page(&user)
            func begin(_ provider: String) throws -> String {
                let to = try user.send("GET", Self.app + (try Self.link(to: provider, on: page)))
                return try #require(to.value("location"))
            }
            func callback(_ url: String) throws -> String {
                try #require(try user.send("GET", url).value("location"))
            }
            // The state of one at the place of the other: its code is shown to neither.
            for (began, other) in [("google", "github"), ("github", "google")] {
                let back = try callback(try begin(began))
                let moved = back.replacing("/callback/\(began)?", with: "/callback/\(other)?")
                let kept = user.jars["app.example.com"]
                let refused = try user.send("GET", moved)
                #expect(refused.status == 400 && refused.text.contains("signin.state_mismatch"), "\(refused.text)")
                #expect(user.jars["app.example.com"]?["sallyport"] == nil)
                let bare = back.replacing("/callback/\(began)?", with: "/callback?")
                user.jars["app.example.com"] = kept
                #expect(try user.send("GET", bare).text.contains("signin.state_mismatch"))
                #expect(user.jars["app.example.com"]?["sallyport"] == nil)
            }
            #expect(bench.google.count(.token) == 0 && bench.github.count(.token) == 0)
            // The code of one with the state of the other, as whoever leads the browser can arrange: the provider that
            // gets it does not know it, and the one whose code it is names itself (RFC 9207).
            let own = try callback(try begin("google"))
            let foreign = try callback(try begin("github"))
            let code = try #require(foreign.firstMatch(of: /code=([^&]+)/)).1
            let mixed = own.replacing(/code=[^&]+/, with: "code=\(code)")
            #expect(try user.send("GET", mixed).status >= 400)
            let second = try callback(try begin("google"))
            let lying = second.replacing(/iss=[^&]+/, with: "iss=\(bench.github.issuer)")
            #expect(try user.send("GET", lying).text.contains("signin.state_mismatch"))
            #expect(user.jars["app.example.com"]?["sallyport"] == nil)
            #expect(bench.github.count(.token) == 0)
        }
    }

    @Test(
        "An OpenID provider that signs as another one, or with the keys of its own in the other's name, signs nobody in"
    )
    func otherIssuer() throws {
        try Self.with { bench throws in
            let hub = bench.github.issuer
            bench.google.change { $0.alterIDToken = { $0["iss"] = .string(hub) } }
            var user = WebUser(bench.gateway)
            let refused = try Self.choose("google", &user, try Self.page(&user))
            #expect(refused.answer.status == 502 && refused.answer.text.contains("signin.invalid_token"))
            #expect(user.jars["app.example.com"]?["sallyport"] == nil)
        }
    }

    @Test("A user of the first provider whose id reads like another provider's user is refused")
    func lookalike() throws {
        try Self.with { bench throws in
            let settings = bench.settings.replacing("id: \"7\", traits", with: "id: \"google|7\", traits")
            try bench.gateway.reload(settings)
            #expect(bench.gateway.output.contains("a user of another provider can have"))
        }
    }

    @Test("Signing in at another provider ends the first session, and a sign-out leads to the provider it came from")
    func signOut() throws {
        try Self.with { bench throws in
            var user = WebUser(bench.gateway)
            _ = try Self.choose("github", &user, try Self.page(&user))
            let former = try #require(user.jars["app.example.com"]?["sallyport"])
            let page = try user.open("\(Self.app)/.sallyport/login?return_to=/x")
            _ = try Self.choose("google", &user, page)
            #expect(user.jars["app.example.com"]?["sallyport"] != former)
            var old = WebUser(bench.gateway)
            old.jars["app.example.com"] = ["sallyport": former]
            #expect(try bench.get("\(Self.app)/x", old).status == 401)
            let out = try user.signOut(Self.app)
            #expect(out.value("location")?.hasPrefix("\(bench.google.issuer)/logout?") == true, "\(out.lines)")
            _ = try Self.choose("github", &user, try Self.page(&user))
            #expect(try user.signOut(Self.app).value("location")?.contains("/signed-out") == true)
            #expect(try bench.get("\(Self.app)/x", user).status == 401)
        }
    }

    @Test("A route for one provider sends the users of others to its page, and refuses their scripts")
    func demanded() throws {
        let routes = """
            [{path: /**}, {path: /staff/**, require: {provider: staff}}, \
            {path: /social/**, require: {provider: [google, github]}}]
            """
        try Self.with(routes: routes) { bench throws in
            var user = WebUser(bench.gateway)
            // Without a session the page offers what the route takes, and a single one needs no page.
            let both = try user.open("\(Self.app)/social/x")
            #expect(!both.answer.text.contains("name=\"password\""))
            #expect(both.answer.text.contains("Continue with Google") && both.answer.text.contains("with GitHub"))
            let landed = try Self.choose("github", &user, both)
            #expect(landed.url == "\(Self.app)/social/x" && landed.answer.text.contains("\r\nX-Provider: github\r\n"))
            let script = try bench.get("\(Self.app)/staff/x", user)
            #expect(script.status == 403 && script.reason == "require.provider")
            let form = try user.open("\(Self.app)/staff/x")
            #expect(form.answer.text.contains("name=\"password\"") && !form.answer.text.contains("Continue with"))
            let signedIn = try user.submit(form)
            #expect(signedIn.url == "\(Self.app)/staff/x", "\(user.trail)")
            #expect(signedIn.answer.text.contains("\r\nX-Provider: staff\r\n"))
            #expect(try bench.get("\(Self.app)/social/x", user).reason == "require.provider")
        }
    }

    @Test(
        "A native app sees one button for each provider, and the one that its user takes leads there without a page between"
    )
    func native() throws {
        try Self.with(more: "exchange: {return_to: [\"myapp://done\"]}") { bench throws in
            func post(_ target: String, _ body: String) throws -> Answer {
                try bench.gateway.request(
                    """
                    POST \(target) HTTP/1.1\r\nHost: app.example.com\r\nAccept: application/json\r\n\
                    Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
                    """
                )
            }
            var app = WebUser(bench.gateway)
            let begin = "/self-service/login/api?return_session_token_exchange_code=true&return_to=myapp://done"
            let flow = try app.send("GET", Self.app + begin, ["Accept: application/json"])
            let document = flow.text.replacing(#"\/"#, with: "/")
            for name in ["staff", "google", "github"] {
                #expect(document.contains("\"value\":\"\(name)\""), "\(document)")
            }
            #expect(document.contains("GitHub") && document.contains("Company account"))
            let id = try #require(document.firstMatch(of: /"id":"([^"]+)"/)).1
            let answer = try post("/self-service/login?flow=\(id)", #"{"method": "oidc", "provider": "google"}"#)
            #expect(answer.status == 422)
            let text = answer.text.replacing(#"\/"#, with: "/").replacing(#"\u0026"#, with: "&")
            let url = String(try #require(text.firstMatch(of: /"redirect_browser_to":"([^"]+)"/)).1)
            var user = WebUser(bench.gateway)
            let away = try user.send("GET", url)
            #expect(away.value("location")?.hasPrefix(bench.google.issuer) == true, "\(url) \(away.text)")
            let back = try user.send("GET", try #require(away.value("location")))
            let done = try user.send("GET", try #require(back.value("location")))
            #expect(done.value("location")?.hasPrefix("myapp://done?code=") == true, "\(done.text)")
        }
    }

    @Test("Rules know the provider at which a user signs in")
    func ruled() throws {
        let more = """
            rules:
              - {name: no-hub, at: sign_in, when: 'event.connection.name == "github"', then: deny, text: Not by GitHub.}
            """
        try Self.with(more: more) { bench throws in
            var user = WebUser(bench.gateway)
            let refused = try Self.choose("github", &user, try Self.page(&user))
            #expect(refused.answer.status == 403 && refused.answer.text.contains("Not by GitHub."))
            #expect(try Self.choose("google", &user, try Self.page(&user)).answer.status == 200)
        }
    }

    @Test("A provider that is away is shown so on the page, and the gateway is ready while another serves")
    func away() throws {
        try Self.with(element: "essential: false", isAway: true) { bench throws in
            #expect(
                eventually { (try? bench.gateway.admin("/readyz?verbose").text.contains("provider google")) == true }
            )
            var user = WebUser(bench.gateway)
            #expect(
                eventually {
                    (try? user.open("\(Self.app)/x").answer.text.contains("Google<small>Not available")) == true
                }
            )
            let landed = try Self.choose("github", &user, try Self.page(&user))
            #expect(landed.answer.status == 200)
            var other = WebUser(bench.gateway)
            let page = try Self.page(&other)
            #expect(page.answer.text.contains("provider=google\" data-away>"), "\(page.answer.text)")
            #expect(page.answer.text.contains("provider=github\"><svg"))
            let refused = try Self.choose("google", &other, page)
            #expect(refused.answer.status == 503 && refused.answer.value("retry-after") != nil)
        }
    }
}
