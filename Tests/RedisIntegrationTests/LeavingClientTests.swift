import Foundation
import GatewayBench
import RedisServers
import Testing

/// Clients that present a transfer token and leave before they have read the answer.
@Suite("Clients that leave", .blocking) struct LeavingClientTests {
    /// How often the gateway has written that a token signed somebody in.
    private func uses(of token: String, at gateway: Gateway) -> Int {
        let label = "\"user_agent\":\"\(Consumer.label(of: token))\""
        return gateway.output.split(separator: "\n").count {
            $0.contains(#""event":"transfer_token.consumed""#) && $0.contains(label)
        }
    }

    /// Sends the navigation that presents a token.
    private func present(_ token: String, at gateway: Gateway) throws -> Wire {
        let wire = try gateway.connect()
        wire.send(
            Request.get("/?session_transfer_token=\(token)", ["User-Agent: \(Consumer.label(of: token))"])
        )
        return wire
    }

    private func with(_ body: (Fleet, Minter) throws -> Void) async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url]) { fleet in
                try await fleet.waitUntilReady()
                try body(fleet, Minter(fleet))
            }
        }
    }

    @Test("F21: after a client has left without the answer, its token is used, at every gateway")
    func used() async throws {
        try await self.with { fleet, minter in
            for _ in 0..<5 {
                let token = try patiently { try minter.mint() }
                // A busy Redis may be late; then nothing is used, and the client comes again.
                let isUsed = eventually {
                    guard let wire = try? self.present(token, at: fleet[0]) else { return false }
                    defer { wire.reset() }
                    return eventually(within: 2) { self.uses(of: token, at: fleet[0]) == 1 }
                }
                #expect(isUsed)
                for index in [1, 0] {
                    let outcome = Consumer { fleet[index].port }.complete(token)
                    if case .refused = outcome {} else { Issue.record("gateway \(index): \(outcome)") }
                }
                #expect(self.uses(of: token, at: fleet[0]) + self.uses(of: token, at: fleet[1]) == 1)
            }
        }
    }

    @Test("F21: whenever a client leaves, its token is used by it or by who comes next, and by nobody after them")
    func atAnyMoment() async throws {
        try await self.with { fleet, minter in
            for round in 0..<40 {
                let token = try patiently { try minter.mint() }
                let wire = try self.present(token, at: fleet[0])
                usleep(UInt32(round) * 150)
                wire.reset()
                let next = Consumer { fleet[1].port }.complete(token)
                switch next {
                case .signedIn, .refused: break
                default: Issue.record("round \(round): \(next)")
                }
                let last = Consumer { fleet[0].port }.complete(token)
                if case .refused = last {} else { Issue.record("round \(round): \(last)") }
                // Who is refused shows that another has used it.
                #expect(eventually { self.uses(of: token, at: fleet[0]) + self.uses(of: token, at: fleet[1]) == 1 })
                if case .signedIn = next { #expect(self.uses(of: token, at: fleet[0]) == 0) }
            }
        }
    }
}
