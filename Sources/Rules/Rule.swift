package import Vocabulary

/// When a rule is judged.
package enum RuleStage: String, Sendable, CaseIterable {
    /// A session-transfer token is consumed.
    case consume
    /// A session-transfer token is minted.
    case mint
    /// A user signs in.
    case signIn = "sign_in"
}

/// A rule of the operator: what happens when a condition holds. Rules refuse and ask for more; they grant nothing.
package struct Rule: Sendable, Equatable {
    package enum Effect: String, Sendable, CaseIterable {
        /// The act is refused.
        case deny
        /// The token is refused, and the user has to sign in.
        case signIn = "sign_in"
    }

    /// Unique.
    package var name: String
    package var stages: Set<RuleStage>
    package var condition: RuleCondition
    package var effect: Effect
    /// What the user reads; nil: the gateway's own words.
    package var text: String?
    /// Whether the rule is only counted and recorded.
    package var isDryRun: Bool

    package init(
        name: String,
        stages: Set<RuleStage> = [.consume],
        condition: RuleCondition,
        effect: Effect,
        text: String? = nil,
        isDryRun: Bool = false
    ) {
        self.name = name
        self.stages = stages
        self.condition = condition
        self.effect = effect
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
    case wouldDeny = "would_deny"
    case wouldAskToSignIn = "would_sign_in"

    /// Whether the rule is in dry run and its condition held.
    package var isDryRun: Bool { self == .wouldDeny || self == .wouldAskToSignIn }
}

/// One rule's result, for records and counters.
package struct RuleFinding: Sendable, Equatable {
    package var rule: String
    package var result: RuleResult

    package init(rule: String, result: RuleResult) {
        self.rule = rule
        self.result = result
    }

    /// Why the rule refuses the act, or would; nil if its condition did not hold.
    package var reason: Reason? {
        switch self.result {
        case .pass: nil
        case .deny, .wouldDeny: .ruleDenied
        case .signIn, .wouldAskToSignIn: .ruleSignInRequired
        }
    }
}

extension [RuleFinding] {
    /// The name of the rule that refused the act; nil: none did.
    package var objecting: String? { self.last { $0.result == .deny || $0.result == .signIn }?.rule }
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
        case .deny: .ruleDenied
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

    package init() {}
}
