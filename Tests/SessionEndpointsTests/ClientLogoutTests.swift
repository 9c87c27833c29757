import EndpointBench
import Endpoints
import JOSE
import Observability
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Sign-outs that clients ask for")
struct ClientLogoutTests {
    private static let paths = ["/oidc/logout", "/v2/logout"]
    private static let crossSite = [(name: "sec-fetch-site", value: "cross-site")]

    private static func target(_ path: String) -> String {
        path == "/v2/logout" ? "returnTo" : "post_logout_redirect_uri"
    }

    /// An id_token of Alice for the client `rp`.
    private static func hint(
        _ gateway: Gateway,
        by key: SigningKey = Gateway.idTokenKeys.current,
        _ change: (inout IDToken) -> Void = { _ in }
    ) -> String {
        let session = Session(
            id: "ses_x",
            kind: .web,
            origin: .browser,
            lineage: Lineage(tag: "t"),
            identity: Identity(id: "9f1c", traits: [:]),
            aal: .aal1,
            methods: [],
            authenticatedAt: gateway.time.now,
            issuedAt: gateway.time.now,
            expiresAt: gateway.time.now,
            idleLifetime: .seconds(60)
        )
        var token = IDToken(
            of: session,
            issuer: "https://app.example.com/",
            clientID: "rp",
            scopes: ["openid"],
            issuedAt: gateway.time.now
        )
        change(&token)
        return token.signed(by: key)
    }

    private static func open(
        _ gateway: Gateway,
        _ query: [String: String],
        at path: String = "/oidc/logout",
        session: String? = nil,
        fields: [(name: String, value: String)] = Self.crossSite
    ) async throws -> EndpointResponse {
        let pairs = query.map { (name: $0.key, value: $0.value) }
        return try await gateway.send(
            "GET",
            path,
            query: pairs.sorted { $0.name < $1.name },
            fields: fields + Gateway.cookies([session].compactMap(\.self))
        )
    }

