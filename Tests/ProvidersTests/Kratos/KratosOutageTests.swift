import Calls
import NIOCore
import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("While Kratos cannot be asked")
struct KratosOutageTests {
    private let token = KratosProviderBench.token

    /// A failure of Kratos: each says nothing about a session.
    enum Failure: String, CaseIterable, Sendable {
        case away, error, tooMany, garbage, wallOf401

        func begin(at kratos: KratosProviderBench) {
            switch self {
            case .away:
                kratos.transport.on(
                    KratosProviderBench.whoami,
                    failing: CallError(isUnsent: false, detail: "it hangs", cause: .time)
                )
            case .error: kratos.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(500))
            case .tooMany: kratos.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(429))
            case .garbage: kratos.transport.on(KratosProviderBench.whoami, .json("x"))
            case .wallOf401:
                kratos.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(401))
                kratos.transport.on(KratosProviderBench.ready, KratosProviderBench.error(503))
            }
        }
    }

    private func advance(_ bench: TokenEndpointBench, _ kratos: KratosProviderBench, by duration: Duration) {
        bench.clock.advance(by: duration)
        kratos.clock.advance(by: duration)
    }

    @Test(
        "What was good serves to the end of its verdict, then as a stale one for a bounded time",
        arguments: Failure.allCases
    )
    func stale(failure: Failure) async throws {
        let kratos = KratosProviderBench()
        let bench = try await TokenEndpointBench([kratos.provider])
        kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session()))
        let session = try #require(try await bench.resolve(self.token).session)
        failure.begin(at: kratos)
        self.advance(bench, kratos, by: .seconds(29))
        #expect(try await bench.answer(self.token) == .live(session, isStale: false))
        self.advance(bench, kratos, by: .seconds(2))
        #expect(try await bench.answer(self.token) == .live(session, isStale: true))
        self.advance(bench, kratos, by: .seconds(58))
        #expect(try await bench.answer(self.token) == .live(session, isStale: true))
        self.advance(bench, kratos, by: .seconds(2))
        #expect(try await bench.answer(self.token) == .unavailable)
        #expect(try await bench.resolve(self.token) == .unavailable(.providerUnavailable))
    }

    @Test(
        "An unknown token is unavailable at once, and nothing of that is kept",
        arguments: Failure.allCases.filter { $0 != .wallOf401 }
    )
    func unknown(failure: Failure) async throws {
        let kratos = KratosProviderBench()
        let bench = try await TokenEndpointBench([kratos.provider])
        failure.begin(at: kratos)
        #expect(try await bench.resolve(self.token) == .unavailable(.providerUnavailable))
        #expect(kratos.told.all.count == 1)
        let words = "it answers with status 200 and a body that is JSON, but not an object"
        #expect(failure != .garbage || kratos.told.all == [words])
        kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session()))
        #expect(try await bench.resolve(self.token).session != nil)
        #expect(kratos.told.all.count == 1)
    }

    @Test(
        "A stale session is confirmed again as soon as Kratos answers, and a real 401 ends it",
        arguments: [true, false]
    )
    func recovery(isGood: Bool) async throws {
        let kratos = KratosProviderBench()
        let bench = try await TokenEndpointBench([kratos.provider])
        kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session()))
        let session = try #require(try await bench.resolve(self.token).session)
        Failure.wallOf401.begin(at: kratos)
        self.advance(bench, kratos, by: .seconds(31))
        #expect(try await bench.answer(self.token) == .live(session, isStale: true))
        kratos.transport.on(KratosProviderBench.ready, .json(["status": "ok"]))
        if isGood { kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session(["issued_at": "absent"]))) }
        self.advance(bench, kratos, by: .seconds(1))
        let answer = try await bench.answer(self.token)
        if isGood {
            guard case .live(_, isStale: false) = answer else {
                Issue.record("\(answer)")
                return
            }
        } else {
            #expect(answer == .none(.credentialInvalidToken))
        }
    }

    @Test("With stale_if_error: 0 nothing serves beyond its verdict")
    func off() async throws {
        let kratos = KratosProviderBench { $0.staleLifetime = .zero }
        let bench = try await TokenEndpointBench([kratos.provider])
        kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session()))
        #expect(try await bench.resolve(self.token).session != nil)
        Failure.away.begin(at: kratos)
        self.advance(bench, kratos, by: .seconds(31))
        #expect(try await bench.answer(self.token) == .unavailable)
    }

    @Test("A demand for another factor is kept nowhere")
    func demand() async throws {
        let kratos = KratosProviderBench()
        let bench = try await TokenEndpointBench([kratos.provider])
        kratos.transport.on(KratosProviderBench.whoami, KratosProviderBench.error(403, id: "session_aal2_required"))
        #expect(try await bench.resolve(self.token) == .none(.requireAAL))
        kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session()))
        #expect(try await bench.resolve(self.token).session != nil)
    }

    @Test("A cookie's session is a browser's, and neither passes as the other")
    func cookie() async throws {
        let kratos = KratosProviderBench()
        let bench = try await TokenEndpointBench([kratos.provider])
        kratos.transport.on(KratosProviderBench.whoami, .json(kratos.session()))
        let session = try #require(try await bench.resolve(providerCookie: self.token).session)
        #expect(session.kind == .web && session.origin == .browser && session.host == nil)
        // The same bytes as a token have the same L1 entry: they are refused, and not taken for the cookie.
        #expect(try await bench.resolve(self.token) == .none(.credentialOtherKey))
        #expect(try await bench.resolve(KratosProviderBench.cookie, as: .web) == .malformed, "the gateway's own cookie")
    }
}
