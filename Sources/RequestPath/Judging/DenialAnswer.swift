import Endpoints
import Sessions
import Settings
import Vocabulary

/// The answer to a denial: a redirect to the sign-in page for a person, a status and a reason id for a program.
extension RequestJudge {
    /// - Parameters:
    ///   - session: The session that does not suffice; nil if there is none.
    ///   - asksApp: Whether a native app is asked for another transfer token in place of a sign-in.
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
            now: given.now
        )
        if case .signIn(let demand) = form, !asksApp {
            // A transfer token that was refused has been told already.
            if self.findings.note == nil, case .cookie = self.credentials.presented,
                let notice = SignInNotice(told: denial.reason, absence: self.findings.absence)
            {
                self.announce(notice, given)
            }
            let path = SignInPath.leading(to: given.ownTarget.utf8, demanding: demand)
            return .redirect(to: given.hostURL + path, reason: denial.reason)
        }
        let (wantsPage, isForm) = (given.wantsPage, given.head.knownMethod == .post)
        // The page of a script's request, or of a posted form, is the one that the user sees.
        let page = wantsPage && !isForm ? given.ownTarget : given.pageBefore
        let native = asksApp ? NativeChallenge(realm: given.hostURL, target: page, without: parameter) : nil
        var fields = native?.fields ?? []
        // A page that goes to the app names one scheme, for whoever reads only the first.
        let (isJudged, isProofScheme) = (self.credentials.presented != .none, self.credentials.isProofScheme)
        if native == nil || !wantsPage,
            let challenge = denial.challenge(require, isJudged: isJudged, isProofScheme: isProofScheme)
        {
            fields.insert(("WWW-Authenticate", challenge), at: 0)
        }
        // A script sends its user to the sign-in page itself, with the page that it wants to return to.
        let signsIn = form != .forbidden && provider?.signsIn == true
        var answer = LocalAnswer.problem(
            denial.reason,
            requestID: self.findings.requestID,
            loginURL: signsIn ? SignInPath.url(on: given.hostURL, by: given.configuration.settings.pages) : nil,
            fields: fields
        )
        answer.response.native = native
        // Only whoever is let in learns who is signed in: the cookie may be in another's hands.
        if wantsPage, form == .forbidden { answer.response.account = session.map { AccountText.of($0.identity) } }
        // nginx may lead scripts there, too.
        if wantsPage || self.findings.dialect == .authRequest {
            let demand = StepUp.demand(require, denial, session, provider, given.now)
            // In a native app, the page before a posted form asks the app when it is opened.
            answer.response.signIn =
                native != nil && isForm ? page : SignInPath.leading(to: page.utf8, demanding: demand)
        }
        return CrossOrigin.readable(answer, given)
    }

    /// The answer to a session that does not suffice for the provider itself: a person goes to the provider's page, a
    /// program gets the provider's document.
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
    /// The path and query of this request, to return to after a sign-in: without a transfer token that this request
    /// could not use, because it must not come back then, possibly for another user.
    fileprivate var ownTarget: String {
        let target = String(decoding: self.head.target.bytes(in: self.base), as: UTF8.self)
        return ReturnTo.removing(self.configuration.settings.handoff.queryParameter, from: target) ?? "/"
    }

    /// The page of this host with the posted form, as named by `Referer`; `/` if it names none.
    fileprivate var pageBefore: String {
        guard let referer = self.value(.referer) else { return "/" }
        // The path begins at the third slash.
        let slashes = referer.indices.filter { referer[$0] == UInt8(ascii: "/") }
        let end = slashes.count > 2 ? slashes[2] : referer.endIndex
        guard WebOrigin.isSame(referer[..<end], as: self.host.origin) else { return "/" }
        let page = String(decoding: referer[end...], as: UTF8.self)
        return ReturnTo.sanitized(page, without: self.configuration.settings.handoff.queryParameter) ?? "/"
    }
}
