import Calls
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
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
        let known = try #require(await bench.provider.introspect(Secret(KratosProviderBench.token)).known)
        #expect(known.identity.id == "7b9f3e2a-5c1d-4f8e-9a3b-2d6c8e4f7a9b" && known.identity.schemaID == "person")
        #expect(known.identity.traits == ["email": "ada@example.com", "name": ["first": "Ada"]])
        #expect(known.identity.metadataPublic == ["plan": "gold"])
        #expect(known.sessionID == "9f425a8d-7efc-4768-8f23-7647a74fdf13")
        #expect(known.aal == .aal1 && known.methods == ["password", "totp"])
        let now = bench.clock.now
        #expect(known.authenticatedAt == now.advanced(by: .seconds(-60)))
        #expect(
            known.issuedAt == now.advanced(by: .seconds(-60)) && known.expiresAt == now.advanced(by: .seconds(3600))
        )
        #expect(known.cacheLifetime == .seconds(30))
        let call = try #require(bench.transport.calls.first)
        #expect(
            call.method == "GET" && call.field("x-session-token") == KratosProviderBench.token
                && call.field("cookie") == nil
        )
        #expect(call.purpose == .session)
    }

    @Test("A cookie is shown to Kratos under its own name")
    func cookie() async throws {
        let bench = KratosProviderBench { $0.cookieName = "sid" }
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
        let presented = PresentedToken(Secret(KratosProviderBench.cookie), as: .web)
        #expect(await bench.provider.introspect(presented).known != nil)
        let call = try #require(bench.transport.calls.first)
        #expect(call.field("cookie") == "sid=\(KratosProviderBench.cookie)" && call.field("x-session-token") == nil)
    }

    @Test("Only what has the syntax of a token or of the cookie is shown to Kratos")
    func syntax() {
        let bench = KratosProviderBench()
        func mayKnow(_ text: String, _ kind: Session.Kind) -> Bool {
            Array(text.utf8).withUnsafeBytes { bench.provider.mayKnow($0, as: kind) }
        }
        #expect(mayKnow(KratosProviderBench.token, .native) && mayKnow(KratosProviderBench.token, .web))
        #expect(mayKnow(KratosProviderBench.cookie, .web) && !mayKnow(KratosProviderBench.cookie, .native))
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
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session(answer.members)))
        let verdict = await bench.provider.introspect(Secret(KratosProviderBench.token))
        if let expected = answer.verdict { #expect(verdict == expected) } else { #expect(verdict.known != nil) }
    }

    @Test("A session without a time of sign-in counts as the oldest, and one without an end lasts a day")
    func unknownTimes() async throws {
        let bench = KratosProviderBench()
        bench.transport.on(
            KratosProviderBench.whoami,
            .json(bench.session(["authenticated_at": "absent", "expires_at": "absent"]))
        )
        let known = try #require(await bench.provider.introspect(Secret(KratosProviderBench.token)).known)
        #expect(known.authenticatedAt == UnixTime(seconds: 0))
        #expect(known.expiresAt == bench.clock.now.advanced(by: .seconds(86_400)))
    }

    @Test(
        "Kratos's own limit on caching shortens the configured one",
        arguments: [("10", 10), ("0", 0), ("60", 30), ("", 30), ("-1", 30), ("abc", 30), (nil, 30)]
            as [(String?, Int)]
    )
    func cacheLifetime(field: String?, seconds: Int) async throws {
        let bench = KratosProviderBench()
        bench.transport.on(
            KratosProviderBench.whoami,
            .json(bench.session(), fields: field.map { [("ory-session-cache-for", $0)] } ?? [])
        )
        let known = try #require(await bench.provider.introspect(Secret(KratosProviderBench.token)).known)
        #expect(known.cacheLifetime == .seconds(seconds))
    }

    @Test("A 401 in Kratos's words refuses the token; a demand for another factor is passed on")
    func refusals() async {
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
        #expect(await bench.provider.introspect(Secret(KratosProviderBench.token)) == .unknown(.credentialInvalidToken))
        let page = "https://auth.example.com/self-service/login/browser?aal=aal2"
        let demand = KratosProviderBench.error(403, id: "session_aal2_required", page: page)
        bench.transport.on(KratosProviderBench.whoami, demand)
        let verdict = await bench.provider.introspect(Secret(KratosProviderBench.token))
        #expect(verdict == .insufficient(ProviderDemand(page: page, document: demand.body)))
        bench.transport.on(
            KratosProviderBench.whoami,
            KratosProviderBench.error(403, id: "session_aal2_required", page: "javascript:alert(1)")
        )
        guard case .insufficient(let bare) = await bench.provider.introspect(Secret(KratosProviderBench.token)) else {
            Issue.record("it is passed on without the page")
            return
        }
        #expect(bare.page == nil)
    }

    @Test(
        "What says nothing about the token is no answer, and is never kept",
        arguments: [
            CallAnswer(status: 500), KratosProviderBench.error(500), KratosProviderBench.error(503),
            KratosProviderBench.error(429),
            KratosProviderBench.error(403), KratosProviderBench.error(404), CallAnswer(status: 302),
            CallAnswer(status: 200),
            CallAnswer(status: 200, body: Array("<html>".utf8)), .json([]), .json([:]),
            CallAnswer(status: 401, body: Array("<html>Unauthorized</html>".utf8)), .json([:], status: 401),
            .json(["error": ["code": 500]], status: 401), .json(["error": ["code": "401"]], status: 401),
            CallAnswer(status: 204),
        ]
    )
    func garbage(answer: CallAnswer) async {
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, answer)
        #expect(await bench.provider.introspect(Secret(KratosProviderBench.token)) == .unavailable)
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
        #expect(await bench.provider.introspect(Secret(KratosProviderBench.token)).known != nil)
    }

    @Test(
        "F29: Two thousand questions about one token are one call, and those that come a moment later share its answer"
    )
    func singleFlight() async throws {
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
        bench.transport.hold()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<2000 {
                group.addTask { await bench.provider.introspect(Secret(KratosProviderBench.token)).known != nil }
            }
            try await waitUntil("a call") { !bench.transport.calls.isEmpty }
            bench.transport.release()
            for try await isKnown in group { #expect(isKnown) }
        }
        #expect(await bench.provider.introspect(Secret(KratosProviderBench.token)).known != nil)
        #expect(bench.transport.calls.count == 1)
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.provider.introspect(Secret(KratosProviderBench.token)).known != nil)
        #expect(bench.transport.calls.count == 2)
    }

    @Test("The same bytes as a token and as a cookie are two questions")
    func kinds() async {
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
        for kind in [Session.Kind.native, .web] {
            _ = await bench.provider.introspect(PresentedToken(Secret(KratosProviderBench.token), as: kind))
        }
        #expect(bench.transport.calls.map { $0.field("cookie") != nil } == [false, true])
    }

    @Test("A refusal of a session that was good counts only if Kratos is ready, which is asked once a second")
    func wall() async {
        let bench = KratosProviderBench()
        bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
        bench.transport.on(KratosProviderBench.ready, CallAnswer(status: 503))
        var good = PresentedToken(Secret(KratosProviderBench.token))
        #expect(await bench.provider.introspect(good) == .unknown(.credentialInvalidToken))
        #expect(
            bench.transport.calls(of: KratosProviderBench.ready).isEmpty,
            "a token that was never good is simply refused"
        )
        good.wasGood = true
        for _ in 0..<3 { #expect(await bench.provider.introspect(good) == .unavailable) }
        #expect(bench.transport.calls(of: KratosProviderBench.ready).count == 1)
        bench.transport.on(
            KratosProviderBench.ready,
            failing: CallError(isUnsent: false, detail: "time", cause: .time)
        )
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.provider.introspect(good) == .unavailable)
        bench.transport.on(KratosProviderBench.ready, .json(["status": "ok"]))
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.provider.introspect(good) == .ended(.credentialInvalidToken))
        #expect(bench.transport.calls(of: KratosProviderBench.ready).count == 3)
    }
}
