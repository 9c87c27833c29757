package import Cryptography
package import Vocabulary

/// The user as the provider reported it, in the shape of a Kratos identity.
package struct Identity: Sendable, Hashable {
    /// The provider's stable id of the user, or the id of the account that the user has at several providers
    /// (`AccountID`). Apps see it as the subject.
    package var id: String
    /// The id that the user would have without an account, if `id` is the id of an account. Equal to `id` if `id` is
    /// the provider's own id but reads as if it began with the provider's name. `nil` for all other users.
    @Rare package private(set) var ownID: String? = nil
    /// The realm of the user. An id identifies one person only within its realm.
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

    /// The user's name in the store and its indexes; never shown.
    package var subject: String { self.realm.subject(self.id) }

    /// True if `id` is the id of an account that the user has at several providers.
    package var isAccount: Bool { AccountID.isOne(self.id) }

    /// The id that the user would have without an account, as of the sign-in.
    private var ownName: String { self.ownID ?? self.id }

    /// True if `id` is the provider's own id, whatever it begins with.
    private var isOwnID: Bool { self.ownID?.isExactly(self.id) == true }

    /// The provider's own id of the user, without the provider's name as a prefix.
    package var idAtProvider: String { self.isOwnID ? self.id : self.realm.ownID(of: self.ownName) }

    /// The name that the user has in the store without an account.
    package var subjectAtProvider: String { self.realm.subject(self.ownName) }

    /// Reports whether `ownID` is the provider's own id of the user. A session from a version that did not record
    /// `ownID` may match two ids.
    package func isCalled(_ ownID: String) -> Bool {
        ownID.isExactly(self.idAtProvider) || ownID.isExactly(self.ownName)
    }

    /// Reports whether both identities are the same person, whatever names they had at the sign-in.
    package func isSamePerson(as other: Identity) -> Bool {
        self.subject.isExactly(other.subject)
            || (self.realm == other.realm && self.idAtProvider.isExactly(other.idAtProvider))
    }

    /// Returns the user with `ownID` recorded as the provider's own id if `id` alone does not show it.
    package func called(_ ownID: String) -> Identity {
        guard self.id.isExactly(ownID), ownID.utf8.contains(Realm.separator.utf8) else { return self }
        var identity = self
        identity.ownID = ownID
        return identity
    }

    /// Returns the user as the account with this id.
    package func linked(to account: String) -> Identity {
        var identity = self
        // A name that reads as if it began with the provider's name gets the provider's name as a prefix.
        let isMarked = self.isOwnID && !self.realm.ownID(of: self.id).isExactly(self.id)
        identity.ownID = isMarked ? "\(self.realm.name)\(Realm.separator)\(self.id)" : self.ownName
        identity.id = account
        return identity
    }

    /// Returns the user under the name that `other` had at the sign-in. Both must be the same person.
    package func named(as other: Identity) -> Identity {
        var identity = self
        identity.id = other.id
        identity.ownID = other.ownID
        identity.realm = other.realm
        return identity
    }

    /// The stored form of `id` and `ownID`, separated by a zero byte, which no id contains.
    var storedID: String { self.ownID.map { "\($0)\u{0}\(self.id)" } ?? self.id }

    /// Returns the identity with the `id` and `ownID` of a stored form (`storedID`).
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

    /// All traits. If only some are needed, use `traitsDocument`.
    package var traits: JSONValue {
        get { self.traitsDocument.value }
        set { self.traitsDocument = JSONDocument(newValue) }
    }

    /// All metadata that the provider shows to apps.
    package var metadataPublic: JSONValue {
        get { self.metadataPublicDocument.value }
        set { self.metadataPublicDocument = JSONDocument(newValue) }
    }
}

