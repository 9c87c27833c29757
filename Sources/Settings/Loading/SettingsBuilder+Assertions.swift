/// Assertions, and the audiences for which they are made.
extension SettingsBuilder {
    /// `identity.assertion`; nil: none is sent.
    mutating func assertion(_ tree: SettingsTree) -> IdentitySettings.Assertion? {
        let claims = (tree.tree("claims")?.entries ?? []).compactMap { name, setting -> IdentitySettings.Claim? in
            guard case .text(let path) = setting.value else { return nil }
            return IdentitySettings.Claim(name: name, path: path)
        }
        if tree["enabled"] == nil, let setting = tree["claims"], !self.isPartial {
            self.report(
                setting.origin,
                "identity.assertion.claims",
                found: "claims, but identity.assertion.enabled is not written",
                allowed: "claims of an assertion that is sent",
                mend: "add identity.assertion.enabled: true"
            )
        }
        return tree.boolean("enabled") == true ? IdentitySettings.Assertion(claims: claims) : nil
    }

    /// Refuses audiences of assertions that are never made. `enabled: false` says so itself and is enough.
    mutating func checkAudiences(_ identity: IdentitySettings) {
        let isSaid = self.tree.setting(at: ["identity", "assertion", "enabled"]) != nil
        for (key, route) in self.writtenRoutes() {
            guard let setting = route["audience"], !self.isPartial else { continue }
            if route.text("auth") == AuthRequirement.public.rawValue {
                self.report(
                    setting.origin,
                    "\(key).audience",
                    found: "audience on a route with auth: public, which reads no session",
                    allowed: "audience where auth is required or optional",
                    mend: "remove it"
                )
            } else if identity.assertion == nil, !isSaid {
                self.report(
                    setting.origin,
                    "\(key).audience",
                    found: "an audience, but no assertion is sent",
                    allowed: "audience with identity.assertion.enabled: true",
                    mend: "add identity.assertion.enabled: true, or remove it"
                )
            }
        }
    }
}
