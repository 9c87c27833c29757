import Synchronization

/// Counts commands by kind and outcome, and measures their durations. May be used from any thread, and never blocks.
package final class RedisMeter: Sendable {
    /// The kinds that are counted separately: the commands that reads send, and scripts by their purpose.
    package enum Kind: Int, Sendable, CaseIterable {
        case get, mget, create, consume, confirm, touch, endSession, endLineage, endSubject, replace, endRecord, note,
            once, document, allow, other

        /// The metric's label.
        package var label: String {
            switch self {
            case .endSession: "end_session"
            case .endLineage: "end_lineage"
            case .endSubject: "end_subject"
            case .endRecord: "end_record"
            default: "\(self)"
            }
        }
    }

    package enum Outcome: Int, Sendable, CaseIterable {
        /// Answered without an error.
        case ok
        /// Redis answered with an error.
        case error
        /// Not answered, or not even sent, in time.
        case timeout
        /// Not sent, or the connection was lost before the answer.
        case lost
        /// Done, but not confirmed by a replica in time.
        case unreplicated

        init(_ result: Result<RedisReply, RedisError>) {
            switch result {
            case .success(.error): self = .error
            case .success: self = .ok
            case .failure(.unanswered(.timedOut)), .failure(.notSent(.timedOut)): self = .timeout
            case .failure(.unreplicated): self = .unreplicated
            case .failure: self = .lost
            }
        }

        /// The metric's label.
        package var label: String { "\(self)" }
    }

    /// The histogram's bounds in seconds. Longer durations are counted above the last bound.
    package static let bounds: [Double] = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1]

    /// The durations of one kind: counts per bucket (not cumulative; the last bucket is above all bounds), and the sum.
    package struct Durations: Sendable, Hashable {
        package let counts: [Int]
        package let seconds: Double
    }

    private final class Cells: Sendable {
        let outcomes: [Cell] = Outcome.allCases.map { _ in Cell() }
        let buckets: [Cell] = (0...bounds.count).map { _ in Cell() }
        let nanoseconds = Cell()
    }

    private final class Cell: Sendable {
        let value = Atomic<Int>(0)

        func add(_ count: Int) { self.value.add(count, ordering: .relaxed) }
        var now: Int { self.value.load(ordering: .relaxed) }
    }

    private static let boundsInNanoseconds = bounds.map { Int($0 * 1_000_000_000) }
    private let kinds: [Cells] = Kind.allCases.map { _ in Cells() }
    private let refusedWrites: [Cell] = RedisServerError.writeRefusals.map { _ in Cell() }

    private let denialCount = Cell()

    package init() {}

    /// The number of commands and scripts that were denied because the gateway's user lacks a right.
    package var denials: Int { self.denialCount.now }

    /// Counts an error reply if it denies the gateway's user a right.
    func note(_ error: RedisServerError) {
        if error.denial != nil { self.denialCount.add(1) }
    }

    /// Counts one command and its duration.
    package func count(_ kind: Kind, _ outcome: Outcome, nanoseconds: Int) {
        let cells = self.kinds[kind.rawValue]
        cells.outcomes[outcome.rawValue].add(1)
        let bucket = Self.boundsInNanoseconds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count
        cells.buckets[bucket].add(1)
        cells.nanoseconds.add(nanoseconds)
    }

    /// Returns the number of commands of this kind with this outcome.
    package func count(of kind: Kind, _ outcome: Outcome) -> Int {
        self.kinds[kind.rawValue].outcomes[outcome.rawValue].now
    }

    /// Counts a refused write by its code (one of `RedisServerError.writeRefusals`).
    package func countRefusedWrite(_ code: String) {
        if let index = RedisServerError.writeRefusals.firstIndex(of: code) { self.refusedWrites[index].add(1) }
    }

    /// Returns the number of writes that were refused with this code.
    package func refusedWrites(_ code: String) -> Int {
        RedisServerError.writeRefusals.firstIndex(of: code).map { self.refusedWrites[$0].now } ?? 0
    }

    /// Returns the durations of the commands of this kind.
    package func durations(of kind: Kind) -> Durations {
        let cells = self.kinds[kind.rawValue]
        return Durations(counts: cells.buckets.map(\.now), seconds: Double(cells.nanoseconds.now) / 1_000_000_000)
    }
}
