package import Endpoints
internal import Sessions
package import SignIn
internal import Vocabulary

/// The sign-in and sign-out pages for browsers, and the session document, below `/.sallyport/` on every host.
package struct BrowserSessionEndpoints: Sendable {
    private let passwords: PasswordSignIn
    private let cookies: RequestCookies
    private let handoffParameter: String

    /// - Parameters:
    ///   - cookieName: The configured name of the session cookie.
    ///   - handoffParameter: The query parameter that may carry a transfer token; it is removed from every `return_to`.
    package init(passwords: PasswordSignIn, cookieName: String, handoffParameter: String) {
        self.passwords = passwords
        self.cookies = RequestCookies(name: cookieName)
        self.handoffParameter = handoffParameter
    }

    private var sessions: SessionService { self.passwords.sessions }

    package var endpoints: [Endpoint] {
        [
            Endpoint(
                path: Page.login,
                methods: ["GET", "HEAD", "POST"],
                scope: .everyHost,
                outlivesClient: true,
                answer: { $0.method == "POST" ? await self.signIn($0) : self.askToSignIn($0) }
            ),
            Endpoint(
                path: Page.logout,
                methods: ["GET", "HEAD", "POST"],
                scope: .everyHost,
                outlivesClient: true,
                answer: { $0.method == "POST" ? await self.signOut($0) : self.askToSignOut($0) }
            ),
            Endpoint(
                path: "/.sallyport/session",
                methods: ["GET", "HEAD"],
                scope: .everyHost,
                answer: self.session
            ),
        ]
    }

    /// `GET /.sallyport/login`. It shows the form to signed-in users too: a route may require a new sign-in, and the
    /// session of that sign-in replaces theirs.
    private func askToSignIn(_ request: EndpointRequest) -> EndpointResponse {
        let isAgain = request.parameters(SignInPath.prompt.name) == [SignInPath.prompt.value]
        return Page.signIn(
            host: request.authority,
            returnTo: self.returnTo(request.parameters(SignInPath.returnTo)),
            notice: isAgain ? .again : nil
        )
    }

    /// `POST /.sallyport/login`: 303 to `return_to` with the new session's cookie, or the form again.
    private func signIn(_ request: EndpointRequest) async -> EndpointResponse {
        let form = try? BodyParameters(request, accepting: [.form])
        let returnTo = self.returnTo([form?.text("return_to")].compactMap(\.self))
        let identifier = form?.text("identifier") ?? ""
        func again(
            _ reason: Reason,
            _ notice: Page.Notice,
            showing identifier: String = "",
            retryAfter wait: Duration? = nil
        ) -> EndpointResponse {
            Page.signIn(
                host: request.authority,
                returnTo: returnTo,
                notice: notice,
                identifier: identifier,
                reason: reason,
                retryAfter: wait
            )
        }
        // Login CSRF: a page of another site must not sign the browser in as another user. Its input is not shown
        // either.
        guard SameOrigin.isProven(request) else {
            let account = self.passwords.accountName(of: identifier)
            await self.sessions.recordDenial(.requestCrossSite, account: account, for: self.cookies.requester(request))
            return again(.requestCrossSite, .crossSite)
        }
        guard let password = form?.text("password"), !identifier.isEmpty else {
            return again(form == nil ? .signInMalformed : .signInIncomplete, .incomplete, showing: identifier)
        }
        switch await self.passwords.signIn(
            identifier: identifier,
            password: Secret(password),
            kind: .web,
            for: self.cookies.requester(request)
        ) {
        case .signedIn(let token, _):
            return .seeOther(returnTo, fields: [("set-cookie", self.cookies.cookie(request).setting(token))])
        case .refused:
            return again(.signInRefused, .refused, showing: identifier)
        case .throttled(let wait):
            return again(.signInThrottled, .throttled, showing: identifier, retryAfter: wait)
        case .unavailable(let reason):
            return again(reason, .unavailable, showing: identifier)
        }
    }

    /// `GET /.sallyport/logout`: a page with a button; a link or an image does not sign the user out.
    private func askToSignOut(_ request: EndpointRequest) -> EndpointResponse {
        Page.signOut(host: request.authority, returnTo: self.returnTo(request.parameters("return_to")))
    }

    /// `POST /.sallyport/logout`: answered when every loop has forgotten the session. It also succeeds without a
    /// session. 204 for `Accept: application/json`, else 303 to `return_to`. When the store cannot confirm the end, 503
    /// and the page with the button.
    private func signOut(_ request: EndpointRequest) async -> EndpointResponse {
        let form = try? BodyParameters(request, accepting: [.form])
        let returnTo = self.returnTo([form?.text("return_to")].compactMap(\.self))
        let wantsJSON = request.field("accept")?.lowercased().contains("application/json") ?? false
        guard SameOrigin.isProven(request) else {
            await self.sessions.recordDenial(.requestCrossSite, for: self.cookies.requester(request))
            return wantsJSON
                ? .problem(.requestCrossSite, requestID: request.requestID)
                : Page.signOut(host: request.authority, returnTo: returnTo, reason: .requestCrossSite)
        }
        do {
            try await self.sessions.endPresented(by: self.cookies.requester(request))
        } catch {
            let reason = SessionService.reason(error)
            guard !wantsJSON else { return .problem(reason, requestID: request.requestID) }
            return Page.signOut(
                host: request.authority,
                returnTo: returnTo,
                notice: .signOutUncertain,
                reason: reason
            )
        }
        let cleared = [(name: "set-cookie", value: self.cookies.cookie(request).clearing())]
        return wantsJSON ? .noContent(fields: cleared) : .seeOther(returnTo, fields: cleared)
    }

    /// `GET /.sallyport/session`: the signed-in user, for the app's scripts. It reads only the cookie, does not extend
    /// the idle deadline and shows no credential (CVE-2024-39315).
    @Sendable
    private func session(_ request: EndpointRequest) async -> EndpointResponse {
        do {
            switch try await self.sessions.web(self.cookies.requester(request)) {
            case .session(let found):
                let now = self.sessions.clock.now()
                return .json(
                    200,
                    SessionDocument.value(found.session, origin: request.origin, now: now),
                    fields: [("vary", "Cookie")]
                )
            case .none(let reason):
                var fields = [(name: "vary", value: "Cookie")]
                if reason.refusal?.clearsSession == true {
                    fields.append(("set-cookie", self.cookies.cookie(request).clearing()))
                }
                return .problem(reason, requestID: request.requestID, fields: fields)
            }
        } catch {
            return .problem(SessionService.reason(error), requestID: request.requestID)
        }
    }

    /// The value, if there is exactly one, it is safe and it does not lead to this page; else `/`.
    private func returnTo(_ values: [String]) -> String {
        guard values.count == 1, let path = ReturnTo.sanitized(values[0], without: self.handoffParameter),
            !path.hasPrefix(Page.login),
            !path.hasPrefix(Page.logout)
        else { return "/" }
        return path
    }
}