    @Test("an id_token of the user who is signed in signs out at once and redirects with state; its age does not count")
    func hinted() async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let hint = Self.hint(gateway)
        gateway.time.advance(by: .seconds(1000))
        let old = Self.hint(gateway) { $0.issuedAt = UnixTime(seconds: 1_000_000_000) }
        let wish = ["id_token_hint": old, "post_logout_redirect_uri": Gateway.logoutURL, "state": "a&b"]
        let answer = try await Self.open(gateway, wish, session: session)
        #expect(answer.status == 303)
        #expect(answer.value("location") == "\(Gateway.logoutURL)?state=a%26b")
        #expect(answer.value("set-cookie")?.hasPrefix("__Host-sallyport=;") == true)
        #expect(try await gateway.session(session).status == 401)
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["s", "slo"])
        let again = try await Self.open(gateway, ["id_token_hint": hint, "client_id": "rp"], session: session)
        #expect(again.value("location") == "/.sallyport/signed-out")
    }

    @Test("a request of another site without a hint asks first, and its page leads to the client", arguments: paths)
    func asks(path: String) async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let wish = ["client_id": "rp", Self.target(path): "com.example.app:/bye?x=1", "federated": ""]
        for fields in [
            Self.crossSite, [("sec-fetch-site", "same-site")], [],
            [("sec-fetch-site", "none"), ("purpose", "prefetch")],
        ] {
            let page = try await Self.open(gateway, wish, at: path, session: session, fields: fields)
            #expect(page.status == 200 && page.values("set-cookie").isEmpty)
            #expect(page.text.contains("Do you want to sign out"))
            #expect(try await gateway.session(session).status == 200)
        }
        let page = try await Self.open(gateway, wish, at: path, session: session)
        let form = try #require(page.text.firstMatch(of: /name="return_to" value="([^"]+)"/)).1
        let back = String(form).replacing("&amp;", with: "&")
        let answer = try await gateway.post(
            "/.sallyport/logout",
            FormText.encoded([("return_to", back)]),
            cookies: [session]
        )
        #expect(answer.value("location") == back)
        let query = FormText.pairs(Array(back.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
        let last = try await gateway.send("GET", path, query: query, fields: Self.crossSite)
        #expect(last.value("location") == "com.example.app:/bye?x=1")
    }

    @Test(
        "what no other site can have made signs out at once",
        arguments: paths,
        ["none", "same-origin"]
    )
    func ownDoing(path: String, site: String) async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let wish = ["client_id": "rp", Self.target(path): Gateway.logoutURL]
        let answer = try await Self.open(gateway, wish, at: path, session: session, fields: [("sec-fetch-site", site)])
        #expect(answer.value("location") == Gateway.logoutURL)
        #expect(try await gateway.session(session).status == 401)
    }

    @Test("a hint of another user asks first, wherever the request comes from")
    func otherUser() async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let hint = Self.hint(gateway) { $0.identity = Identity(id: "bob", traits: [:]) }
        for site in ["cross-site", "none"] {
            let page = try await Self.open(
                gateway,
                ["id_token_hint": hint],
                session: session,
                fields: [("sec-fetch-site", site)]
            )
            #expect(page.status == 200 && page.text.contains("Do you want to sign out"))
        }
        #expect(try await gateway.session(session).status == 200)
    }

    @Test("only listed URLs are redirected to, with and without a session", arguments: paths)
    func unlisted(path: String) async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let name = Self.target(path)
        let bad: [([String: String], Reason)] = [
            (["client_id": "rp", name: "https://rp.example.com/bye?x"], .oauthInvalidRedirect),
            (["client_id": "rp", name: "https://rp.example.com/bye/"], .oauthInvalidRedirect),
            (["client_id": "rp", name: "HTTPS://rp.example.com/bye"], .oauthInvalidRedirect),
            (["client_id": "other", name: Gateway.logoutURL], .oauthInvalidRedirect),
            (["client_id": "nobody", name: Gateway.logoutURL], .oauthInvalidClient),
        ]
        for (wish, reason) in bad {
            for token in [nil, session] {
                let answer = try await Self.open(
                    gateway,
                    wish,
                    at: path,
                    session: token,
                    fields: [("sec-fetch-site", "none")]
                )
                #expect(answer.status == 400 && answer.reason == reason, "\(wish)")
                #expect(answer.values("location").isEmpty)
                #expect(answer.text.contains("Do you want to sign out") == (token != nil))
            }
        }
        let nobody = try await Self.open(gateway, [name: Gateway.logoutURL], at: path)
        #expect(nobody.value("location") == "/.sallyport/signed-out", "without a client nobody has listed it")
        let twice = [
            (name: "client_id", value: "rp"), (name: name, value: Gateway.logoutURL), (name: name, value: "x"),
        ]
        #expect(try await gateway.send("GET", path, query: twice).reason == .oauthInvalidRequest)
        #expect(try await gateway.session(session).status == 200)
    }

    @Test("a hint that is none, or of another client, signs nobody out and leads nowhere")
    func foreignHint() async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let stranger = SigningKey.generated(.rs256)
        let good = Self.hint(gateway)
        let hints = [
            "x", good + "x",
            Self.hint(gateway, by: stranger), Self.hint(gateway) { $0.issuer = "https://evil.example.com/" },
            Self.hint(gateway) { $0.clientID = "other" },
        ]
        for hint in hints {
            let wish = ["client_id": "rp", "id_token_hint": hint, "post_logout_redirect_uri": Gateway.logoutURL]
            for token in [nil, session] {
                let answer = try await Self.open(gateway, wish, session: token)
                #expect(answer.status == 400 && answer.reason == .oauthInvalidRequest)
                #expect(answer.values("location").isEmpty)
            }
        }
        #expect(try await gateway.session(session).status == 200)
    }

    @Test("a posted request is repeated by GET, with which the browser sends its cookie")
    func posted() async throws {
        let gateway = try Gateway()
        let form = [("client_id", "rp"), ("post_logout_redirect_uri", Gateway.logoutURL), ("logout_hint", "ada")]
        let answer = try await gateway.post("/oidc/logout", FormText.encoded(form))
        #expect(
            answer.value("location")
                == "/oidc/logout?client_id=rp&post_logout_redirect_uri=https%3A%2F%2Frp.example.com%2Fbye"
        )
        #expect(try await gateway.post("/oidc/logout", "").value("location") == "/oidc/logout")
        #expect(try await gateway.send("POST", "/oidc/logout").value("location") == "/oidc/logout")
        #expect(try await gateway.post("/oidc/logout", "state=1&state=2").reason == .oauthInvalidRequest)
        let head = try await gateway.send("HEAD", "/v2/logout?client_id=rp")
        #expect(head.status == 204)
    }

    @Test("while the store cannot answer, nobody is said to be signed out")
    func outage() async throws {
        let gateway = try Gateway()
        let session = try await gateway.signInBrowser()
        let wish = ["id_token_hint": Self.hint(gateway), "post_logout_redirect_uri": Gateway.logoutURL]
        gateway.store.fail(with: .unavailable)
        let answer = try await Self.open(gateway, wish, session: session)
        #expect(answer.isOutage && answer.values("location").isEmpty)
        gateway.store.fail(with: nil)
        gateway.store.change { $0.failsEnds = true }
        let uncertain = try await Self.open(gateway, wish, session: session)
        #expect(uncertain.isOutage && uncertain.text.contains("you may still be signed in"))
        #expect(uncertain.text.contains("post_logout_redirect_uri") && !uncertain.text.contains("id_token_hint"))
    }
}
