import Endpoints
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// Answers to transfer tokens: the cookies to clear, and the URL without the token.
extension RequestJudge {
    /// The values of the handoff cookies that are not marked as dealt with, each once.
    func handoffCookies(
        _ head: RequestHead,
        _ base: Bytes,
        _ cookies: OwnCookies,
        _ consumer: HandoffConsumer,
        _ trial: HandoffTrial
    ) -> [Slice] {
        guard self.credentials.cookies.hasHandoff, let line = head.line(.cookie) else { return [] }
        let values = cookies.handoffValues(in: head.fields[line].value, base)
        trial.cookieValues = values.map { Array($0.bytes(in: base)) }
        guard let marks = self.credentials.cookies.handled?.bytes(in: base),
            marks.count <= HandoffConsumer.longestMarks
        else { return values }
        trial.marks = Array(marks)
        return zip(values, trial.cookieValues).filter { !consumer.isMarked($1, in: marks) }.map(\.0)
    }

    /// Clears the request's handoff cookies and marks their values, so that a cookie that the gateway cannot clear is
    /// ignored when it comes back.
    mutating func clearHandoffCookies(_ trial: HandoffTrial, _ configuration: PathConfiguration, _ host: HostEntry) {
        guard let consumer = configuration.handoff else { return }
        for line in configuration.handoffClearing(of: host) { self.findings.addLine(line) }
        let marks = consumer.marks(of: trial.cookieValues, besides: trial.marks)
        let handled = configuration.handoffCookies.handled(host.settings.cookieReach)
        self.findings.addLine(handled.line(setting: marks))
    }

    /// Clears session cookies with different values: none of them is used.
    mutating func clearSessionCookies(_ given: JudgingContext, _ host: HostEntry) {
        for line in given.configuration.sessionCookie(of: host).clearingAll() {
            self.findings.addLine("Set-Cookie", line)
        }
        self.findings.note = .credentialAmbiguousCookie
    }

    /// Answers that the store is unavailable. The browser gets a cookie that makes a reload the same attempt, because
    /// the token may have been used and only the answer lost.
    ///
    /// A token in a cookie stays there. One in a URL is moved into the attempt cookie, and the browser is redirected to
    /// the URL without it; if the store is still unavailable then, that request gets the 503. A program may keep no
    /// cookies, so its token stays in the URL.
    mutating func postpone(
        _ trial: HandoffTrial,
        _ error: StoreError,
        _ reason: Reason,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext
    ) -> LocalAnswer {
        let reason: Reason = error == .full ? .storeFull : reason
        var answer = LocalAnswer.problem(reason, requestID: self.findings.requestID)
        guard let host = self.findings.host, let attempt = trial.request?.value.attempt else { return answer }
        var value = attempt.value
        if let parameter = self.credentials.handoffParameter {
            if Navigation.wantsPage(head, base) {
                // The token that could not be tried may be the cookie's, while the one in the query is never tried, or
                // not before the user confirms it. If that one were moved, the next navigation would try it, even if
                // another site made the link to this page.
                if case .consume = Self.treatment(of: trial, head, base, given.configuration.confirmation),
                    let token = parameter.value, AttemptCookie.canHold(token.bytes(in: base))
                {
                    value = AttemptCookie.value(attempt, moving: token.bytes(in: base))
                }
                answer = self.withoutParameter(trial, reason, head, base, given, host)
            }
        } else if let token = self.credentials.movedToken {
            let confirmed = self.credentials.confirmedToken?.copy(base)
            value = AttemptCookie.value(attempt, moving: token.bytes(in: base), confirmed: confirmed)
        }
        self.findings.addLine(given.configuration.attemptCookie(of: host).line(setting: value))
        return answer
    }

