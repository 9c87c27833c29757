package import Vocabulary

/// The end of a session by time, which nobody asked for.
package struct SessionLapse: Sendable {
    package let key: RecordKey
    package let session: Session
    /// `session.idle` or `session.expired`.
    package let reason: Reason

    package init(key: RecordKey, session: Session, reason: Reason) {
        self.key = key
        self.session = session
        self.reason = reason
    }
}

/// Receives the ends of sessions by time as a store notices them; must not wait.
package typealias LapseReceiver = @Sendable (SessionLapse) -> Void

extension Session {
    /// Why it has ended by time: which of its two ends comes first.
    ///
    /// - Parameter idleEnd: When it ends if it is not used again.
    package func lapseReason(idleEnd: UnixTime) -> Reason {
        idleEnd < self.expiresAt ? .sessionIdle : .sessionExpired
    }
}
