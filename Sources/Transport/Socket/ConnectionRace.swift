package import NIOCore

/// Tries several addresses in turn until one accepts a connection (`AddressRace`). Used on its loop only.
package final class ConnectionRace {
    /// Called once with the connected socket, before its `start`, or with the first error.
    package typealias Then = (Result<(StreamSocket, SocketAddress), any Error>) -> Void

    private let addresses: [SocketAddress]
    private let loop: TransportLoop
    private let timeout: TimeAmount
    private let deadline: NIODeadline
    private let memory: AddressMemory?
    private var then: Then?
    private var race: AddressRace
    private var sockets: [Int: ConnectingSocket] = [:]
    private var timer: Scheduled<Void>?
    private var firstError: (any Error)?

    /// - Parameters:
    ///   - timeout: The time limit for one address.
    ///   - deadline: The deadline of the whole race.
    ///   - memory: Remembers addresses that have lost, so that they are tried last; `nil` disables this.
    package init(
        _ addresses: [SocketAddress],
        on loop: TransportLoop,
        timeout: TimeAmount,
        deadline: NIODeadline = .distantFuture,
        memory: AddressMemory? = nil,
        _ then: @escaping Then
    ) {
        self.addresses = (memory ?? AddressMemory()).order(addresses, now: .now())
        self.loop = loop
        self.timeout = timeout
        self.deadline = deadline
        self.memory = memory
        self.then = then
        self.race = AddressRace(count: addresses.count)
    }

    /// Begins with the first address.
    package func start() {
        self.follow(self.race.start(now: .now()))
    }

    /// Stops the race without calling `then`.
    package func cancel() {
        self.then = nil
        self.timer?.cancel()
        self.timer = nil
        for socket in self.sockets.values { socket.cancel() }
        self.sockets = [:]
    }

    private func follow(_ step: AddressRace.Step) {
        switch step {
        case .connect(let index): self.connect(index)
        case .wait: break
        case .won(let others, let losers):
            for index in losers { self.memory?.lost(self.addresses[index], now: .now()) }
            for index in others { self.sockets.removeValue(forKey: index)?.cancel() }
        case .lost: self.end(.failure(self.firstError ?? ChannelError.connectTimeout(self.timeout)))
        }
        self.awaitNextStart()
    }

    private func connect(_ index: Int) {
        let limit = min(self.timeout, max(self.deadline - .now(), .nanoseconds(0)))
        self.sockets[index] = ConnectingSocket.begin(self.addresses[index], on: self.loop, limit) {
            self.ended(index, $0)
        }
    }

    private func awaitNextStart() {
        self.timer?.cancel()
        self.timer = self.race.nextStart.map { start in
            self.loop.assumeIsolated().scheduleTask(deadline: start) { self.follow(self.race.start(now: .now())) }
        }
    }

    private func ended(_ index: Int, _ result: Result<StreamSocket, any Error>) {
        guard self.then != nil else { return }
        self.sockets[index] = nil
        switch result {
        case .success(let socket):
            let step = self.race.connected(index)
            self.memory?.answered(self.addresses[index])
            self.follow(step)
            self.end(.success((socket, self.addresses[index])))
        case .failure(let error):
            if self.firstError == nil { self.firstError = error }
            self.memory?.lost(self.addresses[index], now: .now())
            self.follow(self.race.failed(index, now: .now()))
        }
    }

    private func end(_ result: Result<(StreamSocket, SocketAddress), any Error>) {
        self.then.take()?(result)
    }
}
