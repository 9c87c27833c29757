import Logging
import NIOCore
import Observability
import Operating
import Sessions
import Settings
import Vocabulary

/// Chooses the store by the settings. All other code is independent of this choice.
enum StoreChoice {
    /// Returns the store. It connects when started.
    ///
    /// - Parameters:
    ///   - audit: Receives an event for an expired session, except for access tokens. Redis reports a session only
    ///     when its token is presented.
    ///   - logger: Receives the store's log lines.
    /// - Throws: `StartRefusal`, with the setting at fault.
    static func backing(
        _ settings: StoreSettings,
        sessions: SessionSettings = SessionSettings(),
        keys: ProcessKeys,
        group: any EventLoopGroup,
        caches: SessionCaches = SessionCaches(),
        audit: AuditStream = AuditStream(queue: nil),
        logger: Logger = .silent
    ) throws -> any StoreBacking {
        let clock = Clock.steady()
        let lapsed: LapseReceiver = { lapse in
            if let event = AuditEvent(lapse) { audit.emit(event) }
        }
        if let redis = settings.redis {
            return try RedisBacking(
                redis,
                keys: keys,
                group: group,
                caches: caches,
                journal: RedisJournal(logger: logger, audit: audit, clock: clock),
                lapsed: lapsed,
                clock: clock
            )
        }
        let store = MemoryStore(
            maxSessions: settings.maxSessions,
            maxMarkers: settings.maxMarkers,
            clock: clock,
            caches: caches,
            longestSession: max(sessions.browser.absolute, sessions.native.absolute),
            lapsed: lapsed
        )
        return MemoryBacking(store, clock: clock)
    }

    /// Checks the servers of the store; `nil` if it has no servers.
    static func verdicts(on settings: StoreSettings) async throws -> [Verdict]? {
        guard let redis = settings.redis else { return nil }
        return try await RedisCheck.verdicts(on: redis)
    }
}

extension AuditEvent {
    /// Makes the event of an expired session; `nil` for an access token, because its client gets a new one.
    fileprivate init?(_ lapse: SessionLapse) {
        guard lapse.session.access == nil else { return nil }
        self.init(
            .sessionEnded,
            reason: lapse.reason,
            subject: lapse.session.subject,
            session: lapse.session.id,
            fingerprint: lapse.key.fingerprint,
            clientID: lapse.session.clientID,
            host: lapse.session.host,
            details: [("kind", lapse.session.kind.rawValue), ("expires_at", lapse.session.expiresAt.rfc3339)]
        )
    }
}
