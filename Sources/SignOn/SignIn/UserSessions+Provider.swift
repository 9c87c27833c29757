import Sessions
package import Vocabulary

extension UserSessions {
    /// Ends everything that began with a provider's session, on behalf of an operator: the provider's tokens and
    /// cookies, and all sessions and tokens made from them.
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
        // The result is ignored, because the sessions have already ended.
        self.sessions.journal.record(record)
    }
}
