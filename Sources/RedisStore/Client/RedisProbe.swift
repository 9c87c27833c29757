package import NIOCore

/// Sends a few commands to one server over a separate connection, to find the primary or to diagnose the server.
package enum RedisProbe {
    /// Connects, sends the greeting and the commands, and closes.
    ///
    /// The future succeeds with one reply, maybe an error reply, for each command. It fails with an error of NIO or
    /// NIOSSL if it cannot connect, with `RedisError.server` if the server refuses the greeting, or with another
    /// `RedisError`.
    ///
    /// - Parameters:
    ///   - greeting: The steps that sign in; `nil` for the configuration's steps, with the current credentials.
    ///   - limits: The limits of a reply; `nil` for the configuration's limits.
    package static func ask(
        _ commands: [RedisCommand],
        of endpoint: RedisEndpoint,
        over connector: RedisConnector,
        greeting: [HandshakeStep]? = nil,
        limits: ReplyLimits? = nil,
        on loop: any EventLoop
    ) -> EventLoopFuture<[RedisReply]> {
        // Runs on the loop, so that the handler is added before a TLS handshake can fail. A handler that is added later
        // does not learn why the handshake failed.
        loop.flatSubmit {
            connector.connect(to: endpoint, on: loop).flatMap { channel in
                let done = loop.makePromise(of: [RedisReply].self)
                var configuration = connector.configuration
                if let limits { configuration.limits = limits }
                do {
                    let greeting = greeting ?? connector.current.greeting
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
        _ greeting: [HandshakeStep],
        over channel: any Channel,
        _ configuration: RedisConfiguration,
        _ done: EventLoopPromise<[RedisReply]>
    ) throws {
        let loop = channel.eventLoop
        // The handler's closures use the handler, but are made before it exists.
        let place = NIOLoopBoundBox<RedisConnectionHandler?>(nil, eventLoop: loop)
        let deadline = NIODeadline.now() + TimeAmount(configuration.connectTimeout + configuration.commandTimeout)
        let handler = RedisConnectionHandler(
            configuration,
            handshake: greeting,
            events: RedisConnectionHandler.Events(
                ready: { _ in
                    let replies = commands.map { command in
                        loop.receiving { place.value?.send(command, deadline: deadline, $0) }
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
