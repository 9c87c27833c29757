package import NIOCore
package import Sessions
import Vocabulary

/// What a token would do if the user confirmed it.
package enum HandoffPreview: Sendable {
    /// The token would create this session. Nothing has changed.
    case asks(Session)
    /// There is nothing to confirm: the token was refused or used before, the browser keeps its session, or the store
    /// did not answer.
    case ended(HandoffOutcome)
}

extension HandoffConsumer {
    /// Judges the token. A token that would sign the user in stays unchanged. Any other outcome is carried out. The
    /// future never fails.
    package func preview(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<HandoffPreview> {
        var request = request
        // The user is asked in any case, so the browser's last account does not matter.
        request.lastAccount = nil
        switch self.begin(request) {
        case .ended(let ended):
            return loop.makeSucceededFuture(.ended(ended.outcome))
        case .attempt(let attempt):
            return self.preview(attempt, on: loop).flatMapErrorThrowing { error in
                .ended(self.report(error, attempt.request).outcome)
            }
        }
    }

    private func preview(_ attempt: Attempt, on loop: any EventLoop) -> EventLoopFuture<HandoffPreview> {
        self.find(attempt.key, on: loop).flatMap { found in
            switch found.lookup {
            case .absent:
                return loop.makeSucceededFuture(.ended(self.refuse(.handoffUnknown, attempt.request).outcome))
            case .spent(let marker):
                return self.answerSpent(marker, attempt, on: loop).map { .ended($0.outcome) }
            case .live(let stored):
                let token = stored.record
                return self.judgement(of: token, parent: found.parent?.record, attempt, on: loop).flatMap { judgement in
                    let plan = self.plan(for: token, judgement, attempt)
                    if case .signedIn(_, let session, _) = plan.outcome {
                        return loop.makeSucceededFuture(.asks(session))
                    }
                    // `isLast` prevents a second judgement, because it might accept the token without asking the user.
                    return self.act(on: stored, plan, attempt, isLast: true, on: loop).map { .ended($0.outcome) }
                }
            }
        }
    }
}
