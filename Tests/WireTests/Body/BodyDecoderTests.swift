import FuzzTargets
import NIOCore
import RequestPath
import Testing
import Transport

/// Bodies are passed on with new framing, whatever the sizes of the pieces in which they arrive.
@Suite struct BodyDecoderTests {
    private final class Sink: ByteStream {
        private(set) var sent: [UInt8] = []
        private var queued: [UInt8] = []
        let isWritable = true
        let hasUnreadBytes = false
        let unacknowledgedBytes = 0

        func start(_ handler: any StreamHandler) {}

        func write(_ bytes: ByteBuffer) {
            self.queued += Array(bytes.readableBytesView)
        }

        func writeAndFlush(_ bytes: ByteBuffer) {
            self.write(bytes)
            self.flush()
        }

        func flush() {
            self.sent += self.queued
            self.queued = []
        }

        func pause() {}
        func resume() {}
        func endOutput() {}
        func close() {}
    }

    /// The output when `bytes` arrive in pieces of `step`.
    private static func pass(
        _ bytes: [UInt8],
        _ framing: BodyFraming,
        as outgoing: OutgoingFraming,
        step: Int = .max,
        thenCloses: Bool = false
    ) throws -> (progress: BodyProgress, sent: [UInt8], rest: [UInt8], count: Int) {
        let sink = Sink()
        let stage = Stage(allocator: ByteBufferAllocator())
        var collection = Stage.Collection()
        var decoder = BodyDecoder(framing)
        var progress = decoder.isDone ? BodyProgress.end : .more
        var input = ByteBuffer()
        func flush() {
            if progress == .end { stage.end(&collection, as: outgoing) }
            stage.flush(collection, to: sink, exactly: step == 1)
        }
        var start = 0
        while start < bytes.count {
            let end = step < bytes.count - start ? start + step : bytes.count
            input.writeBytes(bytes[start..<end])
            start = end
            guard progress == .more else { continue }
            progress = decoder.decode(&input) { count, content in
                stage.take(count, of: &content, &collection, as: outgoing, to: sink)
            }
            flush()
        }
        if thenCloses, progress == .more {
            progress = decoder.endsWithConnection ? .end : .malformed
            flush()
        }
        return (progress, sink.sent, Array(input.readableBytesView), decoder.byteCount)
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(arguments: [1, 2, 3, 100]) func aLengthPassesAsItIs(_ step: Int) throws {
        let result = try Self.pass(Array("hello, worldGET / HTTP/1.1".utf8), .length(12), as: .asIs, step: step)
        #expect(result.progress == .end)
        #expect(Self.text(result.sent) == "hello, world")
        #expect(Self.text(result.rest) == "GET / HTTP/1.1")
        #expect(result.count == 12)
    }

    @Test func aMessageWithoutABodyTakesNothing() throws {
        for framing in [BodyFraming.none, .length(0)] {
            let result = try Self.pass(Array("GET".utf8), framing, as: .asIs)
            #expect(result.progress == .end && result.sent.isEmpty && Self.text(result.rest) == "GET")
        }
    }

    @Test(arguments: [1, 2, 3, 5, 100]) func chunksAreRewrittenWithoutExtensionsAndTrailers(_ step: Int) throws {
        let text = "5;evil=\"x\"\r\nhello\r\n00007\r\n, world\r\n0;last\r\nX-Auth-Subject: root\r\n\r\nrest"
        let result = try Self.pass(Array(text.utf8), .chunked, as: .chunked, step: step)
        #expect(result.progress == .end)
        #expect(Self.text(result.rest) == "rest")
        #expect(result.count == 12)
        #expect(!Self.text(result.sent).contains(";") && !Self.text(result.sent).contains("X-Auth"))
        #expect(ChunkedDecoderTests.decode(Self.text(result.sent)) == .content("hello, world", rest: ""))
        if step == 100 { #expect(Self.text(result.sent) == "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n") }
    }

    @Test func chunksPassRawToAnOldClient() throws {
        let result = try Self.pass(Array("5\r\nhello\r\n0\r\n\r\n".utf8), .chunked, as: .untilClose)
        #expect(result.progress == .end && Self.text(result.sent) == "hello")
    }

    @Test(arguments: [1, 4, 100]) func anOpenEndBecomesChunks(_ step: Int) throws {
        let result = try Self.pass(Array("hello, world".utf8), .untilClose, as: .chunked, step: step, thenCloses: true)
        #expect(result.progress == .end)
        #expect(ChunkedDecoderTests.decode(Self.text(result.sent)) == .content("hello, world", rest: ""))
        let raw = try Self.pass(Array("hello".utf8), .untilClose, as: .untilClose, thenCloses: true)
        #expect(raw.progress == .end && Self.text(raw.sent) == "hello")
        let empty = try Self.pass([], .untilClose, as: .chunked, thenCloses: true)
        #expect(empty.progress == .end && Self.text(empty.sent) == "0\r\n\r\n")
    }

    /// Large pieces are passed on as slices of their buffer, with the same order and content.
    @Test(arguments: [BodyFraming.length(300_000), .untilClose, .chunked], [65_536, 8193, 1000])
    func largeBodiesPassWhole(_ framing: BodyFraming, _ step: Int) throws {
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let bytes = framing == .chunked ? Array("493e0\r\n".utf8) + content + Array("\r\n0\r\n\r\n".utf8) : content
        let outgoing: OutgoingFraming = framing == .length(300_000) ? .asIs : .chunked
        let result = try Self.pass(bytes, framing, as: outgoing, step: step, thenCloses: true)
        #expect(result.progress == .end && result.count == 300_000 && result.rest.isEmpty)
        if outgoing == .asIs {
            #expect(result.sent == content)
        } else {
            var buffer = ByteBuffer(bytes: result.sent)
            var decoded: [UInt8] = []
            var decoder = BodyDecoder(.chunked)
            #expect(decoder.collect(&buffer, into: &decoded) == .end)
            #expect(decoded == content)
        }
    }

    // MARK: Bodies that are not complete

    @Test(arguments: [
        ("5\r\nhello\r\n", BodyFraming.chunked), ("5\r\nhel", .chunked), ("", .chunked), ("0\r\n", .chunked),
        ("hell", .length(5)), ("", .length(5)),
    ]) func aTruncatedBodyIsNoBody(_ text: String, _ framing: BodyFraming) throws {
        for outgoing in [OutgoingFraming.asIs, .chunked, .untilClose] {
            let result = try Self.pass(Array(text.utf8), framing, as: outgoing, thenCloses: true)
            #expect(result.progress == .malformed)
            #expect(!Self.text(result.sent).hasSuffix("0\r\n\r\n"))
        }
    }

    @Test(arguments: ["5\r\nhelloX", "5\r\nhello\r\nx", "5\r\nhello\r\n0\r\n\n", "zz"], [1, 100])
    func aBrokenChunkNeverEndsTheBody(_ text: String, _ step: Int) throws {
        let result = try Self.pass(Array(text.utf8), .chunked, as: .chunked, step: step)
        #expect(result.progress == .malformed)
        #expect(!Self.text(result.sent).hasSuffix("0\r\n\r\n"))
    }

    @Test func collectsAndDiscards() {
        for framing in [BodyFraming.chunked, .length(15)] {
            var input = ByteBuffer(string: "5\r\nhello\r\n0\r\n\r\nrest")
            var collected: [UInt8] = []
            var decoder = BodyDecoder(framing)
            #expect(decoder.collect(&input, into: &collected) == .end)
            #expect(Self.text(collected) == (framing == .chunked ? "hello" : "5\r\nhello\r\n0\r\n\r\n"))
            #expect(String(buffer: input) == "rest" && decoder.isDone)
            var again = ByteBuffer(string: "5\r\nhello\r\n0\r\n\r\nrest")
            var discarding = BodyDecoder(framing)
            #expect(discarding.discard(&again) == .end && String(buffer: again) == "rest")
        }
        #expect(BodyDecoder(.length(5)).misses(moreThan: 4) && !BodyDecoder(.length(5)).misses(moreThan: 5))
        #expect(!BodyDecoder(.chunked).misses(moreThan: 0) && !BodyDecoder(.none).misses(moreThan: 0))
        #expect(BodyDecoder(.untilClose).endsWithConnection && !BodyDecoder(.chunked).endsWithConnection)
    }

    /// What a connection has collected and not sent is not sent by another one, nor by itself behind that.
    @Test func aCollectionIsSentByItsConnectionOnly() {
        let stage = Stage(allocator: ByteBufferAllocator())
        var (first, second) = (Stage.Collection(), Stage.Collection())
        let (one, other) = (Sink(), Sink())
        stage.append(&first) { $0.writeString("secret") }
        stage.flush(second, to: other, exactly: true)
        stage.append(&second) { $0.writeString("public") }
        stage.flush(first, to: one, exactly: true)
        stage.flush(second, to: other, exactly: false)
        stage.flush(second, to: other, exactly: false)
        #expect(one.sent.isEmpty && Self.text(other.sent) == "public")
    }
}
