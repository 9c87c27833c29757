import Cryptography
import NIOCore
import RedisServers
import RedisStore
import Sessions
import Testing
import Vocabulary

/// A session-transfer token and the session that it comes from, read in one round trip.
@Suite struct ParentReadTests {
    private func withServer(_ body: (RedisClient, RedisStoreBench) async throws -> Void) async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                try await body(client, RedisStoreBench(client))
            }
        }
    }

    /// How many reads the store has sent.
    private func reads(_ client: RedisClient) -> Int {
        RedisMeter.Outcome.allCases.map {
            client.meter.count(of: .mget, $0) + client.meter.count(of: .get, $0)
        }.reduce(0, +)
    }

    /// Reads a token; the session that came with it, and how many commands that took.
    private func read(
        _ key: RecordKey,
        _ client: RedisClient,
        _ bench: RedisStoreBench
    ) async throws -> (parent: Session?, reads: Int) {
        let before = self.reads(client)
        let found = try await bench.store.singleUseWithParent(key, as: TransferToken.self, on: loops.next()).get()
        guard case .live = found.lookup else { throw RedisError.unexpected }
        return (found.parent?.record, self.reads(client) - before)
    }

    private func place(_ key: RecordKey, _ type: String) -> String {
        "sp:\(type):{\(key.lineage.tag)}:\(key.digest.base64URL)"
    }

    @Test("It is one command, at the gateway that has minted the token and at any other one")
    func isOneCommand() async throws {
        try await self.withServer { client, bench in
            let parent = try await bench.signIn()
            let key = try await bench.mint(from: parent)
            let own = try await self.read(key, client, bench)
            #expect(own.parent?.id == parent.session.id && own.reads == 1)
            let other = try await self.read(key, client, RedisStoreBench(client))
            #expect(other.parent?.id == parent.session.id && other.reads == 1)
        }
    }

    @Test("A replay and a token that never was are one command")
    func refusalsAreOneCommand() async throws {
        try await self.withServer { client, bench in
            let parent = try await bench.signIn()
            let key = try await bench.mint(from: parent)
            let draft = bench.draft(lineage: key.lineage)
            #expect(try await bench.consume(key, creating: draft, attempt: bench.authority.newAttempt()) == .done)
            for key in [key, bench.authority.make(.transfer, in: bench.authority.newLineage()).key] {
                let before = self.reads(client)
                let found = try await bench.store.singleUseWithParent(key, as: TransferToken.self, on: loops.next())
                    .get()
                if case .live = found.lookup { Issue.record("a token is live") }
                #expect(found.parent == nil && self.reads(client) - before == 1)
            }
        }
    }

    @Test("A name that was changed in Redis, or is not there, gets no other session judged", arguments: [true, false])
    func nameIsCompared(isThere: Bool) async throws {
        try await self.withServer { client, bench in
            let parent = try await bench.signIn()
            let other = try await bench.signIn(subject: "mallory")
            let key = try await bench.mint(from: parent)
            if isThere {
                let names = ([other.key.digest.base64URL] + bench.store.names(of: "alice")).joined(separator: " ")
                _ = try await client.ask("SET", self.place(key, "tp"), names)
            } else {
                #expect(try await client.ask("DEL", self.place(key, "tp")) == .integer(1))
            }
            let found = try await self.read(key, client, bench)
            #expect(found.parent?.id == parent.session.id && found.reads == 3)
        }
    }

    @Test("An end of all of the user's sessions is seen, also by a gateway that does not know whose the token is")
    func epochIsRead() async throws {
        try await self.withServer { client, bench in
            let parent = try await bench.signIn()
            let key = try await bench.mint(from: parent)
            try await bench.store.end(subject: "alice", on: loops.next()).get()
            let other = RedisStoreBench(client)
            let found = try await other.store.singleUseWithParent(key, as: TransferToken.self, on: loops.next()).get()
            guard case .absent = found.lookup else { throw RedisError.unexpected }
            #expect(found.parent == nil)
        }
    }

    @Test("Where Redis refuses the script, as while a cluster moves the slot, one is read after the other")
    func scriptIsRefused() async throws {
        try await self.withServer { client, bench in
            let parent = try await bench.signIn()
            let key = try await bench.mint(from: parent)
            let places = ["~sp:s:*", "~sp:t:*", "~sp:m:*", "~sp:g:*", "~sp:i:*", "~sp:e:*"]
            let reply = try await client.send(
                RedisCommand("ACL", (["SETUSER", "default", "resetkeys"] + places).map { Array($0.utf8) }),
                on: loops.next()
            ).get()
            #expect(reply == .status("OK"))
            let found = try await self.read(key, client, bench)
            #expect(found.parent?.id == parent.session.id && found.reads == 3)
        }
    }
}
