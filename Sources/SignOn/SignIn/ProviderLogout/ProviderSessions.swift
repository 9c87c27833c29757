import NIOCore
import Providers
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
            // The user has another address by now, and with it another account. Sessions of both stay in the record of the
            // provider's session.
            if lineage == Self.ofAccounts, !next.isOnly(of: subject) {
                next = ProviderSessionRecord(
                    since: self.clock.now(),
                    expiresAt: max(next.expiresAt, expiresAt),
                    lineage: lineage,
                    subject: subject
                )
            }
            for surplus in next.add(lineage, of: subject, until: expiresAt) {
                try await self.ask { store, loop in store.end(surplus, on: loop) }
            }
            if try await self.write(next, key, judged: present?.version) { return }
        }
        throw NotDone(.storeUnavailable)
    }

    /// Notes what begins with a sign-in, wherever the end of the provider's session or of its user is to find it. To be called
    /// before the session is written.
    func note(_ evidence: ProviderEvidence, of session: Session) async throws(NotDone) {
        if session.identity.isAccount { try await self.noteAccount(of: session, at: evidence.provider) }
        guard let id = evidence.sessionID else { return }
        try await self.note(
            session.lineage,
            of: session.subject,
            in: id,
            at: evidence.provider,
            until: session.expiresAt
        )
    }

    /// Notes for longer which account the provider's user has: what is made of a session of the account may outlive it. To be
    /// called before that is written.
    func keepAccount(of session: Session) async throws(NotDone) {
        guard session.identity.isAccount, let provider = session.provider?.name else { return }
        let known = try await self.names(of: session.identity, at: provider).accounts
        // Where the user has another account by now, the sessions of this one have ended.
        guard known.isEmpty || known.contains(session.subject) else { return }
        try await self.note(
            Self.ofAccounts,
            of: session.subject,
            in: Self.accountName(of: session.identity.subjectAtProvider),
            at: provider,
            until: session.expiresAt
        )
    }

    /// Notes which account the provider's user has, whom the provider alone calls otherwise. To be called before the account's
    /// session is written, so that a logout by the provider's own id of the user finds it. One that the user had with another
    /// address ends, because such a logout would no longer find it.
    private func noteAccount(of session: Session, at provider: String) async throws(NotDone) {
        let own = session.identity.subjectAtProvider
        let known = try await self.names(of: session.identity, at: provider).accounts
        for former in known where !former.isExactly(session.subject) { try await self.end(subject: former) }
        try await self.note(
            Self.ofAccounts,
            of: session.subject,
            in: Self.accountName(of: own),
            at: provider,
            until: session.expiresAt
        )
    }

    /// The names of the user whom the provider calls so.
    ///
    /// - Parameters:
    ///   - ownID: The provider's own id of the user, without the provider's name before it.
    ///   - provider: What the provider calls itself in sessions. `nil` if it does not, and has no users who are accounts.
    package func names(
        of ownID: String,
        in realm: Realm,
        at provider: String?
    ) async throws(NotDone) -> UserNames {
        try await self.names(realm.subjects(of: ownID), at: provider)
    }

    /// The names of the user of a session.
    package func names(of user: Identity, at provider: String?) async throws(NotDone) -> UserNames {
        var own = user.realm.subjects(of: user.idAtProvider)
        // A session of a version that did not note the provider's own id.
        if !user.subjectAtProvider.isExactlyOne(of: own) { own.append(user.subjectAtProvider) }
        var names = try await self.names(own, at: provider)
        if user.isAccount, !user.subject.isExactlyOne(of: names.accounts) { names.accounts.append(user.subject) }
        return names
    }

    private func names(_ own: [String], at provider: String?) async throws(NotDone) -> UserNames {
        var names = UserNames(own: own, accounts: [])
        guard let provider else { return names }
        for name in own {
            for record in try await self.records(of: Self.accountName(of: name), at: provider) {
                names.accounts += record.subjects.filter { !$0.isExactlyOne(of: names.accounts) }
            }
        }
        return names
    }

    /// Under what a record keeps the account of a user. No session of a provider is called so, because its id has no control
    /// character.
    private static func accountName(of own: String) -> String { "\u{0}account\u{0}\(own)" }

    /// Stands in such a record for the lineages, which are not kept: the account's sessions are found by its subject.
    private static let ofAccounts = Lineage(tag: "----------")

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

    /// Ends every session of the subject, or what has this name as its end (`ProviderSession.endName`).
    package func end(subject: String) async throws(NotDone) {
        try await self.ask { store, loop in store.end(subject: subject, on: loop) }
    }

    /// Whether a sign-in is over already: its subject's sessions, or the provider's session, ended after the provider was
    /// asked, or the provider's session after the provider named it. To be asked when the lineage is noted and its first
    /// session is written: whatever ends them later finds it, as it makes the end known before it looks for lineages.
    ///
    /// Both times are compared with epochs of the store. The first is the store's own, so that a sign-in right after a
    /// sign-out everywhere is good, whatever clocks there are. The second is the provider's, in whole seconds. It counts
    /// only for a session with an id, which a provider hardly uses again; if it does, the sign-in is refused for as long
    /// as the provider's clock is behind.
    func haveEnded(_ evidence: ProviderEvidence, of subject: String) async throws(NotDone) -> Bool {
        guard let askedAt = evidence.askedAt else { return false }
        let id = evidence.sessionID
        let name =
            id.map { ProviderSession.endName(of: $0, at: evidence.provider) }
            ?? ProviderSession.endName(ofUnnamed: subject, at: evidence.provider)
        let ends = try await self.ask { store, loop in
            store.epoch(of: subject, on: loop).and(store.epoch(of: name, on: loop))
        }
        if max(ends.0, ends.1) >= UInt64(clamping: askedAt.milliseconds) { return true }
        guard id != nil, let issuedAt = evidence.issuedAt else { return false }
        return UInt64(clamping: issuedAt.seconds) < ends.1 / 1000
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