/// A signed-in user on one device. Only `SessionStore.replace` changes a session after it was written.
@usableFromInline
package struct Session: Sendable, Hashable {
    /// The credential that presents the session: a browser's cookie on one host, or a native app's bearer token.
    package enum Kind: String, Sendable { case web, native }
    /// The way in which the session began; routes may require a certain origin (`require.origin`).
    package enum Origin: String, Sendable, CaseIterable { case browser, native, transfer }

    /// The public id (`ses_...`): shown to apps and in logs, useless as a credential.
    package var id: String
    package var kind: Kind
    package var origin: Origin
    /// The lineage of the session: the tokens and sessions that end together.
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
    /// The time of the authentication; 1970 if the provider does not report it.
    package var authenticatedAt: UnixTime
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime
    /// The time without use after which the session ends.
    package var idleLifetime: Duration
    package var device: DeviceFacts?
    /// The record from which the session was made: a transfer token, so that the same browser may repeat its
    /// navigation, or the session on another host that issued a ticket. In a handoff family, it is the family's first
    /// session (`HandoffFamily`). For an access token, it is the token's session, unless the token is independent.
    @Rare package var bornOf: RecordKey?
    /// The subject's epoch under which the session was made; "log out everywhere" raises the epoch.
    package var epoch: UInt64
    /// The provider at which the user signed in, if the gateway must ask or notify it about the session later.
    @Rare package var provider: ProviderSession?
    /// The limits of an access token; `nil` for the token or cookie of the session itself, which has no limits.
    @Rare package var access: AccessTerms?
    /// The thumbprint of the key that the presenter must prove to hold (RFC 9449 6); `nil` for a bearer token.
    package var keyThumbprint: String?
    /// The SHA-256 of the client certificate that the token is bound to (RFC 8705 3.1); `nil` if it is not bound.
    @Rare package var certificateHash: Digest256?
    /// True if the web sessions and tokens that descend from this session by a handoff outlive it
    /// (`enforce_cascade_revocation: false`). Otherwise, the whole lineage ends with the session.
    package var endsAlone: Bool
    /// The subject of the person who acts for the user in the session, by a delegated transfer token (`act`, RFC 8693
    /// 4.1). `nil` if nobody does.
    @Rare package var actor: String?
    /// True if a browser keeps the cookie of a web session until the session ends, instead of until the browser closes.
    package var isPersistent: Bool
    /// The token that the browser of a web session has (`SuccessorToken`); `nil` if it is the session's first token.
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
        bornOf: RecordKey? = nil,
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
        self.bornOf = bornOf
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

    /// The store's name of the user (`Identity.subject`). Apps and operators are shown `identity.id`.
    package var subject: String { self.identity.subject }

    /// The key of the provider's tokens if they are shared: they are not in the session's lineage, and the provider is
    /// asked whether the user still has access (`ProviderGrant`). `nil` otherwise.
    package var sharedGrant: RecordKey? {
        self.provider?.grant.flatMap { $0.lineage == self.lineage ? nil : $0 }
    }

    /// True if apps may get the provider's tokens with requests of the session. Of the sessions with a shared grant,
    /// only a browser that signed in itself shows them.
    package var showsProviderTokens: Bool {
        self.sharedGrant == nil || (self.kind == .web && self.origin == .browser)
    }

    /// Returns the `Max-Age` of the session's cookie in seconds; `nil` if the browser keeps the cookie until it closes.
    package func cookieAge(at now: UnixTime) -> Int? {
        self.isPersistent ? max(0, Int(self.expiresAt.since(now).components.seconds)) : nil
    }

    /// The claim about the person who acts for the user (RFC 8693 4.1), one level deep; `nil` if nobody does.
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

/// The provider's side of a session.
package struct ProviderSession: Sendable, Hashable {
    /// The provider's name: the issuer.
    package var name: String
    /// The provider's id of its session (`sid`).
    package var sessionID: String?
    /// The record with the provider's tokens; `nil` if no tokens are kept.
    package var grant: RecordKey?
    /// The time from which a use of the session renews the provider's tokens in the background; `nil` if no use does.
    package var renewAt: UnixTime?
    /// The time when the provider's tokens expire for good, because they can no longer be renewed. `nil` while they can
    /// be renewed. From then on, no app that needs the tokens can serve the session until the user signs in again.
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
