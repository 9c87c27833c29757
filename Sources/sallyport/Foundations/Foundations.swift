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

/// The parts that live as long as the process, across reloads: sessions, metrics, the logs.
struct Foundations: Sendable {
    let keys: ProcessKeys
    let group: any EventLoopGroup
    let records: RecordAccess
    let caches: SessionCaches
    /// What finds sessions on the event loops.
    let resolvers = SessionResolvers()
    /// Where records are kept.
    let backing: any StoreBacking
    let familiar = FamiliarAddresses()
    /// The users of the settings, and which passwords they have.
    let users = KnownUsers()
    /// Providers' tokens; a renewal under way continues across a reload.
    let grants: ProviderGrants
    let providerClient: CallClient
    let idTokenKeys: IDTokenKeys
    /// What was changed of clients at run time.
    let clientOverlay: ClientOverlay
    let registry: MetricsRegistry
    let audit: AuditStream
    /// How the names of apps are resolved.
    let names: AppNames
    let census: SessionCensus

    /// - Parameters:
    ///   - caches: The caches that it tells of ends.
    ///   - group: The event loops of requests.
    ///   - providerGroup: Those of connections to providers.
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
        self.records = RecordAccess(store: store, authority: keys.authority, loops: group, clock: clock)
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
    /// The clock for the lifetimes of sessions and tokens (`StoreBacking.clock`). Logs and audits use the system's clock.
    var clock: Clock { self.backing.clock }
}

extension IDTokenKeys.Notice {
    fileprivate func log(to logger: Logger) {
        switch self {
        case .made(let keyID):
            logger.info("id_tokens: there was no signing key, so one was made", metadata: ["kid": "\(keyID)"])
        case .restored: logger.warning("id_tokens: the store had lost the signing keys, which were written again")
        case .resealed: logger.info("id_tokens: the signing keys are sealed under the current secret now")
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
            logger.warning("clients: what was changed at run time cannot be read; the last known changes stay in use")
        case .readable: logger.info("clients: what was changed at run time can be read again")
        case .withheld(let id, let fault):
            logger.error(
                "clients: a client does not take part, because its changes do not fit the file",
                metadata: ["client_id": "\(id)", "fault": "\(fault)"]
            )
        }
    }
}
