package import Vocabulary

/// Who the user is, as the provider reported it, in the shape of a Kratos identity.
package struct Identity: Sendable, Hashable {
    /// The provider's stable id of the user: the subject.
    package var id: String
    package var schemaID: String
    package private(set) var traitsDocument: JSONDocument
    package private(set) var metadataPublicDocument: JSONDocument

    package init(id: String, schemaID: String = "default", traits: JSONValue, metadataPublic: JSONValue = .null) {
        self.init(
            id: id,
            schemaID: schemaID,
            traits: JSONDocument(traits),
            metadataPublic: JSONDocument(metadataPublic)
        )
    }

    package init(id: String, schemaID: String, traits: JSONDocument, metadataPublic: JSONDocument) {
        self.id = id
        self.schemaID = schemaID
        self.traitsDocument = traits
        self.metadataPublicDocument = metadataPublic
    }

    /// All traits. Where only some are needed, use `traitsDocument`.
    package var traits: JSONValue {
        get { self.traitsDocument.value }
        set { self.traitsDocument = JSONDocument(newValue) }
    }

    /// All of the metadata that the provider shows to apps.
    package var metadataPublic: JSONValue {
        get { self.metadataPublicDocument.value }
        set { self.metadataPublicDocument = JSONDocument(newValue) }
    }
}

/// A signed-in user on one device: immutable once written.
@usableFromInline
package struct Session: Sendable, Hashable {
    /// What may present the session: a browser's cookie on one host, or a native app's bearer token.
    package enum Kind: String, Sendable { case web, native }
    /// How the session began; routes may require one (`require.origin`).
    package enum Origin: String, Sendable, CaseIterable { case browser, native, transfer }

    /// The public id (`ses_...`): shown to apps and in logs, worthless as a credential.
    package var id: String
    package var kind: Kind
    package var origin: Origin
    /// The family of tokens and sessions that ends together.
    package var lineage: Lineage
    package var identity: Identity
    /// The OAuth client for which the session was made.
    package var clientID: String?
    /// The public authority (`host[:port]`) on which a web session is valid.
    package var host: String?
    package var aal: AssuranceLevel
    /// Authentication methods, as the provider names them (`password`, `totp`).
    package var methods: [String]
    package var scopes: [String]
    package var authenticatedAt: UnixTime
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime
    /// The session ends when it is not used for this long.
    package var idleLifetime: Duration
    package var device: DeviceFacts?
    /// The transfer token that created it, so that the same browser may repeat its navigation.
    package var bornOf: RecordKey?
    /// The subject's epoch under which it was made; "log out everywhere" raises the epoch.
    package var epoch: UInt64

    package init(
        id: String,
        kind: Kind,
        origin: Origin,
        lineage: Lineage,
        identity: Identity,
        clientID: String? = nil,
        host: String? = nil,
        aal: AssuranceLevel,
        methods: [String],
        scopes: [String] = [],
        authenticatedAt: UnixTime,
        issuedAt: UnixTime,
        expiresAt: UnixTime,
        idleLifetime: Duration,
        device: DeviceFacts? = nil,
        bornOf: RecordKey? = nil,
        epoch: UInt64 = 0
    ) {
        self.id = id
        self.kind = kind
        self.origin = origin
        self.lineage = lineage
        self.identity = identity
        self.clientID = clientID
        self.host = host
        self.aal = aal
        self.methods = methods
        self.scopes = scopes
        self.authenticatedAt = authenticatedAt
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.idleLifetime = idleLifetime
        self.device = device
        self.bornOf = bornOf
        self.epoch = epoch
    }

    package var subject: String { self.identity.id }
}
