import ArgumentParser
import NIOCore
import Providers
import Sessions
import Settings
import SignOn
import Vocabulary

/// The user whose session `explain` assumes.
struct AssumedUser {
    /// The provider would sign the user in, but the gateway would not.
    struct Refusal: Error {
        let words: String
    }

    let identity: Identity
    let aal: AssuranceLevel
    let methods: [String]
    /// The provider's name in the session; `nil` for static users.
    let provider: String?

    /// Finds a user of the static provider by name.
    init(named identifier: String, _ provider: NamedProvider?) throws {
        guard let provider, let users = (provider.settings as? FixedUsersSettings)?.users else {
            throw ValidationError(
                "--user needs the static provider. For another provider, write the user's claims to a file for --claims."
            )
        }
        let wanted = UserIdentifier(identifier)
        guard let wanted, let user = users.first(where: { UserIdentifier($0.identifier) == wanted }) else {
            throw ValidationError("--user must be a user of the static provider.")
        }
        self.init(user, realm: Realm(provider.name))
    }

    /// Makes a user from a static user in the settings.
    init(_ user: UserSettings, realm: Realm) {
        self.identity = Identity(id: user.id, traits: user.traits).inRealm(realm)
        self.aal = user.aal
        self.methods = ["password"]
        self.provider = nil
    }

    /// Returns a session of this user that begins now.
    func session(isNative: Bool, in lineage: Lineage, _ settings: SessionSettings, _ records: RecordAccess)
        -> Session
    {
        let now = records.clock.now()
        let lifetimes = isNative ? settings.native : settings.browser
        return Session(
            id: records.authority.newSessionID(),
            kind: isNative ? .native : .web,
            origin: isNative ? .native : .browser,
            lineage: lineage,
            identity: self.identity,
            aal: self.aal,
            methods: self.methods,
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: lifetimes.absolute),
            idleLifetime: lifetimes.idle,
            provider: self.provider.map { ProviderSession(name: $0, sessionID: nil) }
        )
    }

    private init(_ user: Authentication, provider: String, realm: Realm) {
        self.identity = user.identity.inRealm(realm)
        self.aal = user.aal
        self.methods = user.methods
        self.provider = provider
    }

    /// Returns the user whom the provider would describe with these claims.
    ///
    /// - Parameter links: Links the user's accounts at several providers; `nil` to keep the provider's own id.
    /// - Throws: `Refusal` or `ValidationError`.
    static func with(claims document: [UInt8], _ provider: NamedProvider?, _ links: AccountLinks?) throws
        -> AssumedUser
    {
        let value: JSONValue
        do throws(JSONFault) {
            value = .object(try JSONText.object(document, loneSurrogates: .replaced))
        } catch {
            throw ValidationError(
                "The file of --claims must contain a JSON object, such as {\"sub\": \"1\", \"email\": \"ada@example.com\"}; it \(error.rawValue)."
            )
        }
        guard let provider, let mapping = provider.settings.claimMapping else {
            throw ValidationError("--claims needs \(ProviderKind.keysWithClaims): use --user.")
        }
        return try self.mapped(UserClaims([value]), mapping, provider, links)
    }

    private static func mapped(
        _ claims: UserClaims,
        _ settings: ClaimSettings,
        _ provider: NamedProvider,
        _ links: AccountLinks?
    ) throws(Refusal) -> AssumedUser {
        let realm = Realm(provider.name)
        let mapping = ClaimsMapping(settings, names: provider.settings.names)
        let user: Authentication
        let refusal: String?
        do throws(ClaimsError) {
            let subject = try mapping.subject(claims)
            user = try mapping.authentication(subject, claims, fallback: "provider", now: Clock.system.now())
            refusal = Admission(provider.settings.allow, settings).refusal(claims)
        } catch {
            throw Refusal(words: error.detail)
        }
        if let refusal { throw Refusal(words: "\(Reason.signInNotAllowed.rawValue): \(refusal)") }
        let ownName = provider.settings.ownName ?? ""
        return AssumedUser(links?.linked(user, of: realm) ?? user, provider: ownName, realm: realm)
    }
}

/// A session that `explain` assumes to exist. It is in the draft's store.
struct AssumedSession: Sendable {
    let token: String
    let session: Session

    var kind: Session.Kind { self.session.kind }

    /// - Parameter isNative: True for a bearer token, false for a cookie.
    init(
        of user: AssumedUser,
        isNative: Bool,
        authority: String,
        _ settings: Settings,
        _ records: RecordAccess,
        _ device: DeviceFacts
    ) throws {
        let lineage = records.authority.newLineage()
        let (token, key) = records.authority.make(.session, in: lineage)
        var session = user.session(isNative: isNative, in: lineage, settings.session, records)
        session.host = isNative ? nil : authority
        session.device = device
        let loop = records.loops.any()
        try records.store.create(NewSession(key: key, session: session), on: loop).wait()
        self.token = String(decoding: token.bytes, as: UTF8.self)
        self.session = session
    }
}
