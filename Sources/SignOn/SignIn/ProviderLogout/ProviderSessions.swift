import NIOCore
import Providers
package import Sessions
package import Vocabulary

/// Finds the lineages of a provider's sessions, and ends them when the provider requests it.
package struct ProviderSessions: RecordCaller {
    let records: RecordAccess
    /// The maximum number of tries while other sign-ins change a record.
    private static let tries = 8

    package init(records: RecordAccess) {
        self.records = records
    }

    /// Notes that a lineage begins with the provider's session `id`. Must be called before the lineage's first session
    /// is written, so that the provider's logout finds every session.
    ///
    /// - Parameters:
    ///   - subject: The user's subject.
    ///   - expiresAt: The expiry of the lineage's last session.
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
            // A record of accounts keeps only the present account. The record of the provider's session still has the
            // lineages of earlier accounts.
            if lineage == Self.ofAccounts, !next.isOnly(of: subject) {
                next = ProviderSessionRecord(
                    since: self.clock.now(),
                    expiresAt: max(next.expiresAt, expiresAt),
                    lineage: lineage,
                    subject: subject
                )
            }
            try await self.end(next.add(lineage, of: subject, until: expiresAt))
            if try await self.write(next, key, judged: present?.version) { return }
        }
        throw NotDone(.storeUnavailable)
    }

    /// Notes the session of a sign-in, so that a logout at the provider finds it by the provider's session or user.
    /// Must be called before the session is written.
    func note(_ evidence: ProviderEvidence, of session: Session) async throws(NotDone) {
        try await self.noteProvisioned(session, at: evidence.provider)
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

    /// Extends the notes of the provider's user, because tokens made from the session may outlive the session. Must be
    /// called before the tokens are written.
    func keepNames(of session: Session) async throws(NotDone) {
        guard let provider = session.provider?.name else { return }
        try await self.noteProvisioned(session, at: provider)
        guard session.identity.isAccount else { return }
        let known = try await self.names(of: session.identity, at: provider).accounts
        // If the user now has another account, this account's sessions have already ended.
        guard known.isEmpty || known.contains(session.subject) else { return }
        try await self.note(
            Self.ofAccounts,
            of: session.subject,
            in: Self.accountName(of: session.identity.subjectAtProvider),
            at: provider,
            until: session.expiresAt
        )
    }

    /// Notes the user's own name under the trait by which SCIM names the user, so that SCIM ends the user's sessions.
    private func noteProvisioned(_ session: Session, at provider: String) async throws(NotDone) {
        guard let name = self.records.blocks.provisionedName(of: session.identity) else { return }
        try await self.note(
            Self.ofTraits,
            of: session.identity.subjectAtProvider,
            in: name,
            at: provider,
            until: session.expiresAt
        )
    }

    /// Returns all names of the user that SCIM knows by this `externalId`. By a trait, they include the names with
    /// which the user has signed in.
    func names(of externalID: String, by match: ProvisioningMatch) async throws(NotDone) -> UserNames {
        guard let name = match.name(of: externalID) else {
            return try await self.names(of: externalID, in: match.realm, at: match.provider)
        }
        var names = UserNames(own: [name], accounts: [])
        guard let provider = match.provider else { return names }
        for subject in try await self.records(of: name, at: provider).flatMap(\.subjects) {
            let ownID = match.realm.ownID(of: Realm.user(of: subject).id)
            names.add(try await self.names(of: ownID, in: match.realm, at: provider))
        }
        return names
    }

    /// Notes the account of the provider's user, so that a logout with the provider's own id finds the account's
    /// sessions. Ends the user's account under an earlier address, because a logout would no longer find it. Must be
    /// called before the session is written.
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

    /// Returns the names of a provider's user.
    ///
    /// - Parameters:
    ///   - ownID: The provider's own id of the user, without the provider's name before it.
    ///   - provider: The provider's name in sessions. `nil` if it has none. Its users are then not linked.
    package func names(
        of ownID: String,
        in realm: Realm,
        at provider: String?
    ) async throws(NotDone) -> UserNames {
        try await self.names(realm.subjects(of: ownID), at: provider)
    }

    /// Returns the names of a session's user, including the session's own subject.
    package func names(of user: Identity, at provider: String?) async throws(NotDone) -> UserNames {
        var own = user.realm.subjects(of: user.idAtProvider)
        // Sessions of earlier versions lack the provider's own id.
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

    /// Returns the name of the record of a user's account. No `sid` equals it, because no `sid` contains a control
    /// character.
    private static func accountName(of own: String) -> String { "\u{0}account\u{0}\(own)" }

    /// A placeholder in records of accounts. They need no lineage, because an account's sessions are found by its
    /// subject.
    private static let ofAccounts = Lineage(tag: "----------")
    /// A placeholder in records of traits, which keep all subjects with the trait's value.
    private static let ofTraits = Lineage(tag: "__________")

    /// Returns the records of the provider's session `id`, at most one for each accepted secret.
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

    /// Ends every session here that began with a provider's session.
    package func end(_ record: ProviderSessionRecord) async throws(NotDone) {
        // Lineages are ended again even if they ended before, because the earlier answer may have been lost.
        try await self.end(record.lineages)
    }

    func end(_ lineages: [Lineage]) async throws(NotDone) {
        for lineage in lineages { try await self.ask { store, loop in store.end(lineage, on: loop) } }
        self.notifyClients(of: lineages)
    }

    /// Ends every session of a subject, or publishes the end of a provider's session (`ProviderSession.endName`).
    package func end(subject: String) async throws(NotDone) {
        try await self.endAndNotify(subject: subject)
    }

    /// Notifies the clients of a user who was removed from the settings. The user's sessions stay in the store, and are
    /// treated as ended.
    package func noteRemoval(of subject: String) async { await self.notifyClients(ofAll: subject) }

    /// Returns whether the user's sessions or the provider's session ended during the sign-in: after the provider was
    /// asked (`askedAt`), or after the provider issued the id_token (`issuedAt`). Call this after the lineage is noted
    /// and its first session is written. Later ends find the sign-in in the notes.
    ///
    /// `askedAt` is a time of the store's clock, like the ends. `issuedAt` is a time of the provider's clock, in whole
    /// seconds. It is compared only for a session with a `sid`, because providers hardly ever use a `sid` again.
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

    /// Returns whether the logout token with this id (`jti`) was carried out.
    package func wasProcessed(_ id: String, of provider: String) async throws(NotDone) -> Bool {
        for key in self.authority.logoutReceiptKeys(id, of: provider) {
            let present = try await self.ask { store, loop in
                store.replaceable(key, as: LogoutReceipt.self, on: loop)
            }
            if present != nil { return true }
        }
        return false
    }

    /// Notes that a logout token was carried out, until the token expires.
    package func noteObeyed(_ id: String, of provider: String, until expiresAt: UnixTime) async throws(NotDone) {
        guard let key = self.authority.logoutReceiptKeys(id, of: provider).first else { return }
        _ = try await self.write(LogoutReceipt(since: self.clock.now(), expiresAt: expiresAt), key, judged: nil)
    }

    /// - Returns: False if another version of the record is stored.
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
