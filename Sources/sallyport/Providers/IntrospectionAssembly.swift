import Operating
import Providers
import Settings

extension ProviderAssembly {
    static let introspection = ProviderAssembly(
        IntrospectionSettings.self,
        assemble: { settings, site in
            let provider = try IntrospectionProvider(
                settings,
                transport: try site.transport(settings),
                clock: ProviderSite.clock,
                reportOutage: site.reportOutage
            )
            return AssembledProvider(roles: ProviderRoles(tokens: [provider]))
        },
        check: { try await $1.check($0) }
    )
}
