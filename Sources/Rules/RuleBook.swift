package import AddressIntelligence
package import Vocabulary

/// The rules of a configuration.
package struct RuleBook: Sendable {
    private let rules: [Rule]
    private let places: GeoDirectory?

    /// - Parameters:
    ///   - rules: The rules, in the order in which they are applied.
    ///   - places: The locations of IP addresses. `nil` if no condition needs them.
    package init(_ rules: [Rule] = [], places: GeoDirectory? = nil) {
        self.rules = rules
        self.places = places
    }

    /// Applies the rules to an act. A rule that denies the act or requires a sign-in ends the evaluation, unless it is
    /// in dry run. Rules about scopes do not.
    ///
    /// Asynchronous, so that rules can be extended to ask another service.
    package func judge(_ stage: RuleStage, _ facts: @autoclosure () -> RuleFacts) async -> RuleJudgement {
        let rules = self.rules.filter { $0.stages.contains(stage) }
        return rules.isEmpty ? RuleJudgement() : Self.judge(rules, facts().event(self.places))
    }

    /// Returns whether a rule applies to acts of this stage.
    package func hasRules(for stage: RuleStage) -> Bool { self.rules.contains { $0.stages.contains(stage) } }

    /// Applies the rules of a stage to an event, in their order.
    package func judge(_ stage: RuleStage, event: JSONValue) -> RuleJudgement {
        Self.judge(self.rules.filter { $0.stages.contains(stage) }, event)
    }

    private static func judge(_ rules: [Rule], _ event: JSONValue) -> RuleJudgement {
        var judgement = RuleJudgement()
        for rule in rules {
            guard rule.condition.applies(to: event) else {
                judgement.findings.append(RuleFinding(rule: rule.name, result: .pass))
                continue
            }
            switch (rule.effect, rule.isDryRun) {
            case (.deny, true): judgement.findings.append(RuleFinding(rule: rule.name, result: .wouldDeny))
            case (.signIn, true): judgement.findings.append(RuleFinding(rule: rule.name, result: .wouldAskToSignIn))
            case (.scopes, true): judgement.findings.append(RuleFinding(rule: rule.name, result: .wouldLimitScopes))
            case (.scopes, false):
                judgement.findings.append(RuleFinding(rule: rule.name, result: .scopes))
                judgement.limits.append(rule.scopes)
            case (.deny, false), (.signIn, false):
                let result: RuleResult = rule.effect == .deny ? .deny : .signIn
                judgement.findings.append(RuleFinding(rule: rule.name, result: result))
                judgement.objection = RuleObjection(rule: rule.name, effect: rule.effect, text: rule.text)
                return judgement
            }
        }
        return judgement
    }
}
