package import NIOCore
import Transport

#if canImport(Glibc)
import Glibc
#endif

/// How a request ends whose answer has been sent.
package enum AnswerEnd {
    /// The request is complete, and the client may send another one.
    case next
    /// No further request is read.
    case close
    /// The client closes too and sends nothing more, so nothing that arrives can destroy the answer.
    case closeAtOnce
}

/// The state machine of one HTTP/1 connection, without I/O: what the next bytes are, which deadlines apply, and whether
/// another request may follow.
///
/// ```
///   idle ─▶ head ─▶ exchange ─▶ idle           answer and request have both ended
///                      ├──────▶ draining ─▶ exchange   the gateway's own answer waits for the rest of the body
///                      ├──────▶ tunnel
///                      └──────▶ lingering ─▶ closed   the answer must arrive before the connection closes; at once
///                                                     if the client said that it closes, too
/// ```
/// A head that is refused or late also begins an exchange, because it is answered. From every state except `closed` the
/// connection may also close at once.
package struct HTTP1State {
    /// A head that is not complete.
    package struct UnfinishedHead: Equatable {
        /// The number of bytes that were searched without finding the end.
        package var seenCount = 0
        /// With so many bytes it is parsed without another line feed, because a line may be too long.
        package var parsedFrom: Int
        package var since: NIODeadline
        package var deadline: NIODeadline
    }

    /// A connection without a request.
    package struct Idle {
        package let since: NIODeadline
        /// When it closes, or begins to ask whether the client has the last answer.
        var deadline: NIODeadline
        /// Set from then on, as long as the client takes the last answer.
        var output: OutputWatch?
    }

    /// A connection whose output has ended.
    package struct Lingering {
        var output = OutputWatch()
        /// When it closes. nil: the client has not got everything yet.
        var deadline: NIODeadline?
    }

    /// How long a client that has got everything may take to close the connection.
    static let lingerTime = TimeAmount.seconds(2)

    /// The rest of a request's body, which is discarded before the gateway's own answer is sent.
    package struct Rest {
        fileprivate var body: BodyDecoder
        /// The number of content bytes that had come before.
        fileprivate let start: Int
        fileprivate let deadline: NIODeadline
    }

    /// How long an answer waits for the rest of a body. A client that has not sent it by then may never do so.
    static let bodyTime = TimeAmount.seconds(2)

    /// What the connection carries, with the data that exist only in that state.
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

    /// A connection that has just opened. Its first head must arrive before `deadline`.
    package init(now: NIODeadline, deadline: NIODeadline) {
        self.state = .idle(Idle(since: now, deadline: deadline))
    }

    /// Whether received bytes are ignored, because no further request is read from this client.
    package var ignoresInput: Bool {
        switch self.state {
        case .lingering, .closed: true
        case .idle, .head, .exchange, .tunnel, .draining: false
        }
    }

    /// Whether bytes are passed on unchanged, because the app agreed to an upgrade.
    package var isTunnel: Bool { if case .tunnel = self.state { true } else { false } }
    /// Whether a request has begun and its answer has not ended.
    package var isInExchange: Bool {
        switch self.state {
        case .exchange, .draining: true
        case .idle, .head, .tunnel, .lingering, .closed: false
        }
    }
    /// Whether no byte of a request has arrived.
    package var isIdle: Bool { if case .idle = self.state { true } else { false } }
    /// Whether the connection has closed or is about to.
    package var isClosed: Bool { if case .closed = self.state { true } else { false } }

    /// The time since which the connection has carried nothing or only an unfinished head; nil: it is in use.
    package var quietSince: NIODeadline? {
        switch self.state {
        case .idle(let idle): idle.since
        case .head(let head): head.since
        case .exchange, .tunnel, .draining, .lingering, .closed: nil
        }
    }

    /// How long a connection without a request stays open while idle ones close: a client that has just connected may be
    /// about to send, and a proxy may not repeat a POST.
    package static let firstRequestGrace = TimeAmount.seconds(1)

    /// Whether the connection has just opened, so that its first request may still arrive.
    package func awaitsFirstRequest(_ now: NIODeadline) -> Bool {
        guard self.requestCount == 0, case .idle(let idle) = self.state else { return false }
        return now - idle.since < Self.firstRequestGrace
    }

    // MARK: The head

    /// Records that bytes of a head have arrived; `bytes` is everything so far. False: parsing would find no end.
    ///
    /// - Parameters:
    ///   - longestLine: A head with this many bytes is parsed in any case, because its first line may be too long.
    ///   - limit: How long the head may take from its first byte.
    @inline(__always)
    package mutating func headComes(
        _ bytes: ByteBuffer,
        longestLine: Int,
        now: NIODeadline,
        limit: TimeAmount
    ) -> Bool {
        guard case .head(var head) = self.state, head.seenCount > 0, head.seenCount < bytes.readableBytes else {
            if case .idle(let idle) = self.state {
                // The loop's time may be older than the connection, and the newest connections are kept.
                let since = max(idle.since, now)
                self.state = .head(UnfinishedHead(parsedFrom: longestLine, since: since, deadline: now + limit))
            }
            return true
        }
        // Without another line feed the head cannot be complete. So a head that arrives byte by byte is not parsed each
        // time.
        let seen = head.seenCount
        let hasLineFeed = bytes.withUnsafeReadableBytes { bytes in
            bytes.baseAddress.map { memchr($0 + seen, 0x0A, bytes.count - seen) != nil } ?? false
        }
        if hasLineFeed || bytes.readableBytes >= head.parsedFrom { return true }
        head.seenCount = bytes.readableBytes
        self.state = .head(head)
        return false
    }

    /// Records that the head is not complete in its first `count` bytes.
    package mutating func headIsUnfinished(_ count: Int) {
        guard case .head(var head) = self.state else { return }
        head.seenCount = count
        // Not with each byte that follows.
        if count >= head.parsedFrom { head.parsedFrom = count + 1024 }
        self.state = .head(head)
    }

    /// Begins a request, also one that is refused.
    ///
    /// - Parameters:
    ///   - keepsAlive: The client accepts another answer after this one.
    ///   - limit: The most requests on one connection.
    /// - Returns: Whether another request may follow.
    @inline(__always)
    package mutating func requestBegins(keepsAlive: Bool, limit: Int, isDraining: Bool) -> Bool {
        self.state = .exchange
        self.requestCount &+= 1
        return keepsAlive && self.requestCount < limit && !isDraining
    }

    // MARK: The rest of a body

    /// Discards the rest of the request's body from now on. The answer is sent after it, because a client that never sends
    /// the rest would otherwise have the next request read as the body: HAProxy 2.6 uses a connection again for which it
    /// has given up a request that was answered early.
    package mutating func drains(_ body: BodyDecoder, now: NIODeadline) {
        guard case .exchange = self.state else { return }
        self.state = .draining(Rest(body: body, start: body.byteCount, deadline: now + Self.bodyTime))
    }

    /// Discards the part of the body that is in `bytes`. Unless more is to come, the answer is due.
    ///
    /// - Parameter limit: The most bytes that are discarded.
    /// - Returns: `end` if another request may follow, `malformed` if the end of the body will not be found.
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

    /// Waits no longer for the rest of the body, if the answer still does.
    package mutating func drainsNoMore() {
        if case .draining = self.state { self.state = .exchange }
    }

    // MARK: The end of an exchange

    /// What the connection does after an answer.
    package enum NextStep: Equatable {
        /// Received bytes belong to the next request.
        case readOn
        case linger
        case close
        case none
    }

    /// Records that an answer has been sent.
    ///
    /// - Parameter idle: How long the connection is kept for the next request.
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

    /// Begins a tunnel, because the app agreed to an upgrade.
    package mutating func upgraded() {
        if case .exchange = self.state { self.state = .tunnel }
    }

    // MARK: The end of the connection

    /// Sends nothing more. False: this has been done already.
    package mutating func linger() -> Bool {
        if self.ignoresInput { return false }
        self.state = .lingering(Lingering())
        return true
    }

    /// Records that the connection closes or has closed. False: this was known already.
    package mutating func closed() -> Bool {
        if case .closed = self.state { return false }
        self.state = .closed
        return true
    }

    // MARK: Deadlines

    /// What has to be done because time has passed.
    package enum SweepAction: Equatable {
        case none
        case linger
        /// The head was not complete in time, and has to be answered.
        case refuseHead
        /// The rest of a body has not come in time, and the answer is due.
        case answer
        case close
        /// The client has not got everything and takes nothing more: it must not see a clean end.
        case reset
        /// The exchange has deadlines of its own.
        case sweepExchange
    }

    /// Checks the deadlines.
    ///
    /// - Parameters:
    ///   - closesIdle: Whether idle connections close, except those whose first request may still arrive.
    ///   - idle: How long the connection is kept for the next request.
    ///   - write: How long a client may take no byte.
    ///   - unacknowledged: The number of bytes that the client has not acknowledged. Asked where it decides.
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
    /// Its time is over, unless the client was still reading the last answer: then it begins when the client has it.
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
    /// The client has the write timeout for each part of what it has not got, and a moment to close when it has all of it
    /// (RFC 9112 9.6).
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
