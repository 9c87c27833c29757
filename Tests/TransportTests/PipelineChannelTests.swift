import Glibc
import NIOCore
import TestSupport
import Testing
import Transport

/// A channel of NIO on an accepted socket.
@Suite("A channel of an accepted socket") struct PipelineChannelTests {
    /// Keeps what it gets, and answers the end of the input.
    private final class Keeper: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        var kept: [ByteBuffer] = []
        var hasInputEnded = false
        var isInactive = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.kept.append(self.unwrapInboundIn(data)) }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed = event { self.hasInputEnded = true }
        }

        func channelInactive(context: ChannelHandlerContext) { self.isInactive = true }
    }

    private static func with(_ body: (SocketBench, Keeper, NIOLoopBound<PipelineChannel>, Peer) async throws -> Void)
        async throws
    {
        try await SocketBench.with { bench in
            let loop = bench.loop
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let (own, other) = (ends[0], ends[1])
            _ = fcntl(own, F_SETFL, O_NONBLOCK)
            let keeper = Keeper()
            let channel = try await bench.onLoop {
                let socket = StreamSocket(own, on: loop)
                // Its first bytes were read by another handler.
                try socket.start(Watcher())
                let channel = try PipelineChannel.begin(socket) {
                    try $0.pipeline.syncOperations.addHandler(keeper)
                }
                return NIOLoopBound(channel, eventLoop: loop)
            }
            try await body(bench, keeper, channel, Peer(other))
        }
    }

    private static func until(_ bench: SocketBench, _ condition: @escaping @Sendable () -> Bool) async throws {
        try await waitUntil { try await bench.onLoop { condition() } }
    }

    @Test("what a handler keeps is a copy of its size: the loop's large buffer stays the loop's")
    func copies() async throws {
        try await Self.with { bench, keeper, _, peer in
            for index in 0..<5 {
                try peer.send([UInt8](repeating: UInt8(index), count: 11))
                try await Self.until(bench) { keeper.kept.count == index + 1 }
            }
            try await bench.onLoop {
                // The loop's buffer has 64 KiB.
                for (index, buffer) in keeper.kept.enumerated() {
                    #expect(buffer.storageCapacity <= 64, "\(buffer.storageCapacity)")
                    #expect(Array(buffer.readableBytesView) == [UInt8](repeating: UInt8(index), count: 11))
                }
            }
        }
    }

    @Test("the peer may end its side first, and gets what is written then")
    func halfClosed() async throws {
        try await Self.with { bench, keeper, channel, peer in
            peer.endOutput()
            try await Self.until(bench) { keeper.hasInputEnded }
            try await bench.onLoop {
                #expect(!keeper.isInactive)
                channel.value.pipeline.syncOperations.writeAndFlush(NIOAny(ByteBuffer(string: "late")), promise: nil)
                channel.value.pipeline.syncOperations.close(mode: .all, promise: nil)
            }
            #expect(peer.read(9) == Array("late".utf8))
            try await Self.until(bench) { keeper.isInactive }
        }
    }

    @Test("closing sends what the system has not taken")
    func closesWhenSent() async throws {
        try await Self.with { bench, keeper, channel, peer in
            let all = someBytes(2_000_000)
            try await bench.onLoop {
                channel.value.pipeline.syncOperations.writeAndFlush(NIOAny(ByteBuffer(bytes: all)), promise: nil)
                channel.value.pipeline.syncOperations.close(mode: .all, promise: nil)
                #expect(!keeper.isInactive)
            }
            #expect(peer.read(all.count + 1) == all)
            try await Self.until(bench) { keeper.isInactive }
        }
    }
}
