import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Documents, tokens and records of any depth, type and size: none ends the process, and what is read keeps its promises.
@Suite struct ArbitraryDocumentTests {
    private static let targets = FuzzTarget.allCases.filter { target in
        var chance = ArbitraryJSON(seed: 0)
        return target.sample(&chance) != nil
    }
    private static let seeds: Range<UInt64> =
        0..<(ProcessInfo.processInfo.environment["SOAK"] == "1" ? 20_000 : 400)

    @Test(arguments: Self.targets) func areReadOrRefused(_ target: FuzzTarget) async throws {
        for seed in Self.seeds {
            var chance = ArbitraryJSON(seed: seed)
            let bytes = try #require(target.sample(&chance))
            if let violation = await target.violation(bytes) {
                let text = String(decoding: bytes.prefix(2000), as: UTF8.self)
                Issue.record("seed \(seed): \(violation): \(text.debugDescription)")
            }
        }
    }

    @Test("Most documents are good enough to be read to their end, and some are no JSON")
    func variety() {
        var (whole, broken) = (0, 0)
        for seed in Self.seeds {
            var chance = ArbitraryJSON(seed: seed)
            let bytes = chance.bytes(of: chance.object(like: [("sub", "1"), ("groups", "[]"), ("exp", "2")]))
            if (try? JSONSerialization.jsonObject(with: Data(bytes))) == nil { broken += 1 } else { whole += 1 }
        }
        #expect(whole > 2 * broken && broken > Self.seeds.count / 50, "\(whole) whole, \(broken) broken")
    }
}
