package import NIOCore

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

    /// Connects a channel to a host. The host's name is resolved on another thread. The addresses are tried in turn, as
    /// in RFC 8305, and the first connection is used (`ConnectionRace`).
    ///
    /// - Parameters:
    ///   - loop: A loop of a `TransportGroup`.
    ///   - timeout: The time limit for resolving and connecting together.
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
            NameResolver.others.resolve(HostName(host, port: port), isAwaited: true) { answer in
                resolved.completeWith(answer.mapError { $0 as any Error })
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

    /// Runs `body` on the loop. Fails unless it is a loop of a `TransportGroup`.
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
                promise.succeed(try self.begin(socket, to: address, prepare))
            } catch {
                promise.fail(error)
            }
        }
        race.start()
        return promise.futureResult
    }
}
