package import NIOCore

/// The state of one connection, without its I/O. It matches replies to commands, and decides when to close.
///
/// The n-th reply answers the n-th command. A command that waits too long therefore ends the connection: its late reply
/// would be taken for the answer to the next command. `Handle` identifies the receiver of an answer.
package struct ConnectionStateMachine<Handle> {
    private enum Phase {
        case connecting
        /// Waiting for the answers to the handshake.
        case handshaking
        case ready
        /// Accepts no more commands, and closes after the last answer.
        case draining
        case closed
    }

    private enum Expected {
        /// An answer to a command of the handshake. Unless `isRequired`, it may be an error that is not a farewell.
        case handshake(isRequired: Bool)
        case command(Handle)
    }

    private struct Pending {
        var expected: Expected
        var deadline: NIODeadline
    }

    private var phase = Phase.connecting
    private var queue = CircularBuffer<Pending>()
    private let maxPending: Int
    private let followsRedirects: Bool

    /// - Parameters:
    ///   - maxPending: The maximum number of waiting commands; further commands are refused.
    ///   - followsRedirects: True if `MOVED` and `ASK` are ordinary answers, as in a cluster. Otherwise they mean that
    ///     this is the wrong server.
    package init(maxPending: Int = 16_384, followsRedirects: Bool = false) {
        self.maxPending = maxPending
        self.followsRedirects = followsRedirects
    }

    package var isReady: Bool { if case .ready = self.phase { true } else { false } }

    /// The deadline of the first command in the queue; `nil` if the queue is empty.
    package var deadline: NIODeadline? { self.queue.first?.deadline }

    /// The work that remains when a connection ends.
    package struct Closing {
        /// The commands without an answer, in order. Redis may have executed any of them.
        package var failed: [Handle]
        package var cause: RedisError.Cause
        /// The error reply that ended the connection; `nil` if it ended for another reason.
        package var refusal: RedisServerError?
    }

    // MARK: Events

    /// Records that the connection is open.
    ///
    /// - Parameter handshake: For each command of the handshake, true if it must succeed.
    /// - Returns: True if the connection is ready at once, because there is no handshake.
    package mutating func connected(handshake: [Bool], deadline: NIODeadline) -> Bool {
        guard case .connecting = self.phase else { return false }
        for isRequired in handshake {
            self.queue.append(Pending(expected: .handshake(isRequired: isRequired), deadline: deadline))
        }
        self.phase = handshake.isEmpty ? .ready : .handshaking
        return handshake.isEmpty
    }

    package enum SendAction {
        case send
        /// Nothing is sent.
        case refuse(RedisError.Cause)
    }

    /// Accepts a command. If it is not answered before `deadline`, the connection ends.
    package mutating func send(_ handle: Handle, deadline: NIODeadline) -> SendAction {
        switch self.phase {
        case .connecting, .handshaking: return .refuse(.notConnected)
        case .draining: return .refuse(.shuttingDown)
        case .closed: return .refuse(.closed)
        case .ready:
            guard self.queue.count < self.maxPending else { return .refuse(.overloaded) }
            self.queue.append(Pending(expected: .command(handle), deadline: deadline))
            return .send
        }
    }

    package enum ReplyAction {
        /// The handshake continues.
        case wait
        /// The handshake ended with this reply; commands may be sent.
        case becomeReady(RedisReply)
        /// The reply belongs to this command.
        case answer(Handle, RedisReply)
        /// The reply belongs to this command, and the connection ends with it.
        case answerAndClose(Handle, RedisReply, Closing)
        case close(Closing)
        /// The reply came after the end of the connection.
        case ignore
    }

    /// Handles a reply that arrived.
    package mutating func received(_ reply: RedisReply) -> ReplyAction {
        if case .closed = self.phase { return .ignore }
        guard let pending = self.queue.popFirst() else {
            return .close(self.end(.protocolError(.unsolicited)))
        }
        switch pending.expected {
        case .handshake(let isRequired):
            if case .error(let error) = reply, isRequired || error.closesConnection {
                return .close(self.end(.closed, refusal: error))
            }
            guard case .handshaking = self.phase, self.queue.isEmpty else {
                return self.closesWhenEmpty ? .close(self.end(.shuttingDown)) : .wait
            }
            self.phase = .ready
            return .becomeReady(reply)
        case .command(let handle):
            if case .error(let error) = reply, self.isEnd(error) {
                return .answerAndClose(handle, reply, self.end(.closed, refusal: error))
            }
            if self.closesWhenEmpty { return .answerAndClose(handle, reply, self.end(.shuttingDown)) }
            return .answer(handle, reply)
        }
    }

    package enum DeadlineAction {
        /// No command is waiting.
        case none
        /// The deadline of the oldest command has not passed; check again at this time.
        case wait(until: NIODeadline)
        case close(Closing)
    }

    /// Handles the timer.
    package mutating func timerFired(at now: NIODeadline) -> DeadlineAction {
        guard let deadline = self.deadline else { return .none }
        guard deadline <= now else { return .wait(until: deadline) }
        return .close(self.end(.timedOut))
    }

    /// Stops accepting commands. Returns `nil` if the connection closes only with the last reply, or is closed.
    package mutating func drain() -> Closing? {
        switch self.phase {
        case .closed, .draining: return nil
        case .connecting, .handshaking: return self.end(.shuttingDown)
        case .ready:
            self.phase = .draining
            return self.queue.isEmpty ? self.end(.shuttingDown) : nil
        }
    }

    /// Records that the connection is lost or useless, for this cause. Returns `nil` if it had already ended.
    package mutating func lost(_ cause: RedisError.Cause) -> Closing? {
        if case .closed = self.phase { return nil }
        return self.end(cause)
    }

    // MARK: Steps

    /// Reports whether the connection is useless after this error: the server is the wrong one or closes the
    /// connection, or the gateway is not signed in.
    private func isEnd(_ error: RedisServerError) -> Bool {
        switch error.code {
        case "READONLY", "NOAUTH": true
        case "MOVED", "ASK": !self.followsRedirects
        default: error.closesConnection
        }
    }

    private var closesWhenEmpty: Bool {
        guard case .draining = self.phase else { return false }
        return self.queue.isEmpty
    }

    private mutating func end(_ cause: RedisError.Cause, refusal: RedisServerError? = nil) -> Closing {
        self.phase = .closed
        var failed: [Handle] = []
        failed.reserveCapacity(self.queue.count)
        for pending in self.queue {
            if case .command(let handle) = pending.expected { failed.append(handle) }
        }
        self.queue.removeAll()
        return Closing(failed: failed, cause: cause, refusal: refusal)
    }
}

extension ConnectionStateMachine.Closing: Sendable where Handle: Sendable {}
