import JOSE
import Vocabulary

/// Exchanges a refresh token once (RFC 6749 6).
///
/// The gateway that refreshes holds a lease of 15 seconds (`ProviderGrant.leaseTime`). Together, the time limits are
/// shorter.
struct TokenRefresh: Sendable {
    /// The time limit for reading new claims. Without an answer by then, the claims are unchanged.
    static let timeForClaims: Duration = .seconds(4)
    /// The time limit for userinfo. If userinfo is slow, time remains to apply the id_token's claims without it.
    static let timeForUserInfo: Duration = .seconds(3)
    private static let timeForTokens: Duration = .seconds(4)

    private var endpoint: ProviderTokenEndpoint
    private let scopes: [String]
    private let clock: Clock

    /// - Parameter scopes: The requested scopes. They apply if neither the answer nor the former tokens state scopes.
    init(_ endpoint: ProviderTokenEndpoint, scopes: [String], clock: Clock) {
        self.endpoint = endpoint
        self.endpoint.timeLimit = Self.timeForTokens
        self.scopes = scopes
        self.clock = clock
    }

    /// Returns the answer, the new tokens to keep, and the key that they are bound to.
    func run(
        _ tokens: ProviderTokenSet
    ) async throws(TokenFault) -> (answer: ProviderTokenAnswer, kept: ProviderTokenSet, key: SigningKey?) {
        guard let refreshToken = tokens.refreshToken else { throw TokenFault(.unsent, "there is no refresh token") }
        let key: SigningKey?
        do throws(JOSEError) {
            key = try tokens.signingKey()
        } catch {
            // Without the key, the tokens are useless, as if the provider had ended the grant.
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
    /// Creates the outcome for a session that gets no new tokens.
    init(_ fault: TokenFault) {
        switch fault.cause {
        // GitHub's code is `bad_refresh_token`.
        case .refused(error: "invalid_grant"), .refused(error: "bad_refresh_token"): self = .ended(detail: fault.detail)
        case .busy(let pause): self = .later(after: pause, detail: fault.detail)
        // The gateway may be registered wrongly for a while. The user's grant is not affected.
        case .refused, .unsent: self = .later(after: nil, detail: fault.detail)
        case .lost: self = .ambiguous(detail: fault.detail)
        }
    }
}
