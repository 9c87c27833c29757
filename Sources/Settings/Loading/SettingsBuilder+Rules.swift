import Rules
import Vocabulary

extension SettingsBuilder {
    mutating func geo() -> GeoSettings? {
        guard let tree = self.tree.tree("geo") else { return nil }
        return self.readablePath("database", of: tree).map { GeoSettings(database: $0) }
    }

    /// Builds the rules, and checks that their parts fit together.
    mutating func rules() -> [Rule] {
        var origins: [String: SettingsOrigin] = [:]
        return self.tree.trees("rules").compactMap { tree in
            guard let name = tree.text("name"), let condition = tree.condition("when"),
                let effect = tree.text("then").flatMap(Rule.Effect.init(rawValue:))
            else { return nil }
            self.checkOnce(name, "name", of: tree, in: &origins, fix: "choose another name: the other rule is at")
            let stages = tree.texts("at")?.compactMap(RuleStage.init(rawValue:)) ?? [.consume]
            let rule = Rule(
                name: name,
                stages: Set(stages),
                condition: condition,
                effect: effect,
                scopes: Rule.Scopes(
                    only: tree.tree("scopes")?.texts("only"),
                    remove: tree.tree("scopes")?.texts("remove") ?? []
                ),
                text: tree.text("text"),
                isDryRun: tree.boolean("dry_run") ?? false
            )
            self.check(rule, tree)
            return rule
        }
    }

    private mutating func check(_ rule: Rule, _ tree: SettingsTree) {
        if rule.stages.isEmpty {
            self.report(
                tree.place(of: "at"),
                found: "an empty list",
                allowed: alternatives(RuleStage.allCases.map(\.rawValue)),
                fix: "add one, or remove the key for consume"
            )
        }
        if rule.effect == .signIn, rule.stages != [.consume] {
            self.report(
                tree.place(of: "then"),
                found: "sign_in in a rule that is not only for consume",
                allowed: "deny at mint, sign_in and exchange, where no sign-in can follow",
                fix: "write deny, or remove the other stages from at"
            )
        }
        if rule.effect != .deny, tree["text"] != nil {
            self.report(
                tree.place(of: "text"),
                found: "a text in a rule with then: \(rule.effect.rawValue)",
                allowed: "a text only with then: deny, because nothing else shows one",
                fix: "remove the text"
            )
        }
        self.checkScopes(of: rule, tree)
        self.checkFields(of: rule, tree)
    }

    private mutating func checkScopes(of rule: Rule, _ tree: SettingsTree) {
        guard rule.effect == .scopes else {
            guard tree["scopes"] != nil else { return }
            return self.report(
                tree.place(of: "scopes"),
                found: "scopes in a rule with then: \(rule.effect.rawValue)",
                allowed: "scopes only with then: scopes",
                fix: "write then: scopes, or remove them"
            )
        }
        if rule.stages != [.exchange] {
            self.report(
                tree.place(of: "then"),
                found: "scopes in a rule that is not only for exchange",
                allowed: "scopes only at exchange, where a client gets some",
                fix: "write at: exchange"
            )
        }
        if rule.scopes == Rule.Scopes(), !self.isPartial {
            self.report(
                tree.place(of: "then"),
                found: "scopes without scopes.only or scopes.remove",
                allowed: "scopes together with the scopes to keep or to remove",
                fix: "add the key scopes with only or remove"
            )
        }
    }

    /// Reports fields that are missing at a stage of the rule, and fields whose database is not configured.
    private mutating func checkFields(of rule: Rule, _ tree: SettingsTree) {
        for (field, _) in rule.condition.fields {
            let fault: (allowed: String, fix: String)? =
                if !rule.stages.isSubset(of: field.stages) {
                    (
                        "this field only at \(alternatives(field.stages.map(\.rawValue).sorted())); at other stages it is missing",
                        "write a separate rule for the other stages"
                    )
                } else if field.isPlace, self.tree["geo"] == nil {
                    ("a place only with the key geo; without it every place is unknown", "add geo.database")
                } else if field.isSystemNumber, self.tree["asn"] == nil {
                    ("an asn only with the key asn; without it every number is unknown", "add asn.database")
                } else {
                    nil
                }
            guard let fault else { continue }
            self.report(tree.place(of: "when"), found: field.name, allowed: fault.allowed, fix: fault.fix)
        }
    }
}
