import Sessions
import SignOn
import Vocabulary

/// The answers of the token endpoint (RFC 6749 5.1).
enum TokenAnswer {
    /// The fields of every answer in addition to `Cache-Control: no-store`.
    static let fields: [(name: String, value: String)] = [("pragma", "no-cache")]

    /// Returns an answer with an access token, and with a refresh token if the client gets one.
    ///
    /// - Parameter type: The `issued_token_type` (RFC 8693 2.2.1). `nil` for grants other than token exchange.
    static func issued(
        _ tokens: IssuedTokens,
        _ signer: IDTokenIssuer.Signer,
        type: String? = nil
    ) async -> EndpointResponse {
        var members = await Self.members(tokens, signer)
        members["access_token"] = tokens.access.map(Self.text)
        members["token_type"] = tokens.keyThumbprint == nil ? "Bearer" : "DPoP"
        members["expires_in"] = .integer(tokens.lifetime.wholeMilliseconds / 1000)
        if let type { members["issued_token_type"] = .string(type) }
        return .json(200, .object(members), fields: Self.fields)
    }

    /// Returns an answer with a session-transfer token.
    ///
    /// - Parameter tokens: The tokens issued along with `minted` for a refresh token. `nil` for other grants.
    static func minted(
        _ minted: MintedToken,
        besides tokens: IssuedTokens?,
        _ signer: IDTokenIssuer.Signer
    ) async -> EndpointResponse {
        var members: [String: JSONValue] = [:]
        if let tokens { members = await Self.members(tokens, signer) }
        members["access_token"] = Self.text(minted.token)
        members["issued_token_type"] = .string(TokenExchange.transferTokenType)
        members["token_type"] = "N_A"
        members["expires_in"] = .integer(minted.lifetime.wholeMilliseconds / 1000)
        return .json(200, .object(members), fields: Self.fields)
    }

    private static func members(
        _ tokens: IssuedTokens,
        _ signer: IDTokenIssuer.Signer
    ) async -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        // An empty `scope` is sent, too: without it, clients assume all requested scopes (RFC 6749 5.1).
        members["scope"] = .string(tokens.scopes.joined(separator: " "))
        if let refresh = tokens.refresh { members["refresh_token"] = Self.text(refresh) }
        if tokens.hasIdentity {
            let token = await signer.token(
                of: tokens.session.session,
                clientID: tokens.session.session.clientID ?? "",
                scopes: tokens.scopes,
                nonce: tokens.nonce,
                accessToken: tokens.access
            )
            members["id_token"] = .string(token)
        }
        return members
    }

    private static func text(_ token: Secret) -> JSONValue { .string(String(decoding: token.bytes, as: UTF8.self)) }
}
