import Sessions
package import SignOn
import Vocabulary

/// `GET /oauth2/userinfo`: the signed-in user in oauth2-proxy's format, for scripts of apps.
package struct OAuth2ProxyUserInfo: Sendable {
    private let sessions: SessionService

    package init(_ sessions: SessionService) {
        self.sessions = sessions
    }

    package var endpoint: Endpoint {
        Endpoint(path: "/oauth2/userinfo", methods: ["GET", "HEAD"], scope: .everyHost, answer: self.answer)
    }

    /// Answers a request. It does not extend the idle timeout. Missing values are left out.
    @Sendable
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        let vary = [(name: "vary", value: "Cookie")]
        do {
            let identity = try await self.sessions.browser(request.requester).session.identity
            let values: [(String, JSONValue?)] = [
                ("user", .string(identity.id)), ("email", identity.traitsDocument["email"]),
                ("groups", identity.traitsDocument["groups"]),
                ("preferredUsername", identity.traitsDocument["username"]),
            ]
            let members = Dictionary(
                uniqueKeysWithValues: values.compactMap { name, value in value.map { (name, $0) } }
            )
            return .json(200, .object(members), fields: vary)
        } catch {
            guard !error.isUnavailable else { return .problem(error.reason, requestID: request.requestID) }
            return .problem(
                error.reason,
                requestID: request.requestID,
                loginURL: request.signInURL,
                fields: vary
            )
        }
    }
}
