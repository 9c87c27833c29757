import Cryptography
import Sessions
import Settings
import Vocabulary

/// Makes a user of what a social provider verified and of what the app says besides.
struct SocialAccount: Sendable {
    let kind: SocialSubjectToken

    /// The traits of every user, each from the claim of its name.
    private static let traits = [
        "email", "email_verified", "name", "given_name", "family_name", "picture", "locale",
    ]

    /// The user is named by the provider and by the provider's own id of them. An address can be given to another user,
    /// and one that the app states is nobody's proof.
    ///
    /// - Parameters:
    ///   - subject: The provider's id of the user.
    ///   - verified: The claims that the provider states. What the app says counts only where they say nothing.
    func user(
        _ subject: String,
        _ verified: JSONValue,
        _ profile: SocialProfile?,
        now: UnixTime
    ) throws(ProviderFault) -> ProvenUser {
        var settings = ClaimSettings()
        settings.traits = Self.traits.map { ClaimSettings.Trait(name: $0, path: [$0]) }
        // Without an id of its own every such user would be the same one.
        guard !subject.isEmpty else { throw ProviderFault("the subject is empty") }
        do throws(ClaimsError) {
            let authentication = try ClaimsMapping(settings).authentication(
                try ClaimsMapping.subject(.string("\(self.kind.connection)|\(subject)")),
                UserClaims([Self.normalised(verified)] + (profile.map { [$0.claims] } ?? [])),
                fallback: self.kind.connection,
                now: now
            )
            // The provider's tokens are not kept: what renews them is for the provider that is configured.
            return ProvenUser(authentication, ProviderEvidence(provider: self.kind.connection))
        } catch {
            throw ProviderFault(error.detail)
        }
    }

    /// By what the same artefact is recognised.
    ///
    /// - Parameters:
    ///   - identity: The bytes that are the same whenever this artefact is presented.
    ///   - scope: The account at the provider for which it was made.
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

    /// An id_token without its signature: the rest has one spelling only, or it would not be verified.
    static func signedPart(of token: Secret) -> [UInt8] {
        Array(token.bytes.prefix(token.bytes.lastIndex(of: UInt8(ascii: ".")) ?? token.bytes.count))
    }

    /// Apple writes `email_verified` as a text or as a boolean. Whatever is not plainly true is false.
    private static func normalised(_ claims: JSONValue) -> JSONValue {
        guard case .object(var members) = claims, let value = claims["email_verified"] else {
            return claims
        }
        members["email_verified"] = .bool(value == .bool(true) || value == .string("true"))
        return .object(members)
    }
}
