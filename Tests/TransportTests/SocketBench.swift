import Glibc
import NIOCore
import Testing
import Transport

/// A loop with the sockets of a test. The other end of each is a descriptor that the test reads and writes itself.
final class SocketBench: Sendable {
    let group: TransportGroup
    var loop: TransportLoop { self.group.loops[0] }

    private init() throws {
        self.group = try TransportGroup(count: 1)
    }

    static func with(_ body: (SocketBench) async throws -> Void) async throws {
        let bench = try SocketBench()
        do {
            try await body(bench)
        } catch {
            try await bench.group.shutdownGracefully()
            throw error
        }
        try await bench.group.shutdownGracefully()
    }

    /// Runs `body` on the loop.
    func onLoop<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await self.loop.submit(body).get()
    }

    /// A started socket whose events `watcher` records, and its peer.
    func pair(_ watcher: Watcher = Watcher()) async throws -> (Watcher, Peer) {
        let loop = self.loop
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (own, other) = (ends[0], ends[1])
        _ = fcntl(own, F_SETFL, O_NONBLOCK)
        try await self.onLoop { try watcher.start(StreamSocket(own, on: loop)) }
        return (watcher, Peer(other))
    }

    /// The peer of a socket that was started, closed and freed, and a copy of the socket's descriptor.
    func closedPair() async throws -> (Peer, copy: Peer) {
        let loop = self.loop
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let own = ends[0]
        let copy = Peer(dup(own))
        try await self.onLoop {
            let stream = StreamSocket(own, on: loop)
            try stream.start(Watcher())
            stream.close()
        }
        return (Peer(ends[1]), copy)
    }

    /// The same over TCP, where a connection can be reset.
    func connection(_ watcher: Watcher = Watcher()) async throws -> (Watcher, Peer) {
        let loop = self.loop
        let listener = try Peer.listener()
        let promise = loop.makePromise(of: Void.self)
        try await self.onLoop {
            _ = ConnectingSocket.begin(listener.address, on: loop, .seconds(10)) { result in
                promise.completeWith(Result { try watcher.start(try result.get()) })
            }
        }
        try await promise.futureResult.get()
        return (watcher, try listener.accept())
    }
}

/// Records what happens on a stream. Used on the loop.
final class Watcher: StreamHandler, @unchecked Sendable {
    private(set) var stream: StreamSocket?
    private(set) var received: [UInt8] = []
    private(set) var isClosed = false
    private(set) var isClean = false
    private(set) var hasOutputEnded = false
    private(set) var becameWritableCount = 0
    private(set) var hasInputEnded = false
    /// Whether the stream stays open when the peer sends nothing more.
    var staysOpen = false
    /// Called at each arrival of bytes.
    var onReceived: (Watcher) -> Void = { _ in }
    private var waiting: [(condition: (Watcher) -> Bool, promise: EventLoopPromise<Void>)] = []

    func start(_ stream: StreamSocket) throws {
        self.stream = stream
        try stream.start(self)
    }

    func received(_ buffer: inout ByteBuffer) {
        self.received += buffer.readableBytesView
        self.onReceived(self)
        self.look()
    }

    func becameWritable() {
        self.becameWritableCount += 1
        self.look()
    }

    func outputEnded() {
        self.hasOutputEnded = true
        self.look()
    }

    func inputEnded() -> Bool {
        self.hasInputEnded = true
        self.look()
        return self.staysOpen
    }

    func closed(isClean: Bool) {
        self.isClosed = true
        self.isClean = isClean
        self.look()
    }

    private func look() {
        let met = self.waiting.filter { $0.condition(self) }
        self.waiting.removeAll { $0.condition(self) }
        for wait in met { wait.promise.succeed(()) }
    }

    /// Waits until the condition holds.
    func until(_ bench: SocketBench, _ condition: @escaping @Sendable (Watcher) -> Bool) async throws {
        let loop = bench.loop
        let future = loop.flatSubmit {
            let promise = loop.makePromise(of: Void.self)
            if condition(self) { promise.succeed(()) } else { self.waiting.append((condition, promise)) }
            return promise.futureResult
        }
        try await future.get()
    }

    /// Waits for the end, and returns whether it was clean.
    func end(_ bench: SocketBench) async throws -> Bool {
        try await self.until(bench) { $0.isClosed }
        return try await bench.onLoop { self.isClean }
    }
}

/// The other end of a socket: a blocking descriptor.
final class Peer: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        Glibc.close(self.descriptor)
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.send(self.descriptor, $0.baseAddress, $0.count, 0x4000) }
            try #require(count > 0)
            sent += count
        }
    }

    /// Reads so many bytes, or up to the end.
    func read(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < count {
            let size = recv(self.descriptor, &part, min(part.count, count - bytes.count), 0)
            if size <= 0 { break }
            bytes += part[..<size]
        }
        return bytes
    }

    /// The error of the next read; 0: it has none.
    func readError() -> Int32 {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, 0) < 0 ? errno : 0
    }

    /// The bytes that the other end's system has not acknowledged (tcp(7), `SIOCOUTQ`).
    var unacknowledgedBytes: Int {
        var count: Int32 = 0
        return ioctl(self.descriptor, 0x5411, &count) == 0 ? Int(count) : -1
    }

    func endOutput() {
        shutdown(self.descriptor, Int32(SHUT_WR))
    }

    /// Makes writes to this end fail.
    func shutDownInput() {
        shutdown(self.descriptor, Int32(SHUT_RD))
    }

    /// Makes `close` a reset.
    func resetsWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// A socket that listens on a free port.
    static func listener() throws -> Listening {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        try #require(address.withSockAddr { bind(descriptor, $0, socklen_t($1)) } == 0)
        try #require(listen(descriptor, 8) == 0)
        let port = withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { memory -> UInt16? in
            var size = socklen_t(memory.count)
            guard let start = memory.baseAddress,
                getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &size) == 0
            else { return nil }
            return UInt16(bigEndian: start.load(fromByteOffset: 2, as: UInt16.self))
        }
        let bound = try SocketAddress(ipAddress: "127.0.0.1", port: Int(try #require(port)))
        return Listening(descriptor: Peer(descriptor), address: bound)
    }

    struct Listening: Sendable {
        fileprivate let descriptor: Peer
        let address: SocketAddress

        func accept() throws -> Peer {
            let descriptor = Glibc.accept(self.descriptor.descriptor, nil, nil)
            try #require(descriptor >= 0)
            return Peer(descriptor)
        }
    }

    /// Connects to a port of this machine.
    static func connect(to port: Int) throws -> Peer {
        let peer = Peer(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        try #require(address.withSockAddr { Glibc.connect(peer.descriptor, $0, socklen_t($1)) } == 0)
        return peer
    }
}

/// Bytes of which no two runs of the same length look alike.
func someBytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &* 7) }
}
