import Calls
import Logging
import NIOCore
import Observability
import Operating
import Providers
import RequestPath
import Sessions
import SignOn
import Vocabulary

/// Everything that lives as long as the process, across reloads: sessions, metrics and logs.
struct Foundations: Sendable {
    let keys: ProcessKeys
    let group: any EventLoopGroup
    let records: RecordAccess
    /// The users that providers have created by SCIM.
    let provisioned: ProvisionedUsers
    let caches: SessionCaches
    let resolvers = SessionResolvers()
    let backing: any StoreBacking
    let familiar = FamiliarAddresses()
    /// The static users and their passwords.
    let users = KnownUsers()
    /// Renews the providers' tokens, even during a reload.
    let grants: ProviderGrants
    /// Sends logout tokens to clients, even after a reload.
    let logoutTokens: LogoutTokenSender
    let providerClient: CallClient
    let idTokenKeys: IDTokenKeys
    /// The changes of clients at run time.
    let clientOverlay: ClientOverlay
    let registry: MetricsRegistry
    let audit: AuditStream
    /// The resolved addresses of apps.
    let names: AppNames
    let census: SessionCensus

    /// - Parameters:
    ///   - caches: The session caches. They must be notified when sessions end.
    ///   - group: The event loops for requests.
    ///   - providerGroup: The event loops for calls to providers.
    init(
        _ backing: any StoreBacking,
        keys: ProcessKeys,
        caches: SessionCaches,
        group: any EventLoopGroup,
        providerGroup: any EventLoopGroup,
        registry: MetricsRegistry,
        audit: AuditStream,
        logger: Logger
    ) {
        let (store, clock) = (backing.store, backing.clock)
        let grantLog = GrantLog(logger: logger)
        self.names = AppNames { $0.note(in: registry, logger) }
        self.keys = keys
        self.group = group
        self.caches = caches
        self.backing = backing
        self.logoutTokens = LogoutTokenSender(
            clock: clock,
            journal: LogoutTokenJournal(audit: audit, metrics: registry)
        )
        self.records = RecordAccess(
            store: store,
            authority: keys.authority,
            loops: group,
            clock: clock,
            notifier: self.logoutTokens
        )
        self.provisioned = ProvisionedUsers(records: self.records)
        self.grants = ProviderGrants(
            records: self.records,
            journal: GrantJournal(audit: audit, metrics: registry) { grantLog.note($0, $1) }
        )
        self.providerClient = CallClient(group: providerGroup)
        self.idTokenKeys = IDTokenKeys(
            store: store,
            ring: keys.sealing,
            loops: group,
            clock: clock,
            report: { $0.log(to: logger) }
        )
        self.clientOverlay = ClientOverlay(
            store: store,
            ring: keys.sealing,
            loops: group,
            clock: clock,
            report: { $0.log(to: logger) }
        )
        self.registry = registry
        self.audit = audit
        self.census = SessionCensus(store: store)
    }

    var authority: TokenAuthority { self.keys.authority }
    var store: any RecordStore { self.backing.store }
    var limiter: any RateLimiter { self.backing.limiter }
    /// The clock for the lifetimes of sessions and tokens. Logs use the system's clock.
    var clock: Clock { self.backing.clock }
}

extension IDTokenKeys.Notice {
    fileprivate func log(to logger: Logger) {
        switch self {
        case .made(let keyID):
            logger.info("id_tokens: there was no signing key, so one was made", metadata: ["kid": "\(keyID)"])
        case .restored: logger.warning("id_tokens: the store had lost the signing keys, which were written again")
        case .resealed: logger.info("id_tokens: the signing keys are now sealed under the current secret")
        case .rotated(let keyID, let signsFrom):
            logger.info(
                "id_tokens: there is a new signing key",
                metadata: ["kid": "\(keyID)", "signs_from": "\(signsFrom)"]
            )
        case .failed(.unavailable): logger.warning("id_tokens: \(IDTokenKeyFailure.unavailable.sentence)")
        case .failed(.unreadable): logger.error("id_tokens: \(IDTokenKeyFailure.unreadable.sentence)")
        }
    }
}

extension ClientOverlay.Notice {
    fileprivate func log(to logger: Logger) {
        switch self {
        case .unreadable:
            logger.warning("clients: the changes made at run time cannot be read; the last known changes stay in use")
        case .readable: logger.info("clients: the changes made at run time can be read again")
        case .withheld(let id, let fault):
            logger.error(
                "clients: a client is not used, because its changes do not fit the file",
                metadata: ["client_id": "\(id)", "fault": "\(fault)"]
            )
        }
    }
}
