import NIOCore
import NIOEmbedded
import RedisServers
import RedisStore
import Sessions
import StoreConformance
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A consumption whose answer is lost with its connection.
@Suite struct LostAnswerTests {
    /// What a server that loses the answers of scripts has received.
    private final class Seen: Sendable {
        private let state = Mutex((scripts: 0, notes: 0, marker: String?.none))

        /// Scripts whose answer was lost.
        var scripts: Int { self.state.withLock { $0.scripts } }
        /// Notes of sessions in the lists of their users.
        var notes: Int { self.state.withLock { $0.notes } }

        /// Answers `GET` with the current marker, and cuts the connection at every script. If it `carriesOut`, the
        /// script stores its marker when there is none.
        func act(_ command: [String], carriesOut: Bool) -> FakeRedis.Act {
            switch command.first {
            case "EVALSHA" where command[3].hasPrefix("sp:u:"):
                self.state.withLock { $0.notes += 1 }
                return FakeRedis.Act(bytes: ":1\r\n")
            case "EVALSHA" where command[2] == "1":
                // EVALSHA name 1 marker life: the confirmation, which changes nothing.
                return self.standing
            case "EVALSHA", "EVAL":
                self.state.withLock { state in
                    state.scripts += 1
                    // EVALSHA name 3 token marker ledger judged marker life, with more keys if it creates something
                    let place = 4 + (Int(command[2]) ?? 0)
                    if carriesOut, state.marker == nil, command.count > place { state.marker = command[place] }
                }
                return FakeRedis.Act(bytes: "", closes: true)
            case "GET":
                return self.standing
            default:
                return FakeRedis.Act(bytes: "-ERR unknown\r\n")
            }
        }

        private var standing: FakeRedis.Act {
            guard let marker = self.state.withLock({ $0.marker }) else { return FakeRedis.Act(bytes: "$-1\r\n") }
            return FakeRedis.Act(bytes: "$\(marker.unicodeScalars.count)\r\n\(marker)\r\n")
        }
    }

    private func burn(_ bench: RedisStoreBench, _ key: RecordKey, attempt: String) async throws -> Consumption {
        try await bench.store.consume(
            key,
            judged: RecordVersion(value: 1),
            marker: .burned(AttemptID(value: attempt), .handoffExpired),
            creating: nil,
            on: loops.next()
        ).get()
    }

