package import Vocabulary

/// The end of a session by its expiry or its idle timeout.
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

/// Receives sessions that a store finds expired or idle for too long. The receiver must not block.
package typealias LapseReceiver = @Sendable (SessionLapse) -> Void

extension Session {
    /// Returns `session.idle` if the idle timeout comes before the expiry, otherwise `session.expired`.
    ///
    /// - Parameter idleEnd: The time when the idle timeout ends the session.
    package func lapseReason(idleEnd: UnixTime) -> Reason {
        idleEnd < self.expiresAt ? .sessionIdle : .sessionExpired
    }
}
