internal import NIOCore
package import Sessions
package import Vocabulary

/// Finds the lineages of a provider's sessions, and ends them when the provider says so.
package struct ProviderSessions: RecordCaller {
    let records: RecordAccess
    /// How often a record is read and judged again when another sign-in changed it meanwhile.
    private static let tries = 8

    package init(records: RecordAccess) {
        self.records = records
    }

    /// Notes that a lineage begins with the provider's session `id`. To be called before the lineage's first session is
    /// written, so that there is no session that the provider's logout does not find.
    ///
    /// - Parameters:
    ///   - subject: What the store calls the user.
    ///   - expiresAt: When the lineage's last session expires.
    package func note(
        _ lineage: Lineage,
        of subject: String,
        in id: String,
        at provider: String,
        until expiresAt: UnixTime
    ) async throws(NotDone) {
        guard let key = self.authority.providerSessionKeys(id, of: provider).first else { return }
        for _ in 0..<Self.tries {
            let present = try await self.ask { store, loop in
                store.replaceable(key, as: ProviderSessionRecord.self, on: loop)
            }
            var next =
                present?.record
                ?? ProviderSessionRecord(
                    since: self.clock.now(),
                    expiresAt: expiresAt,
                    lineage: lineage,
                    subject: subject
                )
            for surplus in next.add(lineage, until: expiresAt) {
                try await self.ask { store, loop in store.end(surplus, on: loop) }
            }
            if try await self.write(next, key, judged: present?.version) { return }
        }
        throw NotDone(.storeUnavailable)
    }

    /// What began with the provider's session `id`, as far as it is still known.
    package func records(of id: String, at provider: String) async throws(NotDone) -> [ProviderSessionRecord] {
        var records: [ProviderSessionRecord] = []
        for key in self.authority.providerSessionKeys(id, of: provider) {
            let present = try await self.ask { store, loop in
                store.replaceable(key, as: ProviderSessionRecord.self, on: loop)
            }
            if let record = present?.record { records.append(record) }
        }
        return records
    }

    /// Ends every session of this deployment that began with a provider's session.
    package func end(_ record: ProviderSessionRecord) async throws(NotDone) {
        // Each is ended even if it ended before: a former answer may have been lost.
        for lineage in record.lineages { try await self.ask { store, loop in store.end(lineage, on: loop) } }
    }

    /// Ends every session of a token that the provider issued in its session `id`.
    package func endTokens(_ id: String, of provider: String) async throws(NotDone) {
        let name = ProviderSession.endName(of: id, at: provider)
        try await self.ask { store, loop in store.end(subject: name, on: loop) }
    }

    /// Ends every session of the subject.
    package func end(subject: String) async throws(NotDone) {
        try await self.ask { store, loop in store.end(subject: subject, on: loop) }
    }

    /// Whether a logout token with this id was obeyed.
    package func wasObeyed(_ id: String, of provider: String) async throws(NotDone) -> Bool {
        for key in self.authority.logoutReceiptKeys(id, of: provider) {
            let present = try await self.ask { store, loop in
                store.replaceable(key, as: LogoutReceipt.self, on: loop)
            }
            if present != nil { return true }
        }
        return false
    }

    /// Notes that a logout token was obeyed, until it is refused for its age.
    package func noteObeyed(_ id: String, of provider: String, until expiresAt: UnixTime) async throws(NotDone) {
        guard let key = self.authority.logoutReceiptKeys(id, of: provider).first else { return }
        _ = try await self.write(LogoutReceipt(since: self.clock.now(), expiresAt: expiresAt), key, judged: nil)
    }

    /// - Returns: false when the present record is not the one that was judged.
    private func write<Record: ReplaceableRecord>(
        _ record: Record,
        _ key: RecordKey,
        judged: RecordVersion?
    ) async throws(NotDone) -> Bool {
        let attempt = self.authority.newAttempt()
        return try await self.ask { store, loop in
            store.replace(key, judged: judged, with: record, attempt: attempt, on: loop)
        } == .done
    }
}
