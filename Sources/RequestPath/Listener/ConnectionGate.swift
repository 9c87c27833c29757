package import AddressIntelligence
package import NIOCore
package import Settings
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// How many clients are let in, and whom. Descriptors are kept back for apps and files, so that a full house still serves.
///
/// ```
///  open connections   0 ─────────── crowded ──────────────── unknown's end ──────────────── full
///  who is let in          everybody  │  everybody, and the    │  the same; when few are     │ nobody:
///                                    │  longest idle go out   │  idle, only who is known    │ the backlog waits
/// ```
/// Known are addresses with a live session, and trusted proxies. Connections that are opened and stay silent are the
/// first to be closed, so they keep no other client out.
package final class ConnectionGate: Sendable {
    /// Why a client was turned away; the values of `sallyport_connections_refused_total{limit}`.
    package enum Refusal: String, CaseIterable, Sendable {
        /// Its address has as many as one may have.
        case perAddress = "per_address"
        /// What is left is kept for addresses from which somebody is signed in.
        case reserved
    }

    /// What becomes of a client.
    package enum Admission: Equatable {
        /// It is in. `isCounted`: among those of its address.
        case admitted(isCounted: Bool)
        case refused
    }

    /// Connections to close, so that the next ones have room.
    package struct Clearing: Equatable {
        package var count: Int
        /// Those that were let in later stay.
        package var admittedBefore: NIODeadline
    }

    private struct Limits {
        var full: Int
        /// Only addresses that are known use what lies between this and `full`.
        var unknown: Int
        var crowded: Int
        var perAddress: Int
        var trusted: CIDRSet

        init(_ limits: LimitSettings, trusted: [CIDRBlock], descriptors: Int) {
            self.full = min(limits.connections, descriptors)
            self.unknown = self.full - self.full / 10
            self.crowded = self.unknown - self.full / 16
            self.perAddress = limits.connectionsPerAddress ?? max(1, self.full / 2)
            self.trusted = CIDRSet(trusted)
        }

        /// Connections that are closed at once: a look at all of them finds many.
        var batch: Int { max(1, self.full / 16) }
    }

    private struct State {
        var limits: Limits
        var open = 0
        var perAddress: [AddressKey: Int] = [:]
        var known = KnownAddresses()
        var waiting: [@Sendable () -> Void] = []
        var refused: [Refusal: UInt64] = [:]
        var isClearing = false
        /// The last look found too few idle connections to close: what is left is reserved.
        var isBusy = false
        /// After such a look there is none before this.
        var nextClearing = NIODeadline.uptimeNanoseconds(0)
    }

    private let state: Mutex<State>
    private let descriptors: Int

    /// - Parameters:
    ///   - limits: of `connections` no more than `descriptors` are let in.
    ///   - trusted: proxies, from which all clients may come: no limit of one address holds for them.
    ///   - descriptors: how many clients the process has descriptors for.
    package init(
        _ limits: LimitSettings,
        trusted: [CIDRBlock],
        descriptors: Int = ConnectionGate.descriptorLimit
    ) {
        self.descriptors = descriptors
        self.state = Mutex(State(limits: Limits(limits, trusted: trusted, descriptors: descriptors)))
    }

    /// Takes new limits. Clients that were let in before stay.
    package func adopt(_ limits: LimitSettings, trusted: [CIDRBlock]) {
        let limits = Limits(limits, trusted: trusted, descriptors: self.descriptors)
        self.state.withLock { $0.limits = limits }
    }

    /// Raises the soft descriptor limit to the hard one and says how many clients that allows: each may need a second
    /// descriptor towards an app, and 64 are kept back for everything else.
    package static let descriptorLimit: Int = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return 1024 }  // RLIMIT_NOFILE
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            _ = setrlimit(__rlimit_resource_t(7), &limit)
            getrlimit(__rlimit_resource_t(7), &limit)
        }
        return max(16, (Int(min(limit.rlim_cur, 1 << 30)) - 64) / 2)
    }()

    package var effectiveLimit: Int { self.state.withLock { $0.limits.full } }

    /// Clients turned away since the start.
    package func refusedCount(_ refusal: Refusal) -> UInt64 { self.state.withLock { $0.refused[refusal, default: 0] } }

    // MARK: Coming and going

    /// Lets a client in, or not.
    package func admit(_ address: IPAddress, now: NIODeadline) -> Admission {
        self.state.withLock { state in
            if state.limits.trusted.contains(address) {
                state.open += 1
                return .admitted(isCounted: false)
            }
            let key = address.key
            let limit = state.limits.perAddress
            if limit > 0, state.perAddress[key, default: 0] >= limit {
                state.refused[.perAddress, default: 0] += 1
                return .refused
            }
            if state.isBusy, state.open >= state.limits.unknown, !state.known.contains(key, now: now) {
                state.refused[.reserved, default: 0] += 1
                return .refused
            }
            state.perAddress[key, default: 0] += 1
            state.open += 1
            return .admitted(isCounted: true)
        }
    }

    /// A client that was let in has left.
    ///
    /// - Parameter isCounted: as its admission said.
    package func left(_ address: IPAddress, isCounted: Bool) {
        let waiting = self.state.withLock { state -> [@Sendable () -> Void] in
            state.open -= 1
            if isCounted {
                let key = address.key
                let count = state.perAddress[key, default: 1] - 1
                state.perAddress[key] = count == 0 ? nil : count
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    /// Somebody is signed in who comes from this address.
    package func noteSession(_ address: IPAddress, now: NIODeadline) {
        self.state.withLock { $0.known.note(address.key, now: now) }
    }

    /// True when another client may be accepted; otherwise `wake` is called when one has left.
    package func hasRoom(orWake wake: (@Sendable () -> Void)?) -> Bool {
        self.state.withLock { state in
            if state.open < state.limits.full { return true }
            if let wake { state.waiting.append(wake) }
            return false
        }
    }

    // MARK: Making room

    /// What is to be closed now; nil: nothing, or it is being done already. The caller closes it, then calls `cleared`.
    package func beginClearing(now: NIODeadline) -> Clearing? {
        self.state.withLock { state in
            guard state.open >= state.limits.crowded, !state.isClearing, now >= state.nextClearing else { return nil }
            state.isClearing = true
            return Clearing(count: state.limits.batch, admittedBefore: now)
        }
    }

    /// What `beginClearing` asked for is done.
    ///
    /// - Parameter count: how many were closed.
    /// - Returns: true when that is too few: the caller looks again after a while.
    package func cleared(_ count: Int, now: NIODeadline) -> Bool {
        self.state.withLock { state in
            state.isClearing = false
            state.isBusy = count < state.limits.batch
            // Looking again for each client that comes would be work that an attacker can order.
            if state.isBusy { state.nextClearing = now + .milliseconds(50) }
            return state.isBusy
        }
    }
}

/// Addresses from which somebody who was signed in came in the last quarter of an hour or half; so many that a table of
/// them stays small. When there are more, those that were noted first are forgotten.
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
