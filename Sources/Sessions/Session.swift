package import Cryptography
package import Vocabulary

/// Who the user is, as the provider reported it, in the shape of a Kratos identity.
package struct Identity: Sendable, Hashable {
    /// The provider's stable id of the user, or that of the account that the user has at several (`AccountID`): apps see it
    /// as the subject.
    package var id: String
    /// The name that the user has without an account, where `id` is that of an account. Equal to `id` where this is the
    /// provider's own id and reads as if the provider's name stood before it. `nil` for all others.
    @Rare package private(set) var ownID: String? = nil
    /// Whose user it is: only with it does the id name one person.
    package var realm = Realm.default
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

    /// What the store and its indexes call the user; never shown.
    package var subject: String { self.realm.subject(self.id) }

    /// Whether the user is an account of several providers.
    package var isAccount: Bool { AccountID.isOne(self.id) }

    /// The name that the user has without an account, at the time of the sign-in.
    private var ownName: String { self.ownID ?? self.id }

    /// Whether `id` is the provider's own id, whatever it begins with.
    private var isOwnID: Bool { self.ownID?.isExactly(self.id) == true }

    /// The provider's own id of the user, without the provider's name before it.
    package var idAtProvider: String { self.isOwnID ? self.id : self.realm.ownID(of: self.ownName) }

    /// What the store calls the user without an account.
    package var subjectAtProvider: String { self.realm.subject(self.ownName) }

    /// Whether this is the provider's own id of the user. A session of a version that did not note `ownID` may have either of
    /// two.
    package func isCalled(_ ownID: String) -> Bool {
        ownID.isExactly(self.idAtProvider) || ownID.isExactly(self.ownName)
    }

    /// Whether both are one person, whatever names they had when they signed in.
    package func isSamePerson(as other: Identity) -> Bool {
        self.subject.isExactly(other.subject)
            || (self.realm == other.realm && self.idAtProvider.isExactly(other.idAtProvider))
    }

    /// The user with the note that the provider's own id is this one, where the name does not say it.
    package func called(_ ownID: String) -> Identity {
        guard self.id.isExactly(ownID), ownID.utf8.contains(Realm.separator.utf8) else { return self }
        var identity = self
        identity.ownID = ownID
        return identity
    }

    /// The user as the account with this id.
    package func linked(to account: String) -> Identity {
        var identity = self
        // A name that reads as if the provider's name stood before it gets it.
        let isMarked = self.isOwnID && !self.realm.ownID(of: self.id).isExactly(self.id)
        identity.ownID = isMarked ? "\(self.realm.name)\(Realm.separator)\(self.id)" : self.ownName
        identity.id = account
        return identity
    }

    /// The user under the name that `other`, who is the same person, had at the sign-in.
    package func named(as other: Identity) -> Identity {
        var identity = self
        identity.id = other.id
        identity.ownID = other.ownID
        identity.realm = other.realm
        return identity
    }

    /// What is stored for `id` and `ownID`: no id has a zero byte.
    var storedID: String { self.ownID.map { "\($0)\u{0}\(self.id)" } ?? self.id }

    /// The identity with what `storedID` says.
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

    /// The same user, of this realm.
    package func inRealm(_ realm: Realm) -> Identity {
        var identity = self
        identity.realm = realm
        return identity
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

/// A signed-in user on one device. Once written, only `SessionStore.replace` changes it.
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
    /// 1970 if the provider does not say.
    package var authenticatedAt: UnixTime
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime
    /// The session ends when it is not used for this long.
    package var idleLifetime: Duration
    package var device: DeviceFacts?
    /// What it was made from: a transfer token, so that the same browser may repeat its navigation; or the session of
    /// another host that issued the ticket for it, and in a family of a handoff the first one (`HandoffFamily`).
    /// An access token has the session that it comes from, if it does not stand alone.
    @Rare package var bornOf: RecordKey?
    /// The subject's epoch under which it was made; "log out everywhere" raises the epoch.
    package var epoch: UInt64
    /// The provider at which the user signed in, if the provider has to be told or asked about the session later.
    @Rare package var provider: ProviderSession?
    /// What limits an access token; nil: the token or cookie of the session itself, which has no such limits.
    @Rare package var access: AccessTerms?
    /// The thumbprint of the key that whoever presents the session's token must prove to have (RFC 9449 6); nil: it is a
    /// bearer token.
    package var keyThumbprint: String?
    /// The SHA-256 of the certificate of the client that may present the session's token (RFC 8705 3.1); nil: any may.
    @Rare package var certificateHash: Digest256?
    /// Whether the web sessions and tokens that descend from this session by a handoff outlive it
    /// (`enforce_cascade_revocation: false`); else all of its lineage ends with it.
    package var endsAlone: Bool
    /// The subject of whoever acts for the user in it, by a delegated transfer token (`act`, RFC 8693 4.1); nil: it is the
    /// user's own.
    @Rare package var actor: String?
    /// Whether a browser keeps the cookie of a web session until the session ends; else until the browser closes.
    package var isPersistent: Bool
    /// Which of its tokens the browser of a web session has; nil: the one with which it began (`SuccessorToken`).
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

    /// What the store calls the user (`Identity.subject`). Apps and operators are shown `identity.id`.
    package var subject: String { self.identity.subject }

    /// `Max-Age` of the session's cookie in seconds; nil: the browser keeps it until it closes.
    package func cookieAge(at now: UnixTime) -> Int? {
        self.isPersistent ? max(0, Int(self.expiresAt.since(now).components.seconds)) : nil
    }

    /// The claim about whoever acts for the user (RFC 8693 4.1), of one level; nil: nobody does.
    package var actorClaim: JSONValue? { self.actor.map { .object(["sub": .string($0)]) } }
}

/// What limits an access token (RFC 6749 1.4).
package struct AccessTerms: Sendable, Hashable {
    /// The API for which it was issued (`aud`); nil: it serves only at `/userinfo`.
    package var audience: String?

    package init(audience: String?) {
        self.audience = audience
    }
}

/// The provider's side of a session.
package struct ProviderSession: Sendable, Hashable {
    /// The provider's name: the issuer.
    package var name: String
    /// The provider's id of its own session (`sid`).
    package var sessionID: String?
    /// The record with the provider's tokens, in the session's lineage; nil: none are kept.
    package var grant: RecordKey?
    /// From this time on, a use of the session renews the provider's tokens in the background; nil: never.
    package var renewAt: UnixTime?
    /// When the provider's tokens expire for good, because they can no longer be renewed; nil as long as they can. An app
    /// that needs the tokens cannot serve the session from then on, and the user is asked to sign in.
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
