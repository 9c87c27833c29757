import Providers
import Settings

extension ProviderAssembly {
    static let fixedUsers = ProviderAssembly(
        FixedUsersSettings.self,
        assemble: { settings, site in
            let provider = StaticProvider(users: settings.users, known: site.foundations.users)
            return AssembledProvider(roles: ProviderRoles(password: provider, directory: provider))
        }
    )
}
