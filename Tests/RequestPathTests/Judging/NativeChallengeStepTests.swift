import Endpoints
import Pages
import RequestPath
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("The judge's challenge to a native app, in place of the sign-in page")
struct NativeChallengeStepTests {
    private static let page = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
    private static let field = "Sallyport-Native: 1"
    private static let token = "spt_" + String(repeating: "a", count: 55)

    private func bench(
        methods: (cookie: Bool, query: Bool) = (true, false),
        _ change: (inout RouteSettings) -> Void = { _ in }
    ) throws -> JudgeBench {
        var client = ClientSettings(clientID: "web")
        (client.allowsCookie, client.allowsQuery) = methods
        let handoff = route("/**", .required) {
            $0.client = "web"
            $0.handoff = true
            change(&$0)
        }
        return try JudgeBench([handoff, route("/plain/**", .required)]) { $0.clients = [client] }
    }

    private func challenge(_ target: String) -> String {
        #"SessionTransfer realm="\#(JudgeBench.origin)", return_to="\#(target)""#
    }

    @Test("A page is answered 401 with the challenge and a page that passes it on; any other browser goes to sign-in")
    func navigation() throws {
        let bench = try self.bench()
        let cookie = "Cookie: a=b; \(bench.cookie("-native"))=1"
        for fields in [[Self.field], [cookie], ["Sallyport-Native: 1", "Cookie: \(bench.cookie("-native"))=0"]] {
            let request = JudgedRequest(bench, "GET", "/x?a=%20&b", Self.page + fields)
            #expect(try request.begin() == .answer(401, .credentialMissing))
            #expect(request.values("WWW-Authenticate") == [self.challenge("/x?a=%20&b")])
            #expect(request.values("Cache-Control") == ["no-store"])
            #expect(request.values("Vary") == ["Cookie, Sallyport-Native"])
            let page = try #require(request.answer).page(
                by: PageDesign.included.writer(0),
                requestID: RequestID(seed: 1, sequence: 1),
                isForm: false,
                hasHost: true,
                hasSignIn: true
            ).response
            let html = String(decoding: page.body, as: UTF8.self)
            #expect(page.status == 401 && html.contains("<h1>Please sign in</h1>"))
            #expect(html.contains(#"<script data-realm="\#(JudgeBench.origin)" data-return-to="/x?a=%20&amp;b">"#))
            #expect(html.contains(#"href="/.sallyport/login?return_to=/x%3Fa%3D%2520%26b" target="_top">Sign in</a>"#))
            #expect(page.fields.contains { $0.name.lowercased() == "www-authenticate" })
            #expect(page.fields.contains { $0.value.contains("; script-src 'sha256-") })
        }
        for fields in [
            [], ["Sallyport-Native: 0"], ["Sallyport-Native: 0", cookie], ["Cookie: \(bench.cookie("-native"))=2"],
            ["Cookie: \(bench.cookie("-native"))=1; \(bench.cookie("-native"))=2"], ["Cookie: sallyport-native=1"],
            ["Sallyport_Native: 1"],
        ] {
            let request = JudgedRequest(bench, "GET", "/x", Self.page + fields)
            #expect(try request.begin() == .answer(303, .credentialMissing), "\(fields)")
            #expect(request.values("WWW-Authenticate").isEmpty)
        }
    }

    @Test(
        "A script's request keeps its problem document, with the challenge as a second field and the page as its target"
    )
    func script() throws {
        let fields = [
            Self.field, "Sec-Fetch-Mode: cors", "Referer: \(JudgeBench.origin)/page?a=1&session_transfer_token=x",
        ]
        for method in ["GET", "POST"] {
            let request = JudgedRequest(try self.bench(), method, "/api/orders", fields)
            #expect(try request.begin() == .answer(401, .credentialMissing))
            #expect(request.values("WWW-Authenticate") == [#"Bearer realm="sallyport""#, self.challenge("/page?a=1")])
            #expect(request.values("Content-Type") == ["application/problem+json"])
        }
    }

    @Test(
        "After a posted form the page says that it was not sent, and its link opens the form's page, which asks the app"
    )
    func form() throws {
        let fields = Self.page + [Self.field, "Referer: \(JudgeBench.origin)/form?a=1"]
        let request = JudgedRequest(try self.bench(), "POST", "/orders", fields)
        #expect(try request.begin() == .answer(401, .credentialMissing))
        #expect(request.values("WWW-Authenticate") == [self.challenge("/form?a=1")])
        let page = try #require(request.answer).page(
            by: PageDesign.included.writer(0),
            requestID: RequestID(seed: 1, sequence: 1),
            isForm: true,
            hasHost: true,
            hasSignIn: true
        ).response
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(!html.contains("<script") && html.contains("was not sent on"))
        #expect(html.contains(#"href="/form?a=1" target="_top">Sign in</a>"#))
    }

    @Test(
        "No target contains a token or leads elsewhere, and none ends the challenge's parameter",
        arguments: [
            ("/x?a=1&session_transfer_token=\(token)&b=2", "/x?a=1&b=2"),
            ("/x?next=%2Fy%3Fsession_transfer_token%3D\(token)", "/x"), ("//evil.example/x", "/"),
            (#"/x?a="b""#, "/x?a=%22b%22"), (#"/x?a=\b"#, "/"),
        ]
    )
    func targets(sent: String, expected: String) throws {
        let bench = try self.bench()
        let request = JudgedRequest(bench, "GET", sent, Self.page + [Self.field])
        var told = try request.begin()
        if told == .answer(303, .handoffMethodNotAllowed) {
            // A token where the client takes none is removed first.
            let next = String(try #require(request.values("Location").first).dropFirst(JudgeBench.origin.count))
            let second = JudgedRequest(bench, "GET", next, Self.page + [Self.field])
            told = try second.begin()
            #expect(second.values("WWW-Authenticate") == [self.challenge(expected)])
        } else {
            #expect(request.values("WWW-Authenticate") == [self.challenge(expected)])
        }
        #expect(told == .answer(401, .credentialMissing))
    }

    @Test("A refused token is answered by the challenge, unless a rule demands that the user signs in")
    func refusedToken() throws {
        let fields = Self.page + [Self.field, "Cookie: session_transfer_token=\(Self.token)"]
        for (reason, expected) in [
            (.handoffExpired, .answer(401, .credentialMissing)),
            (.ruleSignInRequired, .answer(303, .credentialMissing)),
        ] as [(Reason, JudgedRequest.Told)] {
            let request = JudgedRequest(try self.bench(), "GET", "/x", fields)
            #expect(try request.begin() == .consume(.cookie))
            #expect(try request.ended(.refused(reason, endsExisting: false)) == expected)
        }
    }

    @Test("Where a token could not help, the app is not asked")
    func notAsked() throws {
        let fields = Self.page + [Self.field]
        let plain = JudgedRequest(try self.bench(), "GET", "/plain/x", fields)
        #expect(try plain.begin() == .answer(303, .credentialMissing))
        let closed = JudgedRequest(try self.bench(methods: (false, false)), "GET", "/x", fields)
        #expect(try closed.begin() == .answer(303, .credentialMissing))
        let bearer = JudgedRequest(try self.bench(), "GET", "/x", [Self.field, "Authorization: Bearer a"])
        _ = try bearer.begin()
        #expect(try bearer.found(nil) == .answer(401, .sessionUnknown))
        #expect(bearer.values("WWW-Authenticate") == [#"Bearer error="invalid_token""#])
        // The next session would be handed off, too.
        let bench = try self.bench { $0.require.origins = ["browser"] }
        let stepUp = JudgedRequest(bench, "GET", "/x", fields + ["Cookie: \(bench.cookie())=a"])
        _ = try stepUp.begin()
        #expect(
            try stepUp.found(bench.live(.web) { $0.origin = .transfer }.session) == .answer(303, .requireOrigin)
        )
    }

    @Test("A handed-off session that is too weak or too old is answered by a challenge that says what is missing")
    func stepUp() throws {
        let bench = try self.bench {
            $0.require.aal = .aal2
            $0.require.maxAge = .seconds(300)
        }
        let fields = Self.page + [Self.field, "Cookie: \(bench.cookie())=a"]
        func told(_ fields: [String], _ change: (inout Session) -> Void = { _ in }) throws -> JudgedRequest {
            let request = JudgedRequest(bench, "GET", "/x?a=1", fields)
            _ = try request.begin()
            let live = try bench.live(.web) {
                $0.origin = .transfer
                change(&$0)
            }
            _ = try request.found(live.session)
            return request
        }
        let weak = try told(fields)
        let answer = try #require(weak.answer)
        #expect(answer.response.status == 403 && answer.response.reason == .requireAAL)
        let demands = #", acr_values="aal2", max_age="300""#
        #expect(weak.values("WWW-Authenticate") == [self.challenge("/x?a=1") + demands])
        #expect(weak.values("Vary") == ["Cookie, Sallyport-Native"])
        let page = answer.page(
            by: PageDesign.included.writer(0),
            requestID: RequestID(seed: 1, sequence: 1),
            isForm: false,
            hasHost: true,
            hasSignIn: true
        ).response
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(page.status == 403 && html.contains("The app that shows this page will sign you in again."))
        #expect(html.contains(#"data-return-to="/x?a=1" data-acr-values="aal2" data-max-age="300">"#))
        let login = "/.sallyport/login?return_to=/x%3Fa%3D1&amp;prompt=login"
        #expect(html.contains(#"href="\#(login)" target="_top">Sign in</a>"#))
        let old = try told(fields) {
            $0.aal = .aal2
            $0.authenticatedAt = JudgeBench.now.advanced(by: .seconds(-301))
        }
        #expect(old.answer?.response.reason == .requireMaxAge)
        #expect(old.values("WWW-Authenticate") == [self.challenge("/x?a=1") + demands])
        // A browser, and a user who signed in here, go to the sign-in page.
        #expect(try told(Self.page + ["Cookie: \(bench.cookie())=a"]).answer?.response.status == 303)
        let signedInHere = try told(fields) {
            $0.origin = .browser
            $0.authenticatedAt = JudgeBench.now.advanced(by: .seconds(-301))
        }
        #expect(signedInHere.answer?.response.status == 303)
        // The app may already have such a sign-in.
        let anonymous = JudgedRequest(bench, "GET", "/x", Self.page + [Self.field])
        #expect(try anonymous.begin() == .answer(401, .credentialMissing))
        #expect(anonymous.values("WWW-Authenticate") == [self.challenge("/x")])
    }

    @Test("A session that is too weak goes to the sign-in page where no app can hand one off")
    func stepUpAtSignIn() throws {
        let noHandoff = try self.bench {
            $0.handoff = false
            $0.require.aal = .aal2
        }
        let noTokens = try self.bench(methods: (false, false)) { $0.require.aal = .aal2 }
        for bench in [noHandoff, noTokens] {
            let request = JudgedRequest(
                bench,
                "GET",
                "/x",
                Self.page + [Self.field, "Cookie: \(bench.cookie())=a"]
            )
            _ = try request.begin()
            #expect(try request.found(bench.live(.web) { $0.origin = .transfer }.session) == .answer(303, .requireAAL))
        }
    }

    @Test("A program's token that is too weak gets the challenge of APIs, announced or not")
    func stepUpOfProgram() throws {
        let bench = try self.bench { $0.require.aal = .aal2 }
        let request = JudgedRequest(bench, "GET", "/x", Self.page + [Self.field, "Authorization: Bearer a"])
        _ = try request.begin()
        #expect(try request.found(bench.live(.native).session) == .answer(403, .requireAAL))
        let challenge = #"Bearer error="insufficient_user_authentication", acr_values="aal2""#
        #expect(request.values("WWW-Authenticate") == [challenge])
    }

    @Test("A session that has ended, or is used by another device, is answered by the challenge")
    func endedSession() throws {
        let bench = try self.bench { $0.liveBinding = .ip }
        let fields = Self.page + [Self.field, "Cookie: \(bench.cookie())=a"]
        let ended = JudgedRequest(bench, "GET", "/x", fields)
        _ = try ended.begin()
        #expect(try ended.found(nil) == .answer(401, .sessionUnknown))
        let moved = JudgedRequest(bench, "GET", "/x", fields)
        _ = try moved.begin()
        #expect(try moved.found(bench.live(.web) { $0.device = nil }.session) == .answer(401, .bindingIPMismatch))
        #expect(moved.values("WWW-Authenticate") == [self.challenge("/x")])
    }
}
