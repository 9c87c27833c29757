import Providers
import Sessions
package import Vocabulary

/// The last confirmation of a user by the provider of a shared grant, for operators.
package struct ProviderWord: Sendable, Hashable {
    package let confirmedAt: UnixTime
    /// False if the provider may have confirmed the user again a little later.
    let isExact: Bool
    package let provider: String
    /// The clients that hold the grant, in alphabetical order.
    package let clients: [String]

    /// A line such as `last confirmed 2026-11-24T08:00:00.000Z by https://id.example.com, for the clients ios`.
    package var text: String {
        let time = "\(self.isExact ? "" : "at or after ")\(self.confirmedAt.rfc3339)"
        let clients = self.clients.isEmpty ? "" : ", for the clients \(self.clients.joined(separator: ", "))"
        return "last confirmed \(time) by \(self.provider)\(clients)"
    }
}

extension ProviderGrants {
    /// Returns the last confirmation of the user of a session. `nil` if no live session has one of the names, or if it
    /// has no shared grant.
    ///
    /// - Parameters:
    ///   - names: Ids and fingerprints of the session.
    ///   - subject: The user's name in the store.
    package func lastWord(about names: Set<String>, of subject: String) async throws(NotDone) -> ProviderWord? {
        for key in try await self.ask({ store, loop in store.sessions(of: subject, on: loop) }) {
            guard let session = try await self.ask({ store, loop in store.session(key, on: loop) })?.record,
                names.contains(session.id) || names.contains(key.fingerprint.description),
                let grantKey = session.sharedGrant, let grant = try await self.grant(grantKey)?.record
            else { continue }
            var clients: Set<String> = []
            for holder in grant.sessions {
                let session = try await self.ask { store, loop in store.session(holder, on: loop) }
                if let client = session?.record.holder { clients.insert(client) }
            }
            return ProviderWord(
                confirmedAt: grant.confirmedAt,
                isExact: grant.following != nil,
                provider: grant.provider,
                clients: clients.sorted()
            )
        }
        return nil
    }
}
