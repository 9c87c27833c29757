internal import Rules
internal import Vocabulary

extension SettingsBuilder {
    mutating func geo() -> GeoSettings? {
        guard let tree = self.tree.tree("geo") else { return nil }
        return self.readablePath("database", of: tree, key: "geo").map { GeoSettings(database: $0) }
    }

    /// The rules, whose conditions are valid by themselves.
    mutating func rules() -> [Rule] {
        var origins: [String: SettingsOrigin] = [:]
        return self.tree.trees("rules").enumerated().compactMap { index, tree in
            let key = "rules[\(index)]"
            guard let name = tree.text("name"), let condition = tree.condition("when"),
                let effect = tree.text("then").flatMap(Rule.Effect.init(rawValue:))
            else { return nil }
            let origin = tree["name"]?.origin ?? tree.origin
            if let earlier = origins.updateValue(origin, forKey: name) {
                self.report(
                    origin,
                    "\(key).name",
                    found: "\(quoted(name)) a second time",
                    allowed: "each name once",
                    mend: "choose another name: the other rule is at \(earlier)"
                )
            }
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
            self.check(rule, tree, key: key)
            return rule
        }
    }

    private mutating func check(_ rule: Rule, _ tree: SettingsTree, key: String) {
        if rule.stages.isEmpty {
            self.report(
                tree["at"]?.origin ?? tree.origin,
                "\(key).at",
                found: "an empty list",
                allowed: alternatives(RuleStage.allCases.map(\.rawValue)),
                mend: "add one, or remove the key for consume"
            )
        }
        if rule.effect == .signIn, rule.stages != [.consume] {
            self.report(
                tree["then"]?.origin ?? tree.origin,
                "\(key).then",
                found: "sign_in of a rule that is not only for consume",
                allowed: "deny at mint, sign_in and exchange, where no sign-in can follow",
                mend: "write deny, or remove the other stages from at"
            )
        }
        if rule.effect != .deny, let text = tree["text"] {
            self.report(
                text.origin,
                "\(key).text",
                found: "a text of a rule with then: \(rule.effect.rawValue)",
                allowed: "a text only with then: deny, because nothing else shows one",
                mend: "remove the text"
            )
        }
        self.checkScopes(of: rule, tree, key: key)
        self.checkFields(of: rule, tree, key: key)
    }

    private mutating func checkScopes(of rule: Rule, _ tree: SettingsTree, key: String) {
        guard rule.effect == .scopes else {
            guard let origin = tree["scopes"]?.origin else { return }
            return self.report(
                origin,
                "\(key).scopes",
                found: "scopes of a rule with then: \(rule.effect.rawValue)",
                allowed: "scopes only with then: scopes",
                mend: "write then: scopes, or remove them"
            )
        }
        let origin = tree["then"]?.origin ?? tree.origin
        if rule.stages != [.exchange] {
            self.report(
                origin,
                "\(key).then",
                found: "scopes of a rule that is not only for exchange",
                allowed: "scopes only at exchange, where a client gets some",
                mend: "write at: exchange"
            )
        }
        if rule.scopes == Rule.Scopes(), !self.isPartial {
            self.report(
                origin,
                "\(key).then",
                found: "scopes without scopes.only and scopes.remove",
                allowed: "scopes with what is left of them",
                mend: "add the key scopes with only or remove"
            )
        }
    }

    /// A field that is always missing would make a rule mean nothing, or something else than it says.
    private mutating func checkFields(of rule: Rule, _ tree: SettingsTree, key: String) {
        let origin = tree["when"]?.origin ?? tree.origin
        for (field, _) in rule.condition.fields {
            let fault: (allowed: String, mend: String)? =
                if !rule.stages.isSubset(of: field.stages) {
                    (
                        "this field only at \(alternatives(field.stages.map(\.rawValue).sorted())): else it is missing",
                        "write a rule of its own for the other stages"
                    )
                } else if field.isPlace, self.tree["geo"] == nil {
                    ("a place only with the key geo, without which every place is unknown", "add geo.database")
                } else if field.isSystemNumber, self.tree["asn"] == nil {
                    ("an asn only with the key asn, without which every number is unknown", "add asn.database")
                } else {
                    nil
                }
            guard let fault else { continue }
            self.report(origin, "\(key).when", found: field.name, allowed: fault.allowed, mend: fault.mend)
        }
    }
}
