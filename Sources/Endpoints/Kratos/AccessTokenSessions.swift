import JOSE
import Sessions
import Settings
package import SignOn
import Vocabulary

/// A session that a request presents.
struct PresentedSession: Sendable {
    let found: FoundSession
    /// Whether an access token of the gateway presents the session.
    var isByAccessToken = false
    /// The fields that the token's proof adds to the answer.
    var fields: [(name: String, value: String)] = []
}

/// Finds the session of an access token, for the endpoints that show, list and end sessions. The token must have a
/// scope, because APIs see access tokens, too.
package struct AccessTokenSessions: Sendable {
    private let tokens: TokenService
    private let clients: ClientRegistry
    private let proofs: ProofCheck

    package init(tokens: TokenService, clients: ClientRegistry, proofs: ProofCheck) {
        self.tokens = tokens
        self.clients = clients
        self.proofs = proofs
    }

    /// Returns the session from which an access token was issued, or the token's own session if there is no other.
    ///
    /// - Parameters:
    ///   - scope: The scope that the token must have.
    ///   - sessions: The service that finds the session.
    /// - Throws: `DPoPRefusal` if the token's proof is not accepted, `NotDone` with `require.scopes` if the token does
    ///   not have the scope, or the reason why there is no live session.
    func session(
        of token: Secret,
        with scope: String,
        in request: EndpointRequest,
        by sessions: SessionService
    ) async throws -> PresentedSession {
        guard case .session(let access) = try await self.tokens.find(token), access.session.access != nil else {
            throw NotDone(.sessionUnknown)
        }
        let proof = try await self.proofs.proof(of: request, for: token, boundTo: access.session.keyThumbprint)
        guard self.allows(scope, access.session) else { throw NotDone(.requireScopes) }
        var found: FoundSession? = FoundSession(key: access.key, session: access.session)
        if let source = access.session.sourceKey, source.kind == .session { found = try await sessions.living(source) }
        guard let found else { throw NotDone(.sessionUnknown) }
        return PresentedSession(found: found, isByAccessToken: true, fields: proof?.answerFields ?? [])
    }

    /// Returns whether the token has the scope. For `sessions`, its client must still have `manage_sessions`.
    private func allows(_ scope: String, _ access: Session) -> Bool {
        guard access.scopes.contains(scope) else { return false }
        guard scope == APIDirectory.sessions else { return true }
        return access.clientID.flatMap { self.clients.snapshot.client($0) }?.managesSessions == true
    }
}

extension Herodot {
    /// Returns the refusal of a request whose credential is not accepted.
    ///
    /// - Parameters:
    ///   - error: The cause: `DPoPRefusal`, `NotDone`, or an error of the store.
    ///   - text: The sentence for a request without a live session.
    ///   - scope: The scope that an access token must have.
    static func refused(
        _ error: any Error,
        _ text: String,
        needing scope: String,
        to request: EndpointRequest
    ) -> EndpointResponse {
        if let refusal = error as? DPoPRefusal {
            let status = refusal.reason.status
            var response = self.error(refusal.reason, text, to: request, id: refusal.error, status: status)
            response.fields.append(("www-authenticate", DPoPChallenge.text(refusal)))
            response.fields += refusal.nonce.map { [("dpop-nonce", $0)] } ?? []
            return response
        }
        let error = NotDone(asking: error)
        if let response = self.notDone(error, to: request) { return response }
        guard error.reason == .requireScopes else { return self.error(error.reason, text, to: request) }
        let code = "insufficient_scope"
        var response = self.error(.requireScopes, "The access token lacks the scope \(scope).", to: request, id: code)
        var scheme = "Bearer"
        if case .dpop = request.credentials.authorization { scheme = "DPoP" }
        response.fields.append(("www-authenticate", #"\#(scheme) error="\#(code)", scope="\#(scope)""#))
        return response
    }
}
