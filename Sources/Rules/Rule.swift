package import Vocabulary

/// The kind of act to which a rule applies.
package enum RuleStage: String, Sendable, CaseIterable {
    /// A session-transfer token is consumed.
    case consume
    /// A session-transfer token is minted.
    case mint
    /// A user signs in.
    case signIn = "sign_in"
    /// A client exchanges a token, or a code or token of a social provider, for an access token.
    case exchange
}

/// A rule of the operator: a condition and its effect. Rules can deny an act, require a sign-in or remove scopes. They
/// never grant anything.
package struct Rule: Sendable, Equatable {
    package enum Effect: String, Sendable, CaseIterable {
        /// The act is refused.
        case deny
        /// The token is refused, and the user must sign in.
        case signIn = "sign_in"
        /// The act happens with fewer scopes.
        case scopes
    }

    /// The scopes that a rule keeps of the scopes to be granted.
    package struct Scopes: Sendable, Equatable {
        /// The only scopes to keep. `nil` if all scopes may be kept.
        package var only: [String]?
        /// The scopes to remove.
        package var remove: [String]

        package init(only: [String]? = nil, remove: [String] = []) {
            self.only = only
            self.remove = remove
        }

        /// Returns the scopes that the rule keeps.
        package func left(of scopes: [String]) -> [String] {
            scopes.filter { self.only?.contains($0) != false && !self.remove.contains($0) }
        }
    }

    /// The unique name of the rule.
    package var name: String
    package var stages: Set<RuleStage>
    package var condition: RuleCondition
    package var effect: Effect
    /// The scopes to keep with the effect `scopes`.
    package var scopes: Scopes
    /// The text for the user. `nil` if the gateway's own text is shown.
    package var text: String?
    /// Whether the rule is only counted and recorded, without an effect.
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

/// The result of a rule, as a value of `sallyport_rule_results_total{result}`.
package enum RuleResult: String, Sendable, CaseIterable {
    /// The rule's condition did not hold.
    case pass
    case deny
    case signIn = "sign_in"
    /// The rule removes scopes.
    case scopes
    case wouldDeny = "would_deny"
    case wouldAskToSignIn = "would_sign_in"
    case wouldLimitScopes = "would_scopes"

    /// True if the condition of a rule in dry run held.
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

    /// The reason id of the rule's objection, also in dry run. `nil` if the rule does not object.
    package var reason: Reason? {
        switch self.result {
        case .pass, .scopes, .wouldLimitScopes: nil
        case .deny, .wouldDeny: .ruleDenied
        case .signIn, .wouldAskToSignIn: .ruleSignInRequired
        }
    }
}

extension [RuleFinding] {
    /// The name of the rule that refused the act. `nil` if no rule did.
    package var objecting: String? { self.last { $0.result == .deny || $0.result == .signIn }?.rule }

    /// The names of the rules that removed scopes.
    package var limiting: [String] { self.filter { $0.result == .scopes }.map(\.rule) }
}

/// The objection of a rule that stopped an act.
package struct RuleObjection: Sendable, Equatable {
    package var rule: String
    package var effect: Rule.Effect
    /// The text for the user. `nil` if the gateway's own text is shown.
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

/// The result of applying the rules to an act.
package struct RuleJudgement: Sendable, Equatable {
    /// The findings of the applied rules, in order. Rules after an objecting rule are not applied.
    package var findings: [RuleFinding] = []
    /// The objection to the act. `nil` if the act may happen.
    package var objection: RuleObjection?
    /// The limits on the scopes, applied one after another.
    package var limits: [Rule.Scopes] = []

    package init() {}

    /// Returns the scopes in `scopes` that remain within all limits.
    package func left(of scopes: [String]) -> [String] { self.limits.reduce(scopes) { $1.left(of: $0) } }
}
