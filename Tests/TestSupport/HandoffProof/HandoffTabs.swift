import Sessions
import SignOn
import StoreBench
import Vocabulary

/// Tabs of one browser, which keeps its session, with a token each.
package enum HandoffTabs {
    /// Two tabs present their tokens at the same time, at the two gateways, and another one does later. Throws `Difference`.
    ///
    /// - Parameter number: Makes the user its own.
    package static func run(number: Int, on bench: HandoffWalkBench) async throws {
        let user = "tabs \(number)"
        let app = try await bench.signIn(user)
        let first = try await bench.signIn(user, kind: .web)
        var requests: [HandoffRequest] = []
        for _ in 0..<2 { requests.append(try await self.request(of: app, by: first, bench)) }
        let (one, other) = (requests[0], requests[1])
        async let left = bench.present(one, gateway: 0)
        async let right = bench.present(other, gateway: 1)
        guard case .renewed(let token, let session, _) = try await left,
            case .renewed(let same, _, _) = try await right,
            token == same
        else {
            throw Difference("two tabs got \(try await left) and \(try await right)")
        }
        let second = HandoffWalkBench.Kept(token: token, key: first.key, session: session)
        try await self.expect([(first, true), (second, true)], bench)

        let later = try await self.request(of: app, by: second, bench)
        guard case .renewed(let next, let renewed, _) = try await bench.present(later, gateway: 0) else {
            throw Difference("another tab got no new token")
        }
        let third = HandoffWalkBench.Kept(token: next, key: first.key, session: renewed)
        try await self.expect([(first, false), (second, true), (third, true)], bench)
        try await bench.end(third)
        try await self.expect([(first, false), (second, false), (third, false)], bench)
    }

    private static func request(
        of app: HandoffWalkBench.Kept,
        by web: HandoffWalkBench.Kept,
        _ bench: HandoffWalkBench
    ) async throws -> HandoffRequest {
        let token = try await bench.mint(app, at: .home).get().token
        return try await bench.request(token, by: web, at: .home, to: HandoffWalkBench.host, HandoffPolicy())
    }

    private static func expect(_ tokens: [(HandoffWalkBench.Kept, Bool)], _ bench: HandoffWalkBench) async throws {
        for (number, (web, isGood)) in tokens.enumerated()
        where try await bench.isPresented(web.key, by: web.token) != isGood {
            throw Difference("token \(number) should be \(isGood ? "good" : "refused")")
        }
    }
}
