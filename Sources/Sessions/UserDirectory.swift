package import NIOCore
package import Vocabulary

/// A provider that knows all of its users, so that it can tell when one is gone. It is asked wherever a session is read:
/// the session of a user who is gone counts as ended, and lives again if the user comes back.
package protocol UserDirectory: Sendable {
    /// Whether the session began at this provider, and its user is not one of the users any more.
    func hasLostUser(of session: Session) -> Bool
}

/// The users of one realm: every session of another realm counts as one whose user is gone. So what serves the hosts of
/// one provider takes no session of another's, however it got the token.
package struct RealmUsers: UserDirectory {
    package let realm: Realm
    /// Knows the users of the realm; nil: its provider cannot tell.
    private let users: (any UserDirectory)?

    package init(_ realm: Realm, _ users: (any UserDirectory)? = nil) {
        self.realm = realm
        self.users = users
    }

    package func hasLostUser(of session: Session) -> Bool {
        session.identity.realm != self.realm || self.users?.hasLostUser(of: session) == true
    }
}

/// The users of all configured realms: the sessions of a provider that is not configured any more are gone.
package struct AllRealms: UserDirectory {
    private let realms: [RealmUsers]

    package init(_ realms: [RealmUsers]) {
        self.realms = realms
    }

    package func hasLostUser(of session: Session) -> Bool {
        self.realms.allSatisfy { $0.hasLostUser(of: session) }
    }
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
