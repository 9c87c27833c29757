import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// Remembers the ends of the last minutes that this gateway caused or received, because a failover, or a restart from
/// data on disk, may bring the ended records back. Thread-safe.
///
/// An end is kept for at least `span`, in generations that are dropped as a whole. A full generation is followed by the
/// next one. Beyond `maxGenerations`, the oldest is dropped early. If a primary's reign begins within `span` of this
/// drop, records older than the last dropped end are treated as ended.
package final class EndingMemory: Sendable {
    package static let span = Duration.seconds(900)
    /// The maximum number of ends in a generation, of about 110 bytes each. Growing a larger set would block the loop.
    package static let capacity = 131_072
    /// The maximum number of generations. The closed generations can hold 582 ends per second for `span`.
    package static let maxGenerations = 5
    /// The time after a generation was closed during which a repeated end is not stored again. Redis reports an end
    /// when its key is written, and again when the key expires (`RedisStore.margin`).
    private static let repetition = Duration.seconds(30)

    /// One end, with the records that it ended.
    package enum Ending: Sendable, Hashable {
        case session(RecordKey)
        /// The end of a replaceable record.
        case record(RecordKey)
        case lineage(Lineage)
        /// The end of all records of a subject (given by its name in the store) that were made before this epoch.
        case subject(String, epoch: UInt64)
    }

    private struct Generation {
        /// The keys of sessions and replaceable records.
        var records: Set<RecordKey> = []
        var lineages: Set<Lineage> = []
        var subjects: [String: UInt64] = [:]
        /// The start by the steady clock, because the clocks of a former and a new primary may differ much.
        let began: ContinuousClock.Instant
        /// The time when the next generation began, by both clocks; `nil` while this generation is being filled.
        var closed: (at: ContinuousClock.Instant, time: UnixTime)?

        init(began: ContinuousClock.Instant) { self.began = began }

        var count: Int { self.records.count + self.lineages.count + self.subjects.count }

        /// Reports whether the generation was closed at least `time` ago.
        func isClosed(for time: Duration, at now: ContinuousClock.Instant) -> Bool {
            self.closed.map { now - $0.at >= time } ?? false
        }

        func holds(_ ending: Ending) -> Bool {
            switch ending {
            case .session(let key), .record(let key): self.records.contains(key)
            case .lineage(let lineage): self.lineages.contains(lineage)
            case .subject(let name, let epoch): self.subjects[name].map { $0 >= epoch } ?? false
            }
        }

        var endings: [Ending] {
            self.records.map { $0.kind == .session ? .session($0) : .record($0) } + self.lineages.map { .lineage($0) }
                + self.subjects.map { .subject($0.key, epoch: $0.value) }
        }
    }

    private struct State {
        /// The closed generations, the oldest first.
        var former: [Generation] = []
        var current: Generation
        /// The time when a generation was dropped early, and the time of its last end.
        var forgotten: (at: ContinuousClock.Instant, before: UnixTime)?
        /// The barrier: records made before this time are treated as ended.
        var barrier: UnixTime?

        init(_ now: ContinuousClock.Instant) { self.current = Generation(began: now) }

        var isEmpty: Bool { self.barrier == nil && self.current.count == 0 && self.former.isEmpty }

        /// Reports whether any generation, the latest first, meets a condition.
        func anyGeneration(_ condition: (Generation) -> Bool) -> Bool {
            condition(self.current) || self.former.reversed().contains(where: condition)
        }

        /// Drops the generations that were closed at least `span` ago.
        mutating func dropOld(_ now: ContinuousClock.Instant) {
            while let oldest = self.former.first, oldest.isClosed(for: EndingMemory.span, at: now) {
                self.former.removeFirst()
            }
        }

        /// Reports whether the end is stored in a generation that will be kept for long enough.
        func holds(_ ending: Ending, _ now: ContinuousClock.Instant) -> Bool {
            self.current.holds(ending)
                || self.former.contains { !$0.isClosed(for: EndingMemory.repetition, at: now) && $0.holds(ending) }
        }

        /// Begins the next generation, and drops the oldest one early if there are too many.
        mutating func turn(_ now: ContinuousClock.Instant, _ time: UnixTime) {
            if self.current.count > 0 {
                self.current.closed = (now, time)
                self.former.append(self.current)
            }
            if self.former.count >= EndingMemory.maxGenerations {
                self.forgotten = self.former.removeFirst().closed.map { (at: now, before: $0.time) }
            }
            self.current = Generation(began: now)
        }
    }

    private let capacity: Int
    private let clock: Clock
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// - Parameters:
    ///   - clock: The clock that stamps sessions.
    ///   - now: A steady clock.
    package init(
        capacity: Int = EndingMemory.capacity,
        clock: Clock,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.capacity = capacity
        self.clock = clock
        self.now = now
        self.state = Mutex(State(now()))
    }

    /// Stores an end that has, or may have, taken effect.
    package func note(_ ending: Ending) {
        let (now, time) = (self.now(), self.clock.now())
        self.state.withLock { state in
            state.dropOld(now)
            if now - state.current.began >= Self.span { state.turn(now, time) }
            guard !state.holds(ending, now) else { return }
            if state.current.count >= self.capacity { state.turn(now, time) }
            switch ending {
            case .session(let key), .record(let key): state.current.records.insert(key)
            case .lineage(let lineage): state.current.lineages.insert(lineage)
            case .subject(let name, let epoch):
                state.current.subjects[name] = max(state.current.subjects[name] ?? 0, epoch)
            }
        }
    }

    /// Called when a primary's reign begins. Returns the kept ends, which the primary may have lost.
    package func beginReign() -> [Ending] {
        let now = self.now()
        let generations = self.state.withLock { state in
            if let forgotten = state.forgotten, now - forgotten.at < Self.span {
                state.barrier = max(state.barrier ?? forgotten.before, forgotten.before)
            }
            return [state.current] + state.former
        }
        // The ends are collected outside the lock, because each read of a session takes the lock.
        return generations.flatMap(\.endings)
    }

    /// Returns the latest kept epoch of the subject with this name in the store; 0 if no epoch is kept.
    package func epoch(of name: String) -> UInt64 {
        self.state.withLock { state in
            state.former.reduce(state.current.subjects[name] ?? 0) { max($0, $1.subjects[name] ?? 0) }
        }
    }

    /// Reports whether the end of this session or of its lineage is kept.
    func knowsEnd(of key: RecordKey) -> Bool {
        self.state.withLock { state in
            state.anyGeneration { $0.records.contains(key) || $0.lineages.contains(key.lineage) }
        }
    }

    /// Reports whether this session has ended, whatever the store says.
    ///
    /// - Parameter names: Returns the store's names of a subject; called only while ends of subjects are kept.
    package func hasEnded(_ key: RecordKey, _ session: Session, names: (String) -> [String]) -> Bool {
        self.hasEnded(key, since: session.issuedAt) { subjects in
            names(session.subject).contains { name in subjects[name].map { session.epoch < $0 } ?? false }
        }
    }

    /// Reports whether a replaceable record has ended, whatever the store says.
    package func hasEnded(_ key: RecordKey, _ terms: RecordTerms, names: (String) -> [String]) -> Bool {
        self.hasEnded(key, since: terms.since) { subjects in
            guard let owner = terms.owner else { return false }
            return names(owner.subject).contains { name in subjects[name].map { owner.epoch < $0 } ?? false }
        }
    }

    /// - Parameter subjectHasEnded: Reports whether one of these epochs ends the record's subject; called only if there
    ///   are epochs.
    private func hasEnded(_ key: RecordKey, since: UnixTime, subjectHasEnded: ([String: UInt64]) -> Bool) -> Bool {
        self.state.withLock { state in
            if state.isEmpty { return false }
            if let barrier = state.barrier, since < barrier { return true }
            return state.anyGeneration { generation in
                generation.records.contains(key) || generation.lineages.contains(key.lineage)
                    || !generation.subjects.isEmpty && subjectHasEnded(generation.subjects)
            }
        }
    }
}
