package import NIOCore

/// A provider that knows all of its users, so that it can tell when one is gone. It is asked wherever a session is read:
/// the session of a user who is gone counts as ended, and lives again if the user comes back.
package protocol UserDirectory: Sendable {
    /// Whether the session began at this provider, and its user is not one of the users any more.
    func hasLostUser(of session: Session) -> Bool
}

extension SessionStore {
    /// The live session under `key` whose user has not gone; nil if there is none.
    ///
    /// - Parameter directory: Knows the users; nil: the provider cannot tell.
    package func session(
        _ key: RecordKey,
        in directory: (any UserDirectory)?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Session>?> {
        let stored = self.session(key, on: loop)
        guard let directory else { return stored }
        return stored.map { $0.flatMap { directory.hasLostUser(of: $0.record) ? nil : $0 } }
    }
}
