internal import SignOn
internal import Vocabulary

/// The cookies that a browser keeps for signing in at a provider: one for each sign-in that has begun, because several
/// tabs may sign in at once.
struct SignInCookies: Sendable {
    /// The name of the session cookie, with which the names of these begin.
    let sessionCookie: String

    private var begun: KeptCookies {
        KeptCookies(sessionCookie: self.sessionCookie, prefix: "signin-", lifetime: KeptSignIn.lifetime, most: 5)
    }

    /// What the browser has kept of the sign-in `id`; nil if it has nothing.
    func kept(_ id: String, _ request: EndpointRequest) -> Secret? { self.begun.kept(id, request) }

    /// The `Set-Cookie` fields that keep a new sign-in, that shorten those for which there is no room beside it, and that
    /// clear those that have expired.
    func keep(
        _ kept: Secret,
        id: String,
        _ request: EndpointRequest,
        _ flow: BrowserSignInFlow
    ) -> [(name: String, value: String)] {
        let now = flow.sessions.clock.now()
        return self.begun.keep(kept, id: id, request, now: now) { other, id in
            flow.pending(other, id: id, on: request.authority).map { pending in
                KeptCookies.Kept(begunAt: pending.begunAt) {
                    flow.shortened(pending, id: id, on: request.authority)
                }
            }
        }
    }

    /// The `Set-Cookie` fields that clear the sign-in `id`.
    func clear(_ id: String, _ request: EndpointRequest) -> [(name: String, value: String)] {
        self.begun.clear(id, request)
    }
}
