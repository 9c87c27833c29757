package import NIOCore
package import Transport

/// The addresses of a server's name, and when it is resolved again: by time, and when a connection could not be made. It has
/// no threads and no clock.
///
/// Addresses are kept until others are known: a name server that does not answer, or that knows the name no more, changes
/// nothing.
package struct NameState {
    /// How long a name rests at least between two lookups, however many connections fail.
    package static let rest = TimeAmount.seconds(1)
    /// When a name is tried again that could not be resolved, unless its period is shorter.
    package static let retryPause = TimeAmount.seconds(5)

    /// What an answer has changed.
    package enum Change: Equatable, Sendable {
        case none
        /// It has other addresses than before, or its first ones.
        case moved(to: [SocketAddress], gone: [SocketAddress])
        /// It cannot be resolved any more; told once until it can be again.
        case failed(cause: String)
        /// It can be resolved again, and has the same addresses.
        case recovered
    }

    /// The last good addresses; empty until the name has been resolved once.
    package private(set) var addresses: [SocketAddress]
    /// Differs when the addresses do.
    package private(set) var version: UInt32 = 0
    /// The version since which connections may serve.
    private(set) var oldest: UInt32 = 0
    /// Whether the last lookup has failed.
    package private(set) var isFailing = false
    /// When the last good answer came; nil: none has.
    package private(set) var resolvedAt: NIODeadline?
    /// How often it is resolved again.
    var period: TimeAmount
    private var began: NIODeadline?
    private var ended: NIODeadline?
    /// Whether a connection could not be made since the last lookup began.
    private var isDoubted = false

    /// - Parameter period: How often it is resolved again.
    package init(period: TimeAmount) {
        self.addresses = []
        self.period = period
    }

    /// Addresses that are no name's and stay.
    init(fixed addresses: [SocketAddress]) {
        self.addresses = addresses
        self.period = .zero
    }

    /// Gives other addresses to what is no name.
    mutating func fix(_ addresses: [SocketAddress]) {
        guard addresses != self.addresses else { return }
        self.addresses = addresses
        self.version &+= 1
    }

    /// Whether it is being resolved.
    package var isRunning: Bool { self.began != nil }

    /// Called when a connection could not be made.
    package mutating func doubt() { self.isDoubted = true }

    /// Whether a lookup begins now, of which `finish` is told.
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

    /// Whether a request that has no address waits for the lookup that runs.
    ///
    /// - Parameter patience: How long one lookup is waited for, by all requests together: none waits for one that has taken
    ///   longer already.
    package func isWorthWaiting(now: NIODeadline, patience: TimeAmount) -> Bool {
        self.began.map { now < $0 + patience } ?? false
    }

    /// Called when no connection may serve any more that was begun before.
    mutating func outdate() {
        self.version &+= 1
        self.oldest = self.version
    }

    /// Called with the answer of a lookup.
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

/// What an operator is told of the name of an app's server.
package struct NameNotice: Sendable {
    /// The app's name in the settings.
    package let upstream: String
    /// The server's URL in the settings.
    package let server: String
    package let change: NameState.Change
    /// Whether it was resolved.
    package let isResolved: Bool
}
