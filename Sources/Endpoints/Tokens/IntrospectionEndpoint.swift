import Sessions
import Settings
package import SignOn
import Vocabulary

/// `POST /oauth/introspect` (RFC 7662) describes a token to an API or to the client itself.
///
/// The caller must authenticate. It can introspect its own tokens, and the access tokens of APIs whose
/// `resource_servers` list it. Any other token is reported as inactive, like a token that does not exist (RFC 7662 4).
package struct IntrospectionEndpoint: Sendable {
    private let authentication: ClientAuthentication
    private let tokens: TokenService
    private let issuer: String

    /// - Parameter issuer: The issuer as in the metadata.
    package init(authentication: ClientAuthentication, tokens: TokenService, issuer: String) {
        self.authentication = authentication
        self.tokens = tokens
        self.issuer = issuer
    }

    package var endpoint: Endpoint {
        .oauth("/oauth/introspect") { request throws(OAuthError) in
            let call = try await self.authentication.call(request, takesPublic: false)
            let token = Secret(try call.parameters.required("token"))
            let found = try await OAuthError.rendering(try await self.tokens.find(token))
            return .json(200, .object(self.members(found, for: call.requester.client)), fields: TokenAnswer.fields)
        }
    }

    private func members(_ found: FoundToken, for client: ClientSettings) -> [String: JSONValue] {
        switch found {
        case .refresh(let family, let session)
        where family.clientID == client.clientID && client.grantTypes.contains(.refreshToken):
            var members = self.members(session.session, scopes: family.scopes)
            members["cnf"] = Self.confirmation(family.keyThumbprint)
            return members
        case .session(let session) where self.isVisible(session.session, to: client):
            var members = self.members(session.session, scopes: session.session.scopes)
            let thumbprint = session.session.keyThumbprint
            members["token_type"] = thumbprint == nil ? "Bearer" : "DPoP"
            members["cnf"] = Self.confirmation(thumbprint)
            if let audience = session.session.access?.audience { members["aud"] = .string(audience) }
            return members
        default:
            return ["active": false]
        }
    }

    private func isVisible(_ session: Session, to client: ClientSettings) -> Bool {
        if let owner = session.clientID, owner == client.clientID { return true }
        guard let audience = session.access?.audience, let api = try? self.tokens.apis.target(audience) else {
            return false
        }
        return api.resourceServers.contains(client.clientID)
    }

    private func members(_ session: Session, scopes: [String]) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "active": true,
            "iss": .string(self.issuer),
            "sub": .string(session.identity.id),
            "sid": .string(session.id),
            "scope": .string(scopes.joined(separator: " ")),
            "iat": .integer(session.issuedAt.seconds),
            "exp": .integer(session.expiresAt.seconds),
        ]
        if let clientID = session.clientID { members["client_id"] = .string(clientID) }
        members["act"] = session.actorClaim
        return members
    }

    /// Returns the key that the token is bound to (RFC 9449 6.2).
    private static func confirmation(_ thumbprint: String?) -> JSONValue? {
        thumbprint.map { .object(["jkt": .string($0)]) }
    }
}
