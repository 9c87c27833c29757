import Sessions
package import Vocabulary

extension UserSessions {
    /// Ends, on behalf of an operator, everything that began with a provider's session. This includes tokens and
    /// cookies of the provider, sessions and tokens that clients got for them, transferred sessions, and unused
    /// transfer tokens.
    ///
    /// - Parameters:
    ///   - id: The session's id at the provider.
    ///   - provider: The provider's name.
    ///   - operator: The operator's name.
    package func end(
        providerSession id: String,
        at provider: String,
        by operator: String,
        for requester: Requester
    ) async throws(NotDone) {
        let ends = ProviderSessions(records: self.records)
        var (subject, cascaded) = (String?.none, 0)
        for record in try await ends.records(of: id, at: provider) {
            for owner in record.subjects {
                cascaded += await self.sessions.cascaded(of: owner, in: record.lineages)
            }
            subject = record.subjects.last ?? subject
        }
        try await ends.end(session: id, at: provider)
        guard let subject else { return }
        var record = self.sessions.record(.signedOut, .web, requester)
        record.subject = subject
        record.cause = .sessionOperatorEnded
        record.cascaded = cascaded
        record.provider = provider
        record.detail = "operator \(`operator`)"
        // The result is ignored: the sessions have ended, and a full audit queue must not turn this into a failure.
        self.sessions.journal.record(record)
    }
}
