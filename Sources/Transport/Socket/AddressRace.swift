package import NIOCore

/// Decides when each address of a name is tried (RFC 8305 5): 250 ms after the previous address, or at once if one
/// fails, until an address answers. The race has no sockets and no clock.
///
/// ```
///   address 0 ──── 250 ms, or a failure ────▶ address 1 ────▶ ...        the first answer ends all others
/// ```
package struct AddressRace {
    /// The time after which the next address is tried in parallel, as RFC 8305 8 recommends.
    package static let headStart = TimeAmount.milliseconds(250)

    package enum Step: Equatable {
        /// Connect to the address at this index.
        case connect(Int)
        /// Nothing changes until an address answers or fails, or `nextStart` is reached.
        case wait
        /// An address has answered. Cancel the attempts at `others`. The `losers` among them began before the winner.
        case won(others: [Int], losers: [Int])
        /// Every address has failed.
        case lost
    }

    private let count: Int
    private var next = 0
    /// The indices that are being connected, in the order in which they began.
    private var running: [Int] = []
    private var isOver = false
    /// The time at which the next address is tried even without a failure; `nil` if no further address will be tried.
    package private(set) var nextStart: NIODeadline?

    /// - Parameter count: The number of addresses.
    package init(count: Int) {
        self.count = count
    }

    /// Starts the next address. Called at the beginning, and when `nextStart` is reached.
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

    /// Handles the failure of an address. The next address starts at once.
    package mutating func failed(_ index: Int, now: NIODeadline) -> Step {
        self.running.removeAll { $0 == index }
        self.nextStart = nil
        return self.start(now: now)
    }

    /// Handles the answer of an address.
    package mutating func connected(_ index: Int) -> Step {
        guard !self.isOver else { return .wait }
        self.isOver = true
        self.nextStart = nil
        let others = self.running.filter { $0 != index }
        self.running = []
        return .won(others: others, losers: others.filter { $0 < index })
    }
}
