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

/// The users of some realms, one or several: every session of another realm counts as one whose user is gone. So what
/// serves the hosts of some providers takes no session of another's, however it got the token.
package struct RealmUsers: UserDirectory {
    /// One of the realms, and what knows its users; nil: its provider cannot tell.
    private struct Member: Sendable {
        let realm: Realm
        let users: (any UserDirectory)?
    }

    /// In the order of the hosts' settings.
    package let realms: Realms
    private let members: [Member]
    /// Knows the clients that have tokens of them; nil: every client is there.
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

    /// The users of all of these, of which there is one or more.
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

    /// Whether one of the realms has had the client since then without a break (`ClientDirectory`).
    package func hasKept(_ clientID: String, since time: UnixTime) -> Bool {
        self.clients.map { clients in
            self.members.contains { clients.hasKept(clientID, of: $0.realm, since: time) }
        } ?? true
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
