package import AddressIntelligence
import Glibc
package import NIOCore
package import Settings
import Synchronization

/// Limits the connections of clients. Some file descriptors are reserved, so that the gateway still works at the limit.
///
/// ```
///  open connections   0 ─────────── crowded ──────────────── limit of unknown ─────────── full
///  admitted               all        │  all; the longest      │  all; if too few are idle,  │ none: new clients
///                                    │  idle are closed       │  only known addresses       │ wait in the backlog
/// ```
/// An address is known if a signed-in user has used it recently, or if it belongs to a trusted proxy.
package final class ConnectionGate: Sendable {
    /// Why a client was refused. Also the value of `limit` in `sallyport_connections_refused_total{limit}`.
    package enum Refusal: String, CaseIterable, Sendable {
        /// The client's address has reached the limit per address.
        case perAddress = "per_address"
        /// The remaining connections are reserved for the addresses of signed-in users.
        case reserved
    }

    /// A client's place among the open connections. Must be given back exactly once.
    package struct Place: Sendable {
        fileprivate let gate: ConnectionGate
        /// The client's address.
        package let client: IPAddress
        /// True if the place counts against the limit of the client's address.
        fileprivate let isCounted: Bool

        /// Records that a signed-in user uses this address.
        package func noteSession(now: NIODeadline) { self.gate.noteSession(self.client, now: now) }

        /// Records a TLS handshake. Returns false if the client's address has begun too many.
        func beginsHandshake(now: NIODeadline) -> Bool {
            !self.isCounted || self.gate.beginsHandshake(self.client, now: now)
        }

        /// Gives the place back after the client has left.
        package func giveBack() { self.gate.left(self.isCounted ? self.client : nil) }
    }

    /// How many idle connections to close, so that new clients can connect.
    package struct Clearing: Equatable {
        package var count: Int
        /// Only connections that were admitted before this time may be closed.
        package var admittedBefore: NIODeadline
    }

    private struct Limits {
        var full: Int
        /// Connections between this number and `full` are only for known addresses.
        var unknown: Int
        var crowded: Int
        var perAddress: Int
        var trusted: CIDRSet

        init(_ limits: LimitSettings, trusted: [CIDRBlock], room: Int) {
            self.full = min(limits.connections, room)
            self.unknown = self.full - self.full / 10
            self.crowded = self.unknown - self.full / 16
            self.perAddress = limits.connectionsPerAddress ?? max(1, self.full / 2)
            self.trusted = CIDRSet(trusted)
        }

        /// The number of connections to close in one search. A search visits all connections, so it should close many.
        var batch: Int { max(1, self.full / 16) }
    }

    private struct State {
        var limits: Limits
        var open = 0
        var perAddress: [AddressKey: Int] = [:]
        var known = KnownAddresses()
        var handshakes = HandshakeBudget()
        var waiting: [@Sendable () -> Void] = []
        var refused: [Refusal: UInt64] = [:]
        var isClearing = false
        /// True if the last search found too few idle connections, so the last places are reserved for known addresses.
        var isBusy = false
        /// The earliest time of the next search.
        var nextClearing = NIODeadline.uptimeNanoseconds(0)
    }

    private let state: Mutex<State>
    private let files: Int

    /// - Parameters:
    ///   - limits: The limits. `connections` is lowered if `files` is too small.
    ///   - trusted: The trusted proxies. They are exempt from the limit per address.
    ///   - apps: The maximum number of open connections to apps. `nil` for one per client.
    ///   - files: The maximum number of files that the process may open.
    package init(
        _ limits: LimitSettings,
        trusted: [CIDRBlock],
        apps: Int? = nil,
        files: Int = ConnectionGate.openFiles
    ) {
        self.files = files
        let room = Self.clients(within: files, apps: apps)
        self.state = Mutex(State(limits: Limits(limits, trusted: trusted, room: room)))
    }

    /// Replaces the limits. Open connections stay.
    package func adopt(_ limits: LimitSettings, trusted: [CIDRBlock], apps: Int? = nil) {
        let limits = Limits(limits, trusted: trusted, room: Self.clients(within: self.files, apps: apps))
        self.state.withLock { $0.limits = limits }
    }

    // MARK: Descriptors

    /// The number of file descriptors for everything except clients and apps.
    package static let reserve = 64

    /// Returns how many clients can be served with `files` open files, at least 16. Each client needs a file for itself
    /// and one for its connection to an app. There are at most `apps` connections to apps.
    package static func clients(within files: Int, apps: Int?) -> Int {
        let rest = files - Self.reserve
        return max(16, rest / 2, apps.map { rest - $0 } ?? 0)
    }

    /// Returns the number of files that `clients` clients need. `nil` if `files` are enough for 90% of the clients.
    ///
    /// - Parameters:
    ///   - apps: The maximum number of open connections to apps.
    ///   - files: The maximum number of files that the process may open.
    package static func filesNeeded(for clients: Int, apps: Int, files: Int = ConnectionGate.openFiles) -> Int? {
        guard clients - clients / 10 > Self.clients(within: files, apps: apps) else { return nil }
        return clients + min(clients, apps) + Self.reserve
    }

    /// The maximum number of files that the process may open, after raising the soft limit to the hard limit.
    package static let openFiles: Int = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return 1024 }  // RLIMIT_NOFILE
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            _ = setrlimit(__rlimit_resource_t(7), &limit)
            getrlimit(__rlimit_resource_t(7), &limit)
        }
        return Int(min(limit.rlim_cur, 1 << 30))
    }()

    package var effectiveLimit: Int { self.state.withLock { $0.limits.full } }

    /// Returns the number of clients refused since the start.
    package func refusedCount(_ refusal: Refusal) -> UInt64 { self.state.withLock { $0.refused[refusal, default: 0] } }

    // MARK: Coming and going

    /// Reserves a place for an accepted client before its address is known. `name` or `release` must follow.
    package func reserve() {
        self.state.withLock { $0.open += 1 }
    }

    /// Assigns a reserved place to the client with this address.
    ///
    /// - Parameter isProxy: True if a trusted proxy connects for itself, not for a client.
    /// - Returns: The client's place. `nil` if the client is refused. The reserved place is then free.
    package func name(_ address: IPAddress, isProxy: Bool = false, now: NIODeadline) -> Place? {
        let isCounted: Bool? = self.state.withLock { state in
            if isProxy || state.limits.trusted.contains(address) { return false }
            let key = address.key
            let limit = state.limits.perAddress
            if limit > 0, state.perAddress[key, default: 0] >= limit {
                state.refused[.perAddress, default: 0] += 1
                return nil
            }
            // `open` already includes the client's own place.
            if state.isBusy, state.open > state.limits.unknown, !state.known.contains(key, now: now) {
                state.refused[.reserved, default: 0] += 1
                return nil
            }
            state.perAddress[key, default: 0] += 1
            return true
        }
        guard let isCounted else {
            self.left(nil)
            return nil
        }
        return Place(gate: self, client: address, isCounted: isCounted)
    }

    /// Frees a reserved place.
    package func release() { self.left(nil) }

    /// - Parameter address: The address whose limit includes the place. `nil` if the place is not counted.
    private func left(_ address: IPAddress?) {
        let waiting = self.state.withLock { state -> [@Sendable () -> Void] in
            state.open -= 1
            if let key = address?.key {
                let count = state.perAddress[key, default: 1] - 1
                state.perAddress[key] = count == 0 ? nil : count
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    /// Records that a signed-in user uses `address`.
    package func noteSession(_ address: IPAddress, now: NIODeadline) {
        self.state.withLock { $0.known.note(address.key, now: now) }
    }

    /// Records a TLS handshake. Returns false if the address has begun too many.
    private func beginsHandshake(_ address: IPAddress, now: NIODeadline) -> Bool {
        self.state.withLock { $0.handshakes.take(address.key, now: now) }
    }

    /// Returns true if another client may be accepted. Otherwise, calls `wake` after a client has left.
    package func hasRoom(orWake wake: (@Sendable () -> Void)?) -> Bool {
        self.state.withLock { state in
            if state.open < state.limits.full { return true }
            if let wake { state.waiting.append(wake) }
            return false
        }
    }

    // MARK: Making room

    /// Returns how many connections the caller must close before it calls `cleared`. `nil` if none need to close, or if
    /// a search is running or has just failed.
    package func beginClearing(now: NIODeadline) -> Clearing? {
        self.state.withLock { state in
            guard state.open >= state.limits.crowded, !state.isClearing, now >= state.nextClearing else { return nil }
            state.isClearing = true
            return Clearing(count: state.limits.batch, admittedBefore: now)
        }
    }

    /// Reports the result of `beginClearing`.
    ///
    /// - Parameter count: The number of connections that were closed.
    /// - Returns: True if too few were closed and the caller must search again later.
    package func cleared(_ count: Int, now: NIODeadline) -> Bool {
        self.state.withLock { state in
            state.isClearing = false
            state.isBusy = count < state.limits.batch
            // A search for each new client would be work that an attacker can cause.
            if state.isBusy { state.nextClearing = now + .milliseconds(50) }
            return state.isBusy
        }
    }
}

/// The recent addresses of signed-in users, kept for at least 15 minutes. A full table drops older addresses sooner.
struct KnownAddresses {
    static let capacity = 4096
    static let period = TimeAmount.minutes(15)

    private var recent: Set<AddressKey> = []
    private var former: Set<AddressKey> = []
    private var recentSince = NIODeadline.uptimeNanoseconds(0)

    mutating func note(_ key: AddressKey, now: NIODeadline) {
        self.turn(now)
        self.recent.insert(key)
    }

    mutating func contains(_ key: AddressKey, now: NIODeadline) -> Bool {
        self.turn(now)
        return self.recent.contains(key) || self.former.contains(key)
    }

    private mutating func turn(_ now: NIODeadline) {
        let age = now - self.recentSince
        guard age > Self.period || self.recent.count >= Self.capacity else { return }
        self.former = age > Self.period * 2 ? [] : self.recent
        self.recent = []
        self.recentSince = now
    }
}

/// Limits the TLS handshakes of an address to one per `period`, after a burst of `burst`. A handshake costs the gateway
/// about a hundred times as much as the client.
struct HandshakeBudget {
    static let period = TimeAmount.milliseconds(50)
    static let burst: Int64 = 100
    static let capacity = 16_384

    /// When each address has its full budget again.
    private var free: [AddressKey: NIODeadline] = [:]

    /// Records a handshake. Returns false if the address has begun too many.
    mutating func take(_ key: AddressKey, now: NIODeadline) -> Bool {
        let start = max(self.free[key] ?? now, now)
        guard start - now <= Self.period * (Self.burst - 1) else { return false }
        if self.free.count >= Self.capacity {
            self.free = self.free.filter { $0.value > now }
            // The limit of connections already bounds the handshakes of so many addresses.
            if self.free.count >= Self.capacity { return true }
        }
        self.free[key] = start + Self.period
        return true
    }
}
