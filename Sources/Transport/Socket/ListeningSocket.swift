package import AddressIntelligence
import CLinux
import Glibc
package import NIOCore

/// Accepts the clients of a listening socket. Called on its loop.
package protocol ClientAcceptor: AnyObject {
    /// Called when a client may be waiting. False leaves clients in the backlog until `ListeningSocket.resume`.
    func hasRoom() -> Bool
    /// Called with a new client's socket. The acceptor owns the socket from now on.
    func accepted(_ descriptor: Int32, from address: IPAddress)
    /// Called when the system has no descriptors or memory left. Accepting stops until `ListeningSocket.resume`.
    func acceptingFailed()
}

/// A listening socket. It accepts one client per event, so that the acceptor can stop after each client.
package final class ListeningSocket: EventSource {
    private let loop: TransportLoop
    private var descriptor: Int32
    /// Retained until the socket closes.
    private var acceptor: (any ClientAcceptor)?
    private var isPaused = false

    /// Binds an address and listens on it. Clients are accepted after `start`.
    ///
    /// - Throws: `IOError` for the call that failed.
    package init(_ address: SocketAddress, backlog: Int32, on loop: TransportLoop) throws {
        self.loop = loop
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        self.descriptor = try System.check(socket(address.protocol.rawValue, type, 0), "socket")
        super.init()
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(self.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        // Accepted sockets inherit the option.
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
        try System.check(address.withSockAddr { bind(self.descriptor, $0, socklen_t($1)) }, "bind")
        try System.check(listen(self.descriptor, backlog), "listen")
    }

    deinit {
        if self.descriptor >= 0 { Glibc.close(self.descriptor) }
    }

    /// The bound port, even if the system chose it; 0 if it cannot be read.
    package var port: Int {
        guard let name = System.name(of: self.descriptor, getsockname), name.count >= 4 else { return 0 }
        // The port has the same offset in the addresses of IPv4 and IPv6.
        return Int(name[2]) << 8 | Int(name[3])
    }

    /// Begins to accept. Called on the loop.
    package func start(_ acceptor: any ClientAcceptor) throws {
        try self.loop.add(self, self.descriptor, events: Events.input)
        self.acceptor = acceptor
    }

    override func ready(_ events: UInt32, on loop: TransportLoop) {
        guard let acceptor = self.acceptor, !self.isPaused else { return }
        guard acceptor.hasRoom() else { return self.pause() }
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let client = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                accept4(self.descriptor, $0, &size, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
            }
        }
        if client >= 0 { return acceptor.accepted(client, from: Self.address(address)) }
        switch errno {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            self.pause()
            acceptor.acceptingFailed()
        default:
            // The client has left already.
            break
        }
    }

    override func loopEnds() {
        self.close()
    }

    private static func address(_ storage: sockaddr_storage) -> IPAddress {
        withUnsafeBytes(of: storage) { bytes in
            let network =
                Int32(storage.ss_family) == AF_INET
                ? UnsafeRawBufferPointer(rebasing: bytes[4..<8]) : UnsafeRawBufferPointer(rebasing: bytes[8..<24])
            return IPAddress(networkOrder: network) ?? IPAddress(v4: 0)
        }
    }

    private func pause() {
        guard !self.isPaused else { return }
        self.isPaused = true
        self.loop.change(self, self.descriptor, events: 0)
    }

    /// Accepts again after a pause.
    package func resume() {
        guard self.isPaused, self.descriptor >= 0 else { return }
        self.isPaused = false
        self.loop.change(self, self.descriptor, events: Events.input)
    }

    /// Closes the socket. Clients in the backlog are rejected.
    package func close() {
        guard self.descriptor >= 0 else { return }
        self.loop.close(self.descriptor)
        self.descriptor = -1
        if self.acceptor.take() != nil { self.loop.remove(self) }
    }

    /// Calls `body` with the descriptor, for setting socket options.
    package func withDescriptor<Result>(_ body: (Int32) -> Result) -> Result { body(self.descriptor) }
}
