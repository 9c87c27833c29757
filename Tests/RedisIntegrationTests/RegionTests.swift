import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Two regions, each with a Redis and two gateways of its own. A lineage lives in one of them: what a sign-in gave is used
/// there, and is refused in the other without a trace.
@Suite("Regions", .blocking, .serialized) struct RegionTests {
    /// How many of these outcomes signed a browser in.
    private static func signedIn(_ outcomes: [Consumption]) -> Int {
        outcomes.count { if case .signedIn = $0 { true } else { false } }
    }

    @Test(
        "A token is used once, in its region, at any gateway; in the other it is refused before and after",
        arguments: RegionSecrets.allCases
    )
    func once(_ secrets: RegionSecrets) async throws {
        try await Region.pair(secrets) { home, away in
            let token = try patiently { try Minter(home.fleet).mint() }
            for consumer in away.consumers() { #expect(consumer.complete(token) == .refused(status: 303)) }
            #expect(away.hasRefused(token, secrets.handoffReason))
            #expect(try away.tokenKeys() == [], "what is refused leaves nothing in the other region's Redis")

            // The refusals have not used it up.
            let consumers = home.consumers()
            guard case .signedIn(let cookie) = consumers[1].complete(token) else {
                Issue.record("the token signs nobody in in its own region")
                return
            }
            #expect(consumers[0].complete(token) == .refused(status: 303))
            for consumer in home.consumers() + away.consumers() {
                #expect(consumer.complete(token) == .refused(status: 303))
            }
            #expect(home.hasRefused(token, "handoff.replayed"))
            #expect(try away.tokenKeys() == [])

            // The session that came of it lives in the same region only.
            let field = ["Cookie: sallyport=\(cookie)"]
            for index in 0..<2 {
                #expect(eventually { (try? home.fleet[index].get("/", field).status) == 200 })
                let refused = try patiently { try away.fleet[index].get("/", field) }
                #expect(refused.status == 401)
                #expect(refused.reason == secrets.sessionReason)
                #expect(refused.clearedCookies.isEmpty, "the cookie is still good at home")
            }
        }
    }

    @Test(
        "Of browsers at all gateways of both regions that present a token at once, exactly one is signed in",
        arguments: RegionSecrets.allCases
    )
    func race(_ secrets: RegionSecrets) async throws {
        try await Region.pair(secrets) { first, second in
            let consumers = first.consumers(4) + second.consumers(4)
            let minters = [Minter(first.fleet), Minter(second.fleet)]
            let ledger = Ledger()
            let count = isSoak ? 4000 : 120
            var wrong = 0
            for number in 0..<count {
                let token = try patiently { try minters[number % 2].mint() }
                for consumer in consumers { #expect(consumer.present(token)) }
                // All have sent it before any reads.
                var outcomes = consumers.map { $0.answer() }
                for (index, consumer) in consumers.enumerated() {
                    outcomes[index] = consumer.complete(token, after: outcomes[index])
                }
                for outcome in outcomes { ledger.note(outcome, of: token) }
                if Self.signedIn(outcomes) != 1 { wrong += 1 }
                // Only browsers in the token's own region can have been signed in.
                let away = number % 2 == 0 ? outcomes.suffix(8) : outcomes.prefix(8)
                #expect(away.allSatisfy { $0 == .refused(status: 303) })
            }
            #expect(wrong == 0, "tokens that did not sign exactly one browser in")
            #expect(ledger.totals == Ledger.Totals(tokens: count, accepted: count))
            for region in [first, second] {
                let keys = try region.tokenKeys()
                #expect(keys.count { $0.hasPrefix("sp:m:") } == count / 2, "a marker for each token of the region")
            }
        }
    }

    @Test(
        "F1, F2: a region that is cut off from its Redis answers 503 and burns nothing, the other goes on and takes none of its tokens; afterwards one browser is signed in",
        arguments: [FaultProxy.Fault.refused, .hanging]
    )
    func cutOff(_ fault: FaultProxy.Fault) async throws {
        try await Region.pair(.own) { home, away in
            let token = try patiently { try Minter(home.fleet).mint() }
            try await home.set(fault)
            let waiting = home.consumers()
            var outcomes = waiting.map { $0.consume(token) }
            for outcome in outcomes {
                guard case .unavailable = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
            }
            for index in 0..<2 {
                // A browser keeps the token in the cookie of its attempt: it leaves the URL before the page says 503.
                let target = "/?session_transfer_token=\(token)"
                let sent = try home.fleet[index].get(target, ["Accept: text/html"])
                #expect(sent.status == 303)
                let attempt = try #require(
                    sent.values("set-cookie").first { $0.hasPrefix("sallyport-attempt=") }?.prefix { $0 != ";" }
                )
                let answer = try home.fleet[index].get("/", ["Accept: text/html", "Cookie: \(attempt)"])
                expectUnavailable(answer, "gateway \(index)")
                #expect(eventually { home.fleet[index].output.contains(#""reason":"store.unavailable""#) })
            }
            // The other region neither takes the token nor notices.
            let abroad = away.consumers()
            for consumer in abroad { #expect(consumer.complete(token) == .refused(status: 303)) }
            guard case .signedIn = abroad[0].complete(try patiently { try Minter(away.fleet).mint() }) else {
                Issue.record("the other region does not go on")
                return
            }

            try await home.set(.none)
            try await home.fleet.waitUntilReady()
            for (index, consumer) in waiting.enumerated() {
                outcomes[index] = consumer.complete(token, after: outcomes[index])
            }
            outcomes += abroad.map { $0.complete(token) }
            outcomes += home.consumers().map { $0.complete(token) }
            #expect(Self.signedIn(outcomes) == 1, "\(outcomes)")
        }
    }

    @Test("F1, F2: no token is used twice while one gateway after the other, and both, are cut off from their Redis")
    func partitions() async throws {
        try await Region.pair(.shared, lifetime: Traffic.lifetime) { home, away in
            var numbers = SeededNumbers(seed: 42)
            let faults: [FaultProxy.Fault] = [.hanging, .refused, .cut(after: 40), .closedAtOnce]
            let traffic = Traffic(home.fleet, elsewhere: away.fleet)
            for round in 0..<(isSoak ? 200 : 8) {
                try await traffic.waitUntilServed()
                let fault = faults[round % faults.count]
                let cut = round % 3 == 2 ? home.links : [home.links[round % 2]]
                for link in cut { try await link.set(fault) }
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...600, using: &numbers)))
                for link in cut { try await link.set(.none) }
            }
            try await traffic.waitUntilServed()
            traffic.stop()
            traffic.replay()
            traffic.report("partitions")
            #expect(traffic.ledger.totals.acceptedTwice == 0)
            #expect(traffic.ledger.totals.accepted > 0)
            #expect(try away.tokenKeys() == [], "no token of the one region has left anything in the other")
        }
    }

    @Test("A lost region: its users sign in again at the other; when it comes back from a backup, no used token works")
    func lost() async throws {
        try await Region.pair(.own, arguments: ["--dbfilename", "backup.rdb"]) { home, away in
            let minter = Minter(home.fleet)
            let (used, unused) = try patiently { (try minter.mint(), try minter.mint()) }
            let cookie = ["Cookie: sallyport=\(try patiently { try home.fleet[0].browser() })", "Accept: text/html"]
            try home.redis.command("SAVE")
            guard case .signedIn = home.consumers()[0].complete(used) else {
                Issue.record("the token signs nobody in")
                return
            }
            for index in 0..<2 {
                home.fleet[index].signal(SIGKILL)
                _ = home.fleet[index].exitStatus()
            }
            home.redis.kill()

            // Its users come to the other region. They are asked to sign in, which works; nothing of theirs is lost by that.
            let asked = try patiently { try away.fleet[0].get("/", cookie) }
            #expect(asked.status == 303)
            #expect(asked.value("location")?.hasPrefix("\(Request.origin)/.sallyport/login") == true)
            #expect(asked.clearedCookies.isEmpty)
            let again = ["Cookie: sallyport=\(try patiently { try away.fleet[0].browser() })"]
            #expect(eventually { (try? away.fleet[1].get("/", again).status) == 200 })
            for token in [used, unused] {
                for consumer in away.consumers() { #expect(consumer.complete(token) == .refused(status: 303)) }
            }

            // It comes back in the state of the backup, with both tokens.
            try await home.redis.start()
            #expect(try home.redis.keys("sp:t:*").count == 2)
            for index in 0..<2 { try home.fleet.replace(index) }
            try await home.fleet.waitUntilReady()
            for token in [used, unused] {
                for consumer in home.consumers() + away.consumers() {
                    #expect(consumer.complete(token) == .refused(status: 303))
                }
                #expect(home.hasRefused(token, "handoff.quarantined"))
            }
            let fresh = try patiently { try Minter(home.fleet, network: 1).mint() }
            guard case .signedIn = home.consumers()[1].complete(fresh)
            else {
                Issue.record("no token can be used in a region that came back")
                return
            }
            // Sessions from before are back too, and the new ones go on where they began.
            #expect(eventually { (try? home.fleet[1].get("/", cookie).status) == 200 })
            #expect(eventually { (try? away.fleet[0].get("/", again).status) == 200 })
        }
    }
}
