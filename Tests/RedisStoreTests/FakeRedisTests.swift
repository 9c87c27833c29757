import NIOCore
import NIOPosix
import RedisServers
import RedisStore
import Sessions
import Testing
import Vocabulary

/// A server that answers each connection as a test says, for what no real Redis does.
final class FakeRedis: Sendable {
    /// What to do for a command; `bytes` are ISO 8859-1.
    struct Act: Sendable {
        var bytes: String
        var delay: TimeAmount = .zero
        var closes = false
    }

    /// Answers the commands that open a connection as a primary would.
    static func info(replicas: Int) -> String {
        let reign = String(repeating: "a", count: 40)
        let text = "role:master\r\nmaster_replid:\(reign)\r\nconnected_slaves:\(replicas)\r\n"
        return "$\(text.utf8.count)\r\n\(text)\r\n"
    }

    private let channel: any Channel
    var port: Int { self.channel.localAddress?.port ?? 0 }

    private init(channel: any Channel) {
        self.channel = channel
    }

    /// Calls `answer` with the arguments of each command; it returns what to do.
    ///
    /// - Parameter replicas: How many replicas it claims to have.
    @discardableResult
    static func with<Answer>(
        _ answer: @escaping @Sendable ([String]) -> Act,
        replicas: Int = 0,
        _ body: (FakeRedis) async throws -> Answer
    ) async throws -> Answer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Server(answer, info: Self.info(replicas: replicas)))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { channel.close(promise: nil) }
        return try await body(FakeRedis(channel: channel))
    }

    func configuration(commandTimeout: Duration = .seconds(20)) -> RedisConfiguration {
        var configuration = RedisConfiguration.of(
            "redis://127.0.0.1:\(self.port)",
            connectTimeout: .seconds(5),
            commandTimeout: commandTimeout
        )
        configuration.clientName = nil
        return configuration
    }

    /// Bytes as text, one character for each (ISO 8859-1), so that sealed bytes are kept.
    static func text(_ bytes: [UInt8]) -> String {
        String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
    }

    private final class Server: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: @Sendable ([String]) -> Act
        private let info: String
        private let reader = ReplyReader()
        /// When the reply before is sent: a server answers in the order of the commands.
        private var due = NIODeadline.now()

        init(_ answer: @escaping @Sendable ([String]) -> Act, info: String) {
            self.answer = answer
            self.info = info
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = self.unwrapInboundIn(data)
            // A command is an array of strings, as a reply may be.
            var commands: [[String]] = []
            try? buffer.withUnsafeReadableBytes { bytes in
                try self.reader.feed(bytes) { reply in
                    if case .array(let parts) = reply {
                        commands.append(
                            parts.map { part in
                                if case .bulk(let bytes) = part { FakeRedis.text(bytes) } else { "" }
                            }
                        )
                    }
                    return true
                }
            }
            for command in commands {
                let act = command == ["INFO"] ? Act(bytes: self.info) : self.answer(command)
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                let send: @Sendable () -> Void = {
                    let context = bound.value
                    let buffer = ByteBuffer(bytes: act.bytes.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
                    context.channel.writeAndFlush(buffer, promise: nil)
                    if act.closes { context.channel.close(promise: nil) }
                }
                let isFirst = self.due <= .now()
                self.due = max(self.due, .now() + act.delay)
                if act.delay == .zero, isFirst {
                    send()
                } else {
                    context.eventLoop.scheduleTask(deadline: self.due, send)
                }
            }
        }
    }
}

