package import NIOCore

/// Decides when connections to one server are opened, no faster than it accepts them. Has no sockets and no clock.
///
/// A server with a full accept queue drops further SYNs, and the system repeats a lost SYN only after a second (RFC
/// 6298). Therefore, only a few connects may be pending at first. Successes raise the number. A connect that hangs
/// halves it:
///
/// ```
///   pending ────── connected ────▶ window + 1
///       │ ├─────── hangs ────────▶ late: half the window, and another connect may begin
///       │ └─────── refused ──────▶ a window of 1; the next connect begins after a pause
///       └───────── the server has ended an exchange: it accepts the next connection, so another connect begins
/// ```
package struct ConnectPace {
    /// The number of connects that may be pending at first. The smallest usual accept queue holds five.
    static let firstWindow = 4
    /// The time after which a connect is late while nothing is known of the server (RFC 8305 8, attempt delay).
    static let firstPatience = TimeAmount.milliseconds(250)
    /// The time after which the system repeats a lost SYN (RFC 6298 2.1).
    static let repeatedSYN = TimeAmount.seconds(1)
    /// The longest time until a connect is late.
    static let longestPatience = TimeAmount.seconds(2)
    /// The pause after a server refuses a connection. Doubles with each refusal.
    static let firstPause = TimeAmount.milliseconds(50)
    static let longestPause = TimeAmount.milliseconds(250)
    /// The time for which a request waits for a server that refuses connections, because it may be starting.
    package static let startPatience = TimeAmount.seconds(3)
    /// The time after which a refusing server is considered gone, and requests wait for `gonePatience` only.
    package static let longestStart = TimeAmount.seconds(30)
    package static let gonePatience = TimeAmount.milliseconds(500)
    /// The time within which most connects are ready.
    private static let youth = TimeAmount.milliseconds(50)
    /// The pause after a connect failed because no file descriptor or no local port was left.
    private static let ownPause = TimeAmount.milliseconds(50)

    /// A pending connect.
    private struct Try {
        let number: Int
        let begun: NIODeadline
        /// Whether the connect hangs, so that another one may begin.
        var isLate = false
        /// Whether the server has accepted the connection. TLS follows.
        var isAccepted = false
    }

    /// The number of connects that may be pending, apart from late ones.
    package private(set) var window = firstWindow
    /// The window size up to which each new connection adds one. Above it, a whole window of connections adds one.
    private var threshold = Int.max
    private var growth = 0
    private var tries: [Try] = []
    private var nextNumber = 0
    /// The number of connects that may begin beyond the window.
    private var credits = 0
    /// The time that the server took to accept the last connection.
    private var usual = TimeAmount.zero
    private var patience = firstPatience
    private var pause = firstPause
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    /// When the server began to refuse connections. `nil` if it has refused none since it last accepted one.
    private var refusedSince: NIODeadline?

    package init() {}

    /// The number of pending connects.
    package var count: Int { self.tries.count }

    /// Begins a connect if the window and the pause allow one.
    ///
    /// - Parameter wanted: The number of requests that wait for a connection.
    /// - Returns: The number of the connect. `nil` if none may begin now.
    package mutating func begin(for wanted: Int, now: NIODeadline) -> Int? {
        let fresh = self.tries.count { !$0.isLate }
        guard fresh < wanted, now >= self.pausedUntil else { return nil }
        // A window from an earlier burst is not used again.
        if self.tries.isEmpty { self.window = min(self.window, Self.firstWindow) }
        if fresh >= self.window {
            guard self.credits > 0 else { return nil }
            self.credits -= 1
        }
        self.nextNumber += 1
        self.tries.append(Try(number: self.nextNumber, begun: now))
        return self.nextNumber
    }

    /// Called when the server has accepted a connection and TLS begins.
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

    /// Records how long the server took to accept a connection, unless a SYN was lost.
    private mutating func learn(_ time: TimeAmount) {
        if time < Self.repeatedSYN { self.usual = time }
    }

    private mutating func grow() {
        self.growth += 1
        guard self.window < self.threshold || self.growth >= self.window else { return }
        self.growth = 0
        self.window += 1
    }

    /// Called when the server has refused a connection or cannot be reached. The next connect begins after a pause.
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

    /// Called when no file descriptor or no local port was left for a connection.
    package mutating func lacked(_ number: Int, now: NIODeadline) {
        guard self.end(number) != nil else { return }
        self.pausedUntil = now + Self.ownPause
    }

    /// Called when a connect has failed for another reason, such as a timeout.
    package mutating func failed(_ number: Int) { _ = self.end(number) }

    /// Called when a connection to the server has closed while requests wait for one. A server that serves one
    /// connection at a time can now accept the next one.
    package mutating func freed() {
        if self.credits < self.tries.count { self.credits += 1 }
    }

    /// Returns the number of connects that began recently enough to be ready soon.
    package func promising(now: NIODeadline) -> Int {
        self.tries.count { !$0.isLate && now - $0.begun < ($0.isAccepted ? Self.repeatedSYN : Self.youth) }
    }

    /// Marks connects that hang as late.
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

    /// Ends the connects that no request needs. Keeps accepted connects, up to `wanted` late ones and up to `wanted`
    /// others.
    ///
    /// - Returns: The numbers of the ended connects.
    package mutating func endSurplus(for wanted: Int) -> [Int] {
        guard !self.tries.isEmpty, self.tries.count > wanted else { return [] }
        var ended: [Int] = []
        for isLate in [true, false] {
            let candidates = self.tries.filter { $0.isLate == isLate && !$0.isAccepted }
            // The oldest late connects wait for a repeated SYN. Of the others, the newest have made the least progress.
            let surplus = max(0, candidates.count - wanted)
            ended += (isLate ? candidates.prefix(surplus) : candidates.suffix(surplus)).map(\.number)
        }
        for number in ended { _ = self.end(number) }
        return ended
    }

    /// Returns how long a request waits while the server accepts no connection.
    ///
    /// - Parameter limit: The wait for a server that does not answer at all.
    package func patience(upTo limit: TimeAmount, now: NIODeadline) -> TimeAmount {
        guard let since = self.refusedSince else { return limit }
        return min(limit, now - since > Self.longestStart ? Self.gonePatience : Self.startPatience)
    }

    /// Whether the server has refused a connection and accepted none since.
    package var isRefused: Bool { self.refusedSince != nil }

    private func index(of number: Int) -> Int? { self.tries.firstIndex { $0.number == number } }

    private mutating func end(_ number: Int) -> Try? {
        guard let index = self.index(of: number) else { return nil }
        let ended = self.tries.remove(at: index)
        if self.tries.isEmpty { self.credits = 0 }
        return ended
    }
}
