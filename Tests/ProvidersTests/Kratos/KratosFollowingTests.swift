import Calls
import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Asking Kratos about the user of a kept token or cookie")
struct KratosFollowingTests {
    private static let id = "7b9f3e2a-5c1d-4f8e-9a3b-2d6c8e4f7a9b"
    private static let identity = "\(KratosProviderBench.admin)/admin/identities/\(id)"
    private static let user = Identity(id: id, schemaID: "person", traits: ["email": "ada@example.com"])

    private static func bench(hasAdminAPI: Bool = false) -> KratosProviderBench {
        KratosProviderBench { settings in
            if hasAdminAPI { settings.adminURL = PublicURL(isHTTPS: false, host: "kratos", port: 4434) }
        }
    }

    /// What is kept of a credential of an hour's life.
    private static func kept(
        _ bench: KratosProviderBench,
        as kind: Session.Kind = .native
    ) throws -> KeptCredential {
        let text = kind == .native ? KratosProviderBench.token : KratosProviderBench.cookie
        let credential = PresentedToken(Secret(text), as: kind)
        return try #require(bench.provider.kept(credential, until: bench.clock.now.advanced(by: .seconds(3600))))
    }

    private static func isEnded(_ answer: ProviderRefresh) -> Bool { if case .ended = answer { true } else { false } }
    private static func isLater(_ answer: ProviderRefresh) -> Bool {
        if case .later(nil, _) = answer { true } else { false }
    }

    @Test("The kept token or cookie is presented as the client presented it, and brings the user's present traits")
    func confirmed() async throws {
        for kind in [Session.Kind.native, .web] {
            let bench = Self.bench()
            let kept = try Self.kept(bench, as: kind)
            bench.clock.advance(by: .seconds(60))
            bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
            let answer = await bench.provider.refresh(kept.tokens, of: Self.user)
            guard case .refreshed(let tokens, let authentication) = answer else {
                Issue.record("\(answer)")
                continue
            }
            #expect(tokens.accessToken == kept.tokens.accessToken && tokens.tokenType == kept.tokens.tokenType)
            #expect(tokens.expiresAt == bench.clock.now.advanced(by: .seconds(3600)), "Kratos has extended it")
            #expect(authentication?.identity.id == Self.id)
            #expect(authentication?.identity.traits["name"] == ["first": "Ada"])
            let call = try #require(bench.transport.calls(of: KratosProviderBench.whoami).first)
            #expect(call.field("x-session-token") == (kind == .native ? KratosProviderBench.token : nil))
            let cookie = "ory_kratos_session=\(KratosProviderBench.cookie)"
            #expect(call.field("cookie") == (kind == .web ? cookie : nil))
        }
    }

    @Test("What an app hands off is confirmed as often as its token; clients of the browser determine it themselves")
    func intervals() throws {
        for (cache, expected) in [(45, 45), (0, 1)] as [(Int64, Int64)] {
            let bench = KratosProviderBench { $0.cacheLifetime = .seconds(cache) }
            #expect(try Self.kept(bench).interval == .seconds(expected))
            #expect(try Self.kept(bench, as: .web).interval == nil)
        }
    }

    @Test("A refusal before the session expires ends it, unless Kratos is not ready")
    func refused() async throws {
        let bench = Self.bench(hasAdminAPI: true)
        let kept = try Self.kept(bench)
        bench.clock.advance(by: .seconds(3500))
        bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
        #expect(Self.isEnded(await bench.provider.refresh(kept.tokens, of: Self.user)))
        #expect(bench.transport.calls(of: Self.identity).isEmpty)
        bench.transport.on(KratosProviderBench.ready, .json(["errors": ["database": "away"]], status: 503))
        bench.clock.advance(by: .seconds(2))
        #expect(Self.isLater(await bench.provider.refresh(kept.tokens, of: Self.user)))
    }

