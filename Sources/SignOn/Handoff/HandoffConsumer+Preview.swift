package import NIOCore
package import Sessions
import Vocabulary

/// The possible effect of a token that waits for the user's confirmation.
package enum HandoffPreview: Sendable {
    /// The token would create this session if the user confirms. Nothing has changed.
    case asks(Session)
    /// The token signs nobody in: it is refused (and burned if it must be), or the browser is already signed in by it.
    case ended(HandoffOutcome)
}

extension HandoffConsumer {
    /// Judges the token once, and consumes it only if it would not sign the user in. The future never fails.
    package func preview(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<HandoffPreview> {
        var request = request
        // The user is about to be asked, whichever account the browser used last.
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
                    // The token is not judged again. A second judgement might accept it (a client that was removed may
                    // have come back), and the user would be signed in without being asked.
                    return self.act(on: stored, plan, attempt, isLast: true, on: loop).map { .ended($0.outcome) }
                }
            }
        }
    }
}
