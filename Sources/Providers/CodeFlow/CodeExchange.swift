import JOSE
import Vocabulary

/// Redeems authorization codes for tokens (RFC 6749 4.1.3).
struct CodeExchange: Sendable {
    let endpoint: TokenEndpoint
    /// Whether the tokens must be bound to a key (RFC 9449). A provider that demands it gets a key in any case.
    let bindsTokens: Bool

    enum Outcome {
        /// - Parameter key: The key to which the tokens are bound.
        case tokens(TokenAnswer, key: SigningKey?)
        case refused(BrowserRefusal)
        case unavailable(detail: String)
    }

    func redeem(_ code: String, _ pending: PendingSignIn) async -> Outcome {
        var parameters: [URLQuery.Parameter] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", pending.callback),
        ]
        if !pending.verifier.isEmpty { parameters.append(("code_verifier", pending.verifier)) }
        var key = self.bindsTokens ? SigningKey.generated(.es256) : nil
        var outcome = await self.endpoint.ask(parameters, key: key)
        if key == nil, outcome.demandsProof {
            key = SigningKey.generated(.es256)
            outcome = await self.endpoint.ask(parameters, key: key)
        }
        switch outcome {
        case .tokens(let tokens):
            let isBound = tokens.tokenType == "DPoP"
            guard !isBound || key != nil, isBound || !self.bindsTokens else {
                return .refused(
                    BrowserRefusal(.providerError, detail: "the provider did not bind the tokens as it was asked to")
                )
            }
            return .tokens(tokens, key: isBound ? key : nil)
        case .refused(error: _, let detail): return .refused(BrowserRefusal(.providerError, detail: detail))
        case .busy(after: _, let detail), .unsent(let detail), .lost(let detail): return .unavailable(detail: detail)
        }
    }
}

extension TokenOutcome {
    /// Whether the provider wants a proof of possession that it was not given (RFC 9449 5, 8).
    fileprivate var demandsProof: Bool {
        guard case .refused(let error, detail: _) = self else { return false }
        return error == "invalid_dpop_proof" || error == "use_dpop_nonce"
    }
}

extension TokenAnswer {
    /// The tokens as they are kept.
    ///
    /// - Parameter previous: What a member that is missing in the answer stands for: the tokens that were refreshed.
    func kept(
        key: SigningKey?,
        requested: [String],
        previous: ProviderTokenSet? = nil,
        now: UnixTime
    ) -> ProviderTokenSet {
        ProviderTokenSet(
            accessToken: self.accessToken,
            tokenType: self.tokenType,
            idToken: self.idToken ?? previous?.idToken,
            refreshToken: self.refreshToken ?? previous?.refreshToken,
            expiresAt: self.lifetime.map { now.advanced(by: $0) },
            scopes: self.scopes ?? previous?.scopes ?? requested,
            dpopKey: key?.pkcs8
        )
    }
}
