import AddressIntelligence
import Glibc
import NIOCore
package import Settings
import Synchronization
package import Transport

/// An error for the operator: an address that cannot be bound.
package struct ListenerError: Error, CustomStringConvertible {
    package let description: String

    /// Returns the meaning of a `bind` error, and a way to fix it if one is known.
    ///
    /// - Parameter setting: The settings key that contains the address.
    package static func reason(_ error: any Error, _ setting: String) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            "another process listens there, or has just used the port; stop it, or write another port in \(self.place(of: setting))"
        case EADDRNOTAVAIL: "this machine has no such address"
        case EACCES: "ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose another port"
        case let code?: String(cString: strerror(code))
        // For example, the zone of an IPv6 address is not an interface.
        case nil where error is SocketAddressError.UnknownHost: "this machine has no such address"
        case nil: "\(error)"
        }
    }

    /// Returns the key and its variable: `listen or SALLYPORT_LISTEN`.
    private static func place(of setting: String) -> String {
        Section.variable(of: setting).map { "\(setting) or \($0)" } ?? setting
    }
}

/// Accepts clients on one address and hands them over to the loops.
package final class Listener: Sendable {
    private static let backlog: Int32 = 4096

    let socket: NIOLoopBound<ListeningSocket>
    /// The bound port. The system chooses the port if the settings say 0.
    package let port: Int

    /// Binds `address`. The first of `loops` accepts clients, and connections are spread over all loops.
    ///
    /// - Parameters:
    ///   - role: The purpose of the listener.
    ///   - setting: The settings key that contains the address, for the error.
    /// - Throws: A `ListenerError` that names the address.
    package static func bind(
        _ address: ListenAddress,
        for role: ListenerRole = .clients(0),
        setting: String = "listen",
        loops: PathLoops,
        gate: ConnectionGate
    ) async throws -> Listener {
        let host = address.host.isEmpty ? "::" : address.host
        let acceptor = AcceptorParts(loops: loops, gate: gate, role: role)
        do {
            return try await Listener(host, address.port, acceptor)
        } catch {
            if address.host.isEmpty, let listener = try? await Listener("0.0.0.0", address.port, acceptor) {
                return listener
            }
            throw ListenerError(
                description:
                    "\(setting): \(ListenAddress(host: host, port: address.port)) cannot be bound: \(ListenerError.reason(error, setting))"
            )
        }
    }

    private init(_ host: String, _ port: Int, _ acceptor: AcceptorParts) async throws {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        let loop = acceptor.loops.accepting.transport
        (self.socket, self.port) = try await loop.submit {
            let socket = try ListeningSocket(address, backlog: Self.backlog, on: loop)
            try socket.start(Acceptor(socket, on: loop, acceptor))
            return (NIOLoopBound(socket, eventLoop: loop), socket.port)
        }.get()
    }

    /// Stops accepting clients. Open connections continue.
    package func close() async {
        try? await self.socket.eventLoop.submit { self.socket.value.close() }.get()
    }
}

/// The loops of the gateway's connections.
package final class PathLoops: Sendable {
    /// A loop with the event loop that runs it.
    package struct Place: Sendable {
        let transport: TransportLoop
        private let bound: NIOLoopBound<PathLoop>

        /// Binds the loop to `transport`. Called on `transport`.
        package init(_ loop: PathLoop, on transport: TransportLoop) {
            self.transport = transport
            self.bound = NIOLoopBound(loop, eventLoop: transport)
        }

        /// The loop. Used only on `transport`.
        var loop: PathLoop { self.bound.value }
    }

    private let all: [Place]
    private let turn = Atomic<UInt>(0)

    /// - Parameter loops: The loops, at least one.
    package init(_ loops: [Place]) {
        self.all = loops
    }

    /// The loop that accepts clients.
    var accepting: Place { self.all[0] }

    /// Returns the loop for the next client, in rotation.
    func next() -> Place {
        self.all[Int(self.turn.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(self.all.count))]
    }

    /// Returns the loop that runs on `transport`, the event loop of the calling thread. `nil` if no loop runs there.
    package func loop(on transport: TransportLoop) -> PathLoop? { self.all.first { $0.transport === transport }?.loop }

    /// Informs every loop that the system has no more descriptors.
    func ranOutOfFiles() {
        for place in self.all { place.transport.execute { place.loop.ranOutOfFiles() } }
    }

    /// Runs `body` on every loop, one after another. Returns when all have finished.
    package func onEach(_ body: @escaping @Sendable (PathLoop) -> Void) async {
        for place in self.all {
            try? await place.transport.submit { body(place.loop) }.get()
        }
    }

    /// Closes up to an equal part of `clearing.count` idle connections on each loop. Then calls `done` on one of the
    /// loops with the number of closed connections.
    func close(_ clearing: ConnectionGate.Clearing, _ done: @escaping @Sendable (Int) -> Void) {
        let share = (clearing.count + self.all.count - 1) / self.all.count
        let results = Mutex((left: self.all.count, closed: 0))
        for place in self.all {
            place.transport.execute {
                let closed = place.loop.closeLongestIdle(share, admittedBefore: clearing.admittedBefore)
                let total: Int? = results.withLock { results in
                    results.left -= 1
                    results.closed += closed
                    return results.left == 0 ? results.closed : nil
                }
                if let total { done(total) }
            }
        }
    }

    /// Returns the number of busy connections on all loops.
    package func busyCount() async -> Int { await self.sum { $0.busyCount } }

    /// Closes the connections of each loop that has no busy connection. Returns the number of busy connections.
    package func closeUnlessBusy() async -> Int { await self.sum { $0.closeUnlessBusy() } }

    private func sum(_ body: @escaping @Sendable (PathLoop) -> Int) async -> Int {
        var count = 0
        for place in self.all {
            count += (try? await place.transport.submit { body(place.loop) }.get()) ?? 0
        }
        return count
    }
}

