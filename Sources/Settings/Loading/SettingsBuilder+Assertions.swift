/// Assertions and their audiences.
extension SettingsBuilder {
    /// Builds `identity.assertion`; `nil` if no assertion is sent.
    mutating func assertion(_ tree: SettingsTree) -> IdentitySettings.Assertion? {
        let claims = tree.pairs("claims").map { IdentitySettings.Claim(name: $0.name, path: $0.text) }
        if tree["enabled"] == nil, tree["claims"] != nil, !self.isPartial {
            self.report(
                tree.place(of: "claims"),
                found: "claims, but identity.assertion.enabled is not set",
                allowed: "claims only if the assertion is sent",
                fix: "add identity.assertion.enabled: true"
            )
        }
        return tree.boolean("enabled") == true ? IdentitySettings.Assertion(claims: claims) : nil
    }

    /// Reports audiences on public routes, and audiences without an assertion unless `enabled: false` is written.
    mutating func checkAudiences(_ identity: IdentitySettings) {
        let isSaid = self.tree.setting(at: ["identity", "assertion", "enabled"]) != nil
        for route in self.writtenRoutes() where route["audience"] != nil && !self.isPartial {
            if route.text("auth") == AuthRequirement.public.rawValue {
                self.report(
                    route.place(of: "audience"),
                    found: "audience on a route with auth: public, which reads no session",
                    allowed: "audience where auth is required or optional",
                    fix: "remove it"
                )
            } else if identity.assertion == nil, !isSaid {
                self.report(
                    route.place(of: "audience"),
                    found: "an audience, but no assertion is sent",
                    allowed: "audience with identity.assertion.enabled: true",
                    fix: "add identity.assertion.enabled: true, or remove it"
                )
            }
        }
    }
}
