package import NIOCore

/// One connection's life without its I/O: which reply belongs to which command, and when to give up.
///
/// Replies carry no name: the n-th answers the n-th command. So nothing is ever taken out of the queue but by its reply
/// or by the end of the connection: a command that waited too long takes the connection with it, since its late reply
/// would answer the next one. `Handle` is whatever waits for the answer: a promise, in tests a number.
package struct ConnectionStateMachine<Handle> {
    private enum Phase {
        case connecting
        /// Waiting for that many answers to what is sent on connect.
        case handshaking
        case ready
        /// Takes nothing more and closes with the last answer.
        case draining
        case closed
    }

    private enum Expected {
        /// An answer to a command of the handshake; one that is not required may be an error.
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
    ///   - maxPending: Commands that may wait at once; more are refused rather than queued for nothing.
    ///   - followsRedirects: Whether `MOVED` and `ASK` are answers like any other, as they are in a cluster, rather than a
    ///     sign that this is not the server it was taken for.
    package init(maxPending: Int = 16_384, followsRedirects: Bool = false) {
        self.maxPending = maxPending
        self.followsRedirects = followsRedirects
    }

    /// Commands sent and not answered.
    package var pendingCount: Int { self.queue.count }

    package var isReady: Bool { if case .ready = self.phase { true } else { false } }

    /// When the head of the queue has waited too long; nil with an empty queue. One timer is kept for it.
    package var deadline: NIODeadline? { self.queue.first?.deadline }

    /// What the end of a connection leaves to do.
    package struct Closing {
        /// Those who wait, in the order of their commands. All of them may have been carried out.
        package var failed: [Handle]
        package var cause: RedisError.Cause
        /// The error reply for which it closes, when a handshake failed on one.
        package var refusal: RedisServerError?
    }

    // MARK: Events

    /// The connection stands: `handshake` says of each command that is now to be sent whether its success is required.
    ///
    /// With none, it is ready at once; returns whether it is.
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
        /// Nothing was sent.
        case refuse(RedisError.Cause)
    }

    /// A command is to be sent; it must be answered until `deadline`.
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
        /// The handshake goes on.
        case wait
        /// The handshake is over with this reply; commands may be sent.
        case becomeReady(RedisReply)
        /// The reply is this one's.
        case answer(Handle, RedisReply)
        /// The reply is this one's, and it was the last: nothing more comes over this connection.
        case answerAndClose(Handle, RedisReply, Closing)
        case close(Closing)
        /// It came after the end.
        case ignore
    }

    /// A reply arrived.
    package mutating func received(_ reply: RedisReply) -> ReplyAction {
        if case .closed = self.phase { return .ignore }
        guard let pending = self.queue.popFirst() else {
            return .close(self.end(.protocolError(.unsolicited)))
        }
        switch pending.expected {
        case .handshake(let isRequired):
            if case .error(let error) = reply, isRequired || error.isFarewell {
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
        /// Nothing waits.
        case none
        /// The head was answered meanwhile; look again then.
        case wait(until: NIODeadline)
        case close(Closing)
    }

    /// The timer fired.
    package mutating func timerFired(at now: NIODeadline) -> DeadlineAction {
        guard let deadline = self.deadline else { return .none }
        guard deadline <= now else { return .wait(until: deadline) }
        return .close(self.end(.timedOut))
    }

    /// Takes nothing more; the closing when nothing is waited for, else nil and the last reply brings it.
    package mutating func drain() -> Closing? {
        switch self.phase {
        case .closed, .draining: return nil
        case .connecting, .handshaking: return self.end(.shuttingDown)
        case .ready:
            self.phase = .draining
            return self.queue.isEmpty ? self.end(.shuttingDown) : nil
        }
    }

    /// The connection is gone or of no use, for this cause; nil when it had ended before.
    package mutating func lost(_ cause: RedisError.Cause) -> Closing? {
        if case .closed = self.phase { return nil }
        return self.end(cause)
    }

    // MARK: Steps

    /// Whether a connection that got this answer is of no more use: its server is not the one to ask, or it was never (or
    /// is no longer) signed in.
    private func isEnd(_ error: RedisServerError) -> Bool {
        switch error.code {
        case "READONLY", "NOAUTH": true
        case "MOVED", "ASK": !self.followsRedirects
        default: error.isFarewell
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
