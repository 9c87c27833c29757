import JOSE
import RedisServers
import RedisStore
import Sessions
import SignOn
import StoreConformance
import Testing
import Vocabulary

/// Of all who present a single-use record of any kind, exactly one uses it, and gets all that a use makes; of all who
/// rotate a refresh token, all get the same successor; of all who present a proof, one is accepted.
@Suite(.serialized) struct ExactlyOnceTests {
    private static let specimens: [any SingleUseSpecimen.Type] = [
        TransferToken.self, TestTicket.self, AuthorizationCode.self,
    ]

    /// 64 race for each of so many records; then Redis holds what was handed out and nothing else.
    private func race<Specimen: SingleUseSpecimen>(
        _ kind: Specimen.Type,
        _ configuration: RedisConfiguration,
        on primaries: [RedisServer],
        records: Int
    ) async throws {
        for primary in primaries { try primary.command("FLUSHALL") }
        try await StorePair.with(configuration) { pair in
            let checker = RaceChecker<Specimen>(pair)
            for _ in 0..<records {
                let parent = try await pair[0].signIn()
                await checker.race(for: try await checker.mint(from: parent), runners: 64)
            }
            #expect(checker.unresolved == 0)
            #expect(checker.winners.values.allSatisfy { $0.count == 1 })
            let keys = try primaries.flatMap { try $0.keys("sp:*") }
            func expect(_ count: Int, _ letter: String) {
                #expect(keys.count { $0.hasPrefix("sp:\(letter):") } == count * records, "\(letter)")
            }
            func letter(_ kind: RecordKind) -> String { String(UnicodeScalar(kind.letter)) }
            let made = Specimen.offspring(with: pair[0].draft(), now: pair[0].clock.now()).map { letter($0.key.kind) }
            // The parents are sessions, and what was used is no more.
            expect(1, "m")
            expect(1 + made.count { $0 == "s" }, "s")
            for letter in Set(made + [letter(Specimen.kind)]) where letter != "s" {
                expect(made.count { $0 == letter }, letter)
            }
            for (_, winners) in checker.winners {
                for session in winners { #expect(try await pair[1].session(session) != nil) }
            }
        }
    }

    @Test("One of 64 at two stores uses each record: one Redis", arguments: 0..<Self.specimens.count)
    func standalone(specimen: Int) async throws {
        try await RedisServer.with { server in
            try await self.race(Self.specimens[specimen], server.configuration(), on: [server], records: 100)
        }
    }

    @Test("One of 64 at two stores uses each record: Sentinel, with replicas that confirm")
    func sentinel() async throws {
        try await RedisSentinelGroup.with(downAfter: 10_000) { group in
            for kind in Self.specimens {
                try await self.race(kind, group.configuration(), on: [try group.primary()], records: 50)
            }
        }
    }

    @Test("One of 64 at two stores uses each record: Cluster")
    func cluster() async throws {
        try await RedisCluster.with { cluster in
            for kind in Self.specimens {
                try await self.race(kind, cluster.configuration(), on: cluster.primaries, records: 50)
            }
        }
    }

    @Test(
        "While a primary is killed and another takes its place, no record is used twice and none half",
        arguments: Deployment.keeping
    )
    func records(deployment: Deployment) async throws {
        try await deployment.strain { RaceChecker<TestTicket>($0) }
    }

    @Test(
        "While a primary is killed and another takes its place, no authorization code is redeemed twice or half",
        arguments: Deployment.keeping
    )
    func codes(deployment: Deployment) async throws {
        try await deployment.strain { RaceChecker<AuthorizationCode>($0) }
    }

    @Test(
        "While a primary is killed, refresh tokens have one successor each, no family is lost, and no old token counts",
        arguments: Deployment.keeping
    )
    func families(deployment: Deployment) async throws {
        try await deployment.strain { FamilyChecker($0) }
    }

    @Test(
        "While a primary is killed and another takes its place, no proof is accepted twice",
        arguments: Deployment.keeping + [.forgetful]
    )
    func proofs(deployment: Deployment) async throws {
        // So late that the store's memory is older than any proof: proofs without a nonce are accepted until it is lost.
        let ahead = LaterClock()
        try await deployment.strain(clock: ahead.clock) { pair in
            ahead.advance(by: .seconds(400))
            return ProofChecker(pair)
        }
    }
}
