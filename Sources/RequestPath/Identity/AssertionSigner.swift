package import JOSE
package import Sessions
package import Settings
package import Vocabulary

/// Signs assertions (`X-Auth-Assertion`): JWTs (RFC 7519) with which an app can verify that the gateway sent the
/// identity.
package final class AssertionSigner: Sendable {
    package static let field = "X-Auth-Assertion"
    /// The lifetime of an assertion in seconds.
    package static let lifetime: Int64 = 60
    /// The age in milliseconds at which an assertion is renewed: half of the lifetime.
    private static let renewalAge = lifetime * 500
    /// The age in milliseconds after which an assertion is no longer sent: three quarters of the lifetime.
    private static let servingAge = lifetime * 750

    /// The `iss` claim for the users of each realm.
    private let issuers: [Realm: String]
    private let key: SigningKey
    private let claims: [(name: String, path: IdentityPath)]

    /// - Parameters:
    ///   - settings: The settings, already checked with `IdentityProfile.problems`.
    ///   - issuers: The `iss` claim for the users of each realm. A `sub` is unique only within one issuer.
    package init(_ settings: IdentitySettings.Assertion, issuers: [Realm: String], key: SigningKey) {
        self.issuers = issuers
        self.key = key
        self.claims = settings.claims.compactMap { claim in IdentityPath(claim.path).map { (claim.name, $0) } }
    }

    /// Returns an assertion of `session` that expires no later than the session.
    ///
    /// - Parameters:
    ///   - now: The current time of the session store's clock.
    ///   - wallNow: The machine's time, for `iat` and `exp`.
    package func sign(_ session: Session, for audience: Audience, now: UnixTime, wallNow: UnixTime) -> CachedAssertion {
        let end = wallNow.advanced(by: session.expiresAt.since(now))
        // An assertion that expires with its session need not be renewed.
        let isLast = end.seconds <= wallNow.seconds + Self.lifetime
        let expiry = isLast ? end.seconds : wallNow.seconds + Self.lifetime
        var members: [String: JSONValue] = [:]
        for claim in self.claims { members[claim.name] = Self.value(of: claim.path, in: session) }
        members["iss"] = self.issuers[session.identity.realm].map { .string($0) }
        members["aud"] = .string(audience.text)
        members["sub"] = .string(session.identity.id)
        members["sid"] = .string(session.id)
        members["act"] = session.actorClaim
        members["iat"] = .integer(wallNow.seconds)
        members["exp"] = .integer(expiry)
        var line = ContiguousArray("\(Self.field): ".utf8)
        line += self.key.sign(JSONText.encode(.object(members)), header: [("typ", "JWT")])
        line += [0x0D, 0x0A]
        return CachedAssertion(
            line: line,
            audience: audience.index,
            madeAt: wallNow,
            renewAt: UnixTime(milliseconds: isLast ? .max : wallNow.milliseconds + Self.renewalAge),
            servesUntil: isLast ? end : UnixTime(milliseconds: wallNow.milliseconds + Self.servingAge)
        )
    }

    /// Returns the value of a claim. A single string at a list path becomes an array. `nil` if the session has no
    /// value.
    private static func value(of path: IdentityPath, in session: Session) -> JSONValue? {
        switch path.value(of: session) {
        case nil, .null: nil
        case .string(let text) where path.isList: .array([.string(text)])
        case .some(let value): value
        }
    }
}
