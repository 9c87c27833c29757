import Sessions
import SignOn
import Vocabulary

/// The sign-in page with the form for a password.
extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/login` with the form and links to the providers, even if the user is signed in, because
    /// a route may require a new sign-in. If `demand` is empty, the user can also continue with the current session.
    func askToSignIn(
        _ request: EndpointRequest,
        _ ways: [SignInWay],
        _ demand: SignInDemand
    ) async -> EndpointResponse {
        let returnTo = self.returnTo(request.parameters(SignInPath.returnTo), request)
        let current = demand == SignInDemand() ? await self.current(request, returnTo: returnTo) : nil
        return self.noticing(request, demand) { notice in
            Page.signIn(
                request,
                self.offer(ways, returnTo: returnTo, demand, request),
                offersToStay: self.sessions.asksToStay,
                current: notice == nil ? current : nil,
                notice: notice,
                identifier: demand.loginHint ?? ""
            )
        }
    }

    /// Returns the sign-in page with a notice that says why the user sees it.
    func noticing(
        _ request: EndpointRequest,
        _ demand: SignInDemand,
        _ page: (Page.Notice?) -> EndpointResponse
    ) -> EndpointResponse {
        let told = request.credentials.companion(SignInNotice.label)
        var page = page(told.flatMap(SignInNotice.init).map(self.sentence) ?? (demand.isAgain ? .again : nil))
        if told != nil { page.fields.append(("set-cookie", self.cookies.notice(request).clearing())) }
        return page
    }

    /// Returns the page's notice for the reason in the cookie.
    private func sentence(_ notice: SignInNotice) -> Page.Notice {
        let lifetimes = self.sessions.lifetimes(withTransfers: self.hasTransfers)
        // The page has no words for a time under two minutes.
        func told(_ time: Duration?) -> Duration? { time.flatMap { $0 < .seconds(120) ? nil : $0 } }
        return switch notice {
        case .handoff: .handoff
        case .idle: .idle(told(lifetimes.idle))
        case .expired: .expired(told(lifetimes.absolute))
        case .ended: .ended
        }
    }

    /// Returns the browser's session. `nil` unless there is exactly one, and no actor uses it.
    private func current(_ request: EndpointRequest, returnTo: String) async -> Page.Current? {
        guard !request.credentials.sessionCookies.isEmpty,
            let live = try? await self.sessions.presented(by: request.requester), live.count == 1,
            live[0].session.actor == nil
        else { return nil }
        return Page.Current(account: AccountText.of(live[0].session.identity), returnTo: returnTo)
    }

    /// Returns the ways to sign in and return to a page of this host.
    private func offer(
        _ ways: [SignInWay],
        returnTo: String,
        _ demand: SignInDemand,
        _ request: EndpointRequest
    ) -> Page.Offer {
        self.offer(ways, .signIn(returnTo: returnTo), request) { way in
            var demand = demand
            demand.providers = [way.name]
            return SignInPath.leading(to: returnTo.utf8, demanding: demand)
        }
    }

    /// Returns the form, if it is one of `ways`, and links for the other ways. The way that was used last comes first.
    ///
    /// - Parameter path: Returns the target of a way's link.
    func offer(
        _ ways: [SignInWay],
        _ form: Page.Form,
        _ request: EndpointRequest,
        path: (SignInWay) -> String
    ) -> Page.Offer {
        let last = self.lastWay.way(of: request, among: ways)
        let first = last ?? ways.first
        let links = ways.filter { !$0.hasForm }
        let others = links.filter { $0.name == last?.name } + links.filter { $0.name != last?.name }
        return Page.Offer(
            form: ways.contains(where: \.hasForm) ? form : nil,
            isFormFirst: first?.hasForm == true || others.isEmpty,
            links: others.map { way in
                Page.Link(
                    button: way.button,
                    path: path(way),
                    isAway: way.isAway(),
                    isLast: way.name == last?.name
                )
            }
        )
    }

    /// Answers `POST /.sallyport/login`: 303 to `return_to` with the new session's cookie, the form again, or a page
    /// with a refusal.
    func signIn(_ request: EndpointRequest, _ passwords: PasswordSignIn) async -> EndpointResponse {
        let form = try? BodyParameters(request, accepting: [.form])
        let returnTo = self.returnTo([form?.text("return_to")].compactMap(\.self), request)
        let identifier = form?.text("identifier") ?? ""
        func again(
            _ reason: Reason,
            _ notice: Page.Notice,
            showing identifier: String = ""
        ) -> EndpointResponse {
            Page.signIn(
                request,
                self.offer(self.ways.all, returnTo: returnTo, SignInDemand(), request),
                offersToStay: self.sessions.asksToStay,
                notice: notice,
                identifier: identifier,
                reason: reason
            )
        }
        // Login CSRF: a page of another site must not sign the browser in as another user, or fill in the form.
        guard SameOrigin.isProven(request) else {
            let account = passwords.accountName(of: identifier)
            await self.sessions.recordDenial(.requestCrossSite, account: account, for: request.requester)
            return again(.requestCrossSite, .crossSite)
        }
        guard let password = form?.text("password"), !identifier.isEmpty else {
            return again(form == nil ? .signInMalformed : .signInIncomplete, .incomplete, showing: identifier)
        }
        do throws(NotDone) {
            let (token, session) = try await passwords.signIn(
                identifier: identifier,
                password: Secret(password),
                kind: .web,
                staysSignedIn: form?.text(Page.staySignedIn) != nil,
                for: request.requester
            )
            let signedIn = self.cookies.signedIn(token, session, by: self.sessions, request)
            return .seeOther(
                returnTo,
                fields: signedIn + self.lastWay.note(self.passwordName, among: self.ways, request)
            )
        } catch {
            guard ![.ruleDenied, .sessionLimit].contains(error.reason) else {
                return .problem(error.reason, explanation: error.text, requestID: request.requestID)
            }
            guard error.reason != .signInBlocked else {
                return self.refuse(.signInBlocked, request, returnTo: returnTo)
            }
            return again(error.reason, Page.Notice(error), showing: identifier)
        }
    }

    /// The name of the way to sign in with a password. `nil` if none exists.
    private var passwordName: String? { self.ways.all.first(where: \.hasForm)?.name }
}

extension SignInWay {
    /// Whether the way is the form for a password.
    var hasForm: Bool { if case .password = self.kind { true } else { false } }
}
