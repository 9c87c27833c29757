package import NIOCore
package import Sessions
package import Vocabulary

/// The state of a token, and what presenting it would do.
package enum HandoffInspection: Sendable {
    /// The token was not made under a secret that this gateway accepts.
    case foreign(Reason)
    /// The token was never minted, has expired, or has ended together with its native session.
    case absent
    case spent(Marker)
    /// The token can be used. `burns` is true if presenting it would burn it.
    case live(TransferToken, HandoffOutcome, burns: Bool)
}

extension HandoffConsumer {
    /// Returns what presenting the request's token would do. Changes and records nothing.
    package func inspect(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<HandoffInspection> {
        var request = request
        request.device = self.observer.completed(request.device)
        let attempt: Attempt
        do throws(Reason) {
            attempt = try self.attempt(request)
        } catch {
            return loop.makeSucceededFuture(.foreign(error))
        }
        return self.find(attempt.key, on: loop).flatMap { found in
            switch found.lookup {
            case .absent: return loop.makeSucceededFuture(.absent)
            case .spent(let marker): return loop.makeSucceededFuture(.spent(marker))
            case .live(let stored):
                let token = stored.record
                return self.judgement(of: token, parent: found.parent?.record, attempt, on: loop).map { judgement in
                    let plan = self.plan(for: token, judgement, attempt)
                    let burns = if case .burned? = plan.marker { true } else { false }
                    return .live(token, plan.outcome, burns: burns)
                }
            }
        }
    }
}
