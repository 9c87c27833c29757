package import NIOCore
package import Vocabulary

/// A provider that knows all of its users, so that it can tell when one is gone. It is asked wherever a session is read:
/// the session of a user who is gone counts as ended, and lives again if the user comes back.
package protocol UserDirectory: Sendable {
    /// Whether the session began at this provider, and its user is not one of the users any more.
    func hasLostUser(of session: Session) -> Bool

    /// Whether the session begins with a password that the user does not have any more: other settings came into use while
    /// it was being checked. Asked once, when the session has been written: whatever ends the sessions of a user whose
    /// password changes, does so after this says true.
    func hasFormerPassword(_ session: Session) -> Bool

    /// Why the session counts as ended: its user is gone (`session.user_gone`), or the client that has its token
    /// (`session.client_gone`); nil: it counts.
    func loss(of session: Session) -> Reason?
}

extension UserDirectory {
    /// For directories without passwords.
    package func hasFormerPassword(_ session: Session) -> Bool { false }

    package func loss(of session: Session) -> Reason? {
        self.hasLostUser(of: session) ? .sessionUserGone : nil
    }
}

/// Knows the OAuth clients. It is asked wherever something is read that was issued to one: what a client got before it was
/// deleted counts as ended, also if a client is made again under its id.
package protocol ClientDirectory: Sendable {
    /// Whether the realm has the client, and has had it since then without a break.
    func hasKept(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool

    /// Whether the realm's client may create session-transfer tokens.
    func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool
}

/// The users of one realm: every session of another realm counts as one whose user is gone. So what serves the hosts of
/// one provider takes no session of another's, however it got the token.
package struct RealmUsers: UserDirectory {
    package let realm: Realm
    /// Knows the users of the realm; nil: its provider cannot tell.
    private let users: (any UserDirectory)?
    /// Knows the clients that have tokens of them; nil: every client is there.
    private let clients: (any ClientDirectory)?

    package init(
        _ realm: Realm,
        _ users: (any UserDirectory)? = nil,
        clients: (any ClientDirectory)? = nil
    ) {
        self.realm = realm
        self.users = users
        self.clients = clients
    }

    package func hasLostUser(of session: Session) -> Bool {
        session.identity.realm != self.realm || self.users?.hasLostUser(of: session) == true
    }

    package func hasFormerPassword(_ session: Session) -> Bool { self.users?.hasFormerPassword(session) == true }

    package func loss(of session: Session) -> Reason? {
        if self.hasLostUser(of: session) { return .sessionUserGone }
        guard let clientID = session.holder, !self.hasKept(clientID, since: session.issuedAt) else { return nil }
        return .sessionClientGone
    }

    /// Whether the client has been there since then without a break (`ClientDirectory`).
    package func hasKept(_ clientID: String, since time: UnixTime) -> Bool {
        self.clients?.hasKept(clientID, of: self.realm, since: time) ?? true
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

    package func loss(of session: Session) -> Reason? {
        guard let realm = self.realms.first(where: { $0.realm == session.identity.realm }) else {
            return .sessionUserGone
        }
        return realm.loss(of: session)
    }
}

extension Session {
    /// The client that has the session's token, or its refresh tokens; nil: a browser, or an app that is no client. A web
    /// session that a client's token made is the browser's.
    package var holder: String? { self.kind == .native ? self.clientID : nil }
}

extension SessionStore {
    /// The live session under `key` whose user and client have not gone; nil if there is none.
    ///
    /// - Parameter directory: Knows users and clients; nil: none is ever gone.
    package func session(
        _ key: RecordKey,
        in directory: (any UserDirectory)?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Session>?> {
        let stored = self.session(key, on: loop)
        guard let directory else { return stored }
        return stored.map { $0.flatMap { directory.loss(of: $0.record) == nil ? $0 : nil } }
    }
}
