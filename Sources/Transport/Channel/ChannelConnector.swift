import Dispatch
import Glibc
package import NIOCore

/// A name that cannot be resolved.
package struct UnknownHost: Error {
    package let host: String
}

extension PipelineChannel {
    /// Connects a channel to an address.
    ///
    /// - Parameters:
    ///   - loop: A loop of a `TransportGroup`.
    ///   - prepare: Adds the handlers of the pipeline, before the channel becomes active.
    package static func connect(
        to address: SocketAddress,
        on loop: any EventLoop,
        timeout: TimeAmount,
        _ prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<PipelineChannel> {
        self.onOwn(loop) {
            self.connect(by: { ConnectionRace([address], on: $0, timeout: timeout, $1) }, on: $0, prepare)
        }
    }

    /// Connects a channel to the first of several addresses that answers.
    ///
    /// - Parameters:
    ///   - timeout: How long one address may take.
    ///   - memory: The addresses that have lost, which are tried last.
    ///   - prepare: Adds the handlers of the pipeline, before the channel becomes active.
    package static func connect(
        toFirstOf addresses: [SocketAddress],
        on loop: TransportLoop,
        timeout: TimeAmount,
        memory: AddressMemory,
        _ prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<PipelineChannel> {
        self.connect(
            by: { ConnectionRace(addresses, on: $0, timeout: timeout, memory: memory, $1) },
            on: loop,
            prepare
        )
    }

    /// Connects a channel to a host, whose name is resolved on another thread. Its addresses are tried in turn, each
    /// after the one before has failed or has taken long; the first that connects is used.
    ///
    /// - Parameters:
    ///   - loop: A loop of a `TransportGroup`.
    ///   - timeout: How long all of this may take.
    ///   - prepare: Adds the handlers of the pipeline, before the channel becomes active.
    package static func connect(
        toHost host: String,
        port: Int,
        on loop: any EventLoop,
        timeout: TimeAmount,
        _ prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<PipelineChannel> {
        self.onOwn(loop) { loop in
            let deadline = NIODeadline.now() + timeout
            let resolved = loop.makePromise(of: [SocketAddress].self)
            let patience = loop.scheduleTask(in: timeout) { resolved.fail(ChannelError.connectTimeout(timeout)) }
            DispatchQueue.global(qos: .utility).async {
                let addresses = SocketAddress.resolve(host, port: port)
                if addresses.isEmpty {
                    resolved.fail(UnknownHost(host: host))
                } else {
                    resolved.succeed(addresses)
                }
            }
            return resolved.futureResult.flatMap { addresses in
                patience.cancel()
                return self.connect(
                    by: { ConnectionRace(addresses, on: $0, timeout: timeout, deadline: deadline, $1) },
                    on: loop,
                    prepare
                )
            }
        }
    }

    /// Runs `body` on the loop.
    private static func onOwn(
        _ loop: any EventLoop,
        _ body: @escaping @Sendable (TransportLoop) -> EventLoopFuture<PipelineChannel>
    ) -> EventLoopFuture<PipelineChannel> {
        guard let own = loop as? TransportLoop else {
            return loop.makeFailedFuture(EventLoopError.unsupportedOperation)
        }
        return own.inEventLoop ? body(own) : own.flatSubmit { body(own) }
    }

    private static func connect(
        by makeRace: (TransportLoop, @escaping ConnectionRace.Then) -> ConnectionRace,
        on loop: TransportLoop,
        _ prepare: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<PipelineChannel> {
        let promise = loop.makePromise(of: PipelineChannel.self)
        let race = makeRace(loop) { result in
            do {
                let (socket, address) = try result.get()
                let channel = PipelineChannel(socket, to: address)
                try channel.start(prepare)
                promise.succeed(channel)
            } catch {
                promise.fail(error)
            }
        }
        race.start()
        return promise.futureResult
    }
}

extension SocketAddress {
    /// The addresses of a name; empty if it has none or cannot be resolved. It blocks.
    package static func resolve(_ host: String, port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let info = next {
            if let raw = info.pointee.ai_addr {
                switch info.pointee.ai_family {
                case AF_INET:
                    raw.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        found.append(SocketAddress($0.pointee, host: host))
                    }
                case AF_INET6:
                    raw.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        found.append(SocketAddress($0.pointee, host: host))
                    }
                default: break
                }
            }
            next = info.pointee.ai_next
        }
        return found
    }
}
