package import Sessions
package import Vocabulary

/// The tokens that a provider issued at one sign-in, and the state of their renewal.
///
/// Each session that came from the sign-in has the grant's key (`ProviderSession.grant`) instead of the tokens. A grant
/// that only a browser uses is in the lineage of its sessions and ends with this lineage. A grant that native apps may
/// also use is shared: it has a lineage of its own, and ends with the last of its holders, the lineages of `sessions`.
/// If a shared grant no longer exists, its holders have ended. The grant of a session of the provider itself is shared,
/// too, and the lineage of the session's token or cookie is its first holder.
package struct ProviderGrant: Sendable, Hashable {
    /// The right of one gateway to renew the tokens, so that no two gateways use one refresh token.
    package struct Lease: Sendable, Hashable {
        /// The process that holds the lease.
        package var holder: String
        package var until: UnixTime

        package init(holder: String, until: UnixTime) {
            self.holder = holder
            self.until = until
        }
    }

    /// When the provider must confirm the user again, if the provider or a client of the grant has its own settings.
    package struct Following: Sendable, Hashable {
        /// When the provider last confirmed the user.
        package var confirmedAt: UnixTime
        /// The grant is due within this time after a confirmation (`refresh_token.confirm_every`,
        /// `provider.kratos.cache`).
        package var interval: Duration

        package init(confirmedAt: UnixTime, interval: Duration) {
            self.confirmedAt = confirmedAt
            self.interval = interval
        }
    }

    /// The maximum number of sessions whose keys are kept. Further sessions are updated when they are used. Further
    /// lineages end when one of their sessions finds that the grant no longer exists.
    package static let sessionLimit = 32

    /// The provider's name.
    package var provider: String
    /// The owner of the sessions.
    package var owner: RecordOwner
    package var since: UnixTime
    /// When the last session of the lineage expires.
    package var expiresAt: UnixTime
    package var tokens: ProviderTokenSet
    /// The number of renewals.
    package var generation: UInt64 = 0
    /// True if the last renewal replaced the refresh token, so the old one may be invalid. `nil` before any renewal.
    package var rotates: Bool?
    /// The time from which a use of one of the sessions renews the tokens. `nil` for never.
    package var renewAt: UnixTime?
    /// The lease of the gateway that renews the tokens. `nil` if no gateway is renewing them.
    package var lease: Lease?
    /// The number of renewals in a row that failed without effect.
    package var failures: UInt64 = 0
    /// The earliest time of a retry after a failure. `nil` if the last renewal did not fail.
    package var restsUntil: UnixTime?
    /// See `ProviderSession.tokensEndAt`. Set if the answer to a renewal was lost.
    package var tokensEndAt: UnixTime?
    /// The user as of the last renewal with claims. `nil` if no renewal had claims: the user is unchanged.
    package var identity: Identity?
    /// Sessions with this grant, the newest last, at most `sessionLimit`.
    package private(set) var sessions: [RecordKey]
    /// When the provider must confirm the user. `nil` if neither the provider nor a client has its own settings.
    package var following: Following?

    /// Creates the grant of a sign-in.
    ///
    /// - Parameter session: The session of the sign-in. `nil` if the sessions are read afterwards.
    package init(
        provider: String,
        owner: RecordOwner,
        since: UnixTime,
        expiresAt: UnixTime,
        tokens: ProviderTokenSet,
        session: RecordKey?
    ) {
        self.provider = provider
        self.owner = owner
        self.since = since
        self.expiresAt = expiresAt
        self.tokens = tokens
        self.sessions = [session].compactMap(\.self)
    }

    /// Adds a session. If there are too many, removes the oldest one that is not the first of its lineage, because the
    /// first session lives as long as its lineage. If all sessions are of different lineages, the new session is not
    /// added.
    package mutating func add(_ session: RecordKey) {
        guard !self.sessions.contains(session) else { return }
        self.sessions.append(session)
        guard self.sessions.count > Self.sessionLimit else { return }
        let surplus = self.sessions.indices.first { index in
            self.sessions[..<index].contains { $0.lineage == self.sessions[index].lineage }
        }
        self.sessions.remove(at: surplus ?? self.sessions.endIndex - 1)
    }

    /// Removes the sessions for which `hasEnded` is true. The provider's own session stays.
    package mutating func remove(where hasEnded: (RecordKey) -> Bool) {
        self.sessions.removeAll { $0.kind != .foreignSession && hasEnded($0) }
    }

    /// True if the tokens are the token or cookie of a session of the provider (`RefreshingProvider.kept`).
    package var isOfProvidersSession: Bool { self.sessions.contains { $0.kind == .foreignSession } }

    /// The lineages that end if the provider ends its grant.
    package var holders: Set<Lineage> { Set(self.sessions.map(\.lineage)) }
}

