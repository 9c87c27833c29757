package import NIOCore
import Vocabulary

/// Does the I/O of one connection for its `ConnectionStateMachine`. Confined to its loop.
///
/// Commands of one turn of the loop are sent in one write. Replies go to their receivers in order.
package final class RedisConnectionHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The events that are reported to the owner of the connection, all on the loop.
    package struct Events {
        /// Called when the handshake has succeeded, with its last reply (`nil` without steps). Returns false to close
        /// the connection, because this is the wrong server.
        package var ready: (RedisReply?) -> Bool
        /// Called when a command was answered, unless the answer ends the connection.
        package var answered: () -> Void
        /// Called once, when the connection has ended.
        package var ended: (RedisError.Cause, RedisServerError?) -> Void

        package init(
            ready: @escaping (RedisReply?) -> Bool,
            answered: @escaping () -> Void,
            ended: @escaping (RedisError.Cause, RedisServerError?) -> Void
        ) {
            self.ready = ready
            self.answered = answered
            self.ended = ended
        }
    }

    /// Receives a reply, which may be an error reply, or the reason why no reply came. Called once, on the loop. A
    /// closure is cheaper than a promise, and every request with an uncached session sends a command.
    package typealias Receiver = (Answered) -> Void
    package typealias Answered = Result<RedisReply, RedisError>

    /// A receiver in a named type, because generic code would wrap a bare closure again at each step.
    private struct Waiter {
        let receiver: Receiver
    }

    private struct Answer {
        let waiter: Waiter
        let reply: RedisReply
    }

    private typealias Machine = ConnectionStateMachine<Waiter>

    private var machine: Machine
    private let reader: ReplyReader
    private let handshake: [HandshakeStep]
    private let handshakeTimeout: TimeAmount
    private var events: Events?
    private var context: ChannelHandlerContext?
    private var outgoing = ByteBuffer()
    private var isFlushScheduled = false
    /// The replies that were read, until all received bytes have been read.
    private let answers = Batch<Answer>()
    private var hasBegun = false
    private var timer: (callback: Scheduled<Void>, due: NIODeadline)?

    /// - Parameter handshake: The steps that are sent first. The required ones must succeed before commands are sent.
    package init(_ configuration: RedisConfiguration, handshake: [HandshakeStep], events: Events) {
        self.machine = Machine(followsRedirects: configuration.isCluster)
        self.reader = ReplyReader(limits: configuration.limits)
        self.handshake = handshake
        self.handshakeTimeout = TimeAmount(configuration.connectTimeout)
        self.events = events
    }

    /// The error of TLS or the socket that ended the connection. `nil` if there was none.
    package private(set) var failure: (any Error)?

    package var isReady: Bool { self.machine.isReady }

    /// Sends a command. It must be answered before `deadline`.
    package func send(_ command: RedisCommand, deadline: NIODeadline, _ receiver: @escaping Receiver) {
        let start = self.outgoing.writerIndex
        guard command.write(to: &self.outgoing) else { return receiver(.failure(.notSent(.overloaded))) }
        switch self.machine.send(Waiter(receiver: receiver), deadline: deadline) {
        case .send:
            self.scheduleFlush()
            self.watchDeadline()
        case .refuse(let cause):
            self.outgoing.moveWriterIndex(to: start)
            receiver(.failure(.notSent(cause)))
        }
    }

    /// Closes the connection once all commands have been answered.
    package func drain() {
        if let closing = self.machine.drain() { self.finish(closing) }
    }

    // MARK: ChannelInboundHandler

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.outgoing = context.channel.allocator.buffer(capacity: 1024)
        if context.channel.isActive { self.begin() }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        if let closing = self.machine.lost(.closed) { self.finish(closing) }
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.begin()
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        if let closing = self.machine.lost(.closed) { self.finish(closing) }
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.failure = error
        if let closing = self.machine.lost(.closed) { self.finish(closing) }
        context.close(promise: nil)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let failure = self.reader.feed(self.unwrapInboundIn(data)) { self.take($0) }
        self.deliver()
        if let failure, let closing = self.machine.lost(.protocolError(failure)) { self.finish(closing) }
        self.watchDeadline()
    }

    // MARK: Steps

    private func begin() {
        guard !self.hasBegun else { return }
        self.hasBegun = true
        let isReady = self.machine.connected(
            handshake: self.handshake.map(\.isRequired),
            deadline: .now() + self.handshakeTimeout
        )
        for step in self.handshake where !step.command.write(to: &self.outgoing) {
            if let closing = self.machine.lost(.overloaded) { self.finish(closing) }
            return
        }
        self.flush()
        self.watchDeadline()
        if isReady { _ = self.becomeReady(nil) }
    }

    private func becomeReady(_ reply: RedisReply?) -> Bool {
        guard self.events?.ready(reply) ?? false else {
            if let closing = self.machine.lost(.closed) { self.finish(closing) }
            return false
        }
        return true
    }

    /// Passes on the replies only after all bytes are read, so that the reader stays in the core's instruction cache.
    private func deliver() {
        self.answers.drain { $0.waiter.receiver(.success($0.reply)) }
    }

    /// Processes one reply. Returns false if the connection has ended.
    private func take(_ reply: RedisReply) -> Bool {
        switch self.machine.received(reply) {
        case .wait:
            return true
        case .becomeReady(let reply):
            return self.becomeReady(reply)
        case .answer(let waiter, let reply):
            self.events?.answered()
            self.answers.append(Answer(waiter: waiter, reply: reply))
            return true
        case .answerAndClose(let waiter, let reply, let closing):
            self.answers.append(Answer(waiter: waiter, reply: reply))
            self.finish(closing)
            return false
        case .close(let closing):
            self.finish(closing)
            return false
        case .ignore:
            return false
        }
    }

    private func finish(_ closing: Machine.Closing) {
        // Answered commands get their replies before other commands fail.
        self.deliver()
        self.timer?.callback.cancel()
        self.timer = nil
        // The owner is notified first: a receiver may send again after a failure, and must find this connection gone.
        let events = self.events
        self.events = nil
        events?.ended(closing.cause, closing.refusal)
        self.context?.close(mode: .all, promise: nil)
        for waiter in closing.failed { waiter.receiver(.failure(.unanswered(closing.cause))) }
    }

    private func scheduleFlush() {
        guard !self.isFlushScheduled, let context = self.context else { return }
        self.isFlushScheduled = true
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.execute { handler.value.flush() }
    }

    private func flush() {
        self.isFlushScheduled = false
        guard let context = self.context, self.outgoing.readableBytes > 0 else { return }
        context.writeAndFlush(self.wrapOutboundOut(self.outgoing), promise: nil)
        // Reuses the memory, unless the channel still holds it.
        self.outgoing.clear(minimumCapacity: 1024)
    }

    /// Keeps one timer, for the first command in the queue. Answers do not move it. When it fires, the deadline is
    /// checked again.
    private func watchDeadline() {
        guard let deadline = self.machine.deadline, let context = self.context else { return }
        if let timer = self.timer, timer.due <= deadline { return }
        self.timer?.callback.cancel()
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        self.timer = (context.eventLoop.scheduleTask(deadline: deadline) { handler.value.timerFired() }, deadline)
    }

    private func timerFired() {
        self.timer = nil
        switch self.machine.timerFired(at: .now()) {
        case .none: break
        case .wait: self.watchDeadline()
        case .close(let closing): self.finish(closing)
        }
    }
}

extension EventLoop {
    /// Returns a future for the result that `step` passes to its receiver.
    func receiving(_ step: (@escaping RedisConnectionHandler.Receiver) -> Void) -> EventLoopFuture<RedisReply> {
        let promise = self.makePromise(of: RedisReply.self)
        step { promise.completeWith($0.mapError { $0 }) }
        return promise.futureResult
    }
}
