import Sessions
import Settings
import SignOn
import Transport

/// Asks the store of a deployment for `explain --network`. The store is only read.
struct StoreQuestion {
    let wiring: GatewayWiring
    let draft: Draft

    /// Connects to the store, asks it and disconnects.
    ///
    /// - Returns: The lines of `ask`, or a line that says why the store cannot be asked.
    func lines(_ ask: (RecordAccess) async throws -> [String]) async -> [String] {
        let settings = self.draft.settings.store
        do {
            // Connections to the store need event loops of the transport.
            let group = try TransportGroup(count: 1)
            let backing = try self.wiring.backing(settings, self.draft.keys, group)
            try await backing.start()
            let records = RecordAccess(
                store: backing.store,
                authority: self.draft.keys.authority,
                loops: group,
                clock: backing.clock
            )
            let answer: Result<[String], any Error>
            do {
                answer = .success(try await ask(records))
            } catch {
                answer = .failure(error)
            }
            await backing.stop()
            return try answer.get()
        } catch {
            let why = (error as? StartRefusal)?.description ?? "it does not answer"
            return ["\(settings.title) cannot be asked: \(why)"]
        }
    }
}
