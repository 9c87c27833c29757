internal import Endpoints
internal import SignIn
internal import Vocabulary

/// The cookies that a browser keeps for signing in at a provider: one for each sign-in that has begun, because several
/// tabs may sign in at once.
struct SignInCookies: Sendable {
    /// The name of the session cookie, with which the names of these begin.
    let sessionCookie: String

    private var begun: KeptCookies {
        KeptCookies(sessionCookie: self.sessionCookie, prefix: "signin-", lifetime: KeptSignIn.lifetime)
    }

    /// What the browser has kept of the sign-in `id`; nil if it has nothing.
    func kept(_ id: String, _ request: EndpointRequest) -> Secret? { self.begun.kept(id, request) }

    /// The `Set-Cookie` fields that keep a new sign-in, and that clear those that have expired or have no room beside
    /// it.
    func keep(
        _ kept: Secret,
        id: String,
        _ request: EndpointRequest,
        _ flow: BrowserSignInFlow
    ) -> [(name: String, value: String)] {
        let now = flow.sessions.clock.now()
        return self.begun.keep(kept, id: id, request) { other, id in
            let pending = flow.pending(other, id: id, on: request.authority)
            return pending.flatMap { $0.isExpired(at: now) ? nil : $0.begunAt }
        }
    }

    /// The `Set-Cookie` field that clears the sign-in `id`.
    func clear(_ id: String, _ request: EndpointRequest) -> (name: String, value: String) {
        self.begun.clear(id, request)
    }
}
