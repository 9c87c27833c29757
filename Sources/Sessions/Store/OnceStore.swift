package import NIOCore

/// What may be presented once: the id of a proof or of an answer (`jti`, a nonce), within what it is unique in.
package struct OnceID: Sendable, Hashable {
    /// What gives out the ids, e.g. `dpop <thumbprint>`: the same id of another scope is another one.
    package let scope: String
    /// The id itself, as its maker wrote it.
    package let id: String

    package init(scope: String, id: String) {
        self.scope = scope
        self.id = id
    }
}

/// Knows ids that were presented before.
package protocol OnceStore: Sendable {
    /// True the first time, false when the id was presented before. It is remembered for `lifetime` at least; a repetition
    /// does not prolong that.
    ///
    /// Fails with `.full` when the id cannot be remembered, and with `.unavailable` when it cannot be known whether it was
    /// presented before: neither is a first time. When an answer is lost, the id may count as presented.
    func once(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> EventLoopFuture<Bool>
}
