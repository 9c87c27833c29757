package import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// A session and its key in the store.
package struct FoundSession: Sendable {
    package let key: RecordKey
    package let session: Session
    /// The token that presents the session.
    package let token: PresentedToken
    /// The time of the session's last noted use. `nil` if no use is known since the session began.
    package var usedAt: UnixTime?

    /// - Parameter token: The token that presents the session. `nil` if it is the session's first token.
    package init(key: RecordKey, session: Session, token: PresentedToken? = nil, usedAt: UnixTime? = nil) {
        self.key = key
        self.session = session
        self.token = token ?? .first(key)
        self.usedAt = usedAt
    }

    var stored: NewSession { NewSession(key: self.key, session: self.session) }

    /// The time at which the session ends unless it is used again.
    package var idleEnd: UnixTime {
        min(self.session.expiresAt, (self.usedAt ?? self.session.issuedAt).advanced(by: self.session.idleLifetime))
    }
}

extension FoundSession {
    /// Returns whether this session and `other` are one sign-in for the user. True for `other` itself, for the session
    /// from which `other` was made, and for the sessions of one browser on several hosts.
    package func isSignIn(of other: FoundSession) -> Bool {
        guard self.session.lineage == other.session.lineage else { return false }
        guard self.session.origin == .transfer || self.session.isOnline else { return true }
        return self.session.familyRoot(self.key) == other.session.familyRoot(other.key)
    }
}

/// Begins, replaces, finds and ends sessions, for all sign-in methods and protocols. Sign-ins, refusals and sign-outs
/// are recorded in the audit stream before the request is answered.
package struct SessionService: RecordCaller {
    let records: RecordAccess
    let settings: SessionSettings
    let devices: DeviceObserver
    /// Keeps providers' tokens. `nil` if no provider hands out tokens.
    package let grants: ProviderGrants?
    /// The providers' tokens, in the order in which the providers are asked.
    let tokens: [any ForeignTokens]
    /// Finds the lineages of providers' sessions. `nil` if no provider ends the gateway's sessions.
    let providerSessions: ProviderSessions?
    /// The users whose sessions are found. `nil` to find the sessions of all users, if no user signs in here.
    let users: RealmUsers?
    /// The realm whose users sign in. `nil` if it is the first realm.
    private var signingRealm: Realm?
    /// Links the accounts of several providers into one. `nil` if accounts are never linked.
    let accounts: AccountLinks?
    /// The rules that are asked before a session begins.
    let rules: RuleBook
    /// Counts the sessions that end with a session. `nil` to record no count.
    let cascade: SessionCascade?
    /// Finds sessions first in the event loops' caches, as requests to apps do. `nil` if only the store is read.
    var resolvers: SessionResolvers?
    /// Called with each session that a sign-in begins, before the session is written.
    let observe: @Sendable (Session) -> Void
    let journal: AuditJournal

    /// - Parameters:
    ///   - devices: Finds the network of a new session's device, for live binding.
    ///   - journal: The journal of every sign-in, refusal and sign-out, written before the request is answered.
    package init(
        records: RecordAccess,
        settings: SessionSettings,
        devices: DeviceObserver,
        grants: ProviderGrants? = nil,
        tokens: [any ForeignTokens] = [],
        providerSessions: ProviderSessions? = nil,
        users: RealmUsers? = RealmUsers(.default),
        accounts: AccountLinks? = nil,
        rules: RuleBook = RuleBook(),
        cascade: SessionCascade? = nil,
        observe: @escaping @Sendable (Session) -> Void = { _ in },
        journal: AuditJournal
    ) {
        self.records = records
        self.settings = settings
        self.devices = devices
        self.grants = grants
        self.tokens = tokens
        self.providerSessions = providerSessions
        self.users = users
        self.accounts = accounts
        self.rules = rules
        self.cascade = cascade
        self.observe = observe
        self.journal = journal
    }

    package var clock: Clock { self.records.clock }
    package var loops: any EventLoopGroup { self.records.loops }

    /// Returns the keyed hash of the session's account, for the last-account cookie. `nil` if somebody acts for the
    /// user.
    package func accountMark(of session: Session) -> Secret? { self.authority.accountMark(of: session) }

    /// The realms of the users whose sessions are found.
    package var realms: Realms { self.users?.realms ?? .default }

    /// The realm whose users sign in.
    package var realm: Realm { self.signingRealm ?? self.realms.first }

    /// Returns this service for sign-ins of the users of one realm.
    package func signing(in realm: Realm) -> SessionService {
        var service = self
        service.signingRealm = realm
        return service
    }

    /// Records that a request was denied, with the browser's signed-in user, if known.
    ///
    /// - Parameter account: The hash of the tried identifier (`AccountNames`).
    package func recordDenial(_ reason: Reason, account: String? = nil, for requester: Requester) async {
        var record = self.record(.denied(reason), .web, requester)
        record.account = account
        let found = (try? await self.presented(by: requester))?.first
        if let found { record.note(found.session, found.key) }
        self.journal.record(record)
    }

    func record(_ act: SessionAct, _ kind: Session.Kind, _ requester: Requester) -> AuditRecord {
        var record = AuditRecord(
            act: .session(act, kind),
            requestID: requester.requestID,
            device: self.device(requester),
            host: requester.authority
        )
        switch act {
        case .signedIn, .refused: record.realm = self.realm.name
        default: break
        }
        return record
    }

    func device(_ requester: Requester) -> DeviceFacts {
        self.devices.facts(address: requester.address, userAgent: requester.userAgent)
    }
}
