/// The authenticator assurance level of a sign-in, as named by NIST SP 800-63-4 and Kratos. Levels are ordered.
package enum AssuranceLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    /// The method of authentication is unknown.
    case aal0
    /// One factor.
    case aal1
    /// Two factors.
    case aal2
    /// Two factors, including a hardware key that resists phishing.
    case aal3

    /// The levels that settings may require.
    package static let demandable: [AssuranceLevel] = [.aal1, .aal2, .aal3]

    /// Makes the level that `text` names. Any other text is `aal0`: an unknown level never satisfies a requirement.
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
