/// How strongly a sign-in authenticated the user, in the names of NIST SP 800-63-4 and of Kratos. Levels are ordered.
package enum AssuranceLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    /// It is unknown how the user was authenticated.
    case aal0
    /// One factor.
    case aal1
    /// Two factors.
    case aal2
    /// Two factors, one of them a hardware key that resists phishing.
    case aal3

    /// The levels that a configuration may require.
    package static let demandable: [AssuranceLevel] = [.aal1, .aal2, .aal3]

    /// The level that `text` names. Any other text is `aal0`: an unknown level never satisfies a requirement.
    package init(named text: String) {
        self = Self(rawValue: text) ?? .aal0
    }

    package static func < (left: AssuranceLevel, right: AssuranceLevel) -> Bool {
        left.rank < right.rank
    }

    private var rank: Int {
        switch self {
        case .aal0: 0
        case .aal1: 1
        case .aal2: 2
        case .aal3: 3
        }
    }
}

/// Maps the levels of an identity provider to those here: the values of its `acr` claim (OpenID Connect Core 2), which
/// have names of their own, e.g. `urn:mace:incommon:iap:silver` or `phr`.
package struct AssuranceMapping: Sendable, Hashable {
    private let levels: [String: AssuranceLevel]

    /// - Parameter levels: The level of each value, compared byte for byte. A name such as `aal2` in another provider's
    ///   answer counts only if it is listed.
    package init(_ levels: [String: AssuranceLevel]) {
        self.levels = levels
    }

    /// The level of a foreign value; `aal0` when it is absent or not listed.
    package func level(of foreign: String?) -> AssuranceLevel {
        foreign.flatMap { value in
            self.levels.first { $0.key.utf8.elementsEqual(value.utf8) }?.value
        } ?? .aal0
    }
}
