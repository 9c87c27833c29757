package import NIOCore

/// Decides when connections to one server are opened, so that they come no faster than the server accepts them. It has no
/// sockets and no clock.
///
/// A server whose accept queue is full drops what it cannot hold, and the system repeats a lost SYN only after a second
/// (RFC 6298). So few connects are under way at first, more with each that succeeds, and fewer when one hangs:
///
/// ```
///   under way ──── connected ────▶ window + 1
///       │ ├─────── hangs ────────▶ late: half the window; a further try begins beside it
///       │ └─────── refused ──────▶ a window of 1; the next try begins after a pause
///       └───────── the server has ended an exchange: it accepts the next connection, so a further try begins
/// ```
package struct ConnectPace {
    /// The connects that are under way at first. The smallest usual accept queue holds five.
    static let firstWindow = 4
    /// How soon a connect is late if nothing is known of the server (RFC 8305 8: the delay between two tries).
    static let firstPatience = TimeAmount.milliseconds(250)
    /// After this time the system itself repeats a lost SYN (RFC 6298 2.1).
    static let repeatedSYN = TimeAmount.seconds(1)
    /// The longest time until a connect is late.
    static let longestPatience = TimeAmount.seconds(2)
    /// The pause after a server has refused a connection, which doubles each time.
    static let firstPause = TimeAmount.milliseconds(50)
    static let longestPause = TimeAmount.milliseconds(250)
    /// How long a request waits for a server that refuses connections, because it may be starting.
    package static let startPatience = TimeAmount.seconds(3)
    /// After this time a server that refuses connections is gone, and a request waits for `gonePatience` only.
    package static let longestStart = TimeAmount.seconds(30)
    package static let gonePatience = TimeAmount.milliseconds(500)
    /// How long a connect is young. Most of them are ready by then.
    private static let youth = TimeAmount.milliseconds(50)
    /// How soon a process without descriptors tries again.
    private static let pauseWithoutFile = TimeAmount.milliseconds(50)

    /// One connect that is under way.
    private struct Try {
        let number: Int
        let begun: NIODeadline
        /// Whether it hangs, so that a further one may begin.
        var isLate = false
        /// Whether the server has accepted it. TLS follows.
        var isAccepted = false
    }

    /// How many connects may be under way that are not late.
    package private(set) var window = firstWindow
    /// Up to this window, each connection that is made adds one; above it, a full window does.
    private var threshold = Int.max
    private var growth = 0
    private var tries: [Try] = []
    private var nextNumber = 0
    /// How many tries may begin beyond the window.
    private var credits = 0
    /// How long the server took to accept the last connection.
    private var usual = TimeAmount.zero
    private var patience = firstPatience
    private var pause = firstPause
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    /// Since when the server has refused each connection. `nil` if it has not refused the last one.
    private var refusedSince: NIODeadline?

    package init() {}

    /// The connects that are under way.
    package var count: Int { self.tries.count }

    /// Begins a connect if it is time for one.
    ///
    /// - Parameter wanted: How many requests wait for a connection.
    /// - Returns: The number of the connect. `nil` if none is to begin now.
    package mutating func begin(for wanted: Int, now: NIODeadline) -> Int? {
        let fresh = self.tries.count { !$0.isLate }
        guard fresh < wanted, now >= self.pausedUntil else { return nil }
        // What a former burst has shown is long ago.
        if self.tries.isEmpty { self.window = min(self.window, Self.firstWindow) }
        if fresh >= self.window {
            guard self.credits > 0 else { return nil }
            self.credits -= 1
        }
        self.nextNumber += 1
        self.tries.append(Try(number: self.nextNumber, begun: now))
        return self.nextNumber
    }

    /// Called when the server has accepted a connection on which TLS begins.
    package mutating func accepted(_ number: Int, now: NIODeadline) {
        guard let index = self.index(of: number) else { return }
        self.tries[index].isAccepted = true
        self.learn(now - self.tries[index].begun)
    }

    /// Called when a connection is ready for a request.
    package mutating func connected(_ number: Int, now: NIODeadline) {
        guard let ended = self.end(number) else { return }
        if !ended.isAccepted { self.learn(now - ended.begun) }
        self.patience = min(max(self.usual * 4, Self.firstPatience), Self.repeatedSYN)
        self.pause = Self.firstPause
        self.pausedUntil = .uptimeNanoseconds(0)
        self.refusedSince = nil
        if !ended.isLate { self.grow() }
    }

    /// Notes how long the server takes to accept a connection whose first SYN has arrived.
    private mutating func learn(_ time: TimeAmount) {
        if time < Self.repeatedSYN { self.usual = time }
    }

    private mutating func grow() {
        self.growth += 1
        guard self.window < self.threshold || self.growth >= self.window else { return }
        self.growth = 0
        self.window += 1
    }

    /// Called when the server has refused a connection, or cannot be reached. The next try begins after a pause.
    ///
    /// - Parameter pauses: False if the requests go to other servers.
    package mutating func refused(_ number: Int, now: NIODeadline, pauses: Bool = true) {
        guard self.end(number) != nil else { return }
        self.refusedSince = self.refusedSince ?? now
        guard pauses else { return }
        self.window = 1
        self.growth = 0
        self.pausedUntil = now + self.pause
        self.pause = min(self.pause * 2, Self.longestPause)
    }

    /// Called when the process had no descriptor for a connection.
    package mutating func lackedFile(_ number: Int, now: NIODeadline) {
        guard self.end(number) != nil else { return }
        self.pausedUntil = now + Self.pauseWithoutFile
    }

    /// Called when a connect has ended for another reason.
    package mutating func failed(_ number: Int) { _ = self.end(number) }

    /// Called when the server has ended an exchange and its connection while requests wait for one: a server that serves
    /// one connection after the other accepts the next one now.
    package mutating func freed() {
        if self.credits < self.tries.count { self.credits += 1 }
    }

    /// How many connects have begun so lately that they will probably be ready soon.
    package func promising(now: NIODeadline) -> Int {
        self.tries.count { !$0.isLate && now - $0.begun < ($0.isAccepted ? Self.repeatedSYN : Self.youth) }
    }

    /// Looks for connects that hang.
    package mutating func look(now: NIODeadline) {
        var hangs = false
        for index in self.tries.indices {
            let attempt = self.tries[index]
            guard !attempt.isLate, !attempt.isAccepted, now - attempt.begun >= self.patience else { continue }
            self.tries[index].isLate = true
            hangs = true
        }
        guard hangs else { return }
        self.window = max(1, self.window / 2)
        self.threshold = self.window
        self.growth = 0
        self.patience = min(self.patience * 2, Self.longestPatience)
    }

    /// Ends the connects that no request needs: of those that hang and of those that do not, no more than requests that
    /// wait.
    ///
    /// - Returns: The numbers of those that end.
    package mutating func endSurplus(for wanted: Int) -> [Int] {
        guard !self.tries.isEmpty, self.tries.count > wanted else { return [] }
        var ended: [Int] = []
        for isLate in [true, false] {
            let candidates = self.tries.filter { $0.isLate == isLate && !$0.isAccepted }
            // The oldest ones that hang have waited for a lost SYN; of the others the newest have come least far.
            let surplus = max(0, candidates.count - wanted)
            ended += (isLate ? candidates.prefix(surplus) : candidates.suffix(surplus)).map(\.number)
        }
        for number in ended { _ = self.end(number) }
        return ended
    }

    /// How long a request waits while the server accepts no connection.
    ///
    /// - Parameter limit: How long it waits for a server that does not answer.
    package func patience(upTo limit: TimeAmount, now: NIODeadline) -> TimeAmount {
        guard let since = self.refusedSince else { return limit }
        return min(limit, now - since > Self.longestStart ? Self.gonePatience : Self.startPatience)
    }

    /// Whether the server has refused the last connection.
    package var isRefused: Bool { self.refusedSince != nil }

    private func index(of number: Int) -> Int? { self.tries.firstIndex { $0.number == number } }

    private mutating func end(_ number: Int) -> Try? {
        guard let index = self.index(of: number) else { return nil }
        let ended = self.tries.remove(at: index)
        if self.tries.isEmpty { self.credits = 0 }
        return ended
    }
}
