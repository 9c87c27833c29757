import AddressIntelligence
import Sessions
import Vocabulary

/// A session in the format of Kratos's API, for `whoami`, native sign-in and the browser's session document.
///
/// The document contains no token, cookie or key (CVE-2024-39315). Its ids are UUIDs (`KratosID`), unlike the ids in
/// headers and logs. `external_id` is the provider's id of the user.
enum SessionDocument {
    /// The methods that Kratos's clients know.
    private static let knownMethods: Set<String> = [
        "password", "oidc", "totp", "lookup_secret", "webauthn", "code", "passkey", "profile", "saml", "link_recovery",
        "code_recovery",
    ]
    private static let secondFactors: Set<String> = ["totp", "lookup_secret", "webauthn"]

    /// Returns the methods by their names in Kratos. A sign-in at a provider without such a method is `oidc`, because
    /// Kratos has no names for `amr` values (RFC 8176).
    private static func methods(of session: Session) -> [String] {
        let known = session.methods.filter(self.knownMethods.contains)
        return known.isEmpty && session.provider != nil ? ["oidc"] : known
    }

    /// Returns the answer to a native sign-in.
    static func signedIn(_ token: Secret, _ session: Session, origin: String, now: UnixTime) -> JSONWriter {
        var json = JSONWriter()
        json.object { json in
            json.name("session")
            self.write(session, origin: origin, now: now, to: &json)
            json.member("session_token", String(decoding: token.bytes, as: UTF8.self))
        }
        return json
    }

    /// Returns the document of a session.
    ///
    /// - Parameters:
    ///   - origin: The configured origin, for the URL of the identity's schema.
    ///   - now: The current time. A session that has expired by then is not active.
    ///   - writeMore: Writes members that Kratos does not have.
    static func document(
        _ session: Session,
        origin: String,
        now: UnixTime,
        and writeMore: (inout JSONWriter) -> Void = { _ in }
    ) -> JSONWriter {
        var json = JSONWriter()
        self.write(session, origin: origin, now: now, and: writeMore, to: &json)
        return json
    }

    static func write(
        _ session: Session,
        origin: String,
        now: UnixTime,
        and writeMore: (inout JSONWriter) -> Void = { _ in },
        to json: inout JSONWriter
    ) {
        // Providers may omit the time of authentication.
        let authenticatedAt = session.authenticatedAt.seconds > 0 ? session.authenticatedAt.rfc3339 : nil
        json.object { json in
            if let actor = session.actorClaim {
                json.name("act")
                json.write(actor)
            }
            json.name("active")
            json.write(session.expiresAt > now)
            if let authenticatedAt { json.member("authenticated_at", authenticatedAt) }
            json.name("authentication_methods")
            json.array { json in
                for method in self.methods(of: session) {
                    json.object { json in
                        json.member("aal", self.secondFactors.contains(method) ? "aal2" : "aal1")
                        if let authenticatedAt { json.member("completed_at", authenticatedAt) }
                        json.member("method", method)
                    }
                }
            }
            json.member("authenticator_assurance_level", session.aal.rawValue)
            json.name("devices")
            json.array { json in
                if let device = session.device { self.write(device, of: session, to: &json) }
            }
            json.member("expires_at", session.expiresAt.rfc3339)
            json.member("id", KratosID.uuid(.session, of: session.id))
            json.name("identity")
            self.write(session.identity, origin: origin, to: &json)
            json.member("issued_at", session.issuedAt.rfc3339)
            writeMore(&json)
        }
    }

    private static func write(_ device: DeviceFacts, of session: Session, to json: inout JSONWriter) {
        json.object { json in
            json.member("id", KratosID.uuid(.device, of: session.id))
            json.member("ip_address", device.address.description)
            json.member("location", "")
            json.member("user_agent", device.userAgent ?? "")
        }
    }

    private static func write(_ identity: Identity, origin: String, to json: inout JSONWriter) {
        json.object { json in
            json.member("external_id", identity.id)
            json.member("id", KratosID.uuid(.identity, of: identity.id))
            json.name("metadata_public")
            identity.metadataPublicDocument.write(to: &json)
            json.member("schema_id", identity.schemaID)
            json.member("schema_url", "\(origin)/schemas/\(PercentCoding.encoded(identity.schemaID))")
            json.member("state", "active")
            json.name("traits")
            identity.traitsDocument.write(to: &json)
        }
    }
}
