import NIOCore
import RedisServers
import RedisStore
import Sessions
import TestSupport
import Testing
import Vocabulary

/// Writes that a replica must confirm before they are answered.
@Suite(.serialized) struct ConfirmationTests {
    /// A primary that sends its data to the first replica without waiting for more replicas.
    private static let quick = ["--repl-diskless-sync-delay", "0"]

    /// A primary and a replica in step with it. Clients wait longer for an answer than for a confirmation.
    private static func withReplica(
        _ body: (RedisServer, RedisServer, RedisConfiguration) async throws -> Void
    ) async throws {
        try await RedisServer.with(Self.quick) { primary in
            try await RedisServer.with(replicaOf: primary) { replica in
                try await waitUntil("a replica in step") {
                    try primary.command("INFO", "replication").contains("state=online")
                }
                var configuration = primary.configuration(commandTimeout: .seconds(5))
                configuration.confirmationTimeout = .seconds(1)
                try await body(primary, replica, configuration)
            }
        }
    }

    private static func unreplicated(_ client: RedisClient) -> Int {
        RedisMeter.Kind.allCases.map { client.meter.count(of: $0, .unreplicated) }.reduce(0, +)
    }

    @Test("While the replica hangs no result is given; the work is found when it continues, and also without it")
    func replica() async throws {
        try await Self.withReplica { primary, replica, configuration in
            try await withClient(configuration) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let parent = try await bench.untilAnswered("a sign-in") { try await bench.signIn() }
                let token = try await bench.untilAnswered("a mint") { try await bench.mint(from: parent) }
                let before = Self.unreplicated(client)
                guard case .live(let stored) = try await bench.transfer(token) else {
                    Issue.record("the token is not live")
                    return
                }
                let draft = bench.draft(lineage: token.lineage)
                let marker = Marker.used(bench.authority.newAttempt(), session: draft.key)
                func consume() async throws -> Consumption {
                    try await bench.store.consume(
                        token,
                        judged: stored.version,
                        marker: marker,
                        creating: draft,
                        on: loops.next()
                    ).get()
                }
                replica.pause()
                await #expect(throws: StoreError.unavailable) { try await bench.mint(from: parent) }
                await #expect(throws: StoreError.unavailable) { try await consume() }
                #expect(try await bench.session(parent.key) != nil)
                #expect(Self.unreplicated(client) - before == 2)
                try await waitUntil("a status that says so") {
                    client.status.nodes[0].writeRefusal?.error == .unconfirmed
                }
                replica.resume()
                // The same attempt asks again and finds its own work.
                #expect(try await bench.untilAnswered("a consumption") { try await consume() } == .done)
                _ = try await bench.untilAnswered("a mint") { try await bench.mint(from: parent) }

                try await waitUntil("a status without it") { client.status.nodes[0].writeRefusal == nil }

                // It may have been promoted, and the news of that may be late.
                replica.kill()
                try await waitUntil("a primary without replicas") { try primary.info("connected_slaves") == "0" }
                for _ in 0..<3 {
                    await #expect(throws: StoreError.unavailable) { try await bench.mint(from: parent) }
                }
                // Gone for good: without replicas nothing is confirmed, and no failover can lose anything.
                let last = try await bench.untilAnswered("a mint") { try await bench.mint(from: parent) }
                #expect(await bench.tryToConsume(last) == .done)
            }
        }
    }

    @Test(
        "A repeated sign-out writes, so that its confirmation covers the first; a sign-out without a session does not"
    )
    func repeatedEnd() async throws {
        try await RedisServer.with { server in
            // Commands that scripts run are counted too.
            func writes() throws -> (deletions: Int, lives: Int) {
                let stats = try server.command("INFO", "commandstats").split(whereSeparator: \.isNewline)
                let counts = try ["del", "pexpire"].map { name in
                    guard let line = stats.first(where: { $0.hasPrefix("cmdstat_\(name):calls=") }) else { return 0 }
                    return try #require(Int(line.drop { $0 != "=" }.dropFirst().prefix { $0 != "," }))
                }
                return (counts[0], counts[1])
            }
            try await withClient(server.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let holder = try await bench.untilAnswered("a sign-in") { try await bench.signIn() }
                // The log of the hour is written after the fact, and gets a life.
                try await waitUntil("the session in its log") { try writes().lives == 1 }
                /// Ends the session, and counts what that has written.
                func end(_ key: RecordKey) async throws -> (wasThere: Bool, deletions: Int, lives: Int) {
                    let before = try writes()
                    let wasThere = try await bench.store.end(key, on: loops.next()).get()
                    let after = try writes()
                    return (wasThere, after.deletions - before.deletions, after.lives - before.lives)
                }
                #expect(try await end(holder.key) == (true, 1, 0))
                #expect(try await end(holder.key) == (false, 1, 1))
                let nobody = bench.draft(lineage: Lineage(tag: "0000000000"))
                #expect(try await end(nobody.key) == (false, 1, 0))
            }
        }
    }

    @Test(
        "A repeated sign-out succeeds when a replica has it, whatever the state of the session at the primary",
        arguments: [EndReach.session, .lineage]
    )
    func repeatedSignOut(_ reach: EndReach) async throws {
        try await Self.withReplica { _, replica, configuration in
            try await withClient(configuration) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let holder = try await bench.untilAnswered("a sign-in") { try await bench.signIn() }
                func signOut() async throws -> Session? {
                    let store = bench.store
                    let end = try await store.end(presented: holder.key, reaching: { _ in reach }, on: loops.next())
                        .get()
                    guard case .ended(let session) = end else { return nil }
                    return session
                }
                func isLiveAtReplica() throws -> Bool {
                    let ledger = String(decoding: Keyspace.lineage(holder.key.lineage), as: UTF8.self)
                    let record = String(decoding: Keyspace.record(holder.key), as: UTF8.self)
                    return try replica.command("GET", ledger) == "L" && replica.command("EXISTS", record) == "1"
                }
                #expect(try isLiveAtReplica())
                replica.pause()
                for _ in 0..<3 {
                    await #expect(throws: StoreError.unavailable) { try await signOut() }
                    #expect(try await bench.session(holder.key) == nil)
                }
                replica.resume()
                let ended = try await bench.untilAnswered("a sign-out") { try await signOut() }
                #expect(try !isLiveAtReplica())
                #expect(ended?.id == (reach == .lineage ? holder.session.id : nil))
            }
        }
    }

    @Test("A token of no session of the client ends nothing")
    func presentedInVain() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let holder = try await bench.signIn()
                func signOut(_ key: RecordKey, _ reach: EndReach) async throws -> String {
                    let store = bench.store
                    return
                        switch try await store.end(presented: key, reaching: { _ in reach }, on: loops.next()).get()
                    {
                    case .absent: "absent"
                    case .kept: "kept"
                    case .ended: "ended"
                    }
                }
                #expect(try await signOut(holder.key, .nothing) == "kept")
                // A forged token of the same family.
                let forged = bench.authority.make(.session, in: holder.key.lineage).key
                #expect(try await signOut(forged, .lineage) == "absent")
                #expect(try await bench.session(holder.key) != nil)
            }
        }
    }

    @Test("A repeated attempt succeeds when a replica has its marker, over whichever connection it comes")
    func repeated() async throws {
        try await Self.withReplica { primary, replica, configuration in
            try await withClient(configuration) { first in
                // Another gateway, whose connections have written nothing. For those, Redis from 7.2 on counts
                // everything as confirmed.
                try await withClient(configuration) { second in
                    try await first.waitUntilConnected()
                    try await second.waitUntilConnected()
                    try await self.repeated(RedisStoreBench(first), RedisStoreBench(second), primary, replica)
                }
            }
        }
    }

    private func repeated(
        _ first: RedisStoreBench,
        _ second: RedisStoreBench,
        _ primary: RedisServer,
        _ replica: RedisServer
    ) async throws {
        let parent = try await first.untilAnswered("a sign-in") { try await first.signIn() }
        let token = try await first.untilAnswered("a mint") { try await first.mint(from: parent) }
        let draft = first.draft(lineage: token.lineage)
        let marker = Marker.used(first.authority.newAttempt(), session: draft.key)
        let place = String(decoding: Keyspace.marker(token), as: UTF8.self)
        func consume(_ bench: RedisStoreBench, _ judged: RecordVersion, as marker: Marker) async throws -> Consumption {
            try await bench.store.consume(token, judged: judged, marker: marker, creating: draft, on: loops.next())
                .get()
        }
        func judged(_ bench: RedisStoreBench) async throws -> RecordVersion {
            guard case .live(let stored) = try await bench.transfer(token) else { throw RedisError.unexpected }
            return stored.version
        }
        let versions = (try await judged(first), try await judged(second))
        replica.pause()
        await #expect(throws: StoreError.unavailable) { try await consume(first, versions.0, as: marker) }
        // It finds its marker, which only the primary has.
        guard case .spent(marker) = try await second.transfer(token) else {
            Issue.record("the marker does not stand")
            return
        }
        for _ in 0..<2 {
            await #expect(throws: StoreError.unavailable) { try await consume(second, versions.1, as: marker) }
            await #expect(throws: StoreError.unavailable) {
                try await second.store.confirm(marker, of: token, on: loops.next()).get()
            }
        }
        replica.resume()
        #expect(
            try await second.untilAnswered("the repetition") { try await consume(second, versions.1, as: marker) }
                == .done
        )
        #expect(try replica.command("EXISTS", place) == "1")
        try await second.untilAnswered("a confirmation") {
            try await second.store.confirm(marker, of: token, on: loops.next()).get()
        }

        // A replay also finds the marker, and writes nothing.
        let writes = try primary.calls(of: "pexpire")
        let other = Marker.used(second.authority.newAttempt(), session: draft.key)
        let replay = try await second.untilAnswered("a replay") { try await consume(second, versions.1, as: other) }
        #expect(replay == .spent(marker))
        #expect(try primary.calls(of: "pexpire") == writes)
    }

    @Test("A replica that connects later confirms later writes")
    func lateReplica() async throws {
        try await RedisServer.with(Self.quick) { primary in
            try await withClient(primary.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn()
                #expect(try primary.calls(of: "wait") == 0)
                try await RedisServer.with(replicaOf: primary) { _ in
                    try await waitUntil("a confirmed write") {
                        _ = try await bench.mint(from: parent)
                        return try primary.calls(of: "wait") > 0
                    }
                }
            }
        }
    }

    @Test("A primary that became a replica and keeps its connections is no longer used")
    func demoted() async throws {
        try await RedisServer.with { primary in
            try await withClient(primary.configuration()) { client in
                try await client.waitUntilConnected()
                try primary.command("REPLICAOF", loopback, "1")
                try await client.waitUntilDisconnected()
                try primary.command("REPLICAOF", "NO", "ONE")
                try await client.waitUntilConnected()
            }
        }
    }
}
