import Endpoints
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// Answers to transfer tokens: the cookies to clear, and the URL without the token.
extension RequestJudge {
    /// Returns the distinct values of the handoff cookies that are not marked as handled.
    func handoffCookies(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) -> [Slice] {
        guard self.credentials.cookies.handoff.isThere, let line = given.head.line(.cookie) else { return [] }
        let values = given.cookies.handoffValues(in: given.head.fields[line].value, given.base)
        trial.cookieValues = values.map { Array($0.bytes(in: given.base)) }
        guard let marks = self.credentials.cookies.handled.value?.bytes(in: given.base),
            marks.count <= HandoffConsumer.longestMarks
        else { return values }
        trial.marks = Array(marks)
        return zip(values, trial.cookieValues).filter { !given.judging.handoff.isMarked($1, in: marks) }.map(\.0)
    }

    /// Clears the request's handoff cookies and marks their values as handled. If the gateway cannot clear a cookie,
    /// the value is ignored when the browser sends it again.
    mutating func clearHandoffCookies(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) {
        let configuration = given.configuration
        for line in configuration.handoffClearing(of: given.host) { self.findings.addLine(line) }
        let marks = given.judging.handoff.marks(of: trial.cookieValues, besides: trial.marks)
        let handled = configuration.handoffCookies.handled(given.host.settings.cookieReach)
        self.findings.addLine(handled.line(setting: marks))
    }

    /// Clears all session cookies, because their values differ. None of them is used.
    mutating func clearSessionCookies(_ given: borrowing RoutedRequest) {
        for line in given.configuration.sessionCookie(of: given.host).clearingAll() {
            self.findings.addLine("Set-Cookie", line)
        }
        self.findings.note = .credentialAmbiguousCookie
    }

    /// Answers that the store is unavailable. The token may have been used although the store's answer was lost, so the
    /// browser gets a cookie that makes a reload part of this attempt.
    ///
    /// A token in a cookie stays there. A token in a URL is moved into the attempt cookie, and the browser is
    /// redirected to the URL without the token. If the store is still unavailable, the redirected request gets the 503.
    /// A program's token stays in the URL, because not every program keeps cookies.
    mutating func postpone(
        _ trial: HandoffTrial,
        _ error: StoreError,
        _ reason: Reason,
        _ given: borrowing RoutedRequest
    ) -> LocalAnswer {
        let reason: Reason = error == .full ? .storeFull : reason
        var answer = LocalAnswer.problem(reason, requestID: self.findings.requestID)
        guard let attempt = trial.request?.value.attempt else { return answer }
        var value = attempt.value
        if let parameter = self.credentials.handoffParameter {
            if given.wantsPage {
                // The token that could not be tried may come from the cookie. The query's token may then still need the
                // user's confirmation, or be refused. If it were moved, the next navigation would try it, even if
                // another site made the link to this page.
                if case .consume = trial.treatment,
                    let token = parameter.value.map({ Self.queryToken($0, given.base) }), AttemptCookie.canHold(token)
                {
                    value = AttemptCookie.value(attempt, moving: token)
                }
                answer = self.withoutParameter(trial, reason, given)
            }
        } else if let token = self.credentials.movedToken {
            let confirmed = self.credentials.confirmedToken?.copy(given.base)
            value = AttemptCookie.value(attempt, moving: token.bytes(in: given.base), confirmed: confirmed)
        }
        self.findings.addLine(given.configuration.attemptCookie(of: given.host).line(setting: value))
        return answer
    }

    /// Redirects (303) to the page that asks the user to confirm, with a cookie that keeps the token. Returns `nil` if
    /// the token does not fit into the cookie or cannot be a token.
    ///
    /// - Parameter reason: The reason for asking the user. `nil` if users are always asked.
    mutating func askToConfirm(
        _ request: HandoffRequest,
        because reason: Reason?,
        _ trial: HandoffTrial,
        _ given: borrowing RoutedRequest
    ) -> LocalAnswer? {
        guard AttemptCookie.canHold(request.token) else { return nil }
        let pending = PendingHandoff(
            token: Secret(request.token),
            transport: request.transport,
            target: given.targetWithoutHandoff,
            clientID: trial.client.clientID
        )
        let authority = given.host.publicURL.authority
        guard let kept = given.judging.confirmation.seal(pending, on: authority, now: given.now) else { return nil }
        let cookie = given.configuration.handoffCookies.pending(given.host.settings.cookieReach)
        self.findings.addLine(cookie.line(setting: kept))
        self.findings.handoff = .asked
        self.findings.events.append(.asked(reason, request))
        return .redirect(to: given.hostURL + HandoffPath.path)
    }

