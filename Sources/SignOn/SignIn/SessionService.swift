package import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// A session and its key in the store.
package struct FoundSession: Sendable {
    package let key: RecordKey
    package let session: Session
    /// The token by which it is presented.
    package let token: PresentedToken
    /// When a use of it was last noted; nil: not since it began, as far as is known.
    package var usedAt: UnixTime?

    /// - Parameter token: nil: the one with which the session began.
    package init(key: RecordKey, session: Session, token: PresentedToken? = nil, usedAt: UnixTime? = nil) {
        self.key = key
        self.session = session
        self.token = token ?? .first(key)
        self.usedAt = usedAt
    }

    /// When it ends unless it is used again.
    package var idleEnd: UnixTime {
        min(self.session.expiresAt, (self.usedAt ?? self.session.issuedAt).advanced(by: self.session.idleLifetime))
    }
}

/// Begins, replaces, finds and ends sessions, for every way to sign in and every protocol. Acts are recorded in the
/// audit stream before they are answered.
package struct SessionService: RecordCaller {
    let records: RecordAccess
    let settings: SessionSettings
    let devices: DeviceObserver
    /// Keeps providers' tokens; nil if no provider hands out any.
    package let grants: ProviderGrants?
    /// The tokens that providers made, in the order in which these are asked.
    let tokens: [any ForeignTokens]
    /// Finds the lineages of providers' sessions; nil if no provider ends sessions here.
    let providerSessions: ProviderSessions?
    /// Whose users are found; nil: those of all providers, of whom none signs in.
    let users: RealmUsers?
    /// Whose users sign in; nil: those of the first realm.
    private var signingRealm: Realm?
    /// Makes one account of several providers' users; nil: each is another one.
    let accounts: AccountLinks?
    /// Judged before a session begins.
    let rules: RuleBook
    /// Counts what ends with a session; nil: that is not recorded.
    let cascade: SessionCascade?
    /// Finds sessions first where requests to apps do; nil: only in the store.
    var resolvers: SessionResolvers?
    /// Told of each session that a sign-in begins, before it is written.
    let observe: @Sendable (Session) -> Void
    let journal: AuditJournal

    /// - Parameters:
    ///   - devices: Finds the network of a new session's device, for live binding.
    ///   - journal: Receives every sign-in, refusal and sign-out before it is answered.
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

    /// The mark by which a browser with this new session shows its account later; nil if it must not.
    package func accountMark(of session: Session) -> Secret? { self.authority.accountMark(of: session) }

    /// Whose users are found.
    package var realms: Realms { self.users?.realms ?? .default }

    /// Whose users sign in by it.
    package var realm: Realm { self.signingRealm ?? self.realms.first }

    /// The same service, by which the users of one of its realms sign in.
    package func signing(in realm: Realm) -> SessionService {
        var service = self
        service.signingRealm = realm
        return service
    }

    /// Records a refusal of a request that another site may have caused, with the user whom it would have signed in or
    /// out, as far as known.
    ///
    /// - Parameter account: The account that was to be signed in (`AccountNames`).
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
