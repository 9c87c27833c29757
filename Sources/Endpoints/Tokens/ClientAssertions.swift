import JOSE
package import NIOCore
package import Sessions
import SignOn
package import Vocabulary

/// Checks the assertions that authenticate clients (`private_key_jwt`: RFC 7523 2.2, OpenID Connect Core 9).
package struct ClientAssertions: Sendable {
    /// `client_assertion_type` (RFC 7523 2.2).
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// The algorithms with which clients may sign, in the order of the metadata.
    static let algorithms: [JWSAlgorithm] = [.rs256, .ps256, .es256, .edDSA]
    /// The maximum lifetime of an assertion. Authlib sets `exp` an hour ahead.
    private static let longestLife = Duration.seconds(3600)
    /// The maximum difference between the clocks of client and gateway.
    private static let leeway = Duration.seconds(60)

    private let origin: String
    private let onces: any OnceStore
    private let loops: any EventLoopGroup
    private let clock: Clock

    /// - Parameters:
    ///   - origin: The origin of the first host with endpoints.
    ///   - onces: The store that remembers presented assertions.
    ///   - loops: The loops that call the store.
    package init(origin: String, onces: any OnceStore, loops: any EventLoopGroup, clock: Clock) {
        self.origin = origin
        self.onces = onces
        self.loops = loops
        self.clock = clock
    }

    /// Returns a sentence about what is wrong with a client's JWK set. `nil` if nothing is wrong.
    package static func fault(inKeys json: [UInt8]) -> String? {
        let keys: JWKSet
        do throws(JOSEError) {
            keys = try JWKSet(json)
        } catch {
            return error.detail
        }
        if let fault = keys.faults.first { return fault }
        guard !keys.keys.isEmpty else { return "the key set is empty" }
        let unusable = keys.keys.firstIndex { $0.algorithms.isDisjoint(with: Self.algorithms) }
        return unusable.map { "key \($0 + 1): it fits none of the algorithms" }
    }

    /// Returns the client that an assertion names, before its signature is verified.
    static func claimant(of assertion: Secret) -> String? {
        (try? JWS.unverifiedClaims(of: assertion.bytes))?.subject
    }

    /// Accepts a client's assertion once.
    ///
    /// - Parameter url: The URL of the called endpoint.
    func accept(_ assertion: Secret, of clientID: String, by keys: JWKSet, at url: String) async throws(OAuthError) {
        let now = self.clock.now()
        guard let claims = try? self.claims(of: assertion, clientID, keys, url, now), let expiresAt = claims.expiresAt,
            let madeAt = claims.issuedAt, let id = claims.id, !id.isEmpty
        else { throw .invalidClient(challenges: false) }
        // The store may have forgotten assertions older than its memory. The client retries with a new one.
        let memory = self.onces.onceMemory
        guard !memory.mayFollow(madeAt) else { throw OAuthError(.storeUnavailable) }
        let isFirst: Bool
        do {
            isFirst = try await self.loops.ask(self.onces) { onces, loop in
                onces.once(
                    OnceID(scope: "client_assertion \(clientID)", id: id),
                    for: expiresAt.since(now) + Self.leeway,
                    on: loop
                )
            }
        } catch {
            throw OAuthError(NotDone(asking: error))
        }
        guard isFirst else { throw .invalidClient(challenges: false) }
        // If the store has lost its memory since `memory` was read, the assertion may have been used before.
        guard self.onces.onceMemory.epoch == memory.epoch else { throw OAuthError(.storeUnavailable) }
    }

    /// Returns the verified claims (RFC 7523 3).
    private func claims(
        of assertion: Secret,
        _ clientID: String,
        _ keys: JWKSet,
        _ url: String,
        _ now: UnixTime
    ) throws(JOSEError) -> JWTClaims {
        let token = try JWS.verify(assertion.bytes, with: keys, allowing: Set(Self.algorithms))
        // The client's key may also sign request objects and other kinds of token (RFC 8725 3.11).
        guard token.type == nil || token.isType("JWT") || token.isType("client-authentication+jwt") else {
            throw JOSEError("typ is that of another kind of token")
        }
        let claims = try JWTClaims(token.payload)
        let audience: Set<String> = [self.origin, self.origin + "/", self.origin + "/oauth/token", url]
        try claims.check(issuer: clientID, audience: audience, now: now, leeway: Self.leeway)
        // An assertion that also names another server could have been captured there (CVE-2025-27371).
        guard audience.isSuperset(of: claims.audience) else {
            throw JOSEError("aud names another server too", kind: .audience)
        }
        guard claims.subject == clientID else { throw JOSEError("sub is not the client") }
        guard let expiresAt = claims.expiresAt, expiresAt.since(now) <= Self.longestLife + Self.leeway else {
            throw JOSEError("exp is too far ahead")
        }
        return claims
    }
}
