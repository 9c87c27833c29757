import JOSE
import Vocabulary

/// Exchanges a refresh token (RFC 6749 6).
///
/// The time limits add up to less than the gateway's lease of 15 seconds (`ProviderGrant.leaseTime`).
struct TokenRefresh: Sendable {
    /// The time limit for new claims. Without them, the claims stay the same.
    static let timeForClaims: Duration = .seconds(4)
    /// The time limit for userinfo. It leaves time to use the id_token's claims if userinfo is slow.
    static let timeForUserInfo: Duration = .seconds(3)
    private static let timeForTokens: Duration = .seconds(4)

    private var endpoint: ProviderTokenEndpoint
    private let scopes: [String]
    private let clock: Clock

    /// - Parameter scopes: The requested scopes, for tokens whose scopes the provider never reported.
    init(_ endpoint: ProviderTokenEndpoint, scopes: [String], clock: Clock) {
        self.endpoint = endpoint
        self.endpoint.timeLimit = Self.timeForTokens
        self.scopes = scopes
        self.clock = clock
    }

    /// Returns the answer, the tokens to store, and the key that they are bound to.
    func run(
        _ tokens: ProviderTokenSet
    ) async throws(TokenFault) -> (answer: ProviderTokenAnswer, kept: ProviderTokenSet, key: SigningKey?) {
        guard let refreshToken = tokens.refreshToken else { throw TokenFault(.unsent, "there is no refresh token") }
        let key: SigningKey?
        do throws(JOSEError) {
            key = try tokens.signingKey()
        } catch {
            // Without their key, the tokens are useless. So this is treated as the end of the grant.
            throw TokenFault(.refused(error: "invalid_grant"), "the key of the tokens cannot be used: \(error.detail)")
        }
        let parameters: [URLQuery.Parameter] = [
            ("grant_type", "refresh_token"),
            ("refresh_token", String(decoding: refreshToken.bytes, as: UTF8.self)),
        ]
        let answer = try await self.endpoint.ask(parameters, key: key)
        return (answer, answer.kept(key: key, requested: self.scopes, previous: tokens, now: self.clock.now()), key)
    }
}

extension ProviderRefresh {
    /// Creates the result of a refresh without new tokens.
    init(_ fault: TokenFault) {
        switch fault.cause {
        // GitHub sends `bad_refresh_token`.
        case .refused(error: "invalid_grant"), .refused(error: "bad_refresh_token"): self = .ended(detail: fault.detail)
        case .busy(let pause): self = .later(after: pause, detail: fault.detail)
        // The gateway's registration may be wrong for a while. The user's grant is not affected.
        case .refused, .unsent: self = .later(after: nil, detail: fault.detail)
        case .lost: self = .ambiguous(detail: fault.detail)
        }
    }
}
