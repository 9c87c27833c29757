import Endpoints
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// Makes the answers to transfer tokens, and clears the cookies that contain tokens.
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

    /// Clears the request's handoff cookies. Also marks their values as handled, in case the browser keeps a cookie.
    mutating func clearHandoffCookies(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) {
        let configuration = given.configuration
        for line in configuration.handoffClearing(of: given.host) { self.findings.addLine(line) }
        let marks = given.judging.handoff.marks(of: trial.cookieValues, besides: trial.marks)
        let handled = configuration.handoffCookies.handled(given.host.settings.cookieReach)
        self.findings.addLine(handled.line(setting: marks))
    }

    /// Clears all session cookies. Called if they have different values.
    mutating func clearSessionCookies(_ given: borrowing RoutedRequest) {
        for line in given.configuration.sessionCookie(of: given.host).clearingAll() {
            self.findings.addLine("Set-Cookie", line)
        }
        self.findings.note = .credentialAmbiguousCookie
    }

    /// Answers that the store is unavailable. The token may be consumed already, so a cookie makes the browser's reload
    /// part of this attempt.
    ///
    /// A token in a browser's URL is moved into the attempt cookie, and the browser is redirected to the URL without
    /// it. A program's token stays in its URL, because not every program keeps cookies.
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
                // Only a token that needs no confirmation is moved: moved tokens are consumed without asking the user.
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

    /// Redirects (303) to the page that asks the user to confirm, with a sealed cookie that contains the token. Returns
    /// `nil` if the cookie cannot hold the token.
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

    /// Asks the user to confirm a token of another account than the browser's last one. Returns `nil` if users are not
    /// asked or the cookie cannot hold the token.
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

    /// Ends the trial and clears the cookies of its token.
    mutating func endTrial(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) {
        self.state = .ended
        if !trial.triesParameter { self.clearHandoffCookies(trial, given) }
        if self.credentials.cookies.attempt.isThere {
            self.findings.addLine("Set-Cookie", given.configuration.attemptCookie(of: given.host).clearing())
        }
    }

    /// Records for the log why a token was refused, and makes the sign-in page show a notice.
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

    /// Returns the mark of the account that the browser used last. `nil` if the browser sends no mark. Several marks
    /// match no account.
    func lastAccount(_ given: borrowing RoutedRequest) -> Secret? {
        guard self.credentials.cookies.hasCompanion, let line = given.head.line(.cookie) else { return nil }
        var marks: Set<[UInt8]> = []
        given.cookies.forEachCompanion(in: given.head.fields[line].value, given.base) { label, value in
            guard label.bytes(in: given.base).elementsEqual(SessionSettings.accountCookieLabel.utf8) else { return }
            marks.insert(Array(value.bytes(in: given.base)))
        }
        return LastAccount.mark(marks)
    }

    /// Redirects (303) to the requested URL, byte for byte, without the handoff parameter.
    mutating func withoutParameter(_ trial: HandoffTrial, _ reason: Reason?, _ given: borrowing RoutedRequest)
        -> LocalAnswer
    {
        self.clearMovedToken(trial, given)
        // The gateway's own origin comes first, so that a path such as `//evil` stays a path.
        return .redirect(to: given.hostURL + given.targetWithoutHandoff, reason: reason)
    }

    /// Redirects (303) to the sign-in host, where the browser is signed in, too, and sent back to the requested URL.
    /// Returns `nil` if `handoff.share` is off or the sign-in host cannot be used.
    mutating func onwards(_ trial: HandoffTrial, _ given: borrowing RoutedRequest) -> LocalAnswer? {
        guard let share = given.judging.share else { return nil }
        let page = HandoffShare.Page(host: given.host.publicURL.authority, target: given.targetWithoutHandoff)
        guard let link = share.link(to: page, now: given.now) else { return nil }
        self.clearMovedToken(trial, given)
        return .redirect(to: link.host.origin + TicketPath.adopting(from: page.host, link.text))
    }

    /// Clears the cookie of a moved token. Otherwise, the next request would try the token again.
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
