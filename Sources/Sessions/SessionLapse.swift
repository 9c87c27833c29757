package import Vocabulary

/// The end of a session by time: it expired, or it was idle for too long.
package struct SessionLapse: Sendable {
    package let key: RecordKey
    package let session: Session
    /// The reason, `session.idle` or `session.expired`.
    package let reason: Reason

    package init(key: RecordKey, session: Session, reason: Reason) {
        self.key = key
        self.session = session
        self.reason = reason
    }
}

/// Receives the ends of sessions by time as a store notices them. It must not block.
package typealias LapseReceiver = @Sendable (SessionLapse) -> Void

extension Session {
    /// Returns the reason why the session ended by time: the idle timeout or the expiry, whichever comes first.
    ///
    /// - Parameter idleEnd: The time when the session ends if it is not used again.
    package func lapseReason(idleEnd: UnixTime) -> Reason {
        idleEnd < self.expiresAt ? .sessionIdle : .sessionExpired
    }
}
