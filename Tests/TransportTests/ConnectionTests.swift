import AddressIntelligence
import Glibc
import NIOCore
import Testing
import Transport

/// How connections are made and accepted.
@Suite("Connections") struct ConnectionTests {
    /// Accepts clients while it has room. Used on the loop.
    private final class Door: ClientAcceptor, @unchecked Sendable {
        var room = 0
        private(set) var addresses: [IPAddress] = []
        var socket: ListeningSocket?

        func hasRoom() -> Bool { self.room > 0 }
        func accepted(_ descriptor: Int32, from address: IPAddress) {
            self.room -= 1
            self.addresses.append(address)
            close(descriptor)
        }
        func acceptingFailed() {}
    }

    private func door(_ bench: SocketBench, _ host: String, room: Int) async throws -> (Door, port: Int) {
        let door = Door()
        door.room = room
        let address = try SocketAddress(ipAddress: host, port: 0)
        let loop = bench.loop
        let port = try await bench.onLoop {
            let socket = try ListeningSocket(address, backlog: 16, on: loop)
            try socket.start(door)
            door.socket = socket
            return socket.port
        }
        return (door, port)
    }

    @Test(arguments: ["127.0.0.1", "::ffff:127.0.0.1"]) func tellsTheClientsAddress(_ host: String) async throws {
        try await SocketBench.with { bench in
            let (door, port) = try await self.door(bench, host, room: 1)
            #expect(try Peer.connect(to: port).read(1).isEmpty)
            #expect(try await bench.onLoop { door.addresses == [IPAddress(v4: 0x7F00_0001)] })
        }
    }

    @Test func clientsWaitUntilThereIsRoom() async throws {
        try await SocketBench.with { bench in
            let (door, port) = try await self.door(bench, "127.0.0.1", room: 1)
            #expect(try Peer.connect(to: port).read(1).isEmpty)
            let waiting = try Peer.connect(to: port)
            #expect(try await bench.onLoop { door.addresses.count } == 1)
            try await bench.onLoop {
                door.room = 1
                door.socket?.resume()
            }
            #expect(waiting.read(1).isEmpty)
            #expect(try await bench.onLoop { door.addresses.count } == 2)
        }
    }

    @Test func aClosedListenerRefuses() async throws {
        try await SocketBench.with { bench in
            let (door, port) = try await self.door(bench, "127.0.0.1", room: 1)
            try await bench.onLoop { door.socket?.close() }
            await #expect(throws: IOError.self) { try await self.channel(bench, port: port) }
        }
    }

    /// A channel to a port of this machine, with what comes on it.
    private func channel(_ bench: SocketBench, port: Int) async throws -> (PipelineChannel, Inbox) {
        let inbox = Inbox(bench.loop)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        let channel = PipelineChannel.connect(to: address, on: bench.loop, timeout: .seconds(10)) {
            try $0.pipeline.syncOperations.addHandler(inbox)
        }
        do {
            return (try await channel.get(), inbox)
        } catch {
            inbox.ended.fail(error)
            throw error
        }
    }

    /// The last handler of a channel.
    private final class Inbox: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = ByteBuffer

        let ended: EventLoopPromise<[UInt8]>
        private var bytes: [UInt8] = []
        private(set) var hasFailed = false

        init(_ loop: TransportLoop) {
            self.ended = loop.makePromise()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.bytes += self.unwrapInboundIn(data).readableBytesView
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.hasFailed = true
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.ended.succeed(self.bytes)
        }
    }

    @Test func aChannelReadsAndWritesThroughItsPipeline() async throws {
        try await SocketBench.with { bench in
            let listener = try Peer.listener()
            let (channel, inbox) = try await self.channel(bench, port: listener.address.port ?? 0)
            let peer = try listener.accept()
            #expect(channel.isActive)
            try await channel.writeAndFlush(ByteBuffer(string: "hello"))
            #expect(peer.read(5) == Array("hello".utf8))
            try peer.send(someBytes(100_000))
            peer.endOutput()
            #expect(try await inbox.ended.futureResult.get() == someBytes(100_000))
            try await channel.closeFuture.get()
            #expect(!channel.isActive && !inbox.hasFailed)
            await #expect(throws: ChannelError.self) { try await channel.writeAndFlush(ByteBuffer(string: "late")) }
        }
    }

    @Test func aWriteIsDoneWhenItIsSent() async throws {
        try await SocketBench.with { bench in
            let listener = try Peer.listener()
            let (channel, _) = try await self.channel(bench, port: listener.address.port ?? 0)
            let peer = try listener.accept()
            let size = 20_000_000
            async let written: Void = channel.writeAndFlush(ByteBuffer(bytes: someBytes(size)))
            #expect(peer.read(size).count == size)
            try await written
            try await channel.close()
            #expect(peer.read(1).isEmpty)
        }
    }

    /// A local socket refuses more clients than its server has accepted (EAGAIN), and nothing tells when it takes one.
    @Test func aLocalServerThatAcceptsSlowlyIsAskedAgain() async throws {
        try await SocketBench.with { bench in
            let path = "/tmp/sallyport-\(UInt64.random(in: .min ... .max)).sock"
            defer { unlink(path) }
            let address = try SocketAddress(unixDomainSocketPath: path)
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let listener = socket(AF_UNIX, type, 0)
            defer { close(listener) }
            try #require(address.withSockAddr { bind(listener, $0, socklen_t($1)) } == 0)
            try #require(listen(listener, 1) == 0)
            var clients: [Int32] = []
            defer { for client in clients { close(client) } }
            var error: Int32 = 0
            while error == 0, clients.count < 64 {
                let client = socket(AF_UNIX, type, 0)
                clients.append(client)
                if address.withSockAddr({ connect(client, $0, socklen_t($1)) }) != 0 { error = errno }
            }
            #expect(error == EAGAIN)
            let loop = bench.loop
            let promise = loop.makePromise(of: Void.self)
            try await bench.onLoop {
                _ = ConnectingSocket.begin(address, on: loop, .seconds(300)) { result in
                    promise.completeWith(Result { try result.get().close() })
                }
                // It waits now, for longer than a busy machine takes to accept. One that is given up meanwhile leaves
                // nothing behind.
                _ = ConnectingSocket.begin(address, on: loop, .milliseconds(1)) { _ in }
            }
            for _ in clients.dropLast() { close(accept(listener, nil, nil)) }
            try await promise.futureResult.get()
        }
    }

    @Test func aResetIsAnErrorInThePipeline() async throws {
        try await SocketBench.with { bench in
            let listener = try Peer.listener()
            let (_, inbox) = try await self.channel(bench, port: listener.address.port ?? 0)
            try listener.accept().resetsWhenClosed()
            _ = try await inbox.ended.futureResult.get()
            #expect(inbox.hasFailed)
        }
    }

    @Test func theFirstAddressThatAnswersIsUsed() async throws {
        try await SocketBench.with { bench in
            let listener = try Peer.listener()
            // The name has an IPv6 address as well, where nobody listens.
            let channel = PipelineChannel.connect(
                toHost: "localhost",
                port: listener.address.port ?? 0,
                on: bench.loop,
                timeout: .seconds(10)
            ) { _ in }
            #expect(try await channel.get().isActive)
            _ = try listener.accept()
        }
    }

    @Test func anUnknownNameIsAnError() async throws {
        try await SocketBench.with { bench in
            let channel = PipelineChannel.connect(
                toHost: "nowhere.invalid",
                port: 1,
                on: bench.loop,
                timeout: .seconds(30)
            ) { _ in }
            await #expect(throws: UnknownHost.self) { try await channel.get() }
        }
    }
}
