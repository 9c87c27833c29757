import Foundation
import NIOCore
import RedisServers
import RedisStore
import Sessions
import TestSupport
import Testing
import Vocabulary

/// Sessions that end through one client, and another client that hears of it, with real servers.
@Suite struct InvalidationFeedTests {
    private enum End: String, CaseIterable { case session, lineage, subject }

    /// A listener, and the store of another gateway.
    private func withTwo(
        _ arguments: [String] = [],
        change: (inout RedisConfiguration) -> Void = { _ in },
        _ body: (RedisServer, Listener, RedisClient, RedisStore) async throws -> Void
    ) async throws {
        try await RedisServer.with(arguments) { server in
            try await withClient(server.configuration()) { other in
                var configuration = server.configuration()
                change(&configuration)
                try await Listener.with(configuration) { listener in
                    try await body(server, listener, other, RedisStoreBench(other).store)
                }
            }
        }
    }

    /// Lets a subscription ask for signs of life ten times a second, and lose its patience after one and a half.
    private static func hurry(_ configuration: inout RedisConfiguration) {
        configuration.signInterval = .milliseconds(100)
        configuration.silencePatience = .milliseconds(1500)
    }

    /// Waits for so many signs of life that only these can have kept the connection.
    private static func waitForSigns(_ server: RedisServer) async throws {
        try await waitUntil("signs of life") { try server.calls(of: "subscribe") > 20 }
    }

    @Test("A session that ends through another gateway is gone from every loop")
    func endedElsewhere() async throws {
        try await self.withTwo { _, listener, _, other in
            let clock = ContinuousClock()
            var delays: [Duration] = []
            for round in 0..<51 {
                let subject = "user \(round)"
                let (token, key) = try await listener.signIn(through: other, subject: subject)
                let (bystander, _) = try await listener.signIn(through: other)
                #expect(try await listener.present(token) == 2)
                #expect(try await listener.present(bystander) == 2)
                // A session that was written a moment ago is still being announced.
                try await waitUntil {
                    try await listener.present(bystander)
                    return try await listener.trusting(bystander) == 2
                }
                let ended =
                    switch End.allCases[round % 3] {
                    case .session: other.end(key, on: loops.next()).map { _ in }
                    case .lineage: other.end(key.lineage, on: loops.next())
                    case .subject: other.end(subject: subject, on: loops.next())
                    }
                try await ended.get()
                let start = clock.now
                try await waitUntil { try await listener.trusting(token) == 0 }
                delays.append(clock.now - start)
                #expect(try await listener.trusting(bystander) == 2)
                #expect(try await listener.present(token) == 0)
            }
            print("An end elsewhere was applied on every loop after \(delays.sorted()[25]) (median of 51).")
            #expect(listener.events.filter { $0 == .doubted }.isEmpty)
            #expect(listener.client.status.invalidationIsUp)
        }
    }

    @Test("A session that is replaced through another gateway is read again on every loop")
    func replacedElsewhere() async throws {
        try await self.withTwo { _, listener, _, other in
            let (token, key) = try await listener.signIn(through: other)
            for _ in 0..<5 {
                try await waitUntil {
                    try await listener.present(token)
                    return try await listener.trusting(token) == 2
                }
                let judged = try #require(try await other.session(key, on: loops.next()).get())
                let answer = try await other.replace(
                    key,
                    judged: judged.version,
                    with: judged.record,
                    on: loops.next()
                ).get()
                #expect(answer == .done)
                try await waitUntil { try await listener.trusting(token) == 0 }
                #expect(try await listener.present(token) == 2)
            }
            #expect(listener.events.filter { $0 == .doubted }.isEmpty)
        }
    }

    @Test("Writes for other reasons end nothing")
    func unrelated() async throws {
        try await self.withTwo { _, listener, client, other in
            let bench = RedisStoreBench(client)
            let (token, key) = try await listener.signIn(through: other)
            try await waitUntil {
                try await listener.present(token)
                return try await listener.trusting(token) == 2
            }
            // Its lineage gets a transfer token and a session that ends after all others, so that its ledger is
            // written.
            let session = try #require(try await bench.session(key))
            let transfer = try await bench.mint(from: NewSession(key: key, session: session))
            var draft = bench.draft(lineage: key.lineage)
            var longer = draft.session
            longer.expiresAt = longer.expiresAt.advanced(by: .seconds(86_400))
            draft = NewSession(key: draft.key, session: longer)
            let attempt = bench.authority.newAttempt()
            #expect(try await bench.consume(transfer, creating: draft, attempt: attempt) == .done)
            try await other.touch(key, on: loops.next()).get()
            for name in ["xp:s:{abcdefghij}:a", "sp:s:nonsense", "sp:e:{}", "sp:c:{client}", "sp:l:{limit}"] {
                #expect(try await client.ask("SET", "\(name)", "1") == .status("OK"))
            }
            #expect(try await client.ask("PUBLISH", SubscriptionPlan.keyChannel, "nonsense") == .integer(1))
            // News comes in order: when this ending has arrived, all of the above has arrived.
            let (last, lastKey) = try await listener.signIn(through: other)
            try await listener.present(last)
            _ = try await other.end(lastKey, on: loops.next()).get()
            try await waitUntil { try await listener.trusting(last) == 0 }
            #expect(try await listener.trusting(token) == 2)
            #expect(!listener.events.contains(.doubted))
        }
    }

