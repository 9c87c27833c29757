package import Cryptography
package import Vocabulary

/// The user as the provider reports them, in the shape of a Kratos identity.
package struct Identity: Sendable, Hashable {
    /// The user's id, which apps see as the subject: the provider's stable id, or the id of a linked account
    /// (`AccountID`).
    package var id: String
    /// The id that the user has without a linked account. Set if `id` is an account id, or if the provider's own id
    /// contains `|` (`Realm.separator`).
    @Rare package private(set) var ownID: String? = nil
    /// The realm of the user. Equal ids in different realms are different people.
    package var realm = Realm.default
    package var schemaID: String
    package var traitsDocument: JSONDocument
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

    /// The user's name in the store and its indexes. Apps and operators never see it.
    package var subject: String { self.realm.subject(self.id) }

    /// True if `id` is the id of a linked account (`AccountID`).
    package var isAccount: Bool { AccountID.isOne(self.id) }

    /// The id that the user had at sign-in without a linked account.
    private var ownName: String { self.ownID ?? self.id }

    /// True if `id` is the provider's own id, even if it begins with the provider's name.
    private var isOwnID: Bool { self.ownID?.isExactly(self.id) == true }

    /// The provider's own id of the user. A prefix that the gateway added for hosts with several providers is removed.
    package var idAtProvider: String { self.isOwnID ? self.id : self.realm.ownID(of: self.ownName) }

    /// The subject that the user would have without a linked account.
    package var subjectAtProvider: String { self.realm.subject(self.ownName) }

    /// Reports whether `ownID` is the provider's own id of the user. A session stored by an older version may match two
    /// ids.
    package func isCalled(_ ownID: String) -> Bool {
        ownID.isExactly(self.idAtProvider) || ownID.isExactly(self.ownName)
    }

    /// Reports whether both identities are the same person, linked to an account or not.
    package func isSamePerson(as other: Identity) -> Bool {
        self.subject.isExactly(other.subject)
            || (self.realm == other.realm && self.idAtProvider.isExactly(other.idAtProvider))
    }

    /// Returns the user with `ownID` recorded as the provider's own id. Does nothing if `id` alone shows that.
    package func called(_ ownID: String) -> Identity {
        guard self.id.isExactly(ownID), ownID.utf8.contains(Realm.separator.utf8) else { return self }
        var identity = self
        identity.ownID = ownID
        return identity
    }

    /// Returns the user as the linked account with this id.
    package func linked(to account: String) -> Identity {
        var identity = self
        // An id that reads as if it began with the provider's name is stored with that name in front of it.
        let isMarked = self.isOwnID && !self.realm.ownID(of: self.id).isExactly(self.id)
        identity.ownID = isMarked ? "\(self.realm.name)\(Realm.separator)\(self.id)" : self.ownName
        identity.id = account
        return identity
    }

    /// Returns the user with the ids and the realm of `other`. Both must be the same person.
    package func named(as other: Identity) -> Identity {
        var identity = self
        identity.id = other.id
        identity.ownID = other.ownID
        identity.realm = other.realm
        return identity
    }

    /// The stored form: `ownID`, a zero byte, and `id`; or only `id`. No id contains a zero byte.
    var storedID: String { self.ownID.map { "\($0)\u{0}\(self.id)" } ?? self.id }

    /// Returns the identity with the ids of a stored form (`storedID`).
    func withStoredID(_ stored: String) -> Identity {
        var identity = self
        let bytes = stored.utf8
        guard let end = bytes.firstIndex(of: 0) else {
            identity.id = stored
            return identity
        }
        identity.ownID = String(stored[..<end])
        identity.id = String(stored[bytes.index(after: end)...])
        return identity
    }

    /// Returns the user as a user of this realm.
    package func inRealm(_ realm: Realm) -> Identity {
        var identity = self
        identity.realm = realm
        return identity
    }

    /// All traits, decoded. If only some are needed, use `traitsDocument`.
    package var traits: JSONValue {
        get { self.traitsDocument.value }
        set { self.traitsDocument = JSONDocument(newValue) }
    }

    /// All metadata that the provider shows to apps, decoded.
    package var metadataPublic: JSONValue {
        get { self.metadataPublicDocument.value }
        set { self.metadataPublicDocument = JSONDocument(newValue) }
    }
}

