import JOSE
import Sessions
import Settings
import Vocabulary

/// The claims of an access token, from the token itself (RFC 9068 2.2) or from an introspection answer (RFC 7662 2.2).
struct AccessTokenClaims: Sendable {
    /// The maximum difference between the clocks of the issuer and the gateway.
    static let leeway = Duration.seconds(60)
    /// The maximum number of stored scopes.
    private static let maxScopes = 256
    private static let longestName = 256

    /// The requirements for a token.
    struct Demands: Sendable {
        /// The accepted recipients of a token.
        enum Recipients: Sendable {
            /// `aud` must contain one of these audiences.
            case audiences([String])
            /// `client_id` must be one of these ids. If `aud` is present, it must contain one of them, too (RFC 7519
            /// 4.1.3).
            case clientIDs([String])
            /// The client of the token must be one of these clients (for refresh tokens).
            case clients([String])
        }

        /// The required `iss`; `nil` to accept any.
        var issuer: String?
        var recipients: Recipients
        /// True if `iss` and `exp` are required, as in signed tokens. Introspection endpoints may omit them.
        var isComplete: Bool
    }

    let claims: JWTClaims
    let mapping: ClaimsMapping

    /// Checks issuer, recipient and times, and rejects a `cnf` that the gateway cannot check.
    ///
    /// - Throws: The reason for the refusal.
    func check(_ demands: Demands, now: UnixTime) throws(Reason) {
        if let issuer = demands.issuer {
            guard self.claims.issuer.map({ $0.isExactly(issuer) }) ?? !demands.isComplete else {
                throw .credentialInvalidToken
            }
        }
        let isForOne =
            switch demands.recipients {
            case .audiences(let names): self.names(one: names)
            case .clientIDs(let names):
                self.claims["client_id"]?.string?.isExactlyOne(of: names) == true
                    && (self.claims["aud"] == nil || self.names(one: names))
            case .clients(let names):
                Self.client(UserClaims([self.claims.value])).map { $0.isExactlyOne(of: names) } ?? false
            }
        guard isForOne else { throw .credentialOtherAudience }
        guard self.claims.expiresAt != nil || !demands.isComplete else { throw .credentialInvalidToken }
        if let expiresAt = self.claims.expiresAt, now >= expiresAt.advanced(by: Self.leeway) {
            throw .credentialExpired
        }
        let latest = now.advanced(by: Self.leeway)
        guard self.claims.notBefore ?? latest <= latest, self.claims.issuedAt ?? latest <= latest else {
            throw .credentialInvalidToken
        }
        guard self.claims["cnf"] == nil || self.confirmation != nil else { throw .credentialInvalidToken }
    }

    private var confirmation: Confirmation? { self.claims["cnf"].flatMap { Confirmation($0) } }

    /// Returns whether `aud` contains one of these names.
    private func names(one names: [String]) -> Bool { self.claims.audience.contains { $0.isExactlyOne(of: names) } }

    /// Returns the token with its user.
    ///
    /// - Parameter admission: The rule for who may sign in.
    /// - Throws: `ClaimsError` if the claims contain no usable user.
    func known(
        expiresAt: UnixTime,
        cacheLifetime: Duration,
        admission: Admission,
        now: UnixTime
    ) throws(ClaimsError) -> KnownToken {
        let claims = UserClaims([self.claims.value])
        let issuedAt = self.claims.issuedAt ?? self.claims.notBefore
        let user = try self.mapping.authentication(
            try self.mapping.subject(claims),
            claims,
            fallback: "bearer",
            now: min(issuedAt ?? now, now)
        )
        return KnownToken(
            identity: user.identity,
            aal: user.aal,
            methods: user.methods,
            authenticatedAt: user.authenticatedAt ?? now,
            issuedAt: issuedAt,
            expiresAt: expiresAt,
            sessionID: self.claims.sessionID.flatMap {
                $0.isPlain(upTo: ProviderEvidence.longestSessionID) ? $0 : nil
            },
            clientID: Self.client(claims),
            scopes: Self.scopes(claims),
            confirmation: self.confirmation,
            cacheLifetime: cacheLifetime,
            isAdmitted: admission.refusal(claims) == nil
        )
    }

    /// Returns the scopes in `scope` and `scp` (Okta, Entra), each a list or a text with spaces (RFC 8693 4.2).
    private static func scopes(_ claims: UserClaims) -> [String] {
        var scopes: [String] = []
        scopes.reserveCapacity(8)
        for var text in claims.texts(at: ["scope"]) + claims.texts(at: ["scp"]) {
            // Bytes are split faster than characters.
            text.withUTF8 { bytes in
                for part in bytes.split(separator: UInt8(ascii: " ")) where scopes.count < Self.maxScopes {
                    let scope = String(decoding: part, as: UTF8.self)
                    if scope.isPlain(upTo: Self.longestName) && !scopes.contains(scope) { scopes.append(scope) }
                }
            }
        }
        return scopes
    }

    /// Returns the client to which the token was issued; `nil` if no claim names one, or the name is not plain.
    private static func client(_ claims: UserClaims) -> String? {
        let name = claims.text(at: "client_id") ?? claims.text(at: "azp") ?? claims.text(at: "cid")
        return name.flatMap { $0.isPlain(upTo: Self.longestName) ? $0 : nil }
    }
}

extension AccessTokenClaims.Demands.Recipients {
    /// - Parameter claim: The claim that names the recipient.
    init(_ audiences: [String], in claim: AudienceClaim) {
        switch claim {
        case .audience: self = .audiences(audiences)
        case .clientID: self = .clientIDs(audiences)
        }
    }
}