    @Test("A session that expires in Redis is gone from every loop")
    func expiry() async throws {
        try await self.withTwo { _, listener, client, other in
            let (token, key) = try await listener.signIn(through: other)
            let place = Keyspace.record(key)
            let bytes = try #require(try await client.dump()[place])
            let set = RedisCommand("SET", [place, bytes, Array("PX".utf8), Array("2000".utf8)])
            // Until it was read after its announcement and before its expiry.
            try await waitUntil {
                #expect(try await client.send(set, on: loops.next()).get() == .status("OK"))
                try await Task.sleep(for: .milliseconds(100))
                try await listener.present(token)
                return try await listener.trusting(token) == 2
            }
            try await waitUntil { try await listener.entries() == 0 }
            #expect(try await listener.present(token) == 0)
        }
    }

    @Test("When everything is deleted, every cache is emptied", arguments: ["FLUSHALL", "FLUSHDB"])
    func flushed(command: String) async throws {
        try await self.withTwo { _, listener, client, other in
            for _ in 0..<10 { try await listener.present(listener.signIn(through: other).token) }
            let flush = RedisCommand("EVAL", "return redis.call(ARGV[1])", "0", command)
            #expect(try await client.send(flush, on: loops.next()).get() == .status("OK"))
            try await waitUntil { try await listener.entries() == 0 }
            #expect(!listener.events.contains(.doubted))
        }
    }

    @Test("A thousand sessions that end at once are gone from every loop")
    func herd() async throws {
        try await self.withTwo { _, listener, client, other in
            var keys: [[UInt8]] = []
            for _ in 0..<1000 {
                let (token, key) = try await listener.signIn(through: other)
                try await listener.present(token)
                keys.append(Keyspace.record(key))
            }
            #expect(try await listener.entries() > 1000)
            // With many that no cache here knows.
            let script = """
                for i = 1, 9000 do redis.call('SET', 'sp:s:{abcdefghij}:' .. string.format('%043d', i), 'x') end
                for _, key in ipairs(KEYS) do redis.call('DEL', key) end
                return 1
                """
            let arguments = [Array(script.utf8), Array("\(keys.count)".utf8)] + keys
            #expect(try await client.send(RedisCommand("EVAL", arguments), on: loops.next()).get() == .integer(1))
            try await waitUntil { try await listener.entries() == 0 }
            #expect(!listener.events.contains(.doubted))
        }
    }

    @Test("While sixty thousand endings are applied, the loops continue with other work")
    func longHerd() async throws {
        try await self.withTwo { _, listener, client, other in
            let (token, key) = try await listener.signIn(through: other)
            try await listener.present(token)
            let pulses = loops.makeIterator().map { LoopPulse($0) }
            let script = """
                for i = 1, 60000 do redis.call('SET', 'sp:s:{abcdefghij}:' .. string.format('%043d', i), 'x') end
                return redis.call('DEL', KEYS[1])
                """
            let arguments = [Array(script.utf8), Array("1".utf8), Keyspace.record(key)]
            #expect(try await client.send(RedisCommand("EVAL", arguments), on: loops.next()).get() == .integer(1))
            try await waitUntil { try await listener.entries() == 0 }
            // Its own ending may be among the first; the others follow in a few steps.
            try await Task.sleep(for: .milliseconds(200))
            let longest = pulses.map { $0.stop() }.max() ?? .zero
            print("While 60,000 ends were applied, no loop was busy for longer than \(longest).")
            #expect(!listener.events.contains(.doubted))
        }
    }

    @Test("Too many endings at once make all sessions doubtful, and then all are read again")
    func flood() async throws {
        try await self.withTwo { _, listener, client, other in
            let (token, _) = try await listener.signIn(through: other)
            try await listener.present(token)
            let script = """
                for i = 1, 70000 do redis.call('SET', 'sp:s:{abcdefghij}:' .. string.format('%043d', i), 'x') end
                return 1
                """
            #expect(try await client.ask("EVAL", script, "0") == .integer(1))
            try await waitUntil { listener.events.contains(.doubted) && listener.trusts == 2 }
            try await waitUntil { try await listener.trusting(token) == 0 }
            #expect(try await listener.present(token) == 2)
            #expect(try await listener.trusting(token) == 2)
        }
    }