/// A signed-in user on one device. Only `SessionStore.replace` changes a session after it was written.
@usableFromInline
package struct Session: Sendable, Hashable {
    /// The credential of the session: a browser's cookie on one host, or a native app's bearer token.
    package enum Kind: String, Sendable { case web, native }
    /// The way in which the session began; routes may require a certain origin (`require.origin`).
    package enum Origin: String, Sendable, CaseIterable { case browser, native, transfer }

    /// The public id (`ses_...`). Apps and logs show it; it is useless as a credential.
    package var id: String
    package var kind: Kind
    package var origin: Origin
    /// The sessions and tokens that came from the same sign-in.
    package var lineage: Lineage
    package var identity: Identity
    /// The OAuth client for which the session was made; `nil` if there is none.
    package var clientID: String?
    /// The public authority (`host[:port]`) of a web session.
    package var host: String?
    package var aal: AssuranceLevel
    /// Authentication methods, as the provider names them (`password`, `totp`).
    package var methods: [String]
    package var scopes: [String]
    /// The time of the authentication; 1970 if the provider does not report the time.
    package var authenticatedAt: UnixTime
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime
    /// The time without use after which the session ends.
    package var idleLifetime: Duration
    package var device: DeviceFacts?
    /// The record from which the session was made: a transfer token, or a session. A session made by a ticket names the
    /// root of its family (`HandoffFamily`), or the session that issued the ticket if there is no family. An access
    /// token names its session, unless it is independent.
    @Rare package var sourceKey: RecordKey?
    /// The subject's epoch when the session was made. Ending all sessions of the subject raises the epoch.
    package var epoch: UInt64
    /// The provider at which the user signed in, if the gateway may have to ask or notify the provider later.
    @Rare package var provider: ProviderSession?
    /// The limits of an access token; `nil` if this is not an access token.
    @Rare package var access: AccessTerms?
    /// The thumbprint of the key that the presenter must prove to hold (RFC 9449 6); `nil` for a bearer token.
    package var keyThumbprint: String?
    /// The SHA-256 of the client certificate that the token is bound to (RFC 8705 3.1); `nil` if it is not bound.
    @Rare package var certificateHash: Digest256?
    /// True if the sessions and tokens made from this session by a handoff outlive it (`enforce_cascade_revocation:
    /// false`). Otherwise, `endReach` says what ends with it.
    package var endsAlone: Bool
    /// The subject of the person who acts for the user, by a delegated transfer token (`act`, RFC 8693 4.1). `nil` if
    /// nobody does.
    @Rare package var actor: String?
    /// True if the browser stores the cookie until the session expires; false if the cookie ends with the browser.
    package var isPersistent: Bool
    /// The number of the browser's current token (`SuccessorToken`); `nil` while it is the session's first token.
    @Rare package var succession: TokenSuccession?

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
        sourceKey: RecordKey? = nil,
        epoch: UInt64 = 0,
        provider: ProviderSession? = nil,
        access: AccessTerms? = nil,
        keyThumbprint: String? = nil,
        certificateHash: Digest256? = nil,
        endsAlone: Bool = false,
        actor: String? = nil,
        isPersistent: Bool = false,
        succession: TokenSuccession? = nil
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
        self.sourceKey = sourceKey
        self.epoch = epoch
        self.provider = provider
        self.access = access
        self.keyThumbprint = keyThumbprint
        self.certificateHash = certificateHash
        self.endsAlone = endsAlone
        self.actor = actor
        self.isPersistent = isPersistent
        self.succession = succession
    }

    /// The user's name in the store (`Identity.subject`). Apps and operators see `identity.id` instead.
    package var subject: String { self.identity.subject }

    /// The key of the provider's tokens (`ProviderGrant`) if these tokens have their own lineage; `nil` if they belong
    /// to this session's lineage, or if none are stored.
    package var sharedGrant: RecordKey? {
        self.provider?.grant.flatMap { $0.lineage == self.lineage ? nil : $0 }
    }

    /// True if apps may receive the provider's tokens with requests of this session. If the grant is shared, this is
    /// true only for the browser in which the user signed in.
    package var showsProviderTokens: Bool {
        self.sharedGrant == nil || (self.kind == .web && self.origin == .browser)
    }

    /// Returns the `Max-Age` of the session's cookie in seconds; `nil` for a cookie that ends with the browser.
    package func cookieAge(at now: UnixTime) -> Int? {
        self.isPersistent ? max(0, Int(self.expiresAt.since(now).components.seconds)) : nil
    }

    /// The `act` claim about the person who acts for the user (RFC 8693 4.1); `nil` if nobody does.
    package var actorClaim: JSONValue? { self.actor.map { .object(["sub": .string($0)]) } }
}

/// The limits of an access token (RFC 6749 1.4).
package struct AccessTerms: Sendable, Hashable {
    /// The API for which the token was issued (`aud`); `nil` if the token is valid only at `/userinfo`.
    package var audience: String?

    package init(audience: String?) {
        self.audience = audience
    }
}

/// The session at the provider from which a session of the gateway came.
package struct ProviderSession: Sendable, Hashable {
    /// The name of the provider: its issuer (`BrowserProvider.name`).
    package var name: String
    /// The provider's id of its session (`sid`).
    package var sessionID: String?
    /// The record of the provider's tokens; `nil` if none are stored.
    package var grant: RecordKey?
    /// The time from which a use of the session renews the provider's tokens in the background; `nil` if never.
    package var renewAt: UnixTime?
    /// The time when the provider's tokens expire and cannot be renewed; `nil` while they can be renewed. After that,
    /// apps that need the tokens reject the session until the user signs in again.
    package var tokensEndAt: UnixTime?

    package init(
        name: String,
        sessionID: String? = nil,
        grant: RecordKey? = nil,
        renewAt: UnixTime? = nil,
        tokensEndAt: UnixTime? = nil
    ) {
        self.name = name
        self.sessionID = sessionID
        self.grant = grant
        self.renewAt = renewAt
        self.tokensEndAt = tokensEndAt
    }
}
