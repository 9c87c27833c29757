import Sessions
import SignOn
import Vocabulary

/// The answers of the token endpoint (RFC 6749 5.1).
enum TokenAnswer {
    /// The fields of every answer in addition to `Cache-Control: no-store`.
    static let fields: [(name: String, value: String)] = [("pragma", "no-cache")]

    /// An access token, and a refresh token where the client gets one.
    ///
    /// - Parameter type: `issued_token_type` (RFC 8693 2.2.1); nil for other grants.
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

    /// A session-transfer token.
    ///
    /// - Parameter tokens: What the refresh token gave; nil if the grant was another one.
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
        // Also where none was granted: an answer without it says that all were (RFC 6749 5.1).
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
