import Glibc
package import NIOCore
import Transport

/// What follows the answer on its connection.
package enum AnswerEnd {
    /// The request is complete, and the client may send another request.
    case next
    /// The connection closes after the client has received the answer.
    case close
    /// The connection closes at once. The client sends nothing more, so no late bytes can destroy the answer.
    case closeAtOnce
}

/// The state machine of one HTTP/1 connection, without I/O: how to read the next bytes, and which deadlines apply.
///
/// ```
///   idle ─▶ head ─▶ exchange ─▶ idle           answer and request have both ended
///                      ├──────▶ draining ─▶ exchange   the gateway's own answer waits for the rest of the body
///                      ├──────▶ tunnel
///                      └──────▶ lingering ─▶ closed   the client receives the rest of the answer
/// ```
/// A refused or late head also leads to `exchange`, because it is answered. Every state may change to `closed`.
package struct HTTP1State {
    /// An incomplete head.
    package struct UnfinishedHead: Equatable {
        /// The number of bytes already searched for the end of the head.
        package var seenCount = 0
        /// At this length, the head is parsed even without a new line feed, because a line may be too long.
        package var parsedFrom: Int
        package var since: NIODeadline
        package var deadline: NIODeadline
    }

    /// A connection without a request.
    package struct Idle {
        package let since: NIODeadline
        /// The time to close. If the client is still receiving the last answer, `output` watches it from then on.
        var deadline: NIODeadline
        /// Watches a client that is still receiving the last answer at `deadline`. `nil` for other clients.
        var output: OutputWatch?
    }

    /// A connection whose output has ended.
    package struct Lingering {
        var output = OutputWatch()
        /// The time at which the connection closes. `nil` while the client has not received everything.
        var deadline: NIODeadline?
    }

    /// The time for a client to close the connection after it has received everything.
    static let lingerTime = TimeAmount.seconds(2)

    /// The rest of a request's body. It is discarded before the gateway sends its own answer.
    package struct Rest {
        fileprivate var body: BodyDecoder
        /// The number of content bytes before the rest.
        fileprivate let start: Int
        fileprivate let deadline: NIODeadline
    }

    /// The maximum time that an answer waits for the rest of a body.
    static let bodyTime = TimeAmount.seconds(2)

    /// The state of the connection, with the data that exists only in that state.
    package enum State {
        case idle(Idle)
        case head(UnfinishedHead)
        case exchange
        case tunnel
        case draining(Rest)
        case lingering(Lingering)
        case closed
    }

    package private(set) var state: State
    /// The number of requests that have begun.
    package private(set) var requestCount = 0

    /// Creates the state of a new connection. The first head must arrive before `deadline`.
    package init(now: NIODeadline, deadline: NIODeadline) {
        self.state = .idle(Idle(since: now, deadline: deadline))
    }

    /// True if received bytes are ignored because no further request is read.
    package var ignoresInput: Bool {
        switch self.state {
        case .lingering, .closed: true
        case .idle, .head, .exchange, .tunnel, .draining: false
        }
    }

    /// True while bytes are forwarded unchanged after an upgrade.
    package var isTunnel: Bool { if case .tunnel = self.state { true } else { false } }
    /// True from the start of a request to the end of its answer.
    package var isInExchange: Bool {
        switch self.state {
        case .exchange, .draining: true
        case .idle, .head, .tunnel, .lingering, .closed: false
        }
    }
    /// True while the connection waits for the first byte of a request.
    package var isIdle: Bool { if case .idle = self.state { true } else { false } }
    /// True if the connection has closed or is about to close.
    package var isClosed: Bool { if case .closed = self.state { true } else { false } }

    /// When the connection last became idle or its unfinished head began. `nil` during a request.
    package var quietSince: NIODeadline? {
        switch self.state {
        case .idle(let idle): idle.since
        case .head(let head): head.since
        case .exchange, .tunnel, .draining, .lingering, .closed: nil
        }
    }

    /// How long a new connection stays open without a request while idle connections close. Its first request may be on
    /// the way, and a proxy may not retry a POST.
    package static let firstRequestGrace = TimeAmount.seconds(1)

    /// True if the connection has just opened and its first request may be on the way.
    package func awaitsFirstRequest(_ now: NIODeadline) -> Bool {
        guard self.requestCount == 0, case .idle(let idle) = self.state else { return false }
        return now - idle.since < Self.firstRequestGrace
    }

    // MARK: The head

    /// Records all bytes of a head so far. Returns false if they cannot be a complete head.
    ///
    /// - Parameters:
    ///   - longestLine: The length from which the head is always parsed, because its first line may be too long.
    ///   - limit: The time limit for the head, from its first byte on.
    @inline(__always)
    package mutating func headComes(
        _ bytes: ByteBuffer,
        longestLine: Int,
        now: NIODeadline,
        limit: TimeAmount
    ) -> Bool {
        guard case .head(var head) = self.state, head.seenCount > 0, head.seenCount < bytes.readableBytes else {
            if case .idle(let idle) = self.state {
                // The loop's cached time may be earlier than `since`.
                let since = max(idle.since, now)
                self.state = .head(UnfinishedHead(parsedFrom: longestLine, since: since, deadline: now + limit))
            }
            return true
        }
        // A head without another line feed is incomplete. This test avoids parsing it again for each byte.
        let seen = head.seenCount
        let hasLineFeed = bytes.withUnsafeReadableBytes { bytes in
            bytes.baseAddress.map { memchr($0 + seen, 0x0A, bytes.count - seen) != nil } ?? false
        }
        if hasLineFeed || bytes.readableBytes >= head.parsedFrom { return true }
        head.seenCount = bytes.readableBytes
        self.state = .head(head)
        return false
    }

    /// Records that the first `count` bytes contain no complete head.
    package mutating func headIsUnfinished(_ count: Int) {
        guard case .head(var head) = self.state else { return }
        head.seenCount = count
        // Otherwise, a long head would be parsed again with each new byte.
        if count >= head.parsedFrom { head.parsedFrom = count + 1024 }
        self.state = .head(head)
    }

    /// Records the start of a request, even if it is refused.
    ///
    /// - Parameters:
    ///   - keepsAlive: True if the client accepts another answer after this one.
    ///   - limit: The maximum number of requests on one connection.
    /// - Returns: True if another request may follow.
    @inline(__always)
    package mutating func requestBegins(keepsAlive: Bool, limit: Int, isDraining: Bool) -> Bool {
        self.state = .exchange
        self.requestCount &+= 1
        return keepsAlive && self.requestCount < limit && !isDraining
    }

    // MARK: The rest of a body

    /// Starts to discard the rest of the request's body, before the answer is sent. Some clients (HAProxy 2.6) never
    /// send the rest after an early answer. Their next request would be read as the body.
    package mutating func drains(_ body: BodyDecoder, now: NIODeadline) {
        guard case .exchange = self.state else { return }
        self.state = .draining(Rest(body: body, start: body.byteCount, deadline: now + Self.bodyTime))
    }

    /// Discards the body's bytes in `bytes`. The answer must be sent now unless the result is `more`.
    ///
    /// - Parameter limit: The maximum number of bytes to discard.
    /// - Returns: `end` if another request may follow. `malformed` if the end of the body cannot be found.
    package mutating func drain(_ bytes: inout ByteBuffer, limit: Int) -> BodyProgress {
        guard case .draining(var rest) = self.state else { return .end }
        let progress = rest.body.discard(&bytes)
        let isTooLarge = rest.body.byteCount - rest.start > limit
        guard progress == .more, !isTooLarge else {
            self.state = .exchange
            return isTooLarge ? .malformed : progress
        }
        self.state = .draining(rest)
        return .more
    }

    /// Stops waiting for the rest of the body.
    package mutating func drainsNoMore() {
        if case .draining = self.state { self.state = .exchange }
    }

    // MARK: The end of an exchange

    /// What the connection does after an answer.
    package enum NextStep: Equatable {
        /// Read the next request.
        case readOn
        case linger
        case close
        case none
    }

    /// Records that an answer has been sent.
    ///
    /// - Parameter idle: How long the connection waits for the next request.
    @inline(__always)
    package mutating func answerEnded(_ end: AnswerEnd, now: NIODeadline, idle: TimeAmount) -> NextStep {
        switch self.state {
        case .exchange, .tunnel: break
        case .idle, .head, .draining, .lingering, .closed: return .none
        }
        switch end {
        case .next: self.state = .idle(Idle(since: now, deadline: now + idle))
        case .close: return .linger
        case .closeAtOnce:
            self.state = .lingering(Lingering())
            return .close
        }
        return .readOn
    }

    /// Records the start of a tunnel after an upgrade.
    package mutating func upgraded() {
        if case .exchange = self.state { self.state = .tunnel }
    }

    // MARK: The end of the connection

    /// Records the end of the output. Returns false if it had already ended.
    package mutating func linger() -> Bool {
        if self.ignoresInput { return false }
        self.state = .lingering(Lingering())
        return true
    }

    /// Records that the connection closes or has closed. Returns false if that was already recorded.
    package mutating func closed() -> Bool {
        if case .closed = self.state { return false }
        self.state = .closed
        return true
    }

    // MARK: Deadlines

    /// What to do because a deadline has passed.
    package enum SweepAction: Equatable {
        case none
        case linger
        /// The head was not complete in time.
        case refuseHead
        /// The rest of a body was not complete in time, and the answer must be sent.
        case answer
        case close
        /// The client has stopped reading before the end of its answer. A reset shows that the answer is incomplete.
        case reset
        /// Check the deadlines of the exchange.
        case sweepExchange
    }

    /// Checks the deadlines.
    ///
    /// - Parameters:
    ///   - closesIdle: True if idle connections close, except new ones.
    ///   - idle: How long the connection waits for the next request.
    ///   - write: How long a client may go without receiving a byte.
    ///   - unacknowledged: Returns the number of bytes that the client has not acknowledged. Called only if needed.
    package mutating func sweep(
        _ now: NIODeadline,
        closesIdle: Bool,
        idle: TimeAmount,
        write: TimeAmount,
        unacknowledged: () -> Int
    ) -> SweepAction {
        switch self.state {
        case .idle(var quiet):
            if closesIdle, !self.awaitsFirstRequest(now) { return .linger }
            guard now >= quiet.deadline else { return .none }
            let action = quiet.expired(now, idle: idle, write: write, waiting: unacknowledged())
            self.state = .idle(quiet)
            return action
        case .head(let head):
            return now >= head.deadline ? .refuseHead : .none
        case .exchange, .tunnel:
            return .sweepExchange
        case .draining(let rest):
            return now >= rest.deadline ? .answer : .none
        case .lingering(var end):
            let action = end.sweep(now, write: write, unacknowledged)
            self.state = .lingering(end)
            return action
        case .closed:
            return .none
        }
    }
}

extension HTTP1State.Idle {
    /// Ends the idle time, or restarts it once the client has received all of the last answer.
    mutating func expired(
        _ now: NIODeadline,
        idle: TimeAmount,
        write: TimeAmount,
        waiting: Int
    ) -> HTTP1State.SweepAction {
        guard waiting == 0 else {
            var output = self.output ?? OutputWatch()
            let isStuck = output.isStuck(waiting, now: now, limit: write)
            self.output = output
            return isStuck ? .reset : .none
        }
        guard self.output != nil else { return .linger }
        self.output = nil
        self.deadline = now + idle
        return .none
    }
}

extension HTTP1State.Lingering {
    /// Resets the connection if the client stops reading. Otherwise, closes it after `lingerTime` (RFC 9112 9.6).
    mutating func sweep(_ now: NIODeadline, write: TimeAmount, _ unacknowledged: () -> Int) -> HTTP1State.SweepAction {
        if let deadline = self.deadline { return now >= deadline ? .close : .none }
        let waiting = unacknowledged()
        if waiting == 0 {
            self.deadline = now + HTTP1State.lingerTime
            return .none
        }
        return self.output.isStuck(waiting, now: now, limit: write) ? .reset : .none
    }
}
