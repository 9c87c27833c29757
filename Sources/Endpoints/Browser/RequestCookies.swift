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

    /// The `Set-Cookie` field that clears the session's cookie, where a refusal for this reason does.
    func clearing(for reason: Reason?, _ request: EndpointRequest) -> [(name: String, value: String)] {
        reason?.refusal?.clearsSession == true ? [("set-cookie", self.cookie(request).clearing())] : []
    }

    /// The cookie that has the sign-in page say why the browser comes.
    func notice(_ request: EndpointRequest) -> SessionCookie {
        SignInNotice.cookie(beside: self.name, request.cookieReach)
    }

    /// The `Set-Cookie` fields of the answer to a browser that has signed in: its session's, and the one by which it shows
    /// its account later.
    ///
    /// - Parameter token: The session's.
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
    /// Who sends it, with the session cookies that it brings.
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
