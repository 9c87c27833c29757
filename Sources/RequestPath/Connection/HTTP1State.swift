package import NIOCore

#if canImport(Glibc)
import Glibc
#endif

/// The life of one HTTP/1 connection without its I/O: whose bytes come next, what ends by itself, and whether another
/// request may follow.
///
/// ```
///   idle ─▶ head ─▶ exchange ─▶ idle           the answer has ended, and so has the request
///                      ├──────▶ draining ─▶ idle    the rest of a body after our answer is read away
///                      ├──────▶ tunnel
///                      └──────▶ lingering ─▶ closed   our answer must arrive before the connection goes
/// ```
/// A head that is refused or late is an exchange as well: it is answered. From every state but `closed` the connection may
/// also close at once.
package struct HTTP1State {
    /// A head that has not come to its end.
    package struct UnfinishedHead: Equatable {
        /// Bytes in which no end was found.
        package var seenCount = 0
        package var since: NIODeadline
        package var deadline: NIODeadline
    }

    /// What the connection carries, with what is known of it only then.
    package enum State {
        case idle(since: NIODeadline, deadline: NIODeadline)
        case head(UnfinishedHead)
        case exchange
        case tunnel
        /// `body`: what is left of the request's body.
        case draining(body: BodyRelay, deadline: NIODeadline)
        case lingering(deadline: NIODeadline)
        case closed
    }

    package private(set) var state: State
    /// Requests that have begun.
    package private(set) var requestCount = 0

    /// A connection that has just opened; its first head is to come until `deadline`.
    package init(now: NIODeadline, deadline: NIODeadline) {
        self.state = .idle(since: now, deadline: deadline)
    }

    /// What comes next is of no use, because nothing more is read from this client.
    package var ignoresInput: Bool {
        switch self.state {
        case .lingering, .closed: true
        case .idle, .head, .exchange, .tunnel, .draining: false
        }
    }

    /// Bytes pass as they come, since the app agreed to an upgrade.
    package var isTunnel: Bool { if case .tunnel = self.state { true } else { false } }
    /// A request has begun, and its answer has not ended.
    package var isInExchange: Bool { if case .exchange = self.state { true } else { false } }
    /// Nothing of a request has come.
    package var isIdle: Bool { if case .idle = self.state { true } else { false } }
    /// The connection has closed, or is about to.
    package var isClosed: Bool { if case .closed = self.state { true } else { false } }

    /// Since when the connection carries nothing, or nothing but an unfinished head; nil: it is in use.
    package var quietSince: NIODeadline? {
        switch self.state {
        case .idle(let since, _): since
        case .head(let head): head.since
        case .exchange, .tunnel, .draining, .lingering, .closed: nil
        }
    }

    /// How long a connection without a request stays open while idle ones close: a client that has just connected may be
    /// about to send, and a proxy may not repeat a POST.
    package static let firstRequestGrace = TimeAmount.seconds(1)

    /// Whether the connection has just opened, so that its first request may still arrive.
    package func awaitsFirstRequest(_ now: NIODeadline) -> Bool {
        guard self.requestCount == 0, case .idle(let since, _) = self.state else { return false }
        return now - since < Self.firstRequestGrace
    }

    // MARK: The head

    /// Bytes of a head have come; `bytes` is all there is of it. False: parsing them would find no end.
    ///
    /// - Parameters:
    ///   - longestLine: A head with so many bytes is parsed in any case: its first line may be too long.
    ///   - limit: How long the head may take from its first byte.
    @inline(__always)
    package mutating func headComes(
        _ bytes: ByteBuffer,
        longestLine: Int,
        now: NIODeadline,
        limit: TimeAmount
    ) -> Bool {
        guard case .head(var head) = self.state, head.seenCount > 0, head.seenCount < bytes.readableBytes else {
            if case .idle = self.state {
                self.state = .head(UnfinishedHead(since: now, deadline: now + limit))
            }
            return true
        }
        // Without another line feed no head can have come to its end: one that comes byte by byte is not parsed each time.
        let seen = head.seenCount
        let hasLineFeed = bytes.withUnsafeReadableBytes { bytes in
            bytes.baseAddress.map { memchr($0 + seen, 0x0A, bytes.count - seen) != nil } ?? false
        }
        if hasLineFeed || bytes.readableBytes >= longestLine { return true }
        head.seenCount = bytes.readableBytes
        self.state = .head(head)
        return false
    }

    /// The head has not come to its end in these bytes.
    package mutating func headIsUnfinished(_ count: Int) {
        guard case .head(var head) = self.state else { return }
        head.seenCount = count
        self.state = .head(head)
    }

    /// A request begins, or is refused.
    ///
    /// - Parameters:
    ///   - keepsAlive: The client takes another answer after this one.
    ///   - limit: Requests on one connection.
    /// - Returns: Whether another request may follow.
    @inline(__always)
    package mutating func requestBegins(keepsAlive: Bool, limit: Int, isDraining: Bool) -> Bool {
        self.state = .exchange
        self.requestCount &+= 1
        return keepsAlive && self.requestCount < limit && !isDraining
    }

    // MARK: The end of an exchange

    /// What the connection does after an answer, or after a part of a body that is read away.
    package enum NextStep: Equatable {
        /// What has come belongs to the next request, or to what is left of the last one's body.
        case readOn
        case linger
        case none
    }

    /// An answer has been written.
    ///
    /// - Parameters:
    ///   - idle: How long the connection is kept for the next request.
    ///   - drain: How long what is left of a body may take.
    @inline(__always)
    package mutating func answerEnded(
        _ end: AnswerEnd,
        now: NIODeadline,
        idle: TimeAmount,
        drain: TimeAmount
    ) -> NextStep {
        switch self.state {
        case .exchange, .tunnel: break
        case .idle, .head, .draining, .lingering, .closed: return .none
        }
        switch end {
        case .next: self.state = .idle(since: now, deadline: now + idle)
        case .body(let body): self.state = .draining(body: body, deadline: now + drain)
        case .close: return .linger
        }
        return .readOn
    }

    /// Reads away what `bytes` holds of a body whose request was answered, so that it is not taken for the next request.
    ///
    /// - Parameters:
    ///   - limit: The most bytes of one body.
    ///   - idle: How long the connection is kept for the next request.
    package mutating func drain(
        _ bytes: inout ByteBuffer,
        limit: Int,
        now: NIODeadline,
        idle: TimeAmount
    ) -> NextStep {
        guard case .draining(var body, let deadline) = self.state else { return .none }
        let outcome = body.discard(&bytes)
        if outcome == .malformed || body.byteCount > limit { return .linger }
        self.state =
            outcome == .end ? .idle(since: now, deadline: now + idle) : .draining(body: body, deadline: deadline)
        return .readOn
    }

    /// The app agreed to an upgrade.
    package mutating func upgraded() {
        if case .exchange = self.state { self.state = .tunnel }
    }

    // MARK: The end of the connection

    /// Nothing more is sent; the client has until `deadline` to take what was. False: that is so already.
    package mutating func linger(until deadline: NIODeadline) -> Bool {
        if self.ignoresInput { return false }
        self.state = .lingering(deadline: deadline)
        return true
    }

    /// The client has all bytes but has not closed: it has until `deadline`.
    package mutating func outputEnded(_ deadline: NIODeadline) {
        if case .lingering = self.state { self.state = .lingering(deadline: deadline) }
    }

    /// The connection closes or has closed; false: it had before.
    package mutating func closed() -> Bool {
        if case .closed = self.state { return false }
        self.state = .closed
        return true
    }

    // MARK: Deadlines

    /// What is to be done because time has passed.
    package enum SweepAction: Equatable {
        case none
        case linger
        /// To be answered: the head has not come to its end in time.
        case refuseHead
        case close
        /// The exchange has deadlines of its own.
        case sweepExchange
    }

    /// What has reached its deadline.
    ///
    /// - Parameter closesIdle: Idle connections close, except those whose first request may still arrive.
    package func sweep(_ now: NIODeadline, closesIdle: Bool) -> SweepAction {
        switch self.state {
        case .idle(_, let deadline):
            now >= deadline || (closesIdle && !self.awaitsFirstRequest(now)) ? .linger : .none
        case .head(let head): now >= head.deadline ? .refuseHead : .none
        case .exchange, .tunnel: .sweepExchange
        case .draining(_, let deadline), .lingering(let deadline): now >= deadline ? .close : .none
        case .closed: .none
        }
    }
}