extension ProviderGrant: ReplaceableRecord {
    package static var kind: RecordKind { .grant }
    /// The maximum lifetime. No session lives longer.
    package static var longestLife: Duration { .seconds(400 * 86_400) }
    /// The maximum size. Access tokens with many claims have tens of kilobytes.
    package static var sizeLimit: Int { 1 << 18 }

    package var terms: RecordTerms {
        RecordTerms(since: self.since, expiresAt: self.expiresAt, owner: self.owner)
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.provider)
        writer.write(self.owner.subject)
        writer.write(self.owner.epoch)
        writer.write(self.since)
        writer.write(self.expiresAt)
        self.tokens.write(to: &writer)
        writer.write(self.generation)
        writer.write(optional: self.rotates) { $0.write(byte: $1 ? 1 : 0) }
        writer.write(optional: self.renewAt) { $0.write($1) }
        writer.write(optional: self.lease) { writer, lease in
            writer.write(lease.holder)
            writer.write(lease.until)
        }
        writer.write(self.failures)
        writer.write(optional: self.restsUntil) { $0.write($1) }
        writer.write(optional: self.tokensEndAt) { $0.write($1) }
        writer.write(optional: self.identity) { $1.write(to: &$0) }
        writer.write(list: self.sessions) { $0.write($1) }
        // An earlier version of the gateway cannot read this part, and does not renew the grant.
        guard let following = self.following else { return }
        writer.write(following.confirmedAt)
        writer.write(following.interval)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProviderGrant {
        var grant = ProviderGrant(
            provider: try reader.text(),
            owner: RecordOwner(subject: try reader.text(), epoch: try reader.unsigned()),
            since: try reader.time(),
            expiresAt: try reader.time(),
            tokens: try ProviderTokenSet.read(from: &reader),
            session: nil
        )
        grant.generation = try reader.unsigned()
        grant.rotates = try reader.optional { (reader) throws(CompactFormatError) in try reader.byte() == 1 }
        grant.renewAt = try reader.optionalTime()
        grant.lease = try reader.optional { (reader) throws(CompactFormatError) in
            Lease(holder: try reader.text(), until: try reader.time())
        }
        grant.failures = try reader.unsigned()
        grant.restsUntil = try reader.optionalTime()
        grant.tokensEndAt = try reader.optionalTime()
        grant.identity = try reader.optional { (reader) throws(CompactFormatError) in
            try Identity.read(from: &reader)
        }
        grant.sessions = try reader.list { (reader) throws(CompactFormatError) in try reader.key() }
        guard !reader.isAtEnd else { return grant }
        grant.following = Following(confirmedAt: try reader.time(), interval: try reader.duration())
        return grant
    }
}

extension ProviderTokenSet: RecordCodable {
    package func write(to writer: inout CompactWriter) {
        writer.write(self.accessToken)
        writer.write(self.tokenType)
        writer.write(optional: self.idToken) { $0.write($1) }
        writer.write(optional: self.refreshToken) { $0.write($1) }
        writer.write(optional: self.expiresAt) { $0.write($1) }
        writer.write(list: self.scopes) { $0.write($1) }
        writer.write(optional: self.dpopKey) { $0.write($1) }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProviderTokenSet {
        ProviderTokenSet(
            accessToken: try reader.secret(),
            tokenType: try reader.text(),
            idToken: try reader.optional { (reader) throws(CompactFormatError) in try reader.secret() },
            refreshToken: try reader.optional { (reader) throws(CompactFormatError) in try reader.secret() },
            expiresAt: try reader.optionalTime(),
            scopes: try reader.texts(),
            dpopKey: try reader.optional { (reader) throws(CompactFormatError) in try reader.secret() }
        )
    }
}
