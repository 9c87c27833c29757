import Endpoints
import Operating
import Providers
import Settings

extension ProviderAssembly {
    static let kratos = ProviderAssembly(
        KratosSettings.self,
        assemble: { try .kratos($0, $1) },
        check: { await $1.check($0) }
    )
}

extension AssembledProvider {
    fileprivate static func kratos(_ settings: KratosSettings, _ site: ProviderSite) throws -> AssembledProvider {
        let provider = KratosProvider(
            settings,
            transport: try site.transport(settings),
            clock: ProviderSite.clock,
            reportOutage: site.reportOutage
        )
        return AssembledProvider(
            roles: ProviderRoles(tokens: [provider], refreshing: provider),
            kratos: provider,
            forwarding: self.kratosEndpoints,
            isAway: { provider.failure != nil }
        )
    }

    /// The endpoints that forward requests to Kratos.
    private static var kratosEndpoints: [ForwardingEndpoint] {
        func passed(_ path: String, but answered: [String] = []) -> ForwardingEndpoint {
            let methods = KratosProvider.methods.filter { !answered.contains($0) }
            return ForwardingEndpoint(path: path, methods: methods, upstream: KratosSettings.upstream)
        }
        return [passed(KratosProvider.exchangePath, but: ["GET"])]
            + KratosProvider.ends.sorted { $0.key < $1.key }.map { passed($0.key, but: $0.value) }
            + KratosProvider.paths.filter { KratosProvider.ends[$0] == nil }.map { passed($0) }
    }
}
