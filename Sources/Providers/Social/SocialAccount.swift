import Cryptography
import Sessions
import Settings
import Vocabulary

/// Makes a user from the claims that a social provider verified and the profile that the app adds.
struct SocialAccount: Sendable {
    let kind: SocialSubjectToken

    /// The names of the traits of every user. Each trait is read from the claim with its name.
    private static let traits = [
        "email", "email_verified", "name", "given_name", "family_name", "picture", "locale",
    ]

    /// Returns the user, with the id `PROVIDER|SUBJECT`. Users are not identified by email address: an address can pass
    /// to another user, and an address that the app states proves nothing.
    ///
    /// - Parameters:
    ///   - subject: The provider's id of the user.
    ///   - verified: The provider's claims. They take precedence over the claims in the app's profile.
    func user(
        _ subject: String,
        _ verified: JSONValue,
        _ profile: SocialProfile?,
        now: UnixTime
    ) throws(ProviderFault) -> ProvenUser {
        var settings = ClaimSettings()
        settings.traits = Self.traits.map { ClaimSettings.Trait(name: $0, path: [$0]) }
        // All users with an empty id would be one user.
        guard !subject.isEmpty else { throw ProviderFault("the subject is empty") }
        do throws(ClaimsError) {
            let authentication = try ClaimsMapping(settings).authentication(
                try ClaimsMapping.subject(.string("\(self.kind.connection)|\(subject)")),
                UserClaims([Self.normalised(verified)] + (profile.map { [$0.claims] } ?? [])),
                fallback: self.kind.connection,
                now: now
            )
            // The provider's tokens are not kept, because only a configured provider can renew them.
            return ProvenUser(authentication, ProviderEvidence(provider: self.kind.connection))
        } catch {
            throw ProviderFault(error.detail)
        }
    }

    /// Returns the data by which a replay of an id_token, code or token is recognised.
    ///
    /// - Parameters:
    ///   - identity: The bytes of the artefact that a replay cannot change.
    ///   - scope: The app or issuer at the provider for which the artefact was made.
    ///   - issuedAt: See `SocialArtefact.issuedAt`.
    func artefact(
        _ identity: [UInt8],
        of scope: String,
        from issuedAt: UnixTime?,
        until end: UnixTime,
        now: UnixTime
    ) -> SocialArtefact {
        SocialArtefact(
            id: OnceID(
                scope: "social \(self.kind.connection) \(scope)",
                id: SHA256.digest(identity).base64URL
            ),
            issuedAt: issuedAt,
            lifetime: max(end.since(now), .seconds(1))
        )
    }

    /// Returns an id_token without its signature. The rest has one spelling only, because the signature covers it.
    static func signedPart(of token: Secret) -> [UInt8] {
        Array(token.bytes.prefix(token.bytes.lastIndex(of: UInt8(ascii: ".")) ?? token.bytes.count))
    }

    /// Returns claims with a Boolean `email_verified`. Apple may write it as a text. Anything but true is false.
    private static func normalised(_ claims: JSONValue) -> JSONValue {
        guard case .object(var members) = claims, let value = claims["email_verified"] else {
            return claims
        }
        members["email_verified"] = .bool(value == .bool(true) || value == .string("true"))
        return .object(members)
    }
}