@Suite struct FakeRedisTests {
    @Test("A late reply reaches no command, above all not the next one")
    func crossed() async throws {
        let answer: @Sendable ([String]) -> FakeRedis.Act = { command in
            let value = command.last ?? ""
            let reply = "$\(value.utf8.count)\r\n\(value)\r\n"
            return FakeRedis.Act(bytes: reply, delay: value.hasPrefix("slow") ? .milliseconds(300) : .zero)
        }
        try await FakeRedis.with(answer) { fake in
            try await withClient(fake.configuration(commandTimeout: .milliseconds(100))) { client in
                let loop = loops.next()
                var answered = 0
                for round in 0..<3 {
                    let slow = client.send(RedisCommand("GET", "slow \(round)"), on: loop)
                    await #expect(throws: RedisError.unanswered(.timedOut)) { try await slow.get() }
                    // Until well after the late reply, every answer belongs to its question.
                    for index in 0..<60 {
                        let name = "quick \(round) \(index)"
                        if let reply = try? await client.send(RedisCommand("GET", name), on: loop).get() {
                            #expect(reply == .bulk(Array(name.utf8)))
                            answered += 1
                        }
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
                #expect(answered > 0)
            }
        }
    }

    @Test(
        "Bytes that are not a reply end the connection for all waiting commands",
        arguments: [
            "%1\r\n+a\r\n+b\r\n", "_\r\n", "$3\r\nabcdef", "HTTP/1.1 200 OK\r\n\r\n", "*-7\r\n",
            String(repeating: "*1\r\n", count: 40), "+OK\r\n+OK\r\n+OK\r\n",
        ]
    )
    func nonsense(bytes: String) async throws {
        try await FakeRedis.with({ _ in FakeRedis.Act(bytes: bytes) }) { fake in
            try await withClient(fake.configuration()) { client in
                let loop = loops.next()
                let answers = try await loop.submit {
                    (0..<2).map { client.send(RedisCommand("GET", "\($0)"), on: loop) }
                }.get()
                var failures = 0
                for answer in answers {
                    do { _ = try await answer.get() } catch RedisError.unanswered { failures += 1 }
                }
                if bytes.hasPrefix("+OK") {
                    // The bytes answer two commands; the third reply has no command and ends the connection.
                    #expect(failures == 0)
                } else {
                    #expect(failures == 2)
                }
                try await client.waitUntilConnected()
            }
        }
    }

    @Test("An endless flood is cut off and not stored")
    func flood() async throws {
        let chunk = "$900000000\r\n" + String(repeating: "a", count: 3 << 20)
        try await FakeRedis.with({ _ in FakeRedis.Act(bytes: chunk) }) { fake in
            try await withClient(fake.configuration()) { client in
                await #expect(throws: RedisError.unanswered(.protocolError(.tooLarge))) {
                    _ = try await client.ask("GET", "a")
                }
            }
        }
    }

    @Test(
        "Every error of Redis makes the store unavailable, never `absent`",
        arguments: [
            "LOADING Redis is loading", "READONLY You can't write", "MISCONF x", "OOM x", "NOREPLICAS x",
            "CLUSTERDOWN x", "BUSY x", "NOAUTH x", "NOPERM x", "MOVED 1 127.0.0.1:1", "ERR unknown command",
            "WRONGTYPE x",
        ]
    )
    func errors(line: String) async throws {
        try await FakeRedis.with({ _ in FakeRedis.Act(bytes: "-\(line)\r\n") }) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                let key = bench.draft().key
                let token = bench.authority.make(.transfer, in: key.lineage).key
                await #expect(throws: StoreError.unavailable) { try await bench.session(key) }
                await #expect(throws: StoreError.unavailable) { try await bench.transfer(token) }
                await #expect(throws: StoreError.unavailable) { try await bench.signIn() }
                await #expect(throws: StoreError.unavailable) {
                    try await bench.store.end(key.lineage, on: loops.next()).get()
                }
                await #expect(throws: StoreError.unavailable) {
                    try await bench.store.consume(
                        token,
                        judged: RecordVersion(value: 1),
                        marker: .burned(AttemptID(value: "a"), .handoffExpired),
                        creating: nil,
                        on: loops.next()
                    ).get()
                }
            }
        }
    }

    @Test(
        "Replies of an impossible form make the store unavailable",
        arguments: ["+OK\r\n", ":1\r\n", "$-1\r\n", "*0\r\n", "*2\r\n$-1\r\n$-1\r\n", "*3\r\n:1\r\n:1\r\n:1\r\n"]
    )
    func shapes(bytes: String) async throws {
        try await FakeRedis.with({ _ in FakeRedis.Act(bytes: bytes) }) { fake in
            try await withClient(fake.configuration()) { client in
                let bench = RedisStoreBench(client)
                await #expect(throws: StoreError.unavailable) { try await bench.session(bench.draft().key) }
            }
        }
    }
}
