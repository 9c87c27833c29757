package import Settings
import Vocabulary

/// The assurance levels that clients may request (`acr_values`, OpenID Connect Core 3.1.2.1 and RFC 9470), and the
/// providers that reach them.
package struct AuthenticationLevels: Sendable {
    private struct Provider: Sendable {
        let name: String
        let highest: AssuranceLevel
        /// The `acr` values that the provider uses, with their levels.
        let values: [String: AssuranceLevel]
    }

    private let providers: [Provider]

    /// - Parameter providers: The providers where users sign in.
    package init(_ providers: [NamedProvider]) {
        self.providers = providers.map { provider in
            Provider(
                name: provider.name,
                highest: provider.settings.highestSignIn,
                values: provider.settings.acrLevels
            )
        }
    }

    /// The accepted `acr_values` for the metadata: the gateway's levels, then the providers' own values.
    var supported: [String] {
        let highest = self.providers.map(\.highest).max() ?? .aal0
        let levels = AssuranceLevel.demandable.filter { $0 <= highest }.map(\.rawValue)
        return levels + Set(self.providers.flatMap { $0.values.keys }).subtracting(levels).sorted()
    }

    /// Returns the levels of these `acr` values that a provider can reach, in the given order. Skips unknown values.
    ///
    /// - Parameter names: The providers where the user may sign in. Empty for any provider.
    func reachable(_ values: [String], at names: [String]) -> [AssuranceLevel] {
        let providers = self.providers.filter { names.isEmpty || names.contains($0.name) }
        let highest = providers.map(\.highest).max() ?? .aal0
        return values.compactMap { value in
            let own = AssuranceLevel.demandable.first { $0.rawValue == value }
            // If two providers use one value for different levels, the higher level is required.
            let level = own ?? providers.compactMap { $0.values[value] }.max()
            return level.flatMap { $0 <= highest ? $0 : nil }
        }
    }

    /// Returns the providers whose sign-ins reach the level.
    ///
    /// - Parameter names: The providers where the user may sign in. Empty for any provider.
    /// - Returns: The providers. Empty if `names` is empty and every provider reaches the level.
    func reaching(_ level: AssuranceLevel, of names: [String]) -> [String] {
        let providers = self.providers.filter { names.isEmpty || names.contains($0.name) }
        let reaching = providers.filter { $0.highest >= level }.map(\.name)
        return names.isEmpty && reaching.count == self.providers.count ? [] : reaching
    }
}

/// The level that a client requires of a sign-in.
enum LevelDemand: Sendable, Equatable {
    case none
    /// One of these levels, the first if possible. Never empty.
    case some([AssuranceLevel])
    /// No requested level can be reached at the providers where the user may sign in.
    case unreachable

    /// Returns whether a session of this level satisfies the client.
    ///
    /// - Parameter isFinal: Whether no sign-in can follow. Any requested level then suffices, otherwise only the first.
    func isMet(by level: AssuranceLevel, isFinal: Bool) -> Bool {
        switch self {
        case .none: true
        case .some(let levels): isFinal ? levels.contains { level >= $0 } : level >= levels[0]
        case .unreachable: false
        }
    }
}
