package import NIOCore
package import Transport

/// The addresses of a server's name, and when the name is resolved again: at an interval, and after a failed connect.
/// Has no threads and no clock.
///
/// The last addresses stay until a lookup returns others. Nothing changes if a name server does not answer or no longer
/// knows the name.
package struct NameState {
    /// The minimum time between two lookups of a name, however many connects fail.
    package static let rest = TimeAmount.seconds(1)
    /// The time until a failed lookup is repeated, unless `period` is shorter.
    package static let retryPause = TimeAmount.seconds(5)

    /// The change that the answer of a lookup has made.
    package enum Change: Equatable, Sendable {
        case none
        /// The name has other addresses than before, or has addresses for the first time.
        case moved(to: [SocketAddress], gone: [SocketAddress])
        /// The name cannot be resolved. Reported once until a lookup succeeds.
        case failed(cause: String)
        /// The name can be resolved again and has the same addresses as before.
        case recovered
    }

    /// The last addresses. Empty until the name has been resolved once.
    package private(set) var addresses: [SocketAddress]
    /// A number that changes if the addresses change or connections are outdated (`outdate`).
    package private(set) var version: UInt32 = 0
    /// The oldest version whose connections may still be used.
    private(set) var oldest: UInt32 = 0
    /// Whether the last lookup failed.
    package private(set) var isFailing = false
    /// When the last successful lookup ended. `nil` if none has succeeded.
    package private(set) var resolvedAt: NIODeadline?
    /// The interval of the lookups.
    var period: TimeAmount
    private var began: NIODeadline?
    private var ended: NIODeadline?
    /// Whether a connect has failed since the last lookup began.
    private var isDoubted = false

    /// - Parameter period: The interval of the lookups.
    package init(period: TimeAmount) {
        self.addresses = []
        self.period = period
    }

    /// Creates a state with fixed addresses, without a name.
    init(fixed addresses: [SocketAddress]) {
        self.addresses = addresses
        self.period = .zero
    }

    /// Replaces the addresses of a state without a name.
    mutating func fix(_ addresses: [SocketAddress]) {
        guard addresses != self.addresses else { return }
        self.addresses = addresses
        self.version &+= 1
    }

    /// Whether a lookup is running.
    package var isRunning: Bool { self.began != nil }

    /// Makes the next lookup due sooner. Called when a connect has failed.
    package mutating func doubt() { self.isDoubted = true }

    /// Returns whether a lookup begins now. If so, `finish` must be called with its answer.
    package mutating func begin(now: NIODeadline) -> Bool {
        guard self.began == nil else { return false }
        if let ended = self.ended {
            let pause = self.isFailing ? min(self.period, Self.retryPause) : self.period
            guard now >= ended + (self.isDoubted ? min(Self.rest, pause) : pause) else { return false }
        }
        self.began = now
        self.isDoubted = false
        return true
    }

    /// Returns whether a request without an address waits for the running lookup.
    ///
    /// - Parameter patience: The longest time for which requests wait for one lookup, from its beginning.
    package func isWorthWaiting(now: NIODeadline, patience: TimeAmount) -> Bool {
        self.began.map { now < $0 + patience } ?? false
    }

    /// Marks all existing connections as outdated, so that no new exchange uses them.
    mutating func outdate() {
        self.version &+= 1
        self.oldest = self.version
    }

    /// Records the answer of a lookup and returns the change.
    package mutating func finish(_ answer: NameResolver.Answer, now: NIODeadline) -> Change {
        self.began = nil
        self.ended = now
        let wasFailing = self.isFailing
        switch answer {
        case .failure(let fault):
            self.isFailing = true
            return wasFailing ? .none : .failed(cause: fault.cause)
        case .success(let found):
            self.isFailing = false
            self.resolvedAt = now
            let gone = self.addresses.filter { !found.contains($0) }
            let hasNew = found.contains { !self.addresses.contains($0) }
            guard hasNew || !gone.isEmpty else { return wasFailing ? .recovered : .none }
            self.addresses = found
            self.version &+= 1
            return .moved(to: found, gone: gone)
        }
    }
}

/// The result of a lookup of a server's name, for the operator.
package struct NameNotice: Sendable {
    /// The app's name in the settings.
    package let upstream: String
    /// The server's URL in the settings.
    package let server: String
    package let change: NameState.Change
    /// Whether the lookup succeeded.
    package let isResolved: Bool
}
