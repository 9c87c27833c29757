import Endpoints
import Sessions
import Settings
import Vocabulary

/// How a denial is told: to a person by a sign-in page, to a program by a status and a reason id.
extension Exchange {
    /// - Parameter session: The session that does not suffice; nil: there is none.
    func denied(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ credentials: Credentials,
        _ session: Session?
    ) -> LocalAnswer {
        let reason: Reason
        switch denial {
        case .forbidden(let why), .unauthenticated(let why): reason = why
        }
        let form = DenialForm.of(
            denial,
            head,
            base,
            route.settings,
            session: session,
            provider: self.configuration.settings.provider,
            now: self.loop.sessionNow
        )
        if case .signIn(let isAgain) = form {
            let path = SignInPath.leading(to: self.ownTarget(head, base).utf8, isAgain: isAgain)
            return .redirect(to: (self.facts.host?.publicURL.description ?? "") + path, reason: reason)
        }
        let challenge = denial.challenge(route.settings.require, isJudged: credentials.presented != .none)
        var answer = LocalAnswer.problem(
            form == .forbidden ? 403 : 401,
            reason,
            requestID: self.facts.requestID,
            fields: challenge.map { [("WWW-Authenticate", $0)] } ?? []
        )
        if self.facts.wantsPage {
            let isPost = head.knownMethod == .post
            let target = isPost ? self.pageBefore(head, base) : self.ownTarget(head, base)
            answer.signIn = SignInPath.leading(to: target.utf8, isAgain: session != nil)
        }
        return self.refusal(answer, head, base)
    }

    /// This target, for after a sign-in: without a token that this request could not use, which must not come back then,
    /// for another user maybe.
    private func ownTarget(_ head: RequestHead, _ base: Bytes) -> String {
        let target = String(decoding: head.target.bytes(in: base), as: UTF8.self)
        return ReturnTo.removing(self.configuration.settings.handoff.queryParameter, from: target) ?? "/"
    }

    /// The page of this host with the form that was posted, as `Referer` names it; `/` when it names none.
    private func pageBefore(_ head: RequestHead, _ base: Bytes) -> String {
        guard let origin = self.facts.host?.origin, let referer = head.value(.referer, in: base),
            referer.starts(with: origin)
        else { return "/" }
        let page = String(decoding: referer.dropFirst(origin.count), as: UTF8.self)
        return ReturnTo.sanitized(page, without: self.configuration.settings.handoff.queryParameter) ?? "/"
    }
}
