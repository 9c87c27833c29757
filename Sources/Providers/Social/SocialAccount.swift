import Cryptography
import Sessions
import Settings
import Vocabulary

/// Makes a user from the claims of a social provider and the profile that the app sends.
struct SocialAccount: Sendable {
    let kind: SocialSubjectToken

    /// The traits of every user. Each one is the claim of the same name.
    private static let traits = [
        "email", "email_verified", "name", "given_name", "family_name", "picture", "locale",
    ]

    /// Returns the user with the id `PROVIDER|SUBJECT`. An email address identifies nobody: it can pass to another
    /// person, and an app can state any address.
    ///
    /// - Parameters:
    ///   - subject: The provider's id of the user.
    ///   - verified: The provider's claims. They take precedence over the app's profile.
    func user(
        _ subject: String,
        _ verified: JSONValue,
        _ profile: SocialProfile?,
        now: UnixTime
    ) throws(ProviderFault) -> ProvenUser {
        var settings = ClaimSettings()
        settings.traits = Self.traits.map { ClaimSettings.Trait(name: $0, path: [$0]) }
        // All users with an empty id would be the same user.
        guard !subject.isEmpty else { throw ProviderFault("the subject is empty") }
        do throws(ClaimsError) {
            let authentication = try ClaimsMapping(settings).authentication(
                try ClaimsMapping.subject(.string("\(self.kind.connection)|\(subject)")),
                UserClaims([Self.normalised(verified)] + (profile.map { [$0.claims] } ?? [])),
                fallback: self.kind.connection,
                now: now
            )
            // No tokens are stored, because only a configured provider can refresh them.
            return ProvenUser(authentication, ProviderEvidence(provider: self.kind.connection))
        } catch {
            throw ProviderFault(error.detail)
        }
    }

    /// Returns the data that identify an id_token, code or token if it is presented again.
    ///
    /// - Parameters:
    ///   - identity: The bytes of the artefact, without parts that a replay could change.
    ///   - scope: The app or issuer of the artefact.
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

    /// Returns an id_token without its signature, which may be encoded in several ways. It covers the other bytes.
    static func signedPart(of token: Secret) -> [UInt8] {
        Array(token.bytes.prefix(token.bytes.lastIndex(of: UInt8(ascii: ".")) ?? token.bytes.count))
    }

    /// Returns the claims with a Boolean `email_verified`. Apple may write a text. Any value except true becomes false.
    private static func normalised(_ claims: JSONValue) -> JSONValue {
        guard case .object(var members) = claims, let value = claims["email_verified"] else {
            return claims
        }
        members["email_verified"] = .bool(value == .bool(true) || value == .string("true"))
        return .object(members)
    }
}
