import Endpoints
import Sessions
import Settings
import Vocabulary

/// How a denial is told: to a person by a sign-in page, to a program by a status and a reason id.
extension DownstreamConnection {
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
            let path = SignInPath.leading(to: self.ownTarget(head, base), isAgain: isAgain)
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
            answer.signIn = SignInPath.leading(to: target, isAgain: session != nil)
        }
        return self.refusal(answer, head, base)
    }

    /// This target, for after a sign-in.
    private func ownTarget(_ head: RequestHead, _ base: Bytes) -> [UInt8] {
        if self.facts.route?.settings.handoff == true, head.hasQuery,
            self.configuration.parameter.find(in: head.query, base) != nil
        {
            // A token that this request could not use must not come back after the sign-in, for another user maybe.
            return Array(self.targetWithoutParameter(head, base).utf8)
        }
        return Array(head.target.bytes(in: base))
    }

    /// The page of this host with the form that was posted, as `Referer` names it; `/` when it names none.
    private func pageBefore(_ head: RequestHead, _ base: Bytes) -> [UInt8] {
        let start = Array("/".utf8)
        guard let origin = self.facts.host?.origin, let line = head.line(.referer) else { return start }
        let value = head.fields[line].value
        let bytes = value.bytes(in: base)
        guard bytes.starts(with: origin) else { return start }
        var page = bytes.dropFirst(origin.count)
        if let mark = page.firstIndex(of: UInt8(ascii: "?")) {
            let query = Slice(value.start + mark + 1, bytes.count - mark - 1)
            // No path to return to carries a transfer token.
            if self.configuration.parameter.find(in: query, base) != nil { page = page[..<mark] }
        }
        return ReturnTo.sanitized(String(decoding: page, as: UTF8.self)).map { Array($0.utf8) } ?? start
    }
}
