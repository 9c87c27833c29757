package import NIOCore

/// One question to one server over a connection of its own, for what is asked seldom: where the primary is, what is wrong.
package enum RedisProbe {
    /// Connects, sends the greeting and the commands, and closes.
    ///
    /// The future succeeds with one reply for each command, which may be an error reply. It fails with what NIO or NIOSSL
    /// says of a connection that could not be made, with `RedisError.server` when the greeting was refused, or with another
    /// `RedisError`.
    ///
    /// - Parameters:
    ///   - greeting: Nil: that of the configuration.
    ///   - limits: Nil: those of the configuration.
    package static func ask(
        _ commands: [RedisCommand],
        of endpoint: RedisEndpoint,
        over connector: RedisConnector,
        greeting: [HandshakeStep]? = nil,
        limits: ReplyLimits? = nil,
        on loop: any EventLoop
    ) -> EventLoopFuture<[RedisReply]> {
        // All on the loop: a handshake of TLS that fails tells why only to whoever is in the channel's pipeline by then.
        loop.flatSubmit {
            connector.connect(to: endpoint, on: loop).flatMap { channel in
                let done = loop.makePromise(of: [RedisReply].self)
                var configuration = connector.configuration
                if let limits { configuration.limits = limits }
                do {
                    try Self.converse(commands, greeting, over: channel, configuration, done)
                } catch {
                    done.fail(error)
                }
                done.futureResult.whenComplete { _ in channel.close(promise: nil) }
                return done.futureResult
            }
        }
    }

    private static func converse(
        _ commands: [RedisCommand],
        _ greeting: [HandshakeStep]?,
        over channel: any Channel,
        _ configuration: RedisConfiguration,
        _ done: EventLoopPromise<[RedisReply]>
    ) throws {
        let loop = channel.eventLoop
        // The handler tells of itself through closures that are made before it.
        let place = NIOLoopBoundBox<RedisConnectionHandler?>(nil, eventLoop: loop)
        let deadline = NIODeadline.now() + TimeAmount(configuration.connectTimeout + configuration.commandTimeout)
        let handler = RedisConnectionHandler(
            configuration,
            handshake: greeting ?? configuration.greeting,
            events: RedisConnectionHandler.Events(
                ready: { _ in
                    let replies = commands.map { command in
                        let reply = loop.makePromise(of: RedisReply.self)
                        place.value?.send(command, deadline: deadline, promise: reply)
                        return reply.futureResult
                    }
                    EventLoopFuture.whenAllSucceed(replies, on: loop).cascade(to: done)
                    return true
                },
                answered: {},
                ended: { cause, refusal in
                    if let refusal {
                        done.fail(RedisError.server(refusal))
                    } else {
                        done.fail(place.value?.failure ?? RedisError.unanswered(cause))
                    }
                    place.value = nil
                }
            )
        )
        place.value = handler
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}
