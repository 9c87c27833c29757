import Sessions
import Settings
import Vocabulary

/// The session in an answer of Kratos's `/sessions/whoami`, as far as the gateway uses it.
///
/// Kratos's schema requires only `id` of a session, and only `id`, `schema_id`, `schema_url` and `traits` of an
/// identity. Admin metadata and credentials are never included.
struct KratosSession: Sendable {
    /// How long a session is kept if Kratos states no expiry. Kratos is asked again meanwhile.
    private static let usualLifetime = Duration.seconds(86_400)

    let id: String
    let isActive: Bool
    /// The user. `nil` if Kratos does not say whose session it is.
    let identity: Identity?
    let aal: AssuranceLevel
    let methods: [String]
    let authenticatedAt: UnixTime?
    let issuedAt: UnixTime?
    let expiresAt: UnixTime?

    /// Reads the document. `nil` if it is not a session.
    init?(_ document: JSONValue) {
        guard let members = document.members, let id = members["id"]?.string, Self.isID(id) else { return nil }
        self.id = id
        switch members["identity"] {
        case nil:
            self.identity = nil
            self.isActive = Self.isTrue(members["active"])
        case .some(let value):
            guard let person = value.members, let identity = Self.identity(person) else { return nil }
            self.identity = identity
            self.isActive = Self.isTrue(members["active"]) && (person["state"] ?? "active") == "active"
        }
        self.aal = AssuranceLevel(named: members["authenticator_assurance_level"]?.string ?? "")
        self.methods = Self.methods(members["authentication_methods"])
        self.authenticatedAt = Self.time(members["authenticated_at"])
        self.issuedAt = Self.time(members["issued_at"])
        self.expiresAt = Self.time(members["expires_at"])
        // A session whose expiry is unreadable must not become one without an expiry.
        if members["expires_at"] != nil, self.expiresAt == nil { return nil }
    }

    /// Returns the verdict on a token of this session.
    ///
    /// - Parameters:
    ///   - names: The names that Kratos's users have at the gateway.
    ///   - cached: How long the verdict may be used.
    func verdict(named names: SubjectNames, cachedFor cached: Duration, now: UnixTime) -> TokenVerdict {
        let end = self.expiresAt ?? now.advanced(by: Self.usualLifetime)
        guard self.isActive, end > now else { return .ended(.credentialExpired) }
        guard let identity = self.identity?.named(by: names) else { return .unknown(.credentialInvalidToken) }
        return .known(
            KnownToken(
                identity: identity,
                aal: self.aal,
                methods: self.methods,
                authenticatedAt: self.authenticatedAt ?? Authentication.unknownTime,
                issuedAt: self.issuedAt,
                expiresAt: end,
                sessionID: self.id,
                cacheLifetime: cached
            )
        )
    }

    // MARK: Members

    /// Returns whether a member is true or missing.
    private static func isTrue(_ value: JSONValue?) -> Bool { (value ?? true) == true }

    static func identity(_ members: [String: JSONValue]) -> Identity? {
        guard let id = members["id"]?.string, self.isID(id) else { return nil }
        return Identity(
            id: id,
            schemaID: members["schema_id"]?.string ?? "default",
            traits: members["traits"] ?? [:],
            metadataPublic: members["metadata_public"] ?? .null
        )
    }

    /// Returns whether the text can be an id. Kratos's ids are UUIDs. Imported ids are short texts.
    private static func isID(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && !text.isDamaged
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }

    private static func methods(_ value: JSONValue?) -> [String] {
        guard case .array(let elements)? = value else { return [] }
        var methods: [String] = []
        for element in elements {
            guard let method = element["method"]?.string, !methods.contains(method) else { continue }
            methods.append(method)
        }
        return methods
    }

    /// Reads a time as Go writes it: RFC 3339 with up to nine digits of a second.
    private static func time(_ value: JSONValue?) -> UnixTime? { value?.string.flatMap { UnixTime(rfc3339: $0) } }
}

extension Identity {
    /// Returns Kratos's user under the name that the user has at the gateway. `nil` if another user could have that
    /// name.
    func named(by names: SubjectNames) -> Identity? {
        guard let name = names.name(of: self.id) else { return nil }
        var identity = self
        identity.id = name
        return identity.called(self.id)
    }
}
