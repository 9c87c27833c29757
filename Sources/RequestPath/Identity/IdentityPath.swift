import Cryptography
package import Sessions
package import Vocabulary

/// The path to the value of an identity field (`identity.headers`): in the session, its tokens or the client's
/// certificate.
package struct IdentityPath: Sendable {
    /// The allowed paths. An entry that ends with a dot is a prefix, to be followed by member names.
    package static let roots = [
        "subject", "session.id", "identity.id", "identity.schema_id", "identity.traits.", "identity.metadata_public.",
        "aal",
        "methods", "authenticated_at", "origin", "actor", "scopes", "client_id", "provider.name",
        "provider.access_token",
        "provider.id_token", "client_certificate.sha256", "client_certificate.subject", "client_certificate.san",
    ]

    private enum Place {
        case subject, sessionID, schemaID, aal, methods, scopes, authenticatedAt, origin, actor, clientID, providerName
        case accessToken, idToken
        case certificateHash, certificateSubject, certificateNames
        case traits([[UInt8]])
        case metadataPublic([[UInt8]])
    }

    private let place: Place
    /// True if the value is always written as a list. List elements may not contain the delimiter: otherwise, users who
    /// may edit a trait could join two groups with `staff,admin`.
    package let isList: Bool

    /// Parses a path. Returns `nil` if `text` is not a valid path.
    package init?(_ text: String) {
        guard Self.roots.contains(where: { $0.hasSuffix(".") ? text.hasPrefix($0) && text != $0 : text == $0 }) else {
            return nil
        }
        // `[]` only marks a list: `groups[].name` has the same steps as `groups.name`.
        let steps = text.split(separator: ".").map { $0.hasSuffix("[]") ? $0.dropLast(2) : $0 }
        guard steps.allSatisfy({ !$0.isEmpty }) else { return nil }
        switch text {
        case "subject", "identity.id": self.place = .subject
        case "session.id": self.place = .sessionID
        case "identity.schema_id": self.place = .schemaID
        case "aal": self.place = .aal
        case "methods": self.place = .methods
        case "scopes": self.place = .scopes
        case "authenticated_at": self.place = .authenticatedAt
        case "origin": self.place = .origin
        case "actor": self.place = .actor
        case "client_id": self.place = .clientID
        case "provider.name": self.place = .providerName
        case "provider.access_token": self.place = .accessToken
        case "provider.id_token": self.place = .idToken
        case "client_certificate.sha256": self.place = .certificateHash
        case "client_certificate.subject": self.place = .certificateSubject
        case "client_certificate.san": self.place = .certificateNames
        default:
            let rest = steps.dropFirst(2).map { Array($0.utf8) }
            self.place = steps[1] == "traits" ? .traits(rest) : .metadataPublic(rest)
        }
        self.isList =
            text == "methods" || text == "scopes" || text == "client_certificate.san" || text.utf8.contains("[]".utf8)
            || steps.dropFirst(2).contains { $0 == "groups" || $0 == "roles" }
    }

    /// True if the value is a token of the provider (`token(of:)`). Tokens are secrets.
    package var isToken: Bool {
        switch self.place {
        case .accessToken, .idToken: true
        default: false
        }
    }

    /// Returns the token at this path. `nil` if `tokens` has none or the path does not lead to a token.
    func token(of tokens: SessionTokens?) -> Secret? {
        switch self.place {
        case .accessToken: tokens?.access
        case .idToken: tokens?.id
        default: nil
        }
    }

    /// True if the value is part of the session, as required for the claims of an assertion.
    var isOfSession: Bool { !self.isToken && !self.isCertificate }

    /// True if the value belongs to the client's certificate.
    package var isCertificate: Bool {
        switch self.place {
        case .certificateHash, .certificateSubject, .certificateNames: true
        default: false
        }
    }

    /// Returns the certificate's value. `nil` if it has no subject or the path leads elsewhere.
    func value(of certificate: ClientCertificate) -> JSONValue? {
        switch self.place {
        case .certificateHash: .string(certificate.sha256.hexadecimal)
        case .certificateSubject: certificate.subject.isEmpty ? nil : .string(certificate.subject)
        case .certificateNames: .array(certificate.names.map { .string($0.text) })
        default: nil
        }
    }

    /// Returns the session's value; `[]` for empty `methods` and `scopes`. `nil` if the session lacks another value or
    /// the path leads to a token or a certificate value.
    package func value(of session: Session) -> JSONValue? {
        switch self.place {
        case .subject: .string(session.identity.id)
        case .sessionID: .string(session.id)
        case .schemaID: .string(session.identity.schemaID)
        case .aal: .string(session.aal.rawValue)
        case .methods: .array(session.methods.map { .string($0) })
        case .scopes: .array(session.scopes.map { .string($0) })
        // 0 means that the provider does not say when the user authenticated.
        case .authenticatedAt:
            session.authenticatedAt.seconds > 0 ? .string(session.authenticatedAt.rfc3339Seconds) : nil
        case .origin: .string(session.origin.rawValue)
        case .actor: session.actor.map { .string($0) }
        case .clientID: session.clientID.map { .string($0) }
        case .providerName: .string(session.identity.realm.name)
        case .accessToken, .idToken, .certificateHash, .certificateSubject, .certificateNames: nil
        case .traits(let steps): Self.value(at: steps, of: session.identity.traitsDocument)
        case .metadataPublic(let steps): Self.value(at: steps, of: session.identity.metadataPublicDocument)
        }
    }

    /// Returns a string of the session's traits or metadata in its stored UTF-8. `nil` for lists and for all other
    /// values.
    func text(of session: Session) -> ArraySlice<UInt8>? {
        switch self.place {
        case .traits(let steps) where !self.isList: session.identity.traitsDocument.text(at: steps)
        case .metadataPublic(let steps) where !self.isList: session.identity.metadataPublicDocument.text(at: steps)
        default: nil
        }
    }

    private static let name = [Array("name".utf8)]

    private static func value(at steps: [[UInt8]], of root: JSONDocument) -> JSONValue? {
        let value = root.value(at: steps)?.flattened ?? Self.value(withinListsAt: steps, of: root)
        // In Kratos's example schema, `name` is an object with `first` and `last`.
        if case .object = value, steps == Self.name, let first = value?["first"]?.string {
            return .string([first, value?["last"]?.string].compactMap { $0 }.joined(separator: " "))
        }
        return value
    }

    /// Follows a path through the elements of a list. `JSONDocument.value` does not follow lists.
    private static func value(withinListsAt steps: [[UInt8]], of root: JSONDocument) -> JSONValue? {
        guard steps.count > 1, let first = root.value(at: Array(steps.prefix(1))) else { return nil }
        return first.value(at: steps.dropFirst().map { String(decoding: $0, as: UTF8.self) })
    }
}
