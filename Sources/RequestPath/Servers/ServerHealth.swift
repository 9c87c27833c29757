package import NIOCore

/// The health of one server of an app, judged by one loop's requests. A server that fails several times in a row is
/// ejected for a while. Then one request, or a connect if no request comes, decides whether the server is back.
///
/// ```
///   serving ──── 5 failures, or 10 answers 502, 503 or 504 ────▶ out ──── 10 s × times out ────▶ probed
///      ▲                                                         ▲                                │ │
///      │                                                         └────────── it fails ────────────┘ │
///      └──────────────────────────────────── it answers ────────────────────────────────────────────┘
/// ```
package struct ServerHealth {
    /// The number of failed connects, and resets of new connections, in a row that ejects a server.
    static let failureLimit = 5
    /// The number of answers 502, 503 or 504 in a row that ejects a server.
    static let errorLimit = 10
    static let firstPause = TimeAmount.seconds(10)
    static let longestPause = TimeAmount.minutes(5)
    /// The time after which an unanswered probe is repeated.
    static let probeTime = TimeAmount.seconds(10)
    /// The time after which a connect is the probe, because no suitable request has come.
    static let patience = TimeAmount.seconds(5)

    private enum State: Equatable {
        case serving
        case out(until: NIODeadline)
        case probed(until: NIODeadline)
    }

    /// The consequence of an answer or a failure.
    package enum Verdict: Equatable {
        case none
        /// Eject the server, unless too many are out.
        case unfit
        /// The server has failed its probe and stays ejected.
        case stillOut
        /// The server is back.
        case back
    }

    private var state = State.serving
    private var failures = 0
    private var errors = 0
    private var timesOut = 0
    private var outAt = NIODeadline.uptimeNanoseconds(0)
    private var backAt = NIODeadline.uptimeNanoseconds(0)
    /// Whether the server came back after a connect only, without an answered request.
    private var isOnTrial = false

    package init() {}

    package var isServing: Bool { self.state == .serving }

    /// Whether a successful answer changes nothing: the server is in use without failures and not on trial.
    package var isCalm: Bool { self.isServing && self.failures == 0 && self.errors == 0 && !self.isOnTrial }

    /// Called with the status of an answer.
    package mutating func answered(_ status: Int) -> Verdict {
        if status == 502 || status == 503 || status == 504 {
            self.failures = 0
            self.errors += 1
            return self.failedVerdict(self.isOnTrial || self.errors >= Self.errorLimit)
        }
        self.failures = 0
        self.errors = 0
        self.isOnTrial = false
        // An answer to a request that was sent before the ejection says nothing about the server now.
        guard case .probed = self.state else { return .none }
        return .back
    }

    /// Called when a connect has failed, or a connection has ended before an answer.
    ///
    /// - Parameter isSuspect: Whether another loop has ejected the server, so that one failure is enough.
    package mutating func failed(isSuspect: Bool) -> Verdict {
        self.failures += 1
        return self.failedVerdict(isSuspect || self.isOnTrial || self.failures >= Self.failureLimit)
    }

    /// Called when an answer is late or malformed, or a reused connection has ended unanswered.
    package mutating func disappointed() -> Verdict {
        if case .probed = self.state { .stillOut } else { .none }
    }

    /// Called with the result of a connect that is the probe. If the server accepts the connect, it is back. Until the
    /// server has answered a request, one failure ejects it again.
    package mutating func found(_ isConnected: Bool) -> Verdict {
        guard case .probed = self.state else { return .none }
        self.isOnTrial = isConnected
        return isConnected ? .back : .stillOut
    }

    private func failedVerdict(_ isUnfit: Bool) -> Verdict {
        switch self.state {
        case .serving: isUnfit ? .unfit : .none
        case .out: .none
        case .probed: .stillOut
        }
    }

    /// Ejects the server. The time until its probe grows with each ejection, until the server has served for
    /// `longestPause`.
    ///
    /// - Parameter percent: A random part to add, 0 to 19 percent, so that loops and gateways do not probe at once.
    package mutating func leave(now: NIODeadline, percent: Int) {
        if self.isServing, now - self.backAt > Self.longestPause { self.timesOut = 0 }
        self.timesOut = min(self.timesOut + 1, 1000)
        let pause = min(Self.firstPause * self.timesOut, Self.longestPause)
        self.state = .out(until: now + pause + .nanoseconds(pause.nanoseconds / 100 * Int64(percent)))
        self.outAt = now
        self.failures = 0
        self.errors = 0
        self.isOnTrial = false
    }

    /// Puts the server back in use.
    package mutating func comeBack(now: NIODeadline) {
        self.state = .serving
        self.backAt = now
        self.failures = 0
        self.errors = 0
    }

    /// Called with the time when another loop found the server back. If `time` is after this loop's ejection, the next
    /// request becomes the probe.
    package mutating func heard(_ time: NIODeadline) {
        if case .out = self.state, time > self.outAt { self.state = .out(until: time) }
    }

    /// Returns whether the next request may be the probe.
    package func awaitsProbe(now: NIODeadline) -> Bool {
        switch self.state {
        case .serving: false
        case .out(let until), .probed(let until): now >= until
        }
    }

    /// Called when a request is sent to the server as a probe.
    package mutating func probe(now: NIODeadline) {
        self.state = .probed(until: now + Self.probeTime)
    }
}

/// Limits a loop's retries at other servers to a tenth of an app's requests in the last ten seconds, plus three a
/// second. Otherwise, the load would double if all servers failed at once.
package struct RetryBudget {
    private static let seconds = 10
    private static let always = 3 * Self.seconds

    private var requests = [Int](repeating: 0, count: Self.seconds)
    private var retries = [Int](repeating: 0, count: Self.seconds)
    private var slot = 0
    private var second: Int64 = 0
    /// The number of requests in the current second.
    private var current = 0

    package init() {}

    /// Counts a request.
    @inline(__always)
    package mutating func count() { self.current &+= 1 }

    /// Moves on to the current second. Called several times a second.
    package mutating func advance(to now: NIODeadline) {
        let second = Int64(clamping: now.uptimeNanoseconds / 1_000_000_000)
        guard second != self.second else { return }
        self.requests[self.slot] = self.current
        self.current = 0
        for _ in 0..<min(max(second - self.second, 1), Int64(Self.seconds)) {
            self.slot = (self.slot + 1) % Self.seconds
            self.requests[self.slot] = 0
            self.retries[self.slot] = 0
        }
        self.second = second
    }

    /// Uses a retry. Returns false if none is left.
    package mutating func take(now: NIODeadline) -> Bool {
        self.advance(to: now)
        let requests = self.requests.reduce(self.current, +)
        guard self.retries.reduce(0, +) < requests / 10 + Self.always else { return false }
        self.retries[self.slot] += 1
        return true
    }
}
