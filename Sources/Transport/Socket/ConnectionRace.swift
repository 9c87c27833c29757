import NIOCore

/// Connects to the first of several addresses that answers (RFC 8305 without its sorting). Used on its loop.
final class ConnectionRace {
    /// Called once with the connected socket, which has to be started, or with the first error.
    typealias Then = (Result<(StreamSocket, SocketAddress), any Error>) -> Void

    /// How long one address is waited for before the next is tried as well.
    private static let headStart = TimeAmount.milliseconds(250)

    private let addresses: [SocketAddress]
    private let loop: TransportLoop
    private let deadline: NIODeadline
    private var then: Then?
    private var next = 0
    private var runningCount = 0
    private var firstError: (any Error)?

    init(_ addresses: [SocketAddress], on loop: TransportLoop, timeout: TimeAmount, _ then: @escaping Then) {
        self.addresses = addresses
        self.loop = loop
        self.deadline = .now() + timeout
        self.then = then
    }

    /// Begins with the first address.
    func start() {
        self.tryNext()
    }

    private func tryNext() {
        guard self.then != nil, self.next < self.addresses.count else { return }
        let address = self.addresses[self.next]
        self.next += 1
        self.runningCount += 1
        ConnectingSocket.connect(to: address, on: self.loop, timeout: max(self.deadline - .now(), .nanoseconds(0))) {
            self.ended($0, address)
        }
        if self.next < self.addresses.count {
            self.loop.assumeIsolated().scheduleTask(in: Self.headStart) { self.tryNext() }
        }
    }

    private func ended(_ result: Result<StreamSocket, any Error>, _ address: SocketAddress) {
        self.runningCount -= 1
        switch result {
        case .success(let socket):
            // A socket that comes too late is closed, because nobody keeps it.
            self.then.take()?(.success((socket, address)))
        case .failure(let error):
            if self.firstError == nil { self.firstError = error }
            self.tryNext()
            if self.runningCount == 0 { self.then.take()?(.failure(self.firstError ?? error)) }
        }
    }
}
