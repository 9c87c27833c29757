internal import Sessions
internal import SignOn
internal import Vocabulary

/// The session document.
extension BrowserSessionEndpoints {
    /// `GET /.sallyport/session`: who is signed in, until when, and where to sign in, for the app's scripts. It reads only
    /// the cookie, does not extend the idle deadline and shows no credential (CVE-2024-39315).
    @Sendable
    func session(_ request: EndpointRequest) async -> EndpointResponse {
        do {
            switch try await self.sessions.browser(request.requester) {
            case .session(let found):
                let now = self.sessions.clock.now()
                let document = SessionDocument.document(found.session, origin: request.origin, now: now) { json in
                    json.name("idle_expires_at")
                    json.write(found.idleEnd.rfc3339)
                    json.name("login_url")
                    json.write(SignInPath.url(on: request.origin))
                }
                return .json(200, document, fields: [("vary", "Cookie")])
            case .none(let reason):
                var fields = [(name: "vary", value: "Cookie")]
                if reason.refusal?.clearsSession == true {
                    fields.append(("set-cookie", self.cookies.cookie(request).clearing()))
                }
                return .problem(
                    reason,
                    requestID: request.requestID,
                    loginURL: SignInPath.url(on: request.origin),
                    fields: fields
                )
            }
        } catch {
            return .problem(error.reason, requestID: request.requestID)
        }
    }
}
