package import NIOCore

/// Decides which of a name's addresses is tried when (RFC 8305 5): one after the other, each once the one before has
/// failed or has had its head start, until one answers. It has no sockets and no clock.
///
/// ```
///   address 0 ──── 250 ms, or a failure ────▶ address 1 ────▶ ...        the first answer ends all others
/// ```
package struct AddressRace {
    /// How long an address is waited for before the next one is tried as well: the delay that RFC 8305 8 recommends.
    package static let headStart = TimeAmount.milliseconds(250)

    package enum Step: Equatable {
        /// Connect to the address at this index.
        case connect(Int)
        /// Nothing changes before an address answers or fails, or `nextStart` is reached.
        case wait
        /// An address has answered. Those at `others` are given up; `losers` of them had a head start.
        case won(others: [Int], losers: [Int])
        /// Every address has failed.
        case lost
    }

    private let count: Int
    private var next = 0
    /// The indices that are being connected to, in the order in which they began.
    private var running: [Int] = []
    private var isOver = false
    /// When the next address is tried although none has failed; nil: none is left, or the race is over.
    package private(set) var nextStart: NIODeadline?

    /// - Parameter count: The number of addresses.
    package init(count: Int) {
        self.count = count
    }

    /// Called at the beginning, and when `nextStart` is reached.
    package mutating func start(now: NIODeadline) -> Step {
        if self.isOver { return .wait }
        if let start = self.nextStart, now < start { return .wait }
        guard self.next < self.count else {
            self.isOver = self.running.isEmpty
            return self.isOver ? .lost : .wait
        }
        let index = self.next
        self.next += 1
        self.running.append(index)
        self.nextStart = self.next < self.count ? now + Self.headStart : nil
        return .connect(index)
    }

    /// Called when an address has failed. The next one does not wait any more.
    package mutating func failed(_ index: Int, now: NIODeadline) -> Step {
        self.running.removeAll { $0 == index }
        self.nextStart = nil
        return self.start(now: now)
    }

    /// Called when an address has answered.
    package mutating func connected(_ index: Int) -> Step {
        guard !self.isOver else { return .wait }
        self.isOver = true
        self.nextStart = nil
        let others = self.running.filter { $0 != index }
        self.running = []
        return .won(others: others, losers: others.filter { $0 < index })
    }
}
