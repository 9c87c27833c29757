package import NIOCore

/// An id that may be presented only once: that of a proof or of an answer (`jti`, a nonce), with the scope in which it
/// is unique.
package struct OnceID: Sendable, Hashable {
    /// The issuer of the ids, e.g. `dpop <thumbprint>`: the same id in another scope is a different one.
    package let scope: String
    /// The id itself, as its issuer wrote it.
    package let id: String

    package init(scope: String, id: String) {
        self.scope = scope
        self.id = id
    }
}

/// Remembers ids that were presented.
package protocol OnceStore: Sendable {
    /// True the first time, false when the id was presented before. It is remembered for at least `lifetime`;
    /// presenting it again does not prolong that.
    ///
    /// Fails with `.full` when the id cannot be remembered, and with `.unavailable` when it is unknown whether it was
    /// presented before; the caller must treat neither as a first time. If an answer is lost, the id may count as
    /// presented.
    func once(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> EventLoopFuture<Bool>
}