    @Test("A consumption that was carried out is found by its attempt id and never run twice")
    func carriedOut() async throws {
        let seen = Seen()
        try await FakeRedis.with({ seen.act($0, carriesOut: true) }) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                let key = bench.authority.make(.transfer, in: bench.authority.newLineage()).key
                #expect(try await self.burn(bench, key, attempt: "mine") == .done)
                #expect(seen.scripts == 1)
                try await client.waitUntilConnected()
                // Another attempt, whose answer is lost too, finds the work of the first.
                let first = Marker.burned(AttemptID(value: "mine"), .handoffExpired)
                #expect(try await self.burn(bench, key, attempt: "another") == .spent(first))
                #expect(seen.scripts == 2)
            }
        }
    }

    @Test("A session that was made is noted in its user's list, although the answer was lost")
    func noted() async throws {
        let seen = Seen()
        let answer: @Sendable ([String]) -> FakeRedis.Act = { command in
            // No epoch of the user.
            command.first == "MGET" ? FakeRedis.Act(bytes: "*1\r\n$-1\r\n") : seen.act(command, carriesOut: true)
        }
        try await FakeRedis.with(answer) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                let draft = bench.draft()
                let consumed = try await bench.store.consume(
                    bench.authority.make(.transfer, in: draft.session.lineage).key,
                    judged: RecordVersion(value: 1),
                    marker: .used(AttemptID(value: "mine"), session: draft.key),
                    creating: draft,
                    on: loops.next()
                ).get()
                #expect(consumed == .done && seen.scripts == 1)
                // For its user, its address, its hour, and the list of hours.
                try await waitUntil("the notes are written") { seen.notes >= 4 }
                #expect(seen.notes == 4)
            }
        }
    }

    @Test("With replicas it is answered when one of them has the marker, and not before", arguments: [true, false])
    func confirmed(isConfirmed: Bool) async throws {
        let seen = Seen()
        let answer: @Sendable ([String]) -> FakeRedis.Act = { command in
            if command.first == "WAIT" { return FakeRedis.Act(bytes: isConfirmed ? ":1\r\n" : ":0\r\n") }
            return seen.act(command, carriesOut: true)
        }
        try await FakeRedis.with(answer, replicas: 1) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                let key = bench.authority.make(.transfer, in: bench.authority.newLineage()).key
                // No result, because the store cannot say.
                let outcome = try? await self.burn(bench, key, attempt: "mine")
                #expect(outcome == (isConfirmed ? .done : nil))
                #expect(seen.scripts == 1)
                #expect(client.meter.count(of: .confirm, isConfirmed ? .ok : .unreplicated) == 1)
            }
        }
    }

    @Test("Without a marker the answer is unavailable, because it may still be carried out")
    func notCarriedOut() async throws {
        let seen = Seen()
        try await FakeRedis.with({ seen.act($0, carriesOut: false) }) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                let key = bench.authority.make(.transfer, in: bench.authority.newLineage()).key
                await #expect(throws: StoreError.unavailable) { try await self.burn(bench, key, attempt: "mine") }
                #expect(seen.scripts == 1)
            }
        }
    }

    @Test(
        "A replacement that was carried out is found by its attempt id; of one that was not nothing is told",
        arguments: [true, false]
    )
    func replaced(carriesOut: Bool) async throws {
        let standing = Mutex<String?>(nil)
        let scripts = Mutex(0)
        let answer: @Sendable ([String]) -> FakeRedis.Act = { command in
            switch command.first {
            case "MGET": return FakeRedis.Act(bytes: "*1\r\n$-1\r\n")
            case "EVALSHA" where command[2] == "2":
                // EVALSHA name 2 record ledger judged bytes life ledger's life reign
                scripts.withLock { $0 += 1 }
                if carriesOut { standing.withLock { $0 = command[6] } }
                return FakeRedis.Act(bytes: "", closes: true)
            case "GET", "EVALSHA":
                // The second is the confirmation, which changes nothing.
                guard let value = standing.withLock({ $0 }) else { return FakeRedis.Act(bytes: "$-1\r\n") }
                return FakeRedis.Act(bytes: "$\(value.unicodeScalars.count)\r\n\(value)\r\n")
            default: return FakeRedis.Act(bytes: "-ERR unknown\r\n")
            }
        }
        try await FakeRedis.with(answer) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                let key = bench.key(TestFamily.kind, in: bench.authority.newLineage())
                let now = Clock.system.now()
                let terms = RecordTerms(since: now, expiresAt: now.advanced(by: .seconds(60)))
                func create(as attempt: String) async -> Replacement? {
                    let family = TestFamily(generation: 1, terms: terms)
                    let attempt = AttemptID(value: attempt)
                    return try? await bench.store.create(family, key: key, attempt: attempt, on: loops.next()).get()
                }
                let answer = await create(as: "mine")
                #expect(answer == (carriesOut ? .done : nil))
                #expect(scripts.withLock { $0 } == 1)
            }
        }
    }
}

@Suite struct RedisConnectionHandlerTests {
    @Test("Commands of one tick are sent in one write, after the handshake, and replies return in order")
    func pipelined() throws {
        let channel = EmbeddedChannel()
        var configuration = RedisConfiguration.of("redis+unix:///s?db=2", commandTimeout: .milliseconds(100))
        configuration.clientName = nil
        let handler = RedisConnectionHandler(
            configuration,
            handshake: configuration.handshake,
            events: RedisConnectionHandler.Events(ready: { _ in true }, answered: {}, ended: { _, _ in })
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/s")).wait()
        let handshake = try channel.readOutbound(as: ByteBuffer.self)
        #expect(handshake == ByteBuffer(string: "*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n*1\r\n$4\r\nINFO\r\n"))

        func send(_ key: String) -> EventLoopFuture<RedisReply> {
            let promise = channel.eventLoop.makePromise(of: RedisReply.self)
            handler.send(RedisCommand("GET", key), deadline: .distantFuture) {
                promise.completeWith($0.mapError { $0 })
            }
            return promise.futureResult
        }
        #expect(throws: RedisError.notSent(.notConnected)) { try send("early").wait() }
        try channel.writeInbound(ByteBuffer(string: "+OK\r\n$0\r\n\r\n"))
        #expect(handler.isReady)

        let answers = [send("a"), send("b"), send("c")]
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        channel.embeddedEventLoop.run()
        let commands = try channel.readOutbound(as: ByteBuffer.self)
        let expected = ["a", "b", "c"].map { "*2\r\n$3\r\nGET\r\n$1\r\n\($0)\r\n" }.joined()
        #expect(commands == ByteBuffer(string: expected))
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)

        try channel.writeInbound(ByteBuffer(string: ":1\r\n:2\r\n"))
        #expect(try answers[0].wait() == .integer(1))
        #expect(try answers[1].wait() == .integer(2))
        channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
        #expect(throws: RedisError.unanswered(.closed)) { try answers[2].wait() }
        #expect(throws: RedisError.notSent(.closed)) { try send("late").wait() }
        _ = try? channel.finish()
    }
}