    /// 303 to the page that asks the user to confirm, with a cookie that keeps the token; nil if there is no room for it,
    /// or it can be no token.
    ///
    /// - Parameter reason: Why the user is asked; nil: users always are.
    mutating func askToConfirm(
        _ request: HandoffRequest,
        because reason: Reason?,
        _ trial: HandoffTrial,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> LocalAnswer? {
        guard AttemptCookie.canHold(request.token) else { return nil }
        let pending = PendingHandoff(
            token: Secret(request.token),
            transport: request.transport,
            target: Self.targetWithoutParameter(head, base, given.configuration.ownNames.parameter),
            clientID: trial.client.clientID
        )
        let authority = host.publicURL.authority
        guard let kept = given.configuration.confirmation?.seal(pending, on: authority, now: given.now) else {
            return nil
        }
        let cookie = given.configuration.handoffCookies.pending(host.settings.cookieReach)
        self.findings.addLine(cookie.line(setting: kept))
        self.findings.handoff = .asked
        self.findings.events.append(.asked(reason, request))
        return .redirect(to: host.publicURL.description + HandoffPath.path)
    }

    /// The same for a token of another account than the one that this browser used last. Wherever the token was, it is
    /// only in the sealed cookie from now on. nil also where users are not asked.
    mutating func askAboutAccount(
        _ request: HandoffRequest,
        _ trial: HandoffTrial,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> LocalAnswer? {
        guard given.configuration.confirmation?.asks == true,
            let answer = self.askToConfirm(request, because: .handoffOtherAccount, trial, head, base, given, host)
        else { return nil }
        self.endTrial(trial, given, host)
        return answer
    }

    /// Nothing of the token that was tried stays in the browser.
    mutating func endTrial(_ trial: HandoffTrial, _ given: JudgingContext, _ host: HostEntry) {
        self.state = .ended
        if !trial.triesParameter { self.clearHandoffCookies(trial, given.configuration, host) }
        if self.credentials.cookies.hasAttempt {
            self.findings.addLine("Set-Cookie", given.configuration.attemptCookie(of: host).clearing())
        }
    }

    /// Notes why a token signed nobody in, for the log. A user who comes to the sign-in page because of it is told so there.
    mutating func noteRefusal(_ reason: Reason, _ given: JudgingContext, _ host: HostEntry) {
        self.findings.note = reason
        guard case .fixedUsers? = given.configuration.provider(of: host) else { return }
        let name = given.configuration.settings.session.cookieName
        let cookie = HandoffNotice.cookie(beside: name, host.settings.cookieReach)
        self.findings.addLine(cookie.line(setting: HandoffNotice.value))
    }

    /// The mark of the account that the browser used last; nil if it has none.
    func lastAccount(_ head: RequestHead, _ base: Bytes, _ cookies: OwnCookies) -> Secret? {
        guard self.credentials.cookies.hasCompanion, let line = head.line(.cookie) else { return nil }
        var marks: Set<[UInt8]> = []
        cookies.forEachCompanion(in: head.fields[line].value, base) { label, value in
            guard label.bytes(in: base).elementsEqual(SessionSettings.accountCookieLabel.utf8) else { return }
            marks.insert(Array(value.bytes(in: base)))
        }
        return LastAccount.mark(marks)
    }

    /// 303 to the same URL, byte for byte, without the handoff parameter: the token leaves the address bar before any
    /// page is loaded.
    mutating func withoutParameter(
        _ trial: HandoffTrial,
        _ reason: Reason?,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> LocalAnswer {
        self.clearMovedToken(trial, given, host)
        // The path is appended to the gateway's own origin, so that `//evil` in it stays a path.
        let target = Self.targetWithoutParameter(head, base, given.configuration.ownNames.parameter)
        return .redirect(to: host.publicURL.description + target, reason: reason)
    }

    /// 303 to the host on which users sign in, which signs the browser in as well and sends it back to the same URL; nil
    /// where that is not wanted or not possible.
    mutating func onwards(
        _ trial: HandoffTrial,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ host: HostEntry
    ) -> LocalAnswer? {
        guard let share = given.configuration.share else { return nil }
        let target = Self.targetWithoutParameter(head, base, given.configuration.ownNames.parameter)
        let page = HandoffShare.Page(host: host.publicURL.authority, target: target)
        guard let link = share.link(to: page, now: given.now) else { return nil }
        self.clearMovedToken(trial, given, host)
        return .redirect(to: link.host.origin + TicketPath.adopting(from: page.host, link.text))
    }

    /// A moved token is in no URL, so the redirect leads to the same URL; clearing its cookie prevents a second redirect.
    private mutating func clearMovedToken(_ trial: HandoffTrial, _ given: JudgingContext, _ host: HostEntry) {
        if trial.isMoved {
            self.findings.addLine("Set-Cookie", given.configuration.attemptCookie(of: host).clearing())
        }
    }

    private static func targetWithoutParameter(
        _ head: RequestHead,
        _ base: Bytes,
        _ parameter: HandoffParameter
    ) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: head.target.length + 1) { room in
            guard let start = room.baseAddress else { return "/" }
            var writer = ByteWriter(start)
            if head.hasQuery {
                RequestWriter.writeTarget(head, base, parameter, &writer)
            } else {
                writer.write(base + head.path.start, head.path.length)
            }
            return String(decoding: UnsafeBufferPointer(start: start, count: writer.count), as: UTF8.self)
        }
    }
}
