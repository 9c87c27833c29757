package import Settings
import Vocabulary

/// The assurance levels that clients may demand of a sign-in (`acr_values`, OpenID Connect Core 3.1.2.1 and RFC 9470), and which
/// providers reach them.
package struct AuthenticationLevels: Sendable {
    private struct Provider: Sendable {
        let name: String
        let highest: AssuranceLevel
        /// The levels of the provider's own values of `acr`.
        let values: [String: AssuranceLevel]
    }

    private let providers: [Provider]

    /// - Parameter providers: The providers at which users sign in.
    package init(_ providers: [NamedProvider]) {
        self.providers = providers.map { provider in
            Provider(
                name: provider.name,
                highest: provider.settings.highestSignIn,
                values: provider.settings.acrLevels
            )
        }
    }

    /// What `acr_values` may have, for the metadata: the gateway's own levels, and the providers' values for levels.
    var supported: [String] {
        let highest = self.providers.map(\.highest).max() ?? .aal0
        let levels = AssuranceLevel.demandable.filter { $0 <= highest }.map(\.rawValue)
        return levels + Set(self.providers.flatMap { $0.values.keys }).subtracting(levels).sorted()
    }

    /// The levels that these values name and that some provider reaches, in the order of the values. Unknown values are skipped.
    ///
    /// - Parameter names: The providers at one of which the user may sign in. Empty if the user may sign in at any.
    func reachable(_ values: [String], at names: [String]) -> [AssuranceLevel] {
        let providers = self.providers.filter { names.isEmpty || names.contains($0.name) }
        let highest = providers.map(\.highest).max() ?? .aal0
        return values.compactMap { value in
            let own = AssuranceLevel.demandable.first { $0.rawValue == value }
            // Where two providers mean different levels by a value, the higher one is demanded of both.
            let level = own ?? providers.compactMap { $0.values[value] }.max()
            return level.flatMap { $0 <= highest ? $0 : nil }
        }
    }

    /// The providers whose sign-ins reach the level.
    ///
    /// - Parameter names: The providers at one of which the user may sign in. Empty if the user may sign in at any.
    /// - Returns: Empty if `names` is empty and every provider reaches the level.
    func reaching(_ level: AssuranceLevel, of names: [String]) -> [String] {
        let providers = self.providers.filter { names.isEmpty || names.contains($0.name) }
        let reaching = providers.filter { $0.highest >= level }.map(\.name)
        return names.isEmpty && reaching.count == self.providers.count ? [] : reaching
    }
}

/// The level that a client demands of a sign-in.
enum LevelDemand: Sendable, Equatable {
    case none
    /// Any of these, the first if it can be reached; never empty.
    case some([AssuranceLevel])
    /// None of the values can be reached here.
    case unreachable

    /// Whether a session of this level is what the client asked for.
    ///
    /// - Parameter isFinal: Whether the user was asked, or must not be: then each level that the client names will do.
    func isMet(by level: AssuranceLevel, isFinal: Bool) -> Bool {
        switch self {
        case .none: true
        case .some(let levels): isFinal ? levels.contains { level >= $0 } : level >= levels[0]
        case .unreachable: false
        }
    }
}
