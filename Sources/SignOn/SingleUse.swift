import NIOCore
import Sessions
import Vocabulary

/// What to do with a live single-use record, after it was judged.
enum SingleUseVerdict<Outcome> {
    /// It stays as it is.
    case leave(Outcome)
    /// The marker takes its place, and the new records are written in the same step.
    ///
    /// - Parameters:
    ///   - quarantined: The answer to a record of an earlier reign of the store (`Consumption.quarantined`).
    ///   - done: What follows when the record is used.
    case use(
        Marker,
        creating: [NewRecord],
        quarantined: () throws(NotDone) -> Outcome,
        done: () async throws(NotDone) -> Outcome
    )
}

extension RecordCaller {
    /// Uses a single-use record: looks it up, judges it, and replaces it by a marker in one atomic step of the store.
    ///
    /// Between the look-up and that step, another request may use the record, or the store may lose sight of it. The first
    /// shows as its marker; after the second the record is judged once more.
    ///
    /// - Parameters:
    ///   - asksAgain: Whether an answer of the store that was lost is asked for once more, for clients that cannot repeat
    ///     their request. Others repeat it, and find the marker that they left.
    ///   - unknown: The answer if there is no such record, or it has changed twice.
    ///   - spent: What to do with a marker, which an earlier try of the same client left, or another one.
    func use<Record: SingleUseRecord, Outcome>(
        _ key: RecordKey,
        as kind: Record.Type,
        asksAgain: Bool = false,
        unknown: () throws(NotDone) -> Outcome,
        spent: (Marker) async throws(NotDone) -> Outcome,
        judge: (Stored<Record>) async throws(NotDone) -> SingleUseVerdict<Outcome>
    ) async throws(NotDone) -> Outcome {
        for _ in 0..<2 {
            let stored: Stored<Record>
            switch try await self.ask({ store, loop in store.singleUse(key, as: kind, on: loop) }) {
            case .absent: return try unknown()
            case .spent(let marker): return try await spent(marker)
            case .live(let live): stored = live
            }
            switch try await judge(stored) {
            case .leave(let outcome): return outcome
            case .use(let marker, let records, let quarantined, let done):
                switch try await self.consume(key, stored.version, marker, records, asksAgain: asksAgain) {
                case .done: return try await done()
                case .spent(let marker): return try await spent(marker)
                case .quarantined: return try quarantined()
                case .changed: continue
                }
            }
        }
        return try unknown()
    }

    /// Replaces a single-use record by a marker (`SingleUseStore.consume`).
    func consume(
        _ key: RecordKey,
        _ judged: RecordVersion,
        _ marker: Marker,
        _ records: [NewRecord],
        asksAgain: Bool
    ) async throws(NotDone) -> Consumption {
        do throws(NotDone) {
            return try await self.ask { store, loop in
                store.consume(key, judged: judged, marker: marker, creating: records, on: loop)
            }
        } catch {
            guard asksAgain, error.reason == .storeUnavailable else { throw error }
            return try await self.ask { store, loop in
                store.consume(key, judged: judged, marker: marker, creating: records, on: loop)
            }
        }
    }
}
