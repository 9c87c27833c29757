import Vocabulary

extension SettingsBuilder {
    /// The value in `match` that stands for the provider's own id of a user.
    private static let ownID = "sub"

    /// Returns the provider that deactivates its users by SCIM (`admin.scim`); `nil` if there is none.
    mutating func scim(_ settings: Settings) -> SCIMSettings? {
        guard let admin = self.tree.tree("admin"), let tree = admin.tree("scim"), !self.isPartial else { return nil }
        if admin["tokens_file"] == nil {
            self.report(
                tree.place,
                found: "scim, but admin.tokens_file is missing",
                allowed: "scim with a token for the provider",
                fix: "add admin.tokens_file, with a line that has the scope scim"
            )
        }
        let (written, known) = (tree.text("provider"), settings.providers)
        let named = known.first { provider in written.map { $0.isExactly(provider.name) } ?? (known.count == 1) }
        guard let named else {
            self.report(
                tree.place(of: "provider"),
                found: written.map(quoted) ?? "no provider",
                allowed: known.isEmpty ? "scim together with a provider" : alternatives(known.map(\.name)),
                fix: "name the provider whose users sign in"
            )
            return nil
        }
        let value = tree.pairs("match").first?.text ?? Self.ownID
        let trait = value == Self.ownID ? nil : value
        // Sessions of a provider without a name are not found by a trait, so only `sub` is allowed.
        let traits = named.settings.ownName == nil ? [] : named.settings.claimMapping?.traits.map(\.name)
        if let trait, let traits, !traits.contains(trait) {
            self.report(
                tree.place(of: "match"),
                found: quoted(trait),
                allowed: alternatives([Self.ownID] + traits),
                fix: "add the claim to claims.traits of the provider, or correct the name"
            )
        }
        if settings.store.redis == nil {
            self.warnings.append(
                "admin.scim: without Redis, a restart forgets users and blocks, and providers do not send them again; set store.redis"
            )
        }
        return SCIMSettings(provider: named.name, trait: trait)
    }
}
