import Logging
import NIOCore
import Observability
import Operating
import RequestPath
import Sessions
import Settings
import Transport
import Vocabulary

extension GatewayWiring {
    /// The functions that assemble parts as `run` does.
    static let gateway = GatewayWiring(
        draft: { try Self.draft($0) },
        backing: { try StoreChoice.backing($0, keys: $1, group: $2) },
        checkStore: { try await StoreChoice.verdicts(on: $0) },
        checkProvider: { try await ProviderAssembly.check($0, by: $1) }
    )

    private static func draft(_ loaded: LoadedSettings) throws -> Draft {
        let keys = ProcessKeys(
            loaded.settings.secrets ?? SecretRing(current: Secret("a draft keeps no sessions: any secret does"))
        )
        let caches = SessionCaches()
        let group = try TransportGroup(count: 1)
        let store = MemoryStore(maxSessions: 1, maxMarkers: 1, clock: .system, caches: caches)
        let foundations = Foundations(
            MemoryBacking(store, clock: .system),
            keys: keys,
            caches: caches,
            group: group,
            providerGroup: group,
            registry: MetricsRegistry(),
            audit: AuditStream(queue: nil),
            logger: .silent
        )
        let assembly = try Assembly(loaded, foundations, generation: 1)
        return Draft(
            configuration: assembly.configuration,
            records: foundations.records,
            keys: keys,
            clients: assembly.clients,
            parties: assembly.parties,
            asn: assembly.asn,
            geo: assembly.geo,
            unfit: { realm, session in
                assembly.realms.first { $0.realm == realm }?.unfit.findings(of: session) ?? []
            }
        )
    }
}
