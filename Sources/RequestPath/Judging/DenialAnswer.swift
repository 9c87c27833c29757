import Endpoints
import Sessions
import Settings
import Vocabulary

/// Answers denials. People are redirected to the sign-in page, native apps get a challenge, programs get a status and a
/// reason id.
extension RequestJudge {
    /// - Parameters:
    ///   - session: The session that was denied. `nil` if the request has no valid session.
    ///   - asksApp: True if the answer may ask a native app for a transfer token.
    mutating func answer(
        to denial: Denial,
        of session: Session?,
        asksApp: Bool,
        _ given: borrowing RoutedRequest
    ) -> LocalAnswer {
        let require = given.route.settings.require
        let parameter = given.configuration.settings.handoff.queryParameter
        let provider = given.configuration.provider(of: given.host, for: session, meeting: require)
        let form = DenialForm.of(
            denial,
            given.head,
            given.base,
            given.route.settings,
            session: session,
            provider: provider,
            asksApp: asksApp,
            now: given.now
        )
        if case .signIn(let demand) = form {
            // A notice about a refused transfer token takes precedence.
            if self.findings.note == nil, case .cookie = self.credentials.presented,
                let notice = SignInNotice(told: denial.reason, absence: self.findings.absence)
            {
                self.announce(notice, given)
            }
            let path = SignInPath.leading(to: given.ownTarget.utf8, demanding: demand)
            return .redirect(to: given.hostURL + path, reason: denial.reason)
        }
        let (wantsPage, isForm) = (given.wantsPage, given.head.knownMethod == .post)
        // After a script's request or a posted form, the user returns to the page that sent it.
        let page = wantsPage && !isForm ? given.ownTarget : given.pageBefore
        var native: NativeChallenge?
        if form == .challenge {
            // Requirements are sent only if a session failed them. Without a session, the app's sign-in may meet them.
            var demands: [(name: String, value: String)] = []
            if case .forbidden = denial { demands = require.signInParameters }
            native = NativeChallenge(realm: given.hostURL, target: page, without: parameter, demanding: demands)
        }
        var fields = native?.fields ?? []
        // A page for a native app gets one challenge only, because the app may read only the first challenge.
        let (isJudged, isProofScheme) = (self.credentials.presented != .none, self.credentials.isProofScheme)
        if native == nil || !wantsPage,
            let challenge = denial.challenge(require, isJudged: isJudged, isProofScheme: isProofScheme)
        {
            fields.insert(("WWW-Authenticate", challenge), at: 0)
        }
        // A script sends its user to this sign-in page and adds the page to return to.
        let signsIn = form != .forbidden && provider?.signsIn == true
        var answer = LocalAnswer.problem(
            denial.reason,
            requestID: self.findings.requestID,
            loginURL: signsIn ? SignInPath.url(on: given.hostURL, by: given.configuration.settings.pages) : nil,
            fields: fields
        )
        answer.response.native = native
        // The account is shown only for an accepted session. A rejected cookie may be stolen.
        if wantsPage, form == .forbidden { answer.response.account = session.map { AccountText.of($0.identity) } }
        // nginx may redirect any client to the sign-in page, so the page's URL is set for every check of nginx.
        if wantsPage || self.findings.dialect == .authRequest {
            let demand = StepUp.demand(require, denial, session, provider, given.now)
            // If the user opens the form's page again, the native app supplies a new token.
            answer.response.signIn =
                native != nil && isForm ? page : SignInPath.leading(to: page.utf8, demanding: demand)
        }
        return CrossOrigin.readable(answer, given)
    }

    /// Returns the answer if the provider demands more of its user, such as a second factor. A browser is redirected to
    /// the provider's page. A program gets the provider's document.
    func answer(demanding demand: ProviderDemand, _ given: borrowing RoutedRequest) -> LocalAnswer {
        let isPage = given.head.knownMethod == .get || given.head.knownMethod == .head
        if isPage, given.route.settings.unauthenticated != .unauthorized, given.wantsPage,
            let page = demand.page(leadingTo: given.hostURL + given.ownTarget)
        {
            return .redirect(to: page, reason: .requireAAL)
        }
        let response = EndpointResponse(
            status: Reason.requireAAL.status,
            fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: demand.document,
            reason: .requireAAL
        )
        return CrossOrigin.readable(LocalAnswer(response), given)
    }
}

extension RoutedRequest {
    /// The path and query of this request, for the return after a sign-in. The transfer token is removed: after the
    /// sign-in, it could sign in another user.
    fileprivate var ownTarget: String {
        let target = String(decoding: self.head.target.bytes(in: self.base), as: UTF8.self)
        return ReturnTo.removing(self.configuration.settings.handoff.queryParameter, from: target) ?? "/"
    }

    /// The page of this host that sent the request, from `Referer`. `/` if `Referer` is missing or names another host.
    fileprivate var pageBefore: String {
        guard let referer = self.value(.referer) else { return "/" }
        // The path begins at the third slash of a URL.
        let slashes = referer.indices.filter { referer[$0] == UInt8(ascii: "/") }
        let end = slashes.count > 2 ? slashes[2] : referer.endIndex
        guard WebOrigin.isSame(referer[..<end], as: self.host.origin) else { return "/" }
        let page = String(decoding: referer[end...], as: UTF8.self)
        return ReturnTo.sanitized(page, without: self.configuration.settings.handoff.queryParameter) ?? "/"
    }
}
