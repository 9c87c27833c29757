import Sessions
import SignOn
import Vocabulary

extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/session` for the app's scripts: who is signed in, until when, and where to sign in. The
    /// request does not extend the idle timeout. The answer contains no credential (CVE-2024-39315).
    @Sendable
    func session(_ request: EndpointRequest) async -> EndpointResponse {
        do {
            let found = try await self.sessions.browser(request.requester)
            let now = self.sessions.clock.now()
            let document = SessionDocument.document(found.session, origin: request.origin, now: now) { json in
                json.member("idle_expires_at", found.idleEnd.rfc3339)
                json.member("login_url", request.signInURL)
            }
            return .json(200, document, fields: [("vary", "Cookie")])
        } catch {
            guard !error.isUnavailable else { return .problem(error.reason, requestID: request.requestID) }
            return .problem(
                error.reason,
                requestID: request.requestID,
                loginURL: request.signInURL,
                fields: [("vary", "Cookie")] + self.cookies.clearing(for: error.reason, request)
            )
        }
    }
}