    @Test("A killed subscription makes all sessions doubtful until it is renewed, and then all are read again")
    func killed() async throws {
        try await self.withTwo { _, listener, client, other in
            let (token, _) = try await listener.signIn(through: other)
            for round in 1...3 {
                try await waitUntil {
                    try await listener.present(token)
                    return try await listener.trusting(token) == 2
                }
                #expect(try await client.ask("CLIENT", "KILL", "TYPE", "pubsub") == .integer(1))
                try await waitUntil { listener.trusts == round + 1 }
                #expect(listener.events.count { $0 == .doubted } == round)
                // Known, but doubtful.
                try await waitUntil { try await listener.trusting(token) == 0 }
                #expect(try await listener.entries() == 2)
                #expect(try await listener.present(token) == 2)
            }
            // Endings after that are heard of again.
            try await other.end(subject: "alice", on: loops.next()).get()
            try await waitUntil { try await listener.entries() == 0 }
        }
    }

    @Test("Three seconds of silence make all sessions doubtful")
    func silent() async throws {
        try await self.withTwo { server, listener, _, other in
            let (token, _) = try await listener.signIn(through: other)
            try await listener.present(token)
            server.pause()
            try await waitUntil { listener.events.contains(.doubted) }
            #expect(try await listener.trusting(token) == 0)
            #expect(!listener.client.status.invalidationIsUp)
            server.resume()
            try await waitUntil { listener.trusts == 2 }
            #expect(listener.client.status.invalidationIsUp)
            #expect(try await listener.present(token) == 2)
        }
    }

    @Test("A server without news makes no session doubtful")
    func idle() async throws {
        try await self.withTwo(change: Self.hurry) { server, listener, client, _ in
            try await Self.waitForSigns(server)
            #expect(listener.client.status.invalidationIsUp)
            #expect(!listener.events.contains(.doubted))
            guard case .bulk(let stats) = try await client.ask("INFO", "commandstats") else {
                Issue.record("no statistics")
                return
            }
            let text = String(decoding: stats, as: UTF8.self)
            let subscriptions = text.firstMatch(of: /cmdstat_subscribe:calls=(\d+)/).flatMap { Int($0.1) } ?? 0
            #expect(subscriptions > 1 && !text.contains("cmdstat_ping"))
        }
    }

    @Test("A server that cannot save, and so refuses even PING, makes no session doubtful")
    func cannotSave() async throws {
        try await self.withTwo(["--save", "3600", "1"], change: Self.hurry) { server, listener, _, other in
            // A file cannot be renamed to the name of a directory.
            let dump = server.directory.appending(path: "dump.rdb")
            try FileManager.default.createDirectory(at: dump, withIntermediateDirectories: false)
            _ = try await listener.signIn(through: other)
            try server.command("BGSAVE")
            try await waitUntil { try server.info("rdb_last_bgsave_status") == "err" }
            #expect(throws: (any Error).self) { try server.command("PING") }
            let before = try server.calls(of: "subscribe")
            try await waitUntil("signs of life") { try server.calls(of: "subscribe") > before + 20 }
            #expect(listener.client.status.invalidationIsUp)
            #expect(!listener.events.contains(.doubted))
        }
    }

    @Test("After a restart that lost the data, the caches drop the sessions too")
    func restarted() async throws {
        try await self.withTwo { server, listener, _, other in
            try await listener.present(listener.signIn(through: other).token)
            #expect(try await listener.entries() == 2)
            server.kill()
            try await waitUntil { listener.events.contains(.doubted) }
            // Its sessions may still serve while nothing else can be asked.
            #expect(try await listener.entries() == 2)
            try await server.start()
            try await waitUntil { listener.trusts == 2 }
            try await waitUntil { try await listener.entries() == 0 }
        }
    }

    @Test("A user without the right to track keys is reported, and sessions are read before use until it has the right")
    func notPermitted() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { admin in
                let rules = ["ACL", "SETUSER", "gate", "on", ">word", "~sp:*", "&*", "+@all"]
                func allow(_ more: String) async throws {
                    let arguments = (rules.dropFirst() + [more]).map { Array($0.utf8) }
                    #expect(
                        try await admin.send(RedisCommand("ACL", arguments), on: loops.next()).get() == .status("OK")
                    )
                }
                try await allow("-client|tracking")
                var configuration = server.configuration()
                configuration.user = "gate"
                configuration.password = Secret("word")
                try await Listener.with(configuration, trusting: false) { listener in
                    try await waitUntil {
                        listener.events.contains { event in
                            if case .refused(_, let error) = event { error.code == "NOPERM" } else { false }
                        }
                    }
                    try await listener.client.waitUntilConnected()
                    let (token, _) = try await listener.signIn(through: listener.store)
                    #expect(try await listener.present(token) == 2)
                    #expect(try await listener.trusting(token) == 0)
                    #expect(!listener.client.status.invalidationIsUp)
                    try await allow("+client|tracking")
                    try await waitUntil { listener.trusts == 1 }
                    #expect(try await listener.present(token) == 2)
                    #expect(try await listener.trusting(token) == 2)
                    // Reported once, however often it was tried.
                    let refusals = listener.events.count { if case .refused = $0 { true } else { false } }
                    #expect(refusals == 1)
                }
            }
        }
    }
}
