package import NIOCore
package import Vocabulary

/// A provider that knows all of its users. It is asked wherever a session is read. If the user is gone, the session is
/// treated as ended. It is live again if the user comes back.
package protocol UserDirectory: Sendable {
    /// Reports whether the session is of this provider and its user is no longer in the directory.
    func hasLostUser(of session: Session) -> Bool

    /// Returns the session with the user's current traits; `nil` if the session has them already, or if the directory
    /// does not know the current traits.
    func update(of session: Session) -> Session?

    /// Reports whether the user's password changed while the sign-in was checking it. Asked once for each sign-in,
    /// after the session was written. This must report the change before sessions of the former password are ended.
    func hasFormerPassword(_ session: Session) -> Bool

    /// Returns why the session is treated as ended: `session.user_gone` or `session.client_gone`. `nil` if the session
    /// is valid.
    func loss(of session: Session) -> Reason?
}

extension UserDirectory {
    /// Returns `nil`, because most directories have no traits.
    package func update(of session: Session) -> Session? { nil }

    /// Returns false, because most directories have no passwords.
    package func hasFormerPassword(_ session: Session) -> Bool { false }

    package func loss(of session: Session) -> Reason? {
        self.hasLostUser(of: session) ? .sessionUserGone : nil
    }
}

/// Knows the OAuth clients. It is asked wherever a client's session or token is read. When a client is deleted,
/// everything that it got is treated as ended, even if a new client gets the same id.
package protocol ClientDirectory: Sendable {
    /// Reports whether the client has existed in the realm without interruption since `time`.
    func hasExisted(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool

    /// Reports whether the realm's client may create session-transfer tokens.
    func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool
}

/// The users of one or several realms. A session of any other realm is treated as ended (`session.user_gone`).
package struct RealmUsers: UserDirectory {
    /// A realm and the directory of its users; `nil` if the provider has no directory.
    private struct Member: Sendable {
        let realm: Realm
        let users: (any UserDirectory)?
    }

    /// The realms, in the order of the settings.
    package let realms: Realms
    private let members: [Member]
    /// Knows the clients of these users; `nil` if clients are never deleted.
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

    /// Creates the union of these directories, with the clients of the first one. There must be at least one.
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
            !clients.hasExisted(clientID, of: session.identity.realm, since: session.issuedAt)
        else { return nil }
        return .sessionClientGone
    }

    /// Reports whether the client has existed in one of the realms without interruption since `time`.
    package func hasExisted(_ clientID: String, since time: UnixTime) -> Bool {
        self.clients.map { clients in
            self.members.contains { clients.hasExisted(clientID, of: $0.realm, since: time) }
        } ?? true
    }
}

extension Session {
    /// The client that has the session's token or its refresh tokens; `nil` for a web session, and for an app that is
    /// not a client.
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
    /// Returns the live session under `key`; `nil` if it does not exist, or if its user or client is gone.
    ///
    /// - Parameter directory: Knows users and clients; `nil` if neither is ever deleted.
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
