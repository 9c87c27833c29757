import RedisServers
import RedisStore
import Sessions
import Testing
import Vocabulary

/// Gateways whose clocks differ by a little.
@Suite struct ClockSkewTests {
    @Test("Gateways whose clocks differ by seconds agree on what lives, and what has run out in Redis is gone for all")
    func skew() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let fixtures = [Duration.seconds(-2), .zero, .seconds(2)].map { skew in
                    StoreFixture(client, clock: Clock { Clock.system.now().advanced(by: skew) })
                }
                for writer in fixtures {
                    let parent = try await writer.signIn()
                    let token = try await writer.mint(from: parent)
                    for reader in fixtures {
                        #expect(try await reader.session(parent.key)?.id == parent.session.id)
                        guard case .live = try await reader.transfer(token) else {
                            Issue.record("a gateway whose clock differs does not find the token")
                            continue
                        }
                    }
                    // The token's minute and what a key outlives it by are over.
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
