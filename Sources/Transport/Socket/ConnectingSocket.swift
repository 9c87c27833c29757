import CLinux
import Glibc
package import NIOCore

/// The error of a connect for which the system has no local port left: connections to the address use all of them.
package struct NoLocalPort: Error, CustomStringConvertible {
    package let description =
        "no local port is left for it: widen net.ipv4.ip_local_port_range, or set net.ipv4.tcp_tw_reuse to 1"
}

/// A socket that is being connected.
package final class ConnectingSocket: EventSource {
    /// Called on the loop with the connected socket, before its `start`, or with the error.
    package typealias Then = (Result<StreamSocket, any Error>) -> Void

    private let loop: TransportLoop
    private var descriptor: Int32
    private var timer: Scheduled<Void>?
    /// True while the loop reports events to this object.
    private var isListed = false
    /// The timer of the next retry.
    private var pause: Scheduled<Void>?
    /// The pause before a retry while the backlog of a local socket is full. No event reports free space in the
    /// backlog.
    private static let retryPause = TimeAmount.milliseconds(10)
    private var then: Then?

    private init(_ descriptor: Int32, on loop: TransportLoop, _ then: @escaping Then) {
        self.descriptor = descriptor
        self.loop = loop
        self.then = then
    }

    /// Connects to `address`. `then` is not called before this function has returned.
    ///
    /// - Returns: The socket, for cancelling; `nil` if connecting has already failed. `then` reports the failure.
    @discardableResult
    package static func begin(
        _ address: SocketAddress,
        on loop: TransportLoop,
        _ timeout: TimeAmount,
        _ then: @escaping Then
    ) -> ConnectingSocket? {
        do {
            let socket = ConnectingSocket(try Self.open(address), on: loop, then)
            try socket.begin(address, timeout)
            return socket
        } catch {
            loop.assumeIsolated().execute { then(.failure(error)) }
            return nil
        }
    }

    /// Stops connecting without calling `then`.
    func cancel() {
        if self.then != nil {
            self.then = { _ in }
            self.end(.failure(ChannelError.alreadyClosed))
        }
    }

    private static func open(_ address: SocketAddress) throws -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try System.check(socket(address.protocol.rawValue, type, 0), "socket")
        var on: Int32 = 1
        // Fails for a local socket, which does not have the option.
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    private func begin(_ address: SocketAddress, _ timeout: TimeAmount) throws {
        do {
            try self.connect(address)
        } catch {
            close(self.descriptor)
            throw error
        }
        self.timer = self.loop.assumeIsolated().scheduleTask(in: timeout) {
            self.end(.failure(ChannelError.connectTimeout(timeout)))
        }
    }

    private func connect(_ address: SocketAddress) throws {
        let result = address.withSockAddr { Glibc.connect(self.descriptor, $0, socklen_t($1)) }
        if result != 0, errno == EAGAIN, case .unixDomainSocket = address {
            self.pause = self.loop.assumeIsolated().scheduleTask(in: Self.retryPause) { self.connectAgain(address) }
            return
        }
        if result != 0, errno != EINPROGRESS {
            let error = System.error("connect")
            if error.errnoCode == EADDRNOTAVAIL, Self.hasSource(for: address) { throw NoLocalPort() }
            throw error
        }
        try self.loop.add(self, self.descriptor, events: Events.output | Events.once)
        self.isListed = true
    }

    /// Whether this machine has an address from which `address` can be reached. Without one, connecting also fails with
    /// EADDRNOTAVAIL, but then it does so for UDP, too.
    private static func hasSource(for address: SocketAddress) -> Bool {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.protocol.rawValue, type, 0)
        defer { close(descriptor) }
        return address.withSockAddr { Glibc.connect(descriptor, $0, socklen_t($1)) } == 0
    }

    private func connectAgain(_ address: SocketAddress) {
        self.pause = nil
        guard self.then != nil else { return }
        do {
            try self.connect(address)
        } catch {
            self.end(.failure(error))
        }
    }

    override func ready(_ events: UInt32, on loop: TransportLoop) {
        guard self.then != nil else { return }
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        if error != 0 { return self.end(.failure(IOError(errnoCode: error, reason: "connect"))) }
        guard !self.isConnectedToItself else {
            System.resetOnClose(self.descriptor)
            return self.end(.failure(IOError(errnoCode: ECONNREFUSED, reason: "connect")))
        }
        let socket = StreamSocket(connected: self.descriptor, on: self.loop)
        self.descriptor = -1
        self.end(.success(socket))
    }

    /// Whether the system chose the server's port as the local port. Nobody listens there: the socket has connected to
    /// itself (RFC 9293 3.5, simultaneous open). It is then closed with RST, because it would keep the server from
    /// using its port for a minute.
    private var isConnectedToItself: Bool {
        let name = System.name(of: self.descriptor, getsockname)
        return name != nil && name == System.name(of: self.descriptor, getpeername)
    }

    override func loopEnds() {
        self.end(.failure(EventLoopError.shutdown))
    }

    private func end(_ result: Result<StreamSocket, any Error>) {
        guard let then = self.then.take() else { return }
        self.timer?.cancel()
        self.timer = nil
        self.pause?.cancel()
        self.pause = nil
        if self.descriptor >= 0 {
            self.loop.close(self.descriptor)
            self.descriptor = -1
        }
        if self.isListed { self.loop.remove(self) }
        then(result)
    }
}
