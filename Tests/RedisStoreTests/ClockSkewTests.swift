import RedisServers
import RedisStore
import Sessions
import Testing
import Vocabulary

/// Gateways whose clocks differ (systems.md, T31).
@Suite struct ClockSkewTests {
    @Test("T31: what has run out by Redis's clock is gone, whatever the gateways' clocks say")
    func skew() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                // The clock that is most behind comes first.
                let fixtures = [Duration.seconds(-300), .zero, .seconds(300)].map { skew in
                    StoreFixture(client, clock: Clock { Clock.system.now().advanced(by: skew) })
                }
                for (index, writer) in fixtures.enumerated() {
                    let parent = try await writer.signIn()
                    let token = try await writer.mint(from: parent)
                    for reader in fixtures { #expect(try await reader.session(parent.key)?.id == parent.session.id) }
                    // Whose clock is ahead by more than the token's minute takes it for old: too early, never too late.
                    for reader in fixtures[...index] {
                        guard case .live = try await reader.transfer(token) else {
                            Issue.record("a gateway whose clock differs does not find the token")
                            continue
                        }
                    }
                    // The token's minute and a little are over; for the slowest clock it has most of six minutes to live.
                    try await client.age(by: .seconds(70))
                    for reader in fixtures {
                        guard case .absent = try await reader.transfer(token) else {
                            Issue.record("a token outlives its time in Redis")
                            continue
                        }
                        let draft = reader.draft(lineage: parent.key.lineage)
                        let attempt = reader.authority.newAttempt()
                        #expect(try await reader.consume(token, creating: draft, attempt: attempt) == nil)
                    }
                }
            }
        }
    }
}
