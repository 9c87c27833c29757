package import Vocabulary

/// When a rule is judged.
package enum RuleStage: String, Sendable, CaseIterable {
    /// A session-transfer token is consumed.
    case consume
    /// A session-transfer token is minted.
    case mint
    /// A user signs in.
    case signIn = "sign_in"
    /// A client exchanges a token, or what a social provider gave it, for an access token.
    case exchange
}

/// A rule of the operator: what happens when a condition holds. Rules refuse, ask for more and take scopes away; they grant
/// nothing.
package struct Rule: Sendable, Equatable {
    package enum Effect: String, Sendable, CaseIterable {
        /// The act is refused.
        case deny
        /// The token is refused, and the user has to sign in.
        case signIn = "sign_in"
        /// The act happens with fewer scopes.
        case scopes
    }

    /// Which scopes a rule leaves of those that would be granted.
    package struct Scopes: Sendable, Equatable {
        /// All others are left out; nil: none is.
        package var only: [String]?
        /// These are left out.
        package var remove: [String]

        package init(only: [String]? = nil, remove: [String] = []) {
            self.only = only
            self.remove = remove
        }

        /// What is left of these scopes.
        package func left(of scopes: [String]) -> [String] {
            scopes.filter { self.only?.contains($0) != false && !self.remove.contains($0) }
        }
    }

    /// Unique.
    package var name: String
    package var stages: Set<RuleStage>
    package var condition: RuleCondition
    package var effect: Effect
    /// What is left by the effect `scopes`.
    package var scopes: Scopes
    /// What the user reads; nil: the gateway's own words.
    package var text: String?
    /// Whether the rule is only counted and recorded.
    package var isDryRun: Bool

    package init(
        name: String,
        stages: Set<RuleStage> = [.consume],
        condition: RuleCondition,
        effect: Effect,
        scopes: Scopes = Scopes(),
        text: String? = nil,
        isDryRun: Bool = false
    ) {
        self.name = name
        self.stages = stages
        self.condition = condition
        self.effect = effect
        self.scopes = scopes
        self.text = text
        self.isDryRun = isDryRun
    }
}

/// What a rule did: the values of `sallyport_rule_results_total{result}`.
package enum RuleResult: String, Sendable, CaseIterable {
    /// Its condition did not hold.
    case pass
    case deny
    case signIn = "sign_in"
    /// It takes scopes away.
    case scopes
    case wouldDeny = "would_deny"
    case wouldAskToSignIn = "would_sign_in"
    case wouldLimitScopes = "would_scopes"

    /// Whether the rule is in dry run and its condition held.
    package var isDryRun: Bool { [.wouldDeny, .wouldAskToSignIn, .wouldLimitScopes].contains(self) }
}

/// One rule's result, for records and counters.
package struct RuleFinding: Sendable, Equatable {
    package var rule: String
    package var result: RuleResult

    package init(rule: String, result: RuleResult) {
        self.rule = rule
        self.result = result
    }

    /// Why the rule refuses the act, or would; nil if it does not.
    package var reason: Reason? {
        switch self.result {
        case .pass, .scopes, .wouldLimitScopes: nil
        case .deny, .wouldDeny: .ruleDenied
        case .signIn, .wouldAskToSignIn: .ruleSignInRequired
        }
    }
}

extension [RuleFinding] {
    /// The name of the rule that refused the act; nil: none did.
    package var objecting: String? { self.last { $0.result == .deny || $0.result == .signIn }?.rule }

    /// The names of the rules that took scopes away.
    package var limiting: [String] { self.filter { $0.result == .scopes }.map(\.rule) }
}

/// Why an act is refused.
package struct RuleObjection: Sendable, Equatable {
    package var rule: String
    package var effect: Rule.Effect
    /// What the user reads; nil: the gateway's own words.
    package var text: String?

    package init(rule: String, effect: Rule.Effect, text: String? = nil) {
        self.rule = rule
        self.effect = effect
        self.text = text
    }

    package var reason: Reason {
        switch self.effect {
        // A rule about scopes never objects.
        case .deny, .scopes: .ruleDenied
        case .signIn: .ruleSignInRequired
        }
    }
}

/// What the rules say of an act.
package struct RuleJudgement: Sendable, Equatable {
    /// The rules that were judged, in their order; after the one that objects, none is.
    package var findings: [RuleFinding] = []
    /// nil: the act may happen.
    package var objection: RuleObjection?
    /// What the rules leave of the scopes, one after the other.
    package var limits: [Rule.Scopes] = []

    package init() {}

    /// What is left of the scopes that would be granted; never more.
    package func left(of scopes: [String]) -> [String] { self.limits.reduce(scopes) { $1.left(of: $0) } }
}
