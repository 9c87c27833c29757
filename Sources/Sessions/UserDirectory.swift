package import NIOCore
package import Vocabulary

/// A provider that knows all of its users, so that it can report that a user is gone. It is asked wherever a session is
/// read. The session of a user who is gone is treated as ended, and is live again if the user comes back.
package protocol UserDirectory: Sendable {
    /// Reports whether the session began at this provider and its user is no longer one of the provider's users.
    func hasLostUser(of session: Session) -> Bool

    /// Returns the session with the user's current traits. `nil` if the session has the current traits, or if they are
    /// unknown until the provider is asked.
    func update(of session: Session) -> Session?

    /// Reports whether the session began with a password that the user no longer has, because other settings took
    /// effect while the password was being checked. It is asked once, after the session was written. A change of a
    /// password ends the user's sessions only after this returns true.
    func hasFormerPassword(_ session: Session) -> Bool

    /// Returns the reason why the session is treated as ended: its user is gone (`session.user_gone`), or the client
    /// that has its token is gone (`session.client_gone`). `nil` if the session is valid.
    func loss(of session: Session) -> Reason?
}

extension UserDirectory {
    /// Returns `nil`, for directories without traits.
    package func update(of session: Session) -> Session? { nil }

    /// Reports false, for directories without passwords.
    package func hasFormerPassword(_ session: Session) -> Bool { false }

    package func loss(of session: Session) -> Reason? {
        self.hasLostUser(of: session) ? .sessionUserGone : nil
    }
}

/// Knows the OAuth clients. It is asked wherever something is read that was issued to a client. Whatever a client got
/// before it was deleted is treated as ended, even if a new client is created with its id.
package protocol ClientDirectory: Sendable {
    /// Reports whether the realm has had the client continuously since `time`.
    func hasKept(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool

    /// Reports whether the realm's client may create session-transfer tokens.
    func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool
}

/// The users of one or several realms. The user of a session of any other realm is treated as gone. So hosts that serve
/// some providers accept no session of another provider, however the token reached them.
package struct RealmUsers: UserDirectory {
    /// A realm and the directory of its users. The directory is `nil` if the provider cannot report its users.
    private struct Member: Sendable {
        let realm: Realm
        let users: (any UserDirectory)?
    }

    /// The realms, in the order of the hosts' settings.
    package let realms: Realms
    private let members: [Member]
    /// Knows the clients that have tokens of these users; `nil` if no client is ever gone.
    private let clients: (any ClientDirectory)?

    package init(
        _ realm: Realm,
        _ users: (any UserDirectory)? = nil,
        clients: (any ClientDirectory)? = nil
    ) {
        self.realms = Realms([realm])
        self.members = [Member(realm: realm, users: users)]
        self.clients = clients
    }

    /// Creates the union of these directories, with the clients of the first directory. There must be at least one.
    package init(together others: [RealmUsers]) {
        self.members = others.flatMap(\.members)
        self.realms = Realms(self.members.map(\.realm))
        self.clients = others.first?.clients
    }

    private func member(of session: Session) -> Member? {
        self.members.first { $0.realm == session.identity.realm }
    }

    package func hasLostUser(of session: Session) -> Bool {
        guard let member = self.member(of: session) else { return true }
        return member.users?.hasLostUser(of: session) == true
    }

    package func update(of session: Session) -> Session? { self.member(of: session)?.users?.update(of: session) }

    package func hasFormerPassword(_ session: Session) -> Bool {
        self.member(of: session)?.users?.hasFormerPassword(session) == true
    }

    package func loss(of session: Session) -> Reason? {
        if self.hasLostUser(of: session) { return .sessionUserGone }
        guard let clientID = session.holder, let clients = self.clients,
            !clients.hasKept(clientID, of: session.identity.realm, since: session.issuedAt)
        else { return nil }
        return .sessionClientGone
    }

    /// Reports whether one of the realms has had the client continuously since `time` (`ClientDirectory`).
    package func hasKept(_ clientID: String, since time: UnixTime) -> Bool {
        self.clients.map { clients in
            self.members.contains { clients.hasKept(clientID, of: $0.realm, since: time) }
        } ?? true
    }
}

extension Session {
    /// The client that has the session's token or its refresh tokens. `nil` for a browser, and for an app that is not a
    /// client. A web session that a client's token made belongs to the browser.
    package var holder: String? { self.kind == .native ? self.clientID : nil }
}

extension Stored where Record == Session {
    /// Returns the session with the user's current traits (`UserDirectory.update`).
    package func updated(by directory: (any UserDirectory)?) -> Stored<Session> {
        guard let record = directory?.update(of: self.record) else { return self }
        return Stored(record: record, version: self.version, usedAt: self.usedAt)
    }
}

extension SessionStore {
    /// Returns the live session under `key`. `nil` if it does not exist, or if its user or client is gone.
    ///
    /// - Parameter directory: Knows users and clients; `nil` if no user or client is ever gone.
    package func session(
        _ key: RecordKey,
        in directory: (any UserDirectory)?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Session>?> {
        let stored = self.session(key, on: loop)
        guard let directory else { return stored }
        return stored.map { stored in
            guard let stored, directory.loss(of: stored.record) == nil else { return nil }
            return stored.updated(by: directory)
        }
    }
}