    /// Redirects to the confirmation page for a token of another account than the browser's last one. From then on,
    /// only the sealed cookie contains the token. Returns `nil` if users are not asked or the cookie cannot hold it.
    mutating func askAboutAccount(
        _ request: HandoffRequest,
        _ trial: HandoffTrial,
        _ given: borrowing RoutedRequest
    ) -> LocalAnswer? {
        guard given.judging.confirmation.asks,
            let answer = self.askToConfirm(request, because: .handoffOtherAccount, trial, given)
        else { return nil }
        self.endTrial(trial, given)
        return answer
    }

    /// Ends the trial and removes its token from the browser.
    mutating func endTrial(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) {
        self.state = .ended
        if !trial.triesParameter { self.clearHandoffCookies(trial, given) }
        if self.credentials.cookies.attempt.isThere {
            self.findings.addLine("Set-Cookie", given.configuration.attemptCookie(of: given.host).clearing())
        }
    }

    /// Records for the log why a token signed nobody in, and makes the sign-in page show a notice.
    mutating func noteRefusal(_ reason: Reason, _ given: borrowing RoutedRequest) {
        self.findings.note = reason
        self.announce(.handoff, given)
    }

    /// Makes the sign-in page show why the user must sign in.
    mutating func announce(_ notice: SignInNotice, _ given: borrowing RoutedRequest) {
        guard given.configuration.hasSignInPage(given.host) else { return }
        let name = given.configuration.settings.session.cookieName
        let cookie = SignInNotice.cookie(beside: name, given.host.settings.cookieReach)
        self.findings.addLine(cookie.line(setting: notice.value))
    }

    /// Returns the mark of the account that the browser used last. `nil` if the browser sends no mark. If the browser
    /// sends several marks, the result matches no account.
    func lastAccount(_ given: borrowing RoutedRequest) -> Secret? {
        guard self.credentials.cookies.hasCompanion, let line = given.head.line(.cookie) else { return nil }
        var marks: Set<[UInt8]> = []
        given.cookies.forEachCompanion(in: given.head.fields[line].value, given.base) { label, value in
            guard label.bytes(in: given.base).elementsEqual(SessionSettings.accountCookieLabel.utf8) else { return }
            marks.insert(Array(value.bytes(in: given.base)))
        }
        return LastAccount.mark(marks)
    }

    /// Redirects (303) to the requested URL, byte for byte, without the handoff parameter. The token leaves the address
    /// bar before any page is loaded.
    mutating func withoutParameter(_ trial: HandoffTrial, _ reason: Reason?, _ given: borrowing RoutedRequest)
        -> LocalAnswer
    {
        self.clearMovedToken(trial, given)
        // The path is appended to the gateway's own origin, so that a path such as `//evil` stays a path.
        return .redirect(to: given.hostURL + given.targetWithoutHandoff, reason: reason)
    }

    /// Redirects (303) to the host on which users sign in. That host also signs the browser in and sends it back to the
    /// requested URL. Returns `nil` if this is not configured or not possible.
    mutating func onwards(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) -> LocalAnswer? {
        guard let share = given.judging.share else { return nil }
        let page = HandoffShare.Page(host: given.host.publicURL.authority, target: given.targetWithoutHandoff)
        guard let link = share.link(to: page, now: given.now) else { return nil }
        self.clearMovedToken(trial, given)
        return .redirect(to: link.host.origin + TicketPath.adopting(from: page.host, link.text))
    }

    /// Clears the cookie of a moved token. Otherwise, the redirect to the requested URL would be repeated endlessly.
    private mutating func clearMovedToken(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) {
        if trial.isMoved {
            self.findings.addLine("Set-Cookie", given.configuration.attemptCookie(of: given.host).clearing())
        }
    }
}

extension RoutedRequest {
    /// The target of the request, byte for byte, without the handoff parameter.
    var targetWithoutHandoff: String {
        self.head.target(in: self.base, without: self.configuration.ownNames.parameter)
    }
}
