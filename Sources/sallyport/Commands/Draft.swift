import Clients
import Cryptography
import IDTokens
import Observability
import Providers
import RequestPath
import Sessions
import Settings
import SignIn
import Transport
import Vocabulary

/// The gateway that settings would make, assembled by the same code but never started. `check` and `explain` inspect
/// it. It opens the files that the settings name, and no socket.
struct Draft {
    let assembly: Assembly
    let foundations: Foundations

    /// - Throws: `StartRefusal` with the message of a start.
    init(_ loaded: LoadedSettings) throws {
        let settings = loaded.settings
        let secrets =
            settings.secrets ?? SecretRing(current: Secret("a draft keeps no sessions: any secret does"))
        let caches = SessionCaches()
        let group = try TransportGroup(count: 1)
        let store = MemoryStore(maxSessions: 1, maxMarkers: 1, clock: .system, caches: caches)
        let authority = TokenAuthority(current: secrets.current, accepted: secrets.accepted)
        self.foundations = Foundations(
            group: group,
            caches: caches,
            store: store,
            index: store,
            limiter: LocalRateLimiter(clock: .system),
            familiar: FamiliarAddresses(),
            authority: authority,
            grants: ProviderGrants(
                store: store,
                authority: authority,
                loops: group,
                clock: .system,
                journal: GrantJournal { _, _ in }
            ),
            providerClient: ProviderHTTPClient(group: group),
            secrets: secrets,
            idTokenKeys: IDTokenKeys(
                store: store,
                ring: SealingKeyRing(current: secrets.current, accepted: secrets.accepted),
                loops: group,
                clock: .system
            ),
            clientOverlay: ClientOverlay(
                store: store,
                ring: SealingKeyRing(current: secrets.current, accepted: secrets.accepted),
                loops: group,
                clock: .system
            ),
            registry: MetricsRegistry(),
            audit: AuditStream(queue: nil),
            clock: .system
        )
        self.assembly = try Assembly(loaded, self.foundations, generation: 1)
    }

    /// The route table's findings that are not errors.
    var findings: [String] {
        self.assembly.configuration.routes.findings.filter { !$0.isError }.map(\.description)
    }

    /// The paths that the app of this host does not get.
    func ownPaths(of host: HostSettings) -> [String] {
        self.assembly.configuration.endpoints.takenPaths(
            of: Realm(host.provider),
            servesSignIn: host.endpoints
        )
    }
}
