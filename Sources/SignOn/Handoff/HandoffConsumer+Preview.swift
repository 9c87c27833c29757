package import NIOCore
package import Sessions

/// The possible effect of a token that waits for the user's confirmation.
package enum HandoffPreview: Sendable {
    /// The token would create this session if the user confirms. Nothing has changed.
    case asks(Session)
    /// The token signs nobody in: it is refused (and burned if it must be), or the browser is already signed in by it.
    case ended(HandoffOutcome)
}

extension HandoffConsumer {
    /// Judges the token, and consumes it only if it would not sign the user in. The future never fails.
    package func preview(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<HandoffPreview> {
        var request = request
        request.isPreview = true
        request.device = self.observer.completed(request.device)
        guard let attempt = try? self.attempt(request), !attempt.isRepeated else {
            return self.ended(request, on: loop)
        }
        return self.find(attempt.key, on: loop).flatMap { [request] found in
            guard case .live(let stored) = found.lookup else { return self.ended(request, on: loop) }
            let token = stored.record
            return self.judgement(of: token, parent: found.parent?.record, attempt, on: loop).flatMap { judgement in
                guard case .signedIn(_, let session, _) = self.plan(for: token, judgement, attempt).outcome else {
                    return self.ended(request, on: loop)
                }
                return loop.makeSucceededFuture(.asks(session))
            }
        }.flatMapErrorThrowing { error in
            .ended(.unavailable(error as? StoreError ?? .unavailable))
        }
    }

    private func ended(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<HandoffPreview> {
        self.consume(request, on: loop).map { .ended($0) }
    }
}
