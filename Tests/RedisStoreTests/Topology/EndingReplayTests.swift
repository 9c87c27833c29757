import NIOCore
import RedisServers
import RedisStore
import Sessions
import TestSupport
import Testing
import Vocabulary

/// Ended sessions stay ended, even if a primary has lost their endings.
@Suite(.serialized) struct EndingReplayTests {
    /// Which gateway survives the restart.
    private enum Survivor: CaseIterable { case ender, listener }

    /// One session for each way to end it.
    private struct Holders {
        let single: NewSession
        let family: NewSession
        let subject: NewSession
        /// Never ended.
        let kept: NewSession

        init(_ bench: RedisStoreBench) async throws {
            self.single = try await bench.signIn(subject: "ada")
            self.family = try await bench.signIn(subject: "grace")
            self.subject = try await bench.signIn(subject: "mary")
            self.kept = try await bench.signIn(subject: "bob")
        }

        var ended: [RecordKey] { [self.single.key, self.family.key, self.subject.key] }

        func end(through store: RedisStore) async throws {
            #expect(try await store.end(self.single.key, on: loops.next()).get())
            try await store.end(self.family.key.lineage, on: loops.next()).get()
            try await store.end(subject: "mary", on: loops.next()).get()
        }
    }

    /// The store's first answer.
    private func read(_ key: RecordKey, through store: RedisStore) async throws -> Stored<Session>? {
        var answer: Stored<Session>??
        try await waitUntil("an answer") {
            answer = try? await store.session(key, on: loops.next()).get()
            return answer != nil
        }
        return answer ?? nil
    }

    @Test(
        "After a restart from an old snapshot a gateway that ended sessions, or heard of it, serves none and ends them again",
        arguments: Survivor.allCases
    )
    private func oldSnapshot(_ survivor: Survivor) async throws {
        try await RedisServer.with(["--dbfilename", "dump.rdb"]) { server in
            try await Listener.with(server.configuration()) { listener in
                let holders = try await withClient(server.configuration()) { other in
                    let bench = RedisStoreBench(other)
                    let holders = try await Holders(bench)
                    try server.command("SAVE")
                    try await holders.end(through: survivor == .ender ? listener.store : bench.store)
                    // News arrives within milliseconds.
                    try await Task.sleep(for: .milliseconds(500))
                    // Begun after the end of all sessions of its subject.
                    let again = try await bench.signIn(subject: "mary")
                    #expect(try await self.read(again.key, through: listener.store) != nil)
                    return holders
                }
                server.kill()
                try await server.start()
                try await waitUntil("it is used again") {
                    try await self.read(holders.kept.key, through: listener.store) != nil
                }
                // From the first answer on.
                for key in holders.ended { #expect(try await self.read(key, through: listener.store) == nil) }
                // A gateway that knows nothing of it.
                try await withClient(server.configuration()) { other in
                    let stranger = RedisStoreBench(other)
                    for key in holders.ended {
                        try await waitUntil("it has ended for all") {
                            try await self.read(key, through: stranger.store) == nil
                        }
                    }
                    #expect(try await stranger.session(holders.kept.key) != nil)
                }
                // It had lost all three.
                try await waitUntil("it is told") {
                    listener.events.contains { event in
                        if case .endsRestored(_, 3) = event { true } else { false }
                    }
                }
            }
        }
    }

    @Test("Where nothing was lost, nothing is written again")
    func nothingForgotten() async throws {
        try await RedisServer.with(["--appendonly", "yes", "--appendfsync", "always"]) { server in
            try await Listener.with(server.configuration()) { listener in
                let holders = try await withClient(server.configuration()) { try await Holders(RedisStoreBench($0)) }
                try await holders.end(through: listener.store)
                server.kill()
                try await server.start()
                try await waitUntil("it is used again") {
                    try await self.read(holders.kept.key, through: listener.store) != nil
                }
                try await waitUntil("it is asked for what it lost") { try server.calls(of: "mget") >= 2 }
                // Longer than a replay waits before it writes.
                try await Task.sleep(for: .milliseconds(500))
                #expect(try server.calls(of: "set") == 0 && server.calls(of: "del") == 0)
            }
        }
    }

    @Test("A primary that refuses writes gets its lost endings at a slow pace, and all of them when it takes writes")
    func refusing() async throws {
        // Only a restarted server has it: it was withdrawn the first time.
        try await RedisServer.with(["--dbfilename", "dump.rdb", "--min-replicas-to-write", "1"]) { server in
            try server.command("CONFIG", "SET", "min-replicas-to-write", "0")
            try await Listener.with(server.configuration()) { listener in
                let holders = try await withClient(server.configuration()) { other in
                    let holders = try await Holders(RedisStoreBench(other))
                    try server.command("SAVE")
                    return holders
                }
                try await holders.end(through: listener.store)
                server.kill()
                try await server.start()
                try await waitUntil("it is used again") {
                    try await self.read(holders.kept.key, through: listener.store) != nil
                }
                let before = try server.calls(of: "mget")
                try await Task.sleep(for: .seconds(3))
                // Each attempt has two, one of them in the script that ends a session; there are two rounds of
                // attempts.
                #expect(try server.calls(of: "mget") - before <= 24)
                for key in holders.ended { #expect(try await self.read(key, through: listener.store) == nil) }
                try server.command("CONFIG", "SET", "min-replicas-to-write", "0")
                try await waitUntil("it is told") {
                    listener.events.contains { event in
                        if case .endsRestored(_, 3) = event { true } else { false }
                    }
                }
            }
        }
    }

    @Test("Each primary of a cluster gets the endings of its own slots")
    func cluster() async throws {
        try await RedisCluster.with(arguments: ["--dbfilename", "dump.rdb"]) { cluster in
            try await Listener.with(cluster.configuration()) { listener in
                let server = cluster.primaries[1]
                let ended = try await withClient(cluster.configuration()) { other in
                    let bench = RedisStoreBench(other)
                    var keys: [RecordKey] = []
                    for primary in [0, 1, 1, 2] {
                        keys.append(try await bench.signIn(in: cluster.lineage(at: primary, bench)).key)
                    }
                    try server.command("SAVE")
                    for key in keys { _ = try await listener.store.end(key, on: loops.next()).get() }
                    return keys
                }
                server.kill()
                try await server.start()
                try await waitUntil("it is told") {
                    listener.events.contains { event in
                        if case .endsRestored(_, 2) = event { true } else { false }
                    }
                }
                for key in ended { #expect(try await self.read(key, through: listener.store) == nil) }
            }
        }
    }
}
