internal import Sessions
internal import SignOn
internal import Vocabulary

/// The sign-in page with the form for a password.
extension BrowserSessionEndpoints {
    /// `GET /.sallyport/login`. It shows the form to signed-in users too: a route may require a new sign-in, and the
    /// session of that sign-in replaces theirs.
    func askToSignIn(_ request: EndpointRequest) -> EndpointResponse {
        let followsHandoff = request.credentials.companion(HandoffNotice.label) != nil
        var page = Page.signIn(
            request,
            form: .signIn(returnTo: self.returnTo(request.parameters(SignInPath.returnTo))),
            offersToStay: self.sessions.asksToStay,
            notice: followsHandoff ? .handoff : SignInDemand(request.query).isAgain ? .again : nil
        )
        if followsHandoff { page.fields.append(("set-cookie", self.cookies.handoffNotice(request).clearing())) }
        return page
    }

    /// `POST /.sallyport/login`: 303 to `return_to` with the new session's cookie, or the form again.
    func signIn(_ request: EndpointRequest, _ passwords: PasswordSignIn) async -> EndpointResponse {
        let form = try? BodyParameters(request, accepting: [.form])
        let returnTo = self.returnTo([form?.text("return_to")].compactMap(\.self))
        let identifier = form?.text("identifier") ?? ""
        func again(
            _ reason: Reason,
            _ notice: Page.Notice,
            showing identifier: String = ""
        ) -> EndpointResponse {
            Page.signIn(
                request,
                form: .signIn(returnTo: returnTo),
                offersToStay: self.sessions.asksToStay,
                notice: notice,
                identifier: identifier,
                reason: reason
            )
        }
        // Login CSRF: a page of another site must not sign the browser in as another user. Its input is not shown
        // either.
        guard SameOrigin.isProven(request) else {
            let account = passwords.accountName(of: identifier)
            await self.sessions.recordDenial(.requestCrossSite, account: account, for: request.requester)
            return again(.requestCrossSite, .crossSite)
        }
        guard let password = form?.text("password"), !identifier.isEmpty else {
            return again(form == nil ? .signInMalformed : .signInIncomplete, .incomplete, showing: identifier)
        }
        do throws(NotDone) {
            let begun = try await passwords.signIn(
                identifier: identifier,
                password: Secret(password),
                kind: .web,
                staysSignedIn: form?.text(Page.staySignedIn) != nil,
                for: request.requester
            )
            let signedIn = self.cookies.signedIn(begun.token, begun.session, by: self.sessions, request)
            return .seeOther(returnTo, fields: signedIn)
        } catch {
            guard error.reason != .ruleDenied else {
                return .problem(.ruleDenied, explanation: error.text, requestID: request.requestID)
            }
            return again(error.reason, Page.Notice(error), showing: identifier)
        }
    }
}
