import NIOCore
import NIOEmbedded
import RequestPath
import Testing

/// Bodies are relayed with new framing, whatever the sizes of the pieces in which they arrive.
@Suite struct BodyRelayTests {
    private final class Sink: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
    }

    /// The output when `bytes` arrive in pieces of `step`.
    private static func relay(
        _ bytes: [UInt8],
        _ framing: BodyFraming,
        as outgoing: OutgoingFraming,
        step: Int = .max,
        thenCloses: Bool = false
    ) throws -> (outcome: BodyRelay.Outcome, sent: [UInt8], rest: [UInt8], count: Int) {
        let channel = EmbeddedChannel()
        let sink = Sink()
        try channel.pipeline.syncOperations.addHandler(sink)
        let context = try channel.pipeline.syncOperations.context(handler: sink)
        let stage = Stage(allocator: channel.allocator)
        var relay = BodyRelay(framing)
        var outcome = relay.isDone ? BodyRelay.Outcome.end : .more
        var input = ByteBuffer()
        var start = 0
        while start < bytes.count {
            let end = step < bytes.count - start ? start + step : bytes.count
            input.writeBytes(bytes[start..<end])
            start = end
            guard outcome == .more else { continue }
            stage.begin()
            outcome = relay.relay(&input, as: outgoing, through: stage, to: context)
            stage.flush(to: context, exactly: step == 1)
        }
        if thenCloses, outcome == .more {
            stage.begin()
            outcome = relay.connectionEnded(as: outgoing, through: stage)
            stage.flush(to: context, exactly: step == 1)
        }
        var sent: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { sent += Array(buffer.readableBytesView) }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        return (outcome, sent, Array(input.readableBytesView), relay.byteCount)
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(arguments: [1, 2, 3, 100]) func aLengthPassesAsItIs(_ step: Int) throws {
        let result = try Self.relay(Array("hello, worldGET / HTTP/1.1".utf8), .length(12), as: .asIs, step: step)
        #expect(result.outcome == .end)
        #expect(Self.text(result.sent) == "hello, world")
        #expect(Self.text(result.rest) == "GET / HTTP/1.1")
        #expect(result.count == 12)
    }

    @Test func aMessageWithoutABodyTakesNothing() throws {
        for framing in [BodyFraming.none, .length(0)] {
            let result = try Self.relay(Array("GET".utf8), framing, as: .asIs)
            #expect(result.outcome == .end && result.sent.isEmpty && Self.text(result.rest) == "GET")
        }
    }

    @Test(arguments: [1, 2, 3, 5, 100]) func chunksAreRewrittenWithoutExtensionsAndTrailers(_ step: Int) throws {
        let text = "5;evil=\"x\"\r\nhello\r\n00007\r\n, world\r\n0;last\r\nX-Auth-Subject: root\r\n\r\nrest"
        let result = try Self.relay(Array(text.utf8), .chunked, as: .chunked, step: step)
        #expect(result.outcome == .end)
        #expect(Self.text(result.rest) == "rest")
        #expect(result.count == 12)
        #expect(!Self.text(result.sent).contains(";") && !Self.text(result.sent).contains("X-Auth"))
        #expect(ChunkedDecoderTests.decode(Self.text(result.sent)) == .content("hello, world", rest: ""))
        if step == 100 { #expect(Self.text(result.sent) == "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n") }
    }

    @Test func chunksPassRawToAnOldClient() throws {
        let result = try Self.relay(Array("5\r\nhello\r\n0\r\n\r\n".utf8), .chunked, as: .untilClose)
        #expect(result.outcome == .end && Self.text(result.sent) == "hello")
    }

    @Test(arguments: [1, 4, 100]) func anOpenEndBecomesChunks(_ step: Int) throws {
        let result = try Self.relay(Array("hello, world".utf8), .untilClose, as: .chunked, step: step, thenCloses: true)
        #expect(result.outcome == .end)
        #expect(ChunkedDecoderTests.decode(Self.text(result.sent)) == .content("hello, world", rest: ""))
        let raw = try Self.relay(Array("hello".utf8), .untilClose, as: .untilClose, thenCloses: true)
        #expect(raw.outcome == .end && Self.text(raw.sent) == "hello")
        let empty = try Self.relay([], .untilClose, as: .chunked, thenCloses: true)
        #expect(empty.outcome == .end && Self.text(empty.sent) == "0\r\n\r\n")
    }

    /// Large pieces are passed on as slices of their buffer, with the same order and content.
    @Test(arguments: [BodyFraming.length(300_000), .untilClose, .chunked], [65_536, 8193, 1000])
    func largeBodiesPassWhole(_ framing: BodyFraming, _ step: Int) throws {
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let bytes = framing == .chunked ? Array("493e0\r\n".utf8) + content + Array("\r\n0\r\n\r\n".utf8) : content
        let outgoing: OutgoingFraming = framing == .length(300_000) ? .asIs : .chunked
        let result = try Self.relay(bytes, framing, as: outgoing, step: step, thenCloses: true)
        #expect(result.outcome == .end && result.count == 300_000 && result.rest.isEmpty)
        if outgoing == .asIs {
            #expect(result.sent == content)
        } else {
            var buffer = ByteBuffer(bytes: result.sent)
            var decoded: [UInt8] = []
            var relay = BodyRelay(.chunked)
            #expect(relay.collect(&buffer, into: &decoded) == .end)
            #expect(decoded == content)
        }
    }

    // MARK: Bodies that are not complete

    @Test(arguments: [
        ("5\r\nhello\r\n", BodyFraming.chunked), ("5\r\nhel", .chunked), ("", .chunked), ("0\r\n", .chunked),
        ("hell", .length(5)), ("", .length(5)),
    ]) func aTruncatedBodyIsNoBody(_ text: String, _ framing: BodyFraming) throws {
        for outgoing in [OutgoingFraming.asIs, .chunked, .untilClose] {
            let result = try Self.relay(Array(text.utf8), framing, as: outgoing, thenCloses: true)
            #expect(result.outcome == .malformed)
            #expect(!Self.text(result.sent).hasSuffix("0\r\n\r\n"))
        }
    }

    @Test(arguments: ["5\r\nhelloX", "5\r\nhello\r\nx", "5\r\nhello\r\n0\r\n\n", "zz"], [1, 100])
    func aBrokenChunkNeverEndsTheBody(_ text: String, _ step: Int) throws {
        let result = try Self.relay(Array(text.utf8), .chunked, as: .chunked, step: step)
        #expect(result.outcome == .malformed)
        #expect(!Self.text(result.sent).hasSuffix("0\r\n\r\n"))
    }

    @Test func collectsAndDiscards() {
        for framing in [BodyFraming.chunked, .length(15)] {
            var input = ByteBuffer(string: "5\r\nhello\r\n0\r\n\r\nrest")
            var collected: [UInt8] = []
            var relay = BodyRelay(framing)
            #expect(relay.collect(&input, into: &collected) == .end)
            #expect(Self.text(collected) == (framing == .chunked ? "hello" : "5\r\nhello\r\n0\r\n\r\n"))
            #expect(String(buffer: input) == "rest" && relay.isDone)
            var again = ByteBuffer(string: "5\r\nhello\r\n0\r\n\r\nrest")
            var discarding = BodyRelay(framing)
            #expect(discarding.discard(&again) == .end && String(buffer: again) == "rest")
        }
        #expect(
            BodyRelay(.length(5)).remaining == 5 && BodyRelay(.chunked).remaining == nil
                && BodyRelay(.none).remaining == 0
        )
        #expect(BodyRelay(.untilClose).endsWithConnection && !BodyRelay(.chunked).endsWithConnection)
    }
}
