import NIOCore
import NIOEmbedded
import RedisStore
import Testing

/// A subscriber's bytes, without a socket.
@Suite struct SubscriptionHandlerTests {
    private final class Told {
        var ups = 0
        var batches: [[SubscriptionMessage]] = []
        var ends: [RedisError.Cause] = []
    }

    private static let plan = SubscriptionPlan(
        greeting: [],
        demandsPrimary: true,
        prefixes: ["a:"],
        channels: ["c"],
        handshakeTimeout: .seconds(60)
    )

    private static let handshake =
        "$30\r\nrole:master\r\nmaster_replid:a\r\n\r\n:7\r\n+OK\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
    private static let messages =
        "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n*2\r\n$3\r\na:1\r\n$3\r\na:2\r\n"
        + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$-1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"

    private func channel(_ told: Told) throws -> EmbeddedChannel {
        let handler = SubscriptionHandler(
            Self.plan,
            events: SubscriptionHandler.Events(
                up: { told.ups += 1 },
                messages: { told.batches.append($0) },
                ended: { cause, _ in told.ends.append(cause) }
            )
        )
        let channel = EmbeddedChannel(handler: handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// Feeds the text in pieces of this many bytes.
    private func feed(_ text: String, to channel: EmbeddedChannel, pieces size: Int) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try channel.writeInbound(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
    }

    @Test("However the bytes are cut, the messages are the same", arguments: [1, 2, 3, 7, 1000])
    func split(size: Int) throws {
        let told = Told()
        let channel = try self.channel(told)
        try self.feed(Self.handshake, to: channel, pieces: size)
        #expect(told.ups == 1)
        var sent = ""
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { sent += String(buffer: buffer) }
        #expect(sent.hasPrefix("*2\r\n$4\r\nINFO\r\n"))
        #expect(sent.contains("\r\n$8\r\nREDIRECT\r\n$1\r\n7\r\n$5\r\nBCAST\r\n$6\r\nPREFIX\r\n$2\r\na:\r\n"))
        #expect(sent.hasSuffix("*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n"))
        try self.feed(Self.messages, to: channel, pieces: size)
        let payloads: [SubscriptionMessage.Payload] = [
            .keys([Array("a:1".utf8), Array("a:2".utf8)]), .allKeys, .text(Array("x".utf8)),
        ]
        #expect(told.batches.flatMap { $0 }.map(\.payload) == payloads)
        // Messages that arrive together are passed on together.
        #expect(told.batches.count == (size == 1000 ? 1 : 3))
        #expect(told.ends.isEmpty)
        try channel.close().wait()
        #expect(told.ends == [.closed])
    }

    @Test("Messages before the end are delivered before it, and none after it")
    func end() throws {
        let told = Told()
        let channel = try self.channel(told)
        try self.feed(Self.handshake + Self.messages + "-ERR no\r\n" + Self.messages, to: channel, pieces: 10_000)
        #expect(told.batches.map(\.count) == [3])
        #expect(told.ends == [.protocolError(.unsolicited)])
        #expect(!channel.isActive)
    }

    @Test("An endless message is cut off and not stored")
    func flood() throws {
        let told = Told()
        let channel = try self.channel(told)
        try self.feed(Self.handshake + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n*2000000000\r\n", to: channel, pieces: 10_000)
        let keys = String(repeating: "$3\r\na:1\r\n", count: 1000)
        for _ in 0..<100 where told.ends.isEmpty { try? self.feed(keys, to: channel, pieces: 10_000) }
        #expect(told.ends == [.protocolError(.malformed)])
        #expect(told.batches.isEmpty)
    }
}
