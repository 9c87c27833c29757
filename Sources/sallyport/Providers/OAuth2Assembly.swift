import Operating
import Providers
import Settings

extension ProviderAssembly {
    static let oauth2 = ProviderAssembly(
        OAuth2Settings.self,
        assemble: { settings, site in
            let provider = try OAuth2Provider(
                settings,
                transport: try site.transport(settings),
                clock: ProviderSite.clock
            )
            return AssembledProvider(roles: ProviderRoles(browser: provider, refreshing: provider))
        },
        check: { try await $1.check($0) }
    )
}
