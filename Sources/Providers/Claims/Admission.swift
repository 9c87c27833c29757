package import Settings
import Vocabulary

/// The rule for who may sign in (`allow`). If emails or domains are listed, the user's address must be verified, and it
/// or its domain must be listed. If groups are listed, the user must be in one of them. Without lists, every user may
/// sign in.
package struct Admission: Sendable {
    private let settings: AdmissionSettings
    private let email: [String]
    private let emailVerified: [String]
    /// True if the provider's `email_verified` is trusted.
    private let isEmailVouchedFor: Bool
    private let groups: ClaimSettings.Trait

    /// - Parameter claims: The paths of the traits `email`, `email_verified` and `groups`. A trait without a path is
    ///   the claim of the same name.
    package init(_ settings: AdmissionSettings, _ claims: ClaimSettings) {
        self.settings = settings
        self.email = claims.path(ofTrait: "email")
        self.emailVerified = claims.path(ofTrait: "email_verified")
        self.isEmailVouchedFor = claims.vouchesForEmail
        self.groups = claims.trait("groups")
    }

    /// Returns why the user may not sign in; `nil` if the user may.
    package func refusal(_ claims: UserClaims) -> String? {
        self.refusalOfEmail(claims) ?? self.refusalOfGroups(claims)
    }

    /// Returns the user in the claims.
    ///
    /// - Parameters:
    ///   - fallback: The authentication method if the claims state none.
    ///   - unusable: The reason if the claims contain no usable user.
    /// - Throws: `signin.not_allowed`, or `unusable`.
    func user(
        _ subject: String,
        _ claims: UserClaims,
        by mapping: ClaimsMapping,
        fallback: String,
        now: UnixTime,
        unusable: Reason = .signInProviderError
    ) throws(NotDone) -> Authentication {
        if let refusal = self.refusal(claims) { throw NotDone(.signInNotAllowed, detail: refusal) }
        do throws(ClaimsError) {
            return try mapping.authentication(subject, claims, fallback: fallback, now: now)
        } catch {
            throw NotDone(unusable, detail: error.detail)
        }
    }

    /// Returns why the user may not sign in; `nil` if the user may, or if a missing claim could decide.
    func certainRefusal(_ claims: UserClaims) -> String? {
        let saysEmail =
            claims.value(at: self.email) != nil && claims.value(at: self.emailVerified, beside: self.email) != nil
        if saysEmail, let refusal = self.refusalOfEmail(claims) { return refusal }
        return claims.value(of: self.groups) == nil ? nil : self.refusalOfGroups(claims)
    }

    private func refusalOfEmail(_ claims: UserClaims) -> String? {
        guard !self.settings.emails.isEmpty || !self.settings.emailDomains.isEmpty else { return nil }
        guard let text = claims.value(at: self.email)?.string, let address = EmailAddress(text) else {
            return "the provider states no usable email address"
        }
        guard self.isEmailVouchedFor, Self.isTrue(claims.value(at: self.emailVerified, beside: self.email)) else {
            return "the provider has not verified the user's email address (email_verified)"
        }
        let isListed =
            self.settings.emails.contains { EmailAddress($0) == address }
            || self.settings.emailDomains.contains { EmailAddress.folded($0) == address.domain }
        return isListed ? nil : "neither the user's email address nor its domain is in allow"
    }

    private func refusalOfGroups(_ claims: UserClaims) -> String? {
        guard !self.settings.groups.isEmpty else { return nil }
        let groups = claims.texts(of: self.groups)
        let isListed = self.settings.groups.contains { allowed in groups.contains { $0.isExactly(allowed) } }
        return isListed ? nil : "none of the user's groups is in allow.groups"
    }

    /// Returns whether the claim is true. Some providers send the text `true`.
    private static func isTrue(_ value: JSONValue?) -> Bool { value == .bool(true) || value == .string("true") }
}
