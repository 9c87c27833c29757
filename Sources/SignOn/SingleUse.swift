import NIOCore
import Sessions
import Vocabulary

/// The verdict on a live single-use record.
enum SingleUseVerdict<Outcome> {
    /// Leave the record unchanged, with this outcome.
    case leave(Outcome)
    /// Replace the record with the marker, and write the new records in the same step.
    ///
    /// - Parameters:
    ///   - quarantined: Returns the answer if the store quarantines the record (`Consumption.quarantined`).
    ///   - done: Returns the outcome once the marker has replaced the record.
    case use(
        Marker,
        creating: [NewRecord],
        quarantined: () throws(NotDone) -> Outcome,
        done: () async throws(NotDone) -> Outcome
    )
}

extension RecordCaller {
    /// Uses a single-use record: looks it up, judges it, and replaces it with a marker in one atomic step of the store.
    ///
    /// If the record changes after the lookup, it is judged once more. If another request uses the record after the
    /// lookup, `spent` gets that request's marker.
    ///
    /// - Parameters:
    ///   - asksAgain: Whether the store is asked again after a lost answer. Set it if the client does not repeat its
    ///     own request.
    ///   - unknown: Returns the answer if the record does not exist or has changed twice.
    ///   - spent: Handles the marker of an earlier attempt by this client or another one.
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

    /// Replaces a single-use record with a marker (`SingleUseStore.consume`).
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
