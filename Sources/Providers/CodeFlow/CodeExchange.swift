import JOSE
import Vocabulary

extension ProviderTokenEndpoint {
    /// Redeems an authorization code for tokens (RFC 6749 4.1.3).
    ///
    /// - Parameter bindsTokens: True if the tokens must be bound to a key (RFC 9449), even if the provider does not
    ///   demand it.
    /// - Returns: The tokens, and the key that they are bound to; `nil` for bearer tokens.
    func redeem(
        _ code: String,
        _ pending: PendingSignIn,
        bindsTokens: Bool
    ) async throws(NotDone) -> (tokens: ProviderTokenAnswer, key: SigningKey?) {
        var parameters: [URLQuery.Parameter] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", pending.callback),
        ]
        if !pending.verifier.isEmpty { parameters.append(("code_verifier", pending.verifier)) }
        var key = bindsTokens ? SigningKey.generated(.es256) : nil
        let tokens: ProviderTokenAnswer
        do throws(TokenFault) {
            do throws(TokenFault) {
                tokens = try await self.ask(parameters, key: key)
            } catch {
                guard key == nil, error.demandsProof else { throw error }
                key = SigningKey.generated(.es256)
                tokens = try await self.ask(parameters, key: key)
            }
        } catch {
            throw error.notDone
        }
        let isBound = tokens.tokenType == "DPoP"
        guard !isBound || key != nil, isBound || !bindsTokens else {
            throw NotDone(.signInProviderError, detail: "the provider did not bind the tokens as it was asked to")
        }
        return (tokens, isBound ? key : nil)
    }
}

extension TokenFault {
    /// True if the provider demands a DPoP proof (RFC 9449 5, 8).
    fileprivate var demandsProof: Bool {
        guard case .refused(let error) = self.cause else { return false }
        return error == "invalid_dpop_proof" || error == "use_dpop_nonce"
    }

    /// The error of the sign-in.
    fileprivate var notDone: NotDone {
        switch self.cause {
        case .refused: NotDone(.signInProviderError, detail: self.detail)
        case .busy, .unsent, .lost: NotDone(.providerUnavailable, detail: self.detail)
        }
    }
}

extension ProviderTokenAnswer {
    /// Returns the tokens to store.
    ///
    /// - Parameter previous: The tokens before a refresh, which supply what the answer omits; `nil` for a sign-in.
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
