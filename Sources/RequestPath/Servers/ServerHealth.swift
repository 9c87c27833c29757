package import NIOCore

/// What a loop's own requests say of one server of an app. A server that fails several times in a row is left out for a
/// while; then one request decides whether it is back, or a connect if none comes.
///
/// ```
///   serving ──── 5 failures, or 10 answers 502, 503 or 504 ────▶ out ──── 10 s × times out ────▶ probed
///      ▲                                                         ▲                                │ │
///      │                                                         └────────── it fails ────────────┘ │
///      └──────────────────────────────────── it answers ────────────────────────────────────────────┘
/// ```
package struct ServerHealth {
    /// Failed connects and resets in a row.
    static let failureLimit = 5
    /// Answers of a gateway without an app, in a row.
    static let errorLimit = 10
    static let firstPause = TimeAmount.seconds(10)
    static let longestPause = TimeAmount.minutes(5)
    /// How long a probe that does not end keeps others from being sent.
    static let probeTime = TimeAmount.seconds(10)
    /// How long a request is awaited that can be the probe.
    static let patience = TimeAmount.seconds(5)

    private enum State: Equatable {
        case serving
        case out(until: NIODeadline)
        case probed(until: NIODeadline)
    }

    /// What follows from an answer or a failure.
    package enum Verdict: Equatable {
        case none
        /// It is to be left out, unless too many are.
        case unfit
        /// It has failed its probe, and is left out again.
        case stillOut
        /// It serves again.
        case back
    }

    private var state = State.serving
    private var failures = 0
    private var errors = 0
    private var timesOut = 0
    private var outAt = NIODeadline.uptimeNanoseconds(0)
    private var backAt = NIODeadline.uptimeNanoseconds(0)
    /// Whether it serves only because it can be connected to.
    private var isOnTrial = false

    package init() {}

    package var isServing: Bool { self.state == .serving }

    /// Whether nothing is held against it, so that a good answer changes nothing.
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
        // What was asked before it was left out says nothing of it now.
        guard case .probed = self.state else { return .none }
        return .back
    }

    /// Called when a connect has failed, or a connection has ended before an answer.
    ///
    /// - Parameter isSuspect: Whether another loop leaves it out: then one failure is enough.
    package mutating func failed(isSuspect: Bool) -> Verdict {
        self.failures += 1
        return self.failedVerdict(isSuspect || self.isOnTrial || self.failures >= Self.failureLimit)
    }

    /// Called when an answer came too late or was none that can be passed on.
    package mutating func disappointed() -> Verdict {
        if case .probed = self.state { .stillOut } else { .none }
    }

    /// Called with whether it could be connected to, where that was the probe. If so it serves, and one failure is enough to
    /// leave it out again: a request has not been answered.
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

    /// Leaves it out for a while that grows with each time.
    ///
    /// - Parameter percent: 0 to 19, added to the while, so that loops and gateways do not probe together.
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

    /// Lets it serve again.
    package mutating func comeBack(now: NIODeadline) {
        self.state = .serving
        self.backAt = now
        self.failures = 0
        self.errors = 0
    }

    /// Called when another loop has had an answer from it at this time: it is probed next.
    package mutating func heard(_ time: NIODeadline) {
        if case .out = self.state, time > self.outAt { self.state = .out(until: time) }
    }

    /// Whether the next request may probe it.
    package func awaitsProbe(now: NIODeadline) -> Bool {
        switch self.state {
        case .serving: false
        case .out(let until), .probed(let until): now >= until
        }
    }

    /// Called when a request is sent to it as a probe.
    package mutating func probe(now: NIODeadline) {
        self.state = .probed(until: now + Self.probeTime)
    }
}

/// How many requests of an app a loop may send a second time to another server, after the first one broke off: a tenth of
/// all in the last ten seconds, and three a second. When all servers fail at once, their load does not double.
package struct RetryBudget {
    private static let seconds = 10
    private static let always = 3 * Self.seconds

    private var requests = [Int](repeating: 0, count: Self.seconds)
    private var retries = [Int](repeating: 0, count: Self.seconds)
    private var slot = 0
    private var second: Int64 = 0
    /// The requests of the current second.
    private var current = 0

    package init() {}

    /// Counts a request.
    @inline(__always)
    package mutating func count() { self.current &+= 1 }

    /// Called several times a second.
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

    /// Takes one; false: there is none left.
    package mutating func take(now: NIODeadline) -> Bool {
        self.advance(to: now)
        let requests = self.requests.reduce(self.current, +)
        guard self.retries.reduce(0, +) < requests / 10 + Self.always else { return false }
        self.retries[self.slot] += 1
        return true
    }
}
