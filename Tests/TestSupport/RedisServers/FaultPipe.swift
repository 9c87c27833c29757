import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#endif

/// One connection through a `FaultProxy`. Confined to the loop of both of its channels.
final class FaultPipe {
    enum Side { case client, server }

    private enum Item {
        case bytes(ByteBuffer)
        /// The other side has closed.
        case end
    }

    /// What is still to be written to one side, in order, each part with its earliest time.
    private struct Lane {
        var items = CircularBuffer<(due: NIODeadline, item: Item)>()
        var timer: Scheduled<Void>?
    }

    /// The address of the client.
    let source: String
    private let client: any Channel
    private var server: (any Channel)?
    private var fault: FaultProxy.Fault
    private var toClient = Lane()
    private var toServer = Lane()
    private var counter = CommandCounter()
    /// The client has subscribed.
    private var isSubscriber = false
    /// Bytes sent to the client since the fault was set.
    private var sentCount = 0
    private var isCut = false

    init(client: any Channel, source: String, fault: FaultProxy.Fault) {
        self.client = client
        self.source = source
        self.fault = fault
    }

    /// Passes what arrives on one side to the pipe.
    final class End: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let pipe: FaultPipe
        private let side: Side

        init(_ pipe: FaultPipe, _ side: Side) {
            self.pipe = pipe
            self.side = side
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.pipe.received(self.unwrapInboundIn(data), from: self.side)
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.pipe.ended(self.side)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    func connected(to server: any Channel) {
        self.server = server
        if self.isCut { server.close(promise: nil) }
        self.pump(.server)
    }

    func apply(_ fault: FaultProxy.Fault) {
        self.fault = fault
        self.sentCount = 0
        if fault == .refused || fault == .closedAtOnce { return self.cut() }
        self.pump(.client)
        self.pump(.server)
    }

    /// Ends both connections at once, with a reset.
    func cut() {
        self.isCut = true
        Self.cut(self.client)
        if let server = self.server { Self.cut(server) }
    }

    static func cut(_ channel: any Channel) {
        let reset = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        (reset ?? channel.eventLoop.makeSucceededVoidFuture()).whenComplete { _ in channel.close(promise: nil) }
    }

    // MARK: Steps

    private func received(_ bytes: ByteBuffer, from side: Side) {
        let now = NIODeadline.now()
        if side == .client, !self.isSubscriber {
            self.isSubscriber = bytes.readableBytesView.firstRange(of: Array("SUBSCRIBE".utf8)) != nil
        }
        switch (side, self.fault) {
        case (.client, .answered(let line)):
            for _ in 0..<self.counter.take(bytes) {
                self.toClient.items.append((now, .bytes(ByteBuffer(string: "\(line)\r\n"))))
            }
            return self.pump(.client)
        case (.client, .delayed(let delay, _)):
            self.toServer.items.append((now + delay, .bytes(bytes)))
        case (.client, _):
            self.toServer.items.append((now, .bytes(bytes)))
        case (.server, .delayed(_, let delay)):
            self.toClient.items.append((now + delay, .bytes(bytes)))
        case (.server, _):
            self.toClient.items.append((now, .bytes(bytes)))
        }
        self.pump(side == .client ? .server : .client)
    }

    private func ended(_ side: Side) {
        switch side {
        case .client:
            self.toServer.items.append((.now(), .end))
            self.pump(.server)
        case .server:
            self.toClient.items.append((.now(), .end))
            self.pump(.client)
        }
    }

    /// Writes what is due.
    private func pump(_ side: Side) {
        let isHeld = self.fault == .hanging || self.fault == .deaf && side == .client && self.isSubscriber
        guard !isHeld, !self.isCut,
            let channel = side == .client ? self.client : self.server
        else { return }
        let lane = side == .client ? \FaultPipe.toClient : \FaultPipe.toServer
        while let (due, item) = self[keyPath: lane].items.first {
            guard due <= .now() else { return self.pump(side, lane, at: due) }
            self[keyPath: lane].items.removeFirst()
            switch item {
            case .end:
                channel.close(promise: nil)
            case .bytes(var bytes):
                if self.fault == .sliced, bytes.readableBytes > 1, let first = bytes.readSlice(length: 1) {
                    self.write(first, to: channel, side)
                    self[keyPath: lane].items.prepend((due, .bytes(bytes)))
                    // In a later turn of the loop, so that it is sent in its own packet.
                    return self.pump(side, lane, at: .now())
                }
                self.write(bytes, to: channel, side)
            }
        }
    }

    private func pump(_ side: Side, _ lane: ReferenceWritableKeyPath<FaultPipe, Lane>, at due: NIODeadline) {
        self[keyPath: lane].timer?.cancel()
        let pipe = NIOLoopBound(self, eventLoop: self.client.eventLoop)
        self[keyPath: lane].timer = self.client.eventLoop.scheduleTask(deadline: due) { pipe.value.pump(side) }
    }

    private func write(_ bytes: ByteBuffer, to channel: any Channel, _ side: Side) {
        guard side == .client, case .cut(let limit) = self.fault else {
            channel.writeAndFlush(bytes, promise: nil)
            return
        }
        let left = max(0, limit - self.sentCount)
        self.sentCount += bytes.readableBytes
        guard left < bytes.readableBytes else {
            channel.writeAndFlush(bytes, promise: nil)
            return
        }
        // Not with a reset, which might overtake the bytes.
        var part = bytes
        if let part = part.readSlice(length: left), left > 0 { channel.writeAndFlush(part, promise: nil) }
        self.isCut = true
        channel.close(promise: nil)
        self.server?.close(promise: nil)
    }
}

/// Counts commands of RESP (arrays of bulk strings) as they pass.
struct CommandCounter {
    private enum Place {
        /// Reading the line that begins a command or an argument; with the part that has arrived.
        case line([UInt8])
        /// Reading an argument; with the number of bytes to come, including CRLF.
        case argument(Int)
    }

    private var place = Place.line([])
    private var argumentsLeft = 0

    /// Takes the bytes that arrived and returns how many commands ended in them.
    mutating func take(_ bytes: ByteBuffer) -> Int {
        var ended = 0
        for byte in bytes.readableBytesView {
            switch self.place {
            case .argument(let left):
                self.place = left > 1 ? .argument(left - 1) : .line([])
                guard left == 1 else { continue }
                self.argumentsLeft -= 1
                if self.argumentsLeft == 0 { ended += 1 }
            case .line(var line):
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    self.place = .line(line)
                    continue
                }
                let number = Int(String(decoding: line.dropFirst().dropLast(), as: UTF8.self)) ?? 0
                if self.argumentsLeft == 0 {
                    self.argumentsLeft = number
                    self.place = .line([])
                } else {
                    self.place = .argument(number + 2)
                }
            }
        }
        return ended
    }
}
