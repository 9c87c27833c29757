import Cryptography
import Endpoints
import JOSE
import NIOPosix
import Observability
import RequestPath
import Sessions
import Settings
import SignOn
import Vocabulary

extension IdentityProfile {
    /// What apps are told with these settings.
    init(_ settings: Settings, key: SigningKey) {
        self.init(
            settings.identity,
            assertion: settings.identity.assertion.map {
                AssertionSigner($0, issuers: [.default: settings.issuer], key: key)
            }
        )
    }
}

extension JudgingProfile {
    /// Judges by the settings, and keeps no audit stream.
    static func forTests(
        _ settings: Settings,
        store: MemoryStore,
        authority: TokenAuthority,
        clock: Clock,
        identity: IdentityProfile? = nil,
        confirmation: HandoffConfirmation? = nil,
        share: HandoffShare? = nil,
        onces: (any OnceStore)? = nil
    ) -> JudgingProfile {
        let secrets = SecretRing(current: Secret("a secret of the tests"))
        let sealing = SealingKeyRing(current: secrets.current)
        return JudgingProfile(
            audit: AuditStream(queue: nil),
            identity: identity ?? IdentityProfile(settings, key: SigningKeyRing(secrets).current),
            handoff: HandoffConsumer(
                records: RecordAccess(
                    store: store,
                    authority: authority,
                    loops: MultiThreadedEventLoopGroup.singleton,
                    clock: clock
                ),
                sessions: settings.session,
                asn: nil,
                journal: AuditJournal { _ in true }
            ),
            confirmation: confirmation ?? HandoffConfirmation(settings.handoff.confirmation, keys: sealing),
            share: share,
            devices: DeviceObserver(directory: nil),
            places: nil,
            proofs: DPoPGate(secrets, onces: onces ?? store),
            clients: ClientRegistry(settings.clients)
        )
    }
}

extension PathConfiguration {
    /// The configuration of the settings.
    ///
    /// - Parameters:
    ///   - endpoints: Endpoints of the gateway, served on each host that has any.
    ///   - forwarding: Endpoints that an upstream answers.
    ///   - forms: The forms of the checks of other proxies. `nil` if they are those of the settings.
    ///   - tls: The TLS of each listener for clients. `nil` if a listener has none.
    convenience init(
        _ settings: Settings,
        endpoints: [Endpoint] = [],
        forwarding: [ForwardingEndpoint] = [],
        registry: MetricsRegistry = MetricsRegistry(),
        generation: UInt64 = 1,
        judging profile: JudgingProfile,
        forms: CheckForms? = nil,
        tls: [ListenerTLS?] = []
    ) throws {
        let upstreams = settings.upstreams.map(\.name)
        let routes = RouteTable(settings.hosts, upstreams: upstreams)
        self.init(
            settings: settings,
            routes: routes,
            targets: try settings.upstreams.map { try UpstreamTarget($0) },
            endpoints: try EndpointTable(endpoints, forwarding: forwarding, on: routes, upstreams: upstreams),
            registry: registry,
            generation: generation,
            judging: profile,
            authorization: forms.flatMap { forms in
                settings.authorization.map {
                    AuthorizationProfile($0, in: settings, identity: profile.identity, forms: forms)
                }
            } ?? AuthorizationProfile(settings, identity: profile.identity),
            tls: tls
        )
    }
}
