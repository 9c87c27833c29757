internal import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// The ends of the last minutes that this gateway caused or received: a failover, or a restart from data on disk, may
/// bring the ended records back. For any thread.
///
/// An end is kept for at least `span` and at most twice that: ends are kept in two generations, and the older one is
/// dropped as a whole. When a generation is full, the older one is dropped early. Then it is no longer known what had
/// ended, so under the next reign of a primary, every session that is older than the last dropped end counts as ended
/// too.
package final class EndingMemory: Sendable {
    package static let span = Duration.seconds(900)
    /// The number of ends in one generation, of about 100 bytes each. Two generations suffice for 290 ends a second.
    package static let capacity = 131_072

    /// An end of something.
    package enum Ending: Sendable, Hashable {
        case session(RecordKey)
        /// A replaceable record.
        case record(RecordKey)
        case lineage(Lineage)
        /// Every record of a subject, by the store's name for it, that was made before this epoch.
        case subject(String, epoch: UInt64)
    }

    private struct Generation {
        /// Sessions and replaceable records.
        var records: Set<RecordKey> = []
        var lineages: Set<Lineage> = []
        var subjects: [String: UInt64] = [:]
        /// By the steady clock; a new primary's clock may differ much from the former one's.
        var began: ContinuousClock.Instant

        var count: Int { self.records.count + self.lineages.count + self.subjects.count }

        var endings: [Ending] {
            self.records.map { $0.kind == .session ? .session($0) : .record($0) } + self.lineages.map { .lineage($0) }
                + self.subjects.map { .subject($0.key, epoch: $0.value) }
        }
    }

    private struct State {
        var current: Generation
        var previous: Generation
        /// The time of the last end in `previous`.
        var previousEnd: UnixTime
        /// When a generation was dropped early, and the time of its last end.
        var forgotten: (at: ContinuousClock.Instant, before: UnixTime)?
        /// Sessions made before this time count as ended.
        var barrier: UnixTime?

        var isEmpty: Bool { self.barrier == nil && self.current.count == 0 && self.previous.count == 0 }
    }

    private let capacity: Int
    private let clock: Clock
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// - Parameters:
    ///   - clock: The clock by which sessions are stamped.
    ///   - now: A steady clock.
    package init(
        capacity: Int = EndingMemory.capacity,
        clock: Clock,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.capacity = capacity
        self.clock = clock
        self.now = now
        let generation = Generation(began: now())
        self.state = Mutex(State(current: generation, previous: generation, previousEnd: clock.now()))
    }

    /// Keeps an end that is known to have taken place.
    package func note(_ ending: Ending) {
        let (now, time) = (self.now(), self.clock.now())
        self.state.withLock { state in
            if state.current.count >= self.capacity {
                if state.previous.count > 0, now - state.current.began < Self.span {
                    state.forgotten = (now, state.previousEnd)
                }
                Self.turn(&state, now, time)
            } else if now - state.current.began >= Self.span {
                Self.turn(&state, now, time)
            }
            switch ending {
            case .session(let key), .record(let key): state.current.records.insert(key)
            case .lineage(let lineage): state.current.lineages.insert(lineage)
            case .subject(let name, let epoch):
                state.current.subjects[name] = max(state.current.subjects[name] ?? 0, epoch)
            }
        }
    }

    private static func turn(_ state: inout State, _ now: ContinuousClock.Instant, _ time: UnixTime) {
        state.previous = state.current
        state.previousEnd = time
        state.current = Generation(began: now)
    }

    /// Notes that a primary took over that may have lost the ends kept here; returns these.
    package func beginReign() -> [Ending] {
        let now = self.now()
        return self.state.withLock { state in
            if let forgotten = state.forgotten, now - forgotten.at < Self.span {
                state.barrier = max(state.barrier ?? forgotten.before, forgotten.before)
            }
            return state.current.endings + state.previous.endings
        }
    }

    /// The latest kept epoch of the subject with this name in the store; 0 if none is kept.
    package func epoch(of name: String) -> UInt64 {
        self.state.withLock { max($0.current.subjects[name] ?? 0, $0.previous.subjects[name] ?? 0) }
    }

    /// Whether the end of this session or of its lineage is kept.
    func knowsEnd(of key: RecordKey) -> Bool {
        self.state.withLock { state in
            [state.current, state.previous].contains {
                $0.records.contains(key) || $0.lineages.contains(key.lineage)
            }
        }
    }

    /// Whether this session has ended, whatever the store says.
    ///
    /// - Parameter names: Gives the store's names of a subject; called only while subjects are kept.
    package func hasEnded(_ key: RecordKey, _ session: Session, names: (String) -> [String]) -> Bool {
        self.hasEnded(key, since: session.issuedAt) { subjects in
            names(session.subject).contains { name in subjects[name].map { session.epoch < $0 } ?? false }
        }
    }

    /// The same for a replaceable record.
    package func hasEnded(_ key: RecordKey, _ terms: RecordTerms, names: (String) -> [String]) -> Bool {
        self.hasEnded(key, since: terms.since) { subjects in
            guard let owner = terms.owner else { return false }
            return names(owner.subject).contains { name in subjects[name].map { owner.epoch < $0 } ?? false }
        }
    }

    /// - Parameter subjectHasEnded: Whether its subject's end is among these epochs; called only if there are any.
    private func hasEnded(
        _ key: RecordKey,
        since: UnixTime,
        subjectHasEnded: ([String: UInt64]) -> Bool
    ) -> Bool {
        self.state.withLock { state in
            if state.isEmpty { return false }
            if let barrier = state.barrier, since < barrier { return true }
            for generation in [state.current, state.previous] where generation.count > 0 {
                if generation.records.contains(key) || generation.lineages.contains(key.lineage) { return true }
                if !generation.subjects.isEmpty, subjectHasEnded(generation.subjects) { return true }
            }
            return false
        }
    }
}
