import GatewayBench
import Testing

@Suite("A native app's whole way", .blocking) struct AppJourneyTests {
    @Test(
        "Sign-in in the browser, API, handoff by query, cookie and /authorize, refresh, sign-out: all of it ends, in memory"
    )
    func memory() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(AppJourney.settings(upstream: app.port)) { try AppJourney.run(at: [$0]) }
    }
}
