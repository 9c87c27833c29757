import Sessions
import Settings
import SignOn
import Vocabulary

/// Makes the session cookies of answers.
struct RequestCookies: Sendable {
    /// The configured name, e.g. `__Host-sallyport`.
    let name: String

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.name, reach: request.cookieReach)
    }

    /// Returns the `Set-Cookie` field that deletes the session cookie, if the refusal for this reason requires it.
    func clearing(for reason: Reason?, _ request: EndpointRequest) -> [(name: String, value: String)] {
        reason?.refusal?.clearsSession == true ? [("set-cookie", self.cookie(request).clearing())] : []
    }

    /// Returns the cookie for a `SignInNotice`.
    func notice(_ request: EndpointRequest) -> SessionCookie {
        SignInNotice.cookie(beside: self.name, request.cookieReach)
    }

    /// Returns the `Set-Cookie` fields for a browser that has signed in: the session, and the account last used.
    ///
    /// - Parameter token: The session's token.
    func signedIn(
        _ token: Secret,
        _ session: Session,
        by sessions: SessionService,
        _ request: EndpointRequest
    ) -> [(name: String, value: String)] {
        let age = session.cookieAge(at: sessions.clock.now())
        var lines = [self.cookie(request).setting(token, maxAge: age)]
        if let mark = sessions.accountMark(of: session) {
            let name = "\(self.name)-\(SessionSettings.accountCookieLabel)"
            lines.append(HandoffCookies.account(named: name, request.cookieReach).setting(mark))
        }
        return lines.map { ("set-cookie", $0) }
    }
}

extension EndpointRequest {
    /// The sender of the request, with its session cookies.
    var requester: Requester {
        Requester(
            address: self.address,
            userAgent: self.field("user-agent"),
            certificate: self.certificate,
            authority: self.authority,
            requestID: self.requestID,
            cookies: self.credentials.sessionCookies,
            providerCookies: self.credentials.providerCookies
        )
    }
}
