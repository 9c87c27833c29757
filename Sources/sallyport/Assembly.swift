import AddressIntelligence
import Clients
import Cryptography
import Endpoints
import Handoff
import NIOCore
import Observability
import Providers
import RequestPath
import SessionEndpoints
import Sessions
import Settings
import SignIn
import TokenEndpoints
import Vocabulary

/// The settings name something with which the gateway cannot start.
struct StartRefusal: Error, CustomStringConvertible {
    let description: String
}

/// The parts that live as long as the process, across reloads: sessions, metrics, the logs.
struct Foundations: Sendable {
    let group: any EventLoopGroup
    let caches: SessionCaches
    let store: any RecordStore
    let limiter: any RateLimiter
    let familiar: FamiliarAddresses
    let authority: TokenAuthority
    let secrets: SecretRing
    let registry: MetricsRegistry
    let audit: AuditStream
    /// The clock for the lifetimes of sessions and tokens (`Backing.clock`). Logs and audits use the system's clock.
    let clock: Clock
}

/// The parts made from one configuration, at the start and at every reload.
struct Assembly: Sendable {
    let configuration: PathConfiguration
    /// The tokens that the configured provider knows; nil if it has no such role.
    let foreignTokens: (any ForeignTokens)?
    let asn: ASNDirectory?

    /// - Throws: `StartRefusal` that names the setting.
    init(_ settings: Settings, _ foundations: Foundations, generation: UInt64) throws {
        let asn = try Self.asn(settings.asn)
        let devices = DeviceObserver(directory: asn)
        let identity = IdentityProfile(settings.identity)
        let problems = IdentityProfile.problems(settings.identity)
        guard problems.isEmpty else {
            throw StartRefusal(description: problems.map { "identity: \($0)" }.joined(separator: "\n"))
        }
        let routes = RouteTable(
            settings.hosts,
            upstreams: settings.upstreams.map(\.name),
            replacesAuthorization: identity.replacesAuthorization
        )
        let errors = routes.findings.filter(\.isError)
        guard errors.isEmpty else {
            throw StartRefusal(description: errors.map(\.description).joined(separator: "\n"))
        }
        let targets = try settings.upstreams.map { upstream in
            do {
                return try UpstreamTarget(upstream)
            } catch {
                throw StartRefusal(description: "\(error)")
            }
        }
        let clients = ClientRegistry(settings.clients)
        let roles = settings.provider.map(Self.roles) ?? ProviderRoles()
        self.foreignTokens = roles.token.map { ProviderTokens([$0], authority: foundations.authority) }
        let journal = HandoffJournal(audit: foundations.audit, metrics: foundations.registry)
        let handoff = HandoffConsumer(
            store: foundations.store,
            authority: foundations.authority,
            sessions: settings.session,
            asn: asn,
            journal: journal,
            clock: foundations.clock
        )
        self.configuration = PathConfiguration(
            settings: settings,
            routes: routes,
            targets: targets,
            endpoints: try EndpointTable(
                Self.endpoints(settings, foundations, roles, devices, asn: asn, journal: journal, clients: clients),
                forwarding: [],
                on: routes,
                upstreams: settings.upstreams.map(\.name)
            ),
            registry: foundations.registry,
            audit: foundations.audit,
            generation: generation,
            identity: identity,
            handoff: handoff,
            devices: devices,
            clients: clients
        )
        self.asn = asn
    }

    private static func asn(_ settings: ASNSettings?) throws -> ASNDirectory? {
        do {
            switch settings {
            case nil: return nil
            case .database(let path): return try ASNDirectory.open(database: path)
            case .csv(let path): return try ASNDirectory.open(csv: path)
            }
        } catch {
            throw StartRefusal(description: "asn: \(error)")
        }
    }

    private static func endpoints(
        _ settings: Settings,
        _ foundations: Foundations,
        _ roles: ProviderRoles,
        _ devices: DeviceObserver,
        asn: ASNDirectory?,
        journal: HandoffJournal,
        clients: ClientRegistry
    ) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        if let provider = roles.password {
            let passwords = PasswordSignIn(
                sessions: SessionService(
                    store: foundations.store,
                    authority: foundations.authority,
                    settings: settings.session,
                    devices: devices,
                    loops: foundations.group,
                    audit: foundations.audit,
                    clock: foundations.clock
                ),
                provider: provider,
                limiter: foundations.limiter,
                familiar: foundations.familiar,
                accounts: AccountNames(foundations.secrets.current),
                loops: foundations.group
            )
            endpoints +=
                BrowserSessionEndpoints(
                    passwords: passwords,
                    cookieName: settings.session.cookieName,
                    handoffParameter: settings.handoff.queryParameter
                ).endpoints
            endpoints +=
                NativeSessionEndpoints(
                    passwords: passwords,
                    cookieName: settings.session.cookieName,
                    current: foundations.secrets.current,
                    accepted: foundations.secrets.accepted
                ).endpoints
        }
        let mint = HandoffMint(
            store: foundations.store,
            authority: foundations.authority,
            limiter: foundations.limiter,
            settings: settings.handoff,
            asn: asn,
            journal: journal,
            clock: foundations.clock
        )
        endpoints.append(
            TokenEndpoint(
                clients: clients,
                hosts: settings.hosts,
                mint: mint,
                loops: foundations.group
            ).endpoint
        )
        return endpoints
    }

    private static func roles(_ settings: ProviderSettings) -> ProviderRoles {
        switch settings {
        case .fixedUsers(let users): ProviderRoles(password: StaticProvider(users: users))
        }
    }
}
