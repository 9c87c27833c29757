internal import AddressIntelligence
internal import Endpoints
internal import Sessions
internal import Vocabulary

/// A session in the format of Kratos's API: the answer of `whoami`, of native sign-in and of the browser's session
/// document.
///
/// It contains public ids only: no token, no cookie, no key (CVE-2024-39315). They are UUIDs here (`KratosID`). Headers
/// and logs have the gateway's own and the provider's ids; the provider's id of the user is also in `external_id`.
enum SessionDocument {
    /// Kratos clients require `schema_id` and `schema_url` in an identity and know only the methods of this list.
    private static let knownMethods: Set<String> = [
        "password", "oidc", "totp", "lookup_secret", "webauthn", "code", "passkey", "profile", "saml", "link_recovery",
        "code_recovery",
    ]
    private static let secondFactors: Set<String> = ["totp", "lookup_secret", "webauthn"]

    /// The methods by their names in Kratos. How a provider has authenticated the user (`amr`, RFC 8176) has none there:
    /// for Kratos a sign-in at a provider is one by `oidc`.
    private static func methods(of session: Session) -> [String] {
        let known = session.methods.filter(self.knownMethods.contains)
        return known.isEmpty && session.provider != nil ? ["oidc"] : known
    }

    /// The answer to a native sign-in.
    static func signedIn(_ token: Secret, _ session: Session, origin: String, now: UnixTime) -> JSONValue {
        [
            "session_token": .string(String(decoding: token.bytes, as: UTF8.self)),
            "session": self.value(session, origin: origin, now: now),
        ]
    }

    /// - Parameters:
    ///   - origin: The configured origin for the URL of the identity's schema.
    ///   - now: A session that has expired by then is not active.
    ///   - beside: Members that are not Kratos's.
    static func value(
        _ session: Session,
        origin: String,
        now: UnixTime,
        beside: [String: JSONValue] = [:]
    ) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(KratosID.uuid(.session, of: session.id)),
            "active": .bool(session.expiresAt > now),
            "expires_at": .string(session.expiresAt.rfc3339),
            "authenticated_at": .string(session.authenticatedAt.rfc3339),
            "issued_at": .string(session.issuedAt.rfc3339),
            "authenticator_assurance_level": .string(session.aal.rawValue),
            "authentication_methods": .array(
                self.methods(of: session).map { method in
                    [
                        "method": .string(method),
                        "aal": self.secondFactors.contains(method) ? "aal2" : "aal1",
                        "completed_at": .string(session.authenticatedAt.rfc3339),
                    ]
                }
            ),
            "identity": [
                "id": .string(KratosID.uuid(.identity, of: session.identity.id)),
                "external_id": .string(session.identity.id),
                "schema_id": .string(session.identity.schemaID),
                "schema_url": .string("\(origin)/schemas/\(PercentCoding.encoded(session.identity.schemaID))"),
                "state": "active",
                "traits": session.identity.traits,
                "metadata_public": session.identity.metadataPublic,
            ],
            "devices": [],
        ]
        members["act"] = session.actorClaim
        if let device = session.device {
            members["devices"] = [
                [
                    "id": .string(KratosID.uuid(.device, of: session.id)),
                    "ip_address": .string(device.address.description),
                    "user_agent": .string(device.userAgent ?? ""),
                    "location": "",
                ]
            ]
        }
        return .object(members.merging(beside, uniquingKeysWith: { own, _ in own }))
    }
}
