package import NIOCore

/// Does the I/O of one subscriber's connection for its `SubscriptionStateMachine`. Confined to its loop.
package final class SubscriptionHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The events that are reported to the owner of the connection, on the loop.
    package struct Events {
        /// The subscription is active. From now on, every message arrives.
        package var up: () -> Void
        /// The messages of one read, in order. They are passed together, so that many cost little more than one.
        package var messages: ([SubscriptionMessage]) -> Void
        /// The connection has ended. Nothing is reported afterwards.
        package var ended: (RedisError.Cause, RedisServerError?) -> Void

        package init(
            up: @escaping () -> Void,
            messages: @escaping ([SubscriptionMessage]) -> Void,
            ended: @escaping (RedisError.Cause, RedisServerError?) -> Void
        ) {
            self.up = up
            self.messages = messages
            self.ended = ended
        }
    }

    /// The limits of one message, which may name all keys that a transaction or an expiry cycle touched. A larger
    /// message ends the connection, and cached sessions are then read again.
    private static let limits = ReplyLimits(bytes: 4 << 20, elements: 1 << 16)

    private var machine: SubscriptionStateMachine
    private let reader = ReplyReader(limits: SubscriptionHandler.limits)
    private var events: Events?
    private var context: ChannelHandlerContext?
    private var messages: [SubscriptionMessage] = []
    private var timer: (callback: Scheduled<Void>, due: NIODeadline)?

    package init(_ plan: SubscriptionPlan, events: Events) {
        self.machine = SubscriptionStateMachine(plan)
        self.events = events
    }

    /// The time when anything last arrived.
    var lastHeard: NIODeadline { self.machine.lastHeard }

    /// Ends the connection.
    package func close() {
        self.perform(self.machine.lost(.shuttingDown))
    }

    // MARK: ChannelInboundHandler

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { self.begin() }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.perform(self.machine.lost(.closed))
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.begin()
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.perform(self.machine.lost(.closed))
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.perform(self.machine.lost(.closed))
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.machine.heard(at: .now())
        let failure = self.reader.feed(self.unwrapInboundIn(data)) { reply in
            self.perform(self.machine.received(reply))
            return self.events != nil
        }
        if let failure { self.perform(self.machine.lost(.protocolError(failure))) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        self.deliver()
        context.fireChannelReadComplete()
    }

    // MARK: Steps

    private func begin() {
        self.perform(self.machine.connected(at: .now()))
    }

    private func perform(_ action: SubscriptionStateMachine.Action) {
        switch action {
        case .none: break
        case .send(let command): self.send(command)
        case .becomeUp: self.events?.up()
        case .deliver(let message): self.messages.append(message)
        case .close(let cause, let refusal): self.finish(cause, refusal)
        }
        self.watchDeadline()
    }

    private func send(_ command: RedisCommand) {
        guard let context = self.context else { return }
        var buffer = context.channel.allocator.buffer(capacity: 256)
        guard command.write(to: &buffer) else { return self.perform(self.machine.lost(.overloaded)) }
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    private func deliver() {
        guard !self.messages.isEmpty else { return }
        let messages = self.messages
        self.messages = []
        self.events?.messages(messages)
    }

    private func finish(_ cause: RedisError.Cause, _ refusal: RedisServerError?) {
        self.timer?.callback.cancel()
        self.timer = nil
        self.deliver()
        let events = self.events
        self.events = nil
        events?.ended(cause, refusal)
        self.context?.close(mode: .all, promise: nil)
    }

    /// Keeps one timer. Messages do not move it. When the timer fires, the deadline is checked again.
    private func watchDeadline() {
        guard let deadline = self.machine.deadline, let context = self.context else { return }
        if let timer = self.timer, timer.due <= deadline { return }
        self.timer?.callback.cancel()
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        self.timer = (context.eventLoop.scheduleTask(deadline: deadline) { handler.value.timerFired() }, deadline)
    }

    private func timerFired() {
        self.timer = nil
        self.perform(self.machine.timerFired(at: .now()))
    }
}