/// The parts that a listener's acceptor uses.
private struct AcceptorParts: Sendable {
    let loops: PathLoops
    let gate: ConnectionGate
    let role: ListenerRole
}

/// Accepts the clients that the gate admits. At the limit, clients wait in the kernel's backlog and use no descriptors.
private final class Acceptor: ClientAcceptor {
    private let socket: ListeningSocket
    private let loop: TransportLoop
    /// The `PathLoop` that runs on `loop`.
    private let pathLoop: PathLoop
    private let parts: AcceptorParts
    /// True while the acceptor waits for a free place (`wake`).
    private var isAwaited = false

    /// Creates an acceptor. Called on `loop`.
    init(_ socket: ListeningSocket, on loop: TransportLoop, _ parts: AcceptorParts) {
        self.socket = socket
        self.loop = loop
        self.pathLoop = parts.loops.accepting.loop
        self.parts = parts
    }

    private var gate: ConnectionGate { self.parts.gate }

    func hasRoom() -> Bool {
        if self.gate.hasRoom(orWake: self.isAwaited ? nil : self.wake) { return true }
        self.isAwaited = true
        self.makeRoom(.now())
        return false
    }

    private var wake: @Sendable () -> Void {
        let acceptor = NIOLoopBound(self, eventLoop: self.loop)
        return {
            acceptor.eventLoop.execute {
                acceptor.value.isAwaited = false
                acceptor.value.socket.resume()
            }
        }
    }

    private func makeRoom(_ now: NIODeadline) {
        let gate = self.gate
        guard let clearing = gate.beginClearing(now: now) else { return }
        let acceptor = NIOLoopBound(self, eventLoop: self.loop)
        self.parts.loops.close(clearing) { count in
            // `cleared` returns true if too few connections were closed.
            if gate.cleared(count, now: .now()) {
                // Connections that are busy now may be idle soon.
                acceptor.eventLoop.scheduleTask(in: .milliseconds(250)) { acceptor.value.makeRoom(.now()) }
            } else {
                acceptor.eventLoop.execute { acceptor.value.makeRoomIfAwaited() }
            }
        }
    }

    /// Closes more connections if new clients have already taken the freed places.
    private func makeRoomIfAwaited() {
        if self.isAwaited { self.makeRoom(.now()) }
    }

    func accepted(_ descriptor: Int32, from address: IPAddress) {
        // Reserved here, not later on the connection's loop, so that the next `hasRoom` counts this client.
        self.gate.reserve()
        let now = NIODeadline.now()
        let client = AcceptedClient(from: address, at: now, as: self.parts.role, on: self.pathLoop, by: self.gate)
        // Only connections admitted before `now` are closed, so that this client stays.
        self.makeRoom(now)
        guard let client else {
            close(descriptor)
            return
        }
        let place = self.parts.loops.next()
        if place.transport === self.loop {
            client.open(StreamSocket(descriptor, on: place.transport), on: place.loop)
        } else {
            place.transport.execute { client.open(StreamSocket(descriptor, on: place.transport), on: place.loop) }
        }
    }

    func acceptingFailed() {
        // No file descriptors or kernel memory are left. A pause avoids a busy loop.
        self.parts.loops.ranOutOfFiles()
        self.loop.assumeIsolated().scheduleTask(in: .milliseconds(250)) { self.socket.resume() }
    }
}
