import Calls
import Providers
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Sign-outs at Kratos")
struct KratosRevocationTests {
    private static let logout = "\(KratosProviderBench.url)/self-service/logout/api"
    private static let begin = "\(KratosProviderBench.url)/self-service/logout/browser"
    private let token = PresentedToken(Secret(KratosProviderBench.token))
    private let cookie = PresentedToken(Secret(KratosProviderBench.cookie), as: .web)

    @Test(
        "A token ends by the native logout, which is told of it in the body; a token that Kratos does not know has ended",
        arguments: [(204, true), (403, true), (500, false), (429, false), (400, false)]
    )
    func native(status: Int, isEnded: Bool) async throws {
        let bench = KratosProviderBench()
        bench.transport.on(Self.logout, CallAnswer(status: status))
        #expect(await bench.provider.revoke(self.token, sessionID: "s-1") == isEnded)
        let call = try #require(bench.transport.calls.first)
        #expect(call.method == "DELETE" && call.field("content-type") == "application/json")
        #expect(JSONText.decode(call.body) == ["session_token": .string(KratosProviderBench.token)])
    }

    @Test("A cookie ends by the logout of browsers: a logout token for the cookie, then both")
    func browser() async throws {
        let bench = KratosProviderBench()
        bench.transport.on(Self.begin, .json(["logout_token": "lo t", "logout_url": "http://kratos/x"]))
        let url = "\(KratosProviderBench.url)/self-service/logout?token=lo%20t"
        bench.transport.on(url, CallAnswer(status: 204))
        #expect(await bench.provider.revoke(self.cookie, sessionID: "s-1"))
        #expect(bench.transport.calls.map(\.url) == [Self.begin, url])
        for call in bench.transport.calls {
            #expect(call.field("cookie") == "ory_kratos_session=\(KratosProviderBench.cookie)")
        }
    }

    @Test("A cookie that Kratos does not know has ended; any other failure is one")
    func browserFailures() async throws {
        let bench = KratosProviderBench()
        bench.transport.on(Self.begin, KratosProviderBench.error(401))
        #expect(await bench.provider.revoke(self.cookie, sessionID: nil))
        for answer in [CallAnswer(status: 500), .json([:]), KratosProviderBench.error(429)] {
            bench.transport.on(Self.begin, answer)
            #expect(await !bench.provider.revoke(self.cookie, sessionID: nil))
        }
        bench.transport.on(Self.begin, failing: CallError(isUnsent: true, detail: "away"))
        #expect(await !bench.provider.revoke(self.cookie, sessionID: nil))
    }

    @Test(
        "With the admin API a session ends by its id, if that is known",
        arguments: [(204, true), (404, true), (500, false)]
    )
    func admin(status: Int, isEnded: Bool) async throws {
        let bench = KratosProviderBench { $0.adminURL = PublicURL(isHTTPS: false, host: "kratos", port: 4434) }
        bench.transport.on("\(KratosProviderBench.admin)/admin/sessions/s-1", CallAnswer(status: status))
        bench.transport.on(Self.logout, CallAnswer(status: 204))
        for presented in [self.token, self.cookie] {
            #expect(await bench.provider.revoke(presented, sessionID: "s-1") == isEnded)
        }
        #expect(
            bench.transport.calls.allSatisfy { $0.method == "DELETE" && $0.url.hasPrefix(KratosProviderBench.admin) }
        )
        #expect(await bench.provider.revoke(self.token, sessionID: "../x"))
        #expect(bench.transport.calls.last?.url == Self.logout)
    }
}
