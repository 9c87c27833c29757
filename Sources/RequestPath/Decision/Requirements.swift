package import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// Checks a session against a route's requirements (`require`). `CertificateRequirement` is checked separately.
package enum Requirements {
    /// Returns the first requirement that `session` does not meet. `nil` if it meets all.
    package static func unmet(_ require: RequirementSettings, _ session: Session, _ now: UnixTime) -> Reason? {
        // Checked first, because a sign-in with another provider may change the level and the groups.
        if !require.providers.isEmpty, !require.admits(session.identity.realm) { return .requireProvider }
        if let aal = require.aal, session.aal < aal { return .requireAAL }
        if !require.groupsAny.isEmpty {
            let groups = session.identity.traitsDocument["groups"]?.scalarTexts ?? []
            guard groups.contains(where: { group in require.groupsAny.contains { $0.isExactly(group) } })
            else { return .requireGroups }
        }
        if !require.scopes.allSatisfy(session.scopes.contains) { return .requireScopes }
        if !require.origins.isEmpty, !require.origins.contains(session.origin.rawValue) { return .requireOrigin }
        if require.refusesActors, session.actor != nil { return .requireActor }
        if let maxAge = require.maxAge, now.since(session.authenticatedAt) > maxAge { return .requireMaxAge }
        return nil
    }
}

extension RequirementSettings {
    func admits(_ realm: Realm) -> Bool { self.providers.contains { $0.isExactly(realm.name) } }
}

extension CertificateRequirement {
    /// True if a client with this certificate meets the requirement.
    package func isMet(by certificate: ClientCertificate?) -> Bool {
        guard let certificate else { return false }
        if let issuer = self.issuer, !certificate.issuer.isExactly(issuer) { return false }
        return self.names.isEmpty || self.names.contains(where: certificate.names.contains)
    }
}
