import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// Compares the clients in the file with the clients in use, for `check --network`.
enum ClientDrift {
    /// Returns a line for each member that differs from the file; `nil` if there is no shared store.
    ///
    /// - Throws: An error in the configuration of the store.
    static func lines(_ loaded: LoadedSettings, _ wiring: GatewayWiring) async throws -> [String]? {
        guard loaded.settings.store.isShared, let secrets = loaded.settings.secrets else { return nil }
        let keys = ProcessKeys(secrets)
        let group = try TransportGroup(count: 1)
        // This store logs nothing, because the command's verdicts already report its problems.
        let backing = try wiring.backing(loaded.settings.store, keys, group)
        try await backing.start()
        let overlay = ClientOverlay(store: backing.store, ring: keys.sealing, loops: group, clock: backing.clock)
        let registry = ClientRegistry(loaded.settings.clients, base: loaded.clients)
        overlay.attach(registry)
        await overlay.refresh()
        await backing.stop()
        guard overlay.hasRead else { return ["the changes made at run time cannot be read"] }
        return self.lines(registry.catalogue)
    }

    private static func lines(_ catalogue: ClientCatalogue) -> [String] {
        let changed = catalogue.clients.flatMap { client in
            client.drift.map { drift in
                let what = drift.path.isEmpty ? "is not in the file" : "\(drift.path) differs from the file"
                return "\(client.id): \(what)\(self.since(drift.mark))"
            } + (client.fault.map { ["\(client.id): is not used until this is fixed: \($0.sentence)"] } ?? [])
        }
        return changed + catalogue.deleted.map { "\($0.id): is in the file, but was deleted\(self.since($0.mark))" }
    }

    private static func since(_ mark: ClientChange.Mark?) -> String {
        mark.map { ", since \($0.at.rfc3339Seconds) by \($0.by)" } ?? ", since the file was changed"
    }
}
