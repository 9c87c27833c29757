import Cryptography
package import Sessions
package import SignOn
import StoreConformance
package import Vocabulary

extension AuthorizationCode: SingleUseSpecimen {
    package static var token: TokenKind { .code }

    package static func made(from parent: NewSession, now: UnixTime, life: Duration) -> AuthorizationCode {
        AuthorizationCode(
            session: parent.session,
            audience: "https://api.example.org",
            scopes: ["openid", "offline_access"],
            hasRefresh: true,
            redirectURI: "myapp://auth/callback",
            challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            nonce: "n-0S6_WzA2Mj",
            keyThumbprint: nil,
            issuedAt: now,
            parent: parent.key
        )
    }

    /// What `TokenService` writes for a code: the family's session, the family, and the first access token's record.
    package static func offspring(with session: NewSession, now: UnixTime) -> [NewRecord] {
        let other = SHA256.digest(Array(session.key.digest.bytes))
        let key = RecordKey(kind: session.key.kind, lineage: session.key.lineage, digest: other)
        var access = NewSession(key: key, session: session.session)
        access.session.access = AccessTerms(audience: "https://api.example.org")
        let family = RefreshFamily(
            clientID: "app",
            session: session,
            audience: "https://api.example.org",
            scopes: ["openid", "offline_access"],
            keyThumbprint: nil
        )
        return [
            .session(session),
            .replaceable(
                RecordKey(kind: RefreshFamily.kind, lineage: session.key.lineage, digest: session.key.digest),
                family
            ),
            .session(access),
        ]
    }
}
