import Providers
import Sessions
import Settings
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Kratos judges its session tokens and its cookie")
struct KratosProviderTests {
    @Test("A token is shown to Kratos in its own field, and the session says who the user is")
    func token() async throws {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, .json(desk.session()))
        let known = try #require(await desk.provider.introspect(Secret(KratosDesk.token)).known)
        #expect(known.identity.id == "7b9f3e2a-5c1d-4f8e-9a3b-2d6c8e4f7a9b" && known.identity.schemaID == "person")
        #expect(known.identity.traits == ["email": "ada@example.com", "name": ["first": "Ada"]])
        #expect(known.identity.metadataPublic == ["plan": "gold"])
        #expect(known.sessionID == "9f425a8d-7efc-4768-8f23-7647a74fdf13")
        #expect(known.aal == .aal1 && known.methods == ["password", "totp"])
        let now = desk.clock.now
        #expect(known.authenticatedAt == now.advanced(by: .seconds(-60)))
        #expect(
            known.issuedAt == now.advanced(by: .seconds(-60)) && known.expiresAt == now.advanced(by: .seconds(3600))
        )
        #expect(known.cacheLifetime == .seconds(30))
        let call = try #require(desk.transport.calls.first)
        #expect(
            call.method == "GET" && call.field("x-session-token") == KratosDesk.token && call.field("cookie") == nil
        )
        #expect(call.purpose == .session)
    }

    @Test("A cookie is shown to Kratos under its own name")
    func cookie() async throws {
        let desk = KratosDesk { $0.cookieName = "sid" }
        desk.transport.on(KratosDesk.whoami, .json(desk.session()))
        let presented = PresentedToken(Secret(KratosDesk.cookie), as: .web)
        #expect(await desk.provider.introspect(presented).known != nil)
        let call = try #require(desk.transport.calls.first)
        #expect(call.field("cookie") == "sid=\(KratosDesk.cookie)" && call.field("x-session-token") == nil)
    }

    @Test("Only what has the syntax of a token or of the cookie is shown to Kratos")
    func syntax() {
        let desk = KratosDesk()
        func mayKnow(_ text: String, _ kind: Session.Kind) -> Bool {
            Array(text.utf8).withUnsafeBytes { desk.provider.mayKnow($0, as: kind) }
        }
        #expect(mayKnow(KratosDesk.token, .native) && mayKnow(KratosDesk.token, .web))
        #expect(mayKnow(KratosDesk.cookie, .web) && !mayKnow(KratosDesk.cookie, .native))
        for text in [
            "", "short", "eyJh.eyJz.c2ln", "a; b=cccccccccccccccccc", "\"quoted-quoted-quoted\"",
            "aaaaaaaaaaaaaaaa\r\n",
        ] {
            #expect(!mayKnow(text, .native) && !mayKnow(text, .web), "\(text)")
        }
        #expect(!mayKnow(String(repeating: "a", count: 4097), .web))
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        let description: String
        let members: [String: JSONValue]
        let verdict: TokenVerdict?
        var testDescription: String { self.description }

        init(_ description: String, _ members: [String: JSONValue], _ verdict: TokenVerdict?) {
            (self.description, self.members, self.verdict) = (description, members, verdict)
        }
    }

    static let answers: [Answer] = [
        Answer("a session", [:], nil),
        Answer(
            "without the optional members",
            ["active": "absent", "issued_at": "absent", "expires_at": "absent"],
            nil
        ),
        Answer("null for times", ["authenticated_at": .null, "issued_at": .null, "expires_at": .null], nil),
        Answer("no identity", ["identity": .null], .unknown(.credentialInvalidToken)),
        Answer("no member identity", ["identity": "absent"], .unknown(.credentialInvalidToken)),
        Answer("not active", ["active": false], .unknown(.credentialExpired)),
        Answer("null for active", ["active": .null], nil),
        Answer("a text for active", ["active": "false"], .unknown(.credentialExpired)),
        Answer("another text for active", ["active": "true"], .unknown(.credentialExpired)),
        Answer("a number for active", ["active": 0], .unknown(.credentialExpired)),
        Answer("an object for active", ["active": [:]], .unknown(.credentialExpired)),
        Answer("at its end", ["expires_at": "2001-09-09T01:46:40Z"], .unknown(.credentialExpired)),
        Answer(
            "a disabled user",
            ["identity": ["id": "a", "traits": [:], "state": "inactive"]],
            .unknown(.credentialExpired)
        ),
        Answer("null for state", ["identity": ["id": "a", "traits": [:], "state": .null]], nil),
        Answer(
            "another state",
            ["identity": ["id": "a", "traits": [:], "state": "Inactive"]],
            .unknown(.credentialExpired)
        ),
        Answer(
            "a state that is no text",
            ["identity": ["id": "a", "traits": [:], "state": false]],
            .unknown(.credentialExpired)
        ),
        Answer("no id", ["id": "absent"], .unavailable),
        Answer("a number for the end", ["expires_at": 1_800_000_000], .unavailable),
        Answer("an end that is no time", ["expires_at": "never"], .unavailable),
        Answer("a number for the id", ["id": 1], .unavailable),
        Answer("an identity without id", ["identity": ["traits": [:]]], .unavailable),
        Answer("a control character in the id", ["identity": ["id": "a\u{0}b"]], .unavailable),
    ]

    @Test("Each member is read", arguments: answers)
    func members(answer: Answer) async {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, .json(desk.session(answer.members)))
        let verdict = await desk.provider.introspect(Secret(KratosDesk.token))
        if let expected = answer.verdict { #expect(verdict == expected) } else { #expect(verdict.known != nil) }
    }

    @Test("A session without a time of sign-in counts as the oldest, and one without an end lasts a day")
    func unknownTimes() async throws {
        let desk = KratosDesk()
        desk.transport.on(
            KratosDesk.whoami,
            .json(desk.session(["authenticated_at": "absent", "expires_at": "absent"]))
        )
        let known = try #require(await desk.provider.introspect(Secret(KratosDesk.token)).known)
        #expect(known.authenticatedAt == UnixTime(seconds: 0))
        #expect(known.expiresAt == desk.clock.now.advanced(by: .seconds(86_400)))
    }

    @Test(
        "Kratos's own limit on caching shortens the configured one",
        arguments: [("10", 10), ("0", 0), ("60", 30), ("", 30), ("-1", 30), ("abc", 30), (nil, 30)]
            as [(String?, Int)]
    )
    func cacheLifetime(field: String?, seconds: Int) async throws {
        let desk = KratosDesk()
        desk.transport.on(
            KratosDesk.whoami,
            .json(desk.session(), fields: field.map { [("ory-session-cache-for", $0)] } ?? [])
        )
        let known = try #require(await desk.provider.introspect(Secret(KratosDesk.token)).known)
        #expect(known.cacheLifetime == .seconds(seconds))
    }

    @Test("A 401 in Kratos's words refuses the token; a demand for another factor is passed on")
    func refusals() async {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, KratosDesk.error(401))
        #expect(await desk.provider.introspect(Secret(KratosDesk.token)) == .unknown(.credentialInvalidToken))
        let page = "https://auth.example.com/self-service/login/browser?aal=aal2"
        let demand = KratosDesk.error(403, id: "session_aal2_required", page: page)
        desk.transport.on(KratosDesk.whoami, demand)
        let verdict = await desk.provider.introspect(Secret(KratosDesk.token))
        #expect(verdict == .insufficient(ProviderDemand(page: page, document: demand.body)))
        desk.transport.on(
            KratosDesk.whoami,
            KratosDesk.error(403, id: "session_aal2_required", page: "javascript:alert(1)")
        )
        guard case .insufficient(let bare) = await desk.provider.introspect(Secret(KratosDesk.token)) else {
            Issue.record("it is passed on without the page")
            return
        }
        #expect(bare.page == nil)
    }

    @Test(
        "What says nothing about the token is no answer, and is never kept",
        arguments: [
            ProviderAnswer(status: 500), KratosDesk.error(500), KratosDesk.error(503), KratosDesk.error(429),
            KratosDesk.error(403), KratosDesk.error(404), ProviderAnswer(status: 302), ProviderAnswer(status: 200),
            ProviderAnswer(status: 200, body: Array("<html>".utf8)), .json([]), .json([:]),
            ProviderAnswer(status: 401, body: Array("<html>Unauthorized</html>".utf8)), .json([:], status: 401),
            ProviderAnswer(status: 204),
        ]
    )
    func garbage(answer: ProviderAnswer) async {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, answer)
        #expect(await desk.provider.introspect(Secret(KratosDesk.token)) == .unavailable)
        desk.transport.on(KratosDesk.whoami, .json(desk.session()))
        #expect(await desk.provider.introspect(Secret(KratosDesk.token)).known != nil)
    }

    @Test("Two thousand questions about one token are one call, and those that come a moment later share its answer")
    func singleFlight() async throws {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, .json(desk.session()))
        desk.transport.hold()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<2000 {
                group.addTask { await desk.provider.introspect(Secret(KratosDesk.token)).known != nil }
            }
            try await waitUntil("a call") { !desk.transport.calls.isEmpty }
            desk.transport.release()
            for try await isKnown in group { #expect(isKnown) }
        }
        #expect(await desk.provider.introspect(Secret(KratosDesk.token)).known != nil)
        #expect(desk.transport.calls.count == 1)
        desk.clock.advance(by: .seconds(1))
        #expect(await desk.provider.introspect(Secret(KratosDesk.token)).known != nil)
        #expect(desk.transport.calls.count == 2)
    }

    @Test("The same bytes as a token and as a cookie are two questions")
    func kinds() async {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, .json(desk.session()))
        for kind in [Session.Kind.native, .web] {
            _ = await desk.provider.introspect(PresentedToken(Secret(KratosDesk.token), as: kind))
        }
        #expect(desk.transport.calls.map { $0.field("cookie") != nil } == [false, true])
    }

    @Test("A refusal of a session that was good counts only if Kratos is ready, which is asked once a second")
    func wall() async {
        let desk = KratosDesk()
        desk.transport.on(KratosDesk.whoami, KratosDesk.error(401))
        desk.transport.on(KratosDesk.ready, ProviderAnswer(status: 503))
        var good = PresentedToken(Secret(KratosDesk.token))
        #expect(await desk.provider.introspect(good) == .unknown(.credentialInvalidToken))
        #expect(desk.transport.calls(of: KratosDesk.ready).isEmpty, "a token that was never good is simply refused")
        good.wasGood = true
        for _ in 0..<3 { #expect(await desk.provider.introspect(good) == .unavailable) }
        #expect(desk.transport.calls(of: KratosDesk.ready).count == 1)
        desk.transport.on(KratosDesk.ready, failing: ProviderCallError(isUnsent: false, detail: "time", cause: .time))
        desk.clock.advance(by: .seconds(1))
        #expect(await desk.provider.introspect(good) == .unavailable)
        desk.transport.on(KratosDesk.ready, .json(["status": "ok"]))
        desk.clock.advance(by: .seconds(1))
        #expect(await desk.provider.introspect(good) == .unknown(.credentialInvalidToken))
        #expect(desk.transport.calls(of: KratosDesk.ready).count == 3)
    }
}