    @Test(
        "An answer that says nothing about the session ends nothing",
        arguments: [0, 200, 400, 403, 404, 429, 500, 503]
    )
    func unclear(status: Int) async throws {
        for hasAdminAPI in [false, true] {
            let bench = Self.bench(hasAdminAPI: hasAdminAPI)
            let kept = try Self.kept(bench)
            if status == 0 {
                bench.transport.on(KratosProviderBench.whoami, failing: CallError(isUnsent: false, detail: "timeout"))
            } else {
                bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(status))
            }
            #expect(Self.isLater(await bench.provider.refresh(kept.tokens, of: Self.user)))
            // A refusal without Kratos's envelope comes from another server.
            bench.transport.on(KratosProviderBench.whoami, CallAnswer(status: 401))
            #expect(Self.isLater(await bench.provider.refresh(kept.tokens, of: Self.user)))
        }
    }

    @Test("A second factor that Kratos demands later ends nothing")
    func insufficient() async throws {
        let bench = Self.bench()
        let kept = try Self.kept(bench)
        bench.transport.on(
            KratosProviderBench.whoami,
            KratosProviderBench.error(403, id: "session_aal2_required", page: "https://app.example.com/x")
        )
        #expect(Self.isLater(await bench.provider.refresh(kept.tokens, of: Self.user)))
    }

    @Test("Without the admin API, Kratos is asked while the session lives; a refusal afterwards says nothing")
    func expired() async throws {
        let bench = Self.bench()
        let kept = try Self.kept(bench)
        let end = try #require(kept.tokens.expiresAt)
        #expect(bench.provider.isTimely(kept.tokens, at: end.advanced(by: .seconds(-31))))
        #expect(!bench.provider.isTimely(kept.tokens, at: end))
        bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
        bench.clock.advance(by: .seconds(3601))
        #expect(Self.isLater(await bench.provider.refresh(kept.tokens, of: Self.user)))
        #expect(Self.bench(hasAdminAPI: true).provider.isTimely(kept.tokens, at: end.advanced(by: .seconds(86_400))))
    }

    @Test("A cookie is not asked about under another name, so a wrong cookie_name ends nothing")
    func renamed() throws {
        for (kind, isAsked) in [(Session.Kind.native, true), (.web, false)] {
            let tokens = try Self.kept(Self.bench(), as: kind).tokens
            let renamed = KratosProviderBench { settings in
                settings.cookieName = "other_session"
                settings.adminURL = PublicURL(isHTTPS: false, host: "kratos", port: 4434)
            }
            #expect(renamed.provider.canAsk(with: tokens) == isAsked)
            #expect(renamed.provider.isTimely(tokens, at: renamed.clock.now) == isAsked)
        }
    }

    @Test("After the session has expired, the admin API says whether its user is active, and with which traits")
    func admin() async throws {
        let bench = Self.bench(hasAdminAPI: true)
        let kept = try Self.kept(bench)
        bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
        bench.clock.advance(by: .seconds(3601))
        func answer(_ answer: CallAnswer) async -> ProviderRefresh {
            bench.transport.on(Self.identity, answer)
            return await bench.provider.refresh(kept.tokens, of: Self.user)
        }
        func person(_ state: String?) -> JSONValue {
            var members: [String: JSONValue] = [
                "id": .string(Self.id), "schema_id": "person", "traits": ["group": "interns"],
            ]
            members["state"] = state.map { .string($0) }
            return .object(members)
        }
        for state in ["active", nil] {
            let active = await answer(.json(person(state)))
            #expect(active.authentication?.identity.traits == ["group": "interns"])
            guard case .refreshed(let tokens, _) = active else { continue }
            #expect(tokens == kept.tokens)
        }
        #expect(Self.isEnded(await answer(.json(person("inactive")))))
        #expect(Self.isEnded(await answer(KratosProviderBench.error(404))))
        for unclear in [
            CallAnswer(status: 404), .json(person("frozen")), .json(["id": 7]), KratosProviderBench.error(401),
            KratosProviderBench.error(429), KratosProviderBench.error(500),
        ] {
            #expect(Self.isLater(await answer(unclear)), "\(unclear.status)")
        }
        bench.transport.on(Self.identity, failing: CallError(isUnsent: true, detail: "away"))
        #expect(Self.isLater(await bench.provider.refresh(kept.tokens, of: Self.user)))
    }

    @Test("The admin API is asked about the user by Kratos's own id, whatever the user is called here")
    func names() async throws {
        let bench = KratosProviderBench { settings in
            settings.adminURL = PublicURL(isHTTPS: false, host: "kratos", port: 4434)
            settings = settings.naming(SubjectNames(of: "staff", besides: []))
        }
        let kept = try Self.kept(bench)
        bench.transport.on(KratosProviderBench.whoami, .json(bench.session()))
        let named = try #require(await bench.provider.refresh(kept.tokens, of: Self.user).authentication?.identity)
        #expect(named.id.hasSuffix(Self.id) && named.id != Self.id)
        bench.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
        bench.transport.on(Self.identity, .json(["id": .string(Self.id), "schema_id": "person", "traits": [:]]))
        bench.clock.advance(by: .seconds(3601))
        let user = named.inRealm(Realm("staff"))
        let again = await bench.provider.refresh(kept.tokens, of: user).authentication?.identity
        #expect(again?.id == named.id)
    }

    @Test("The end of the clients leaves the session at Kratos alone")
    func revoked() async throws {
        let bench = Self.bench(hasAdminAPI: true)
        await bench.provider.revoke(try Self.kept(bench).tokens)
        #expect(bench.transport.calls.isEmpty)
    }
}
