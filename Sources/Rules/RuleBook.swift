package import AddressIntelligence
package import Vocabulary

/// The rules of a configuration.
package struct RuleBook: Sendable {
    private let rules: [Rule]
    private let places: GeoDirectory?

    /// - Parameters:
    ///   - rules: In the order in which they are judged.
    ///   - places: Where addresses are; nil: no condition asks.
    package init(_ rules: [Rule] = [], places: GeoDirectory? = nil) {
        self.rules = rules
        self.places = places
    }

    /// Judges an act: the first rule whose condition holds decides, unless it is in dry run. One about scopes takes its part
    /// of them and lets the next ones be judged.
    ///
    /// Callers wait for the judgement, so that a rule may ask somebody else.
    package func judge(_ stage: RuleStage, _ facts: @autoclosure () -> RuleFacts) async -> RuleJudgement {
        let rules = self.rules.filter { $0.stages.contains(stage) }
        return rules.isEmpty ? RuleJudgement() : Self.judge(rules, facts().event(self.places))
    }

    /// Whether a rule judges acts of this stage.
    package func hasRules(for stage: RuleStage) -> Bool { self.rules.contains { $0.stages.contains(stage) } }

    /// Judges an event by the rules of a stage, in their order.
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
