import JOSE
import Vocabulary

/// Exchanges a refresh token once (RFC 6749 6).
///
/// The gateway that refreshes holds a lease of 15 seconds (`ProviderGrant.leaseTime`); its limits keep within it.
struct TokenRefresh: Sendable {
    /// For what the new claims are read from; without an answer by then they are left as they are.
    static let timeForClaims: Duration = .seconds(4)
    /// For the answer of userinfo: shorter, so that the id_token's claims count without it.
    static let timeForUserInfo: Duration = .seconds(3)
    private static let timeForTokens: Duration = .seconds(4)

    private var endpoint: TokenEndpoint

    init(_ endpoint: TokenEndpoint) {
        self.endpoint = endpoint
        self.endpoint.timeLimit = Self.timeForTokens
    }

    enum Outcome {
        case tokens(TokenAnswer, key: SigningKey?)
        case failed(ProviderRefresh)
    }

    func run(_ tokens: ProviderTokenSet) async -> Outcome {
        guard let refreshToken = tokens.refreshToken else {
            return .failed(.later(after: nil, detail: "there is no refresh token"))
        }
        let key: SigningKey?
        do throws(JOSEError) {
            key = try tokens.dpopKey.map { (pkcs8) throws(JOSEError) in
                try SigningKey(pkcs8: pkcs8, algorithm: .es256)
            }
        } catch {
            return .failed(.ended(detail: "the key of the tokens cannot be used: \(error.detail)"))
        }
        let parameters: [URLQuery.Parameter] = [
            ("grant_type", "refresh_token"),
            ("refresh_token", String(decoding: refreshToken.bytes, as: UTF8.self)),
        ]
        switch await self.endpoint.ask(parameters, key: key) {
        case .tokens(let answer): return .tokens(answer, key: key)
        // GitHub has a code of its own.
        case .refused(error: "invalid_grant", let detail), .refused(error: "bad_refresh_token", let detail):
            return .failed(.ended(detail: detail))
        // The gateway may be registered wrongly for a while; the user's grant is not concerned.
        case .refused(error: _, let detail): return .failed(.later(after: nil, detail: detail))
        case .busy(let pause, let detail): return .failed(.later(after: pause, detail: detail))
        case .unsent(let detail): return .failed(.later(after: nil, detail: detail))
        case .lost(let detail): return .failed(.ambiguous(detail: detail))
        }
    }
}
