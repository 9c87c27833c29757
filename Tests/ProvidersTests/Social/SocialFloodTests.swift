import Providers
import Settings
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Many artefacts at once")
struct SocialFloodTests {
    @Test("A flood of invented tokens is not passed on without limit, and its end makes room")
    func flood() async throws {
        let transport = ScriptedTransport()
        let settings = NativeSocialSettings(
            facebook: FacebookSettings(appID: "1", appSecret: Secret("secret"))
        )
        let verifiers = try SocialVerifiers(settings, transport: transport, clock: MovableClock().clock)
        let verifier = try #require(verifiers[.facebook])
        @Sendable func verify() async -> SocialOutcome {
            await verifier.outcome(of: SocialSignIn(artefact: Secret("invented")))
        }
        transport.hold()
        try await withThrowingTaskGroup(of: SocialOutcome.self) { group in
            for _ in 0..<64 { group.addTask { await verify() } }
            try await waitUntil("64 calls") { transport.calls.count == 64 }
            #expect(await verify().outage?.contains("too many calls") == true)
            #expect(transport.calls.count == 64)
            transport.release()
            for try await verdict in group { #expect(verdict.outage?.contains("no server") == true) }
        }
        #expect(await verify().outage?.contains("no server") == true)
    }
}
