package import NIOCore
package import Vocabulary

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

/// How far back a store remembers ids.
package struct OnceMemory: Sendable, Hashable {
    /// The same at all gateways that share the store, and another number whenever the store may have forgotten ids.
    package let epoch: UInt64
    /// Ids that were presented earlier, by the store's clock, may be forgotten.
    package let since: UnixTime

    package init(epoch: UInt64, since: UnixTime) {
        self.epoch = epoch
        self.since = since
    }

    /// Whether the store may have begun to remember only after something was presented that was made at `time`. Who makes
    /// such things writes whole seconds, rounded down.
    package func mayFollow(_ time: UnixTime) -> Bool { time.advanced(by: .seconds(1)) <= self.since }
}

/// Remembers ids that were presented.
package protocol OnceStore: Sendable {
    /// What this process knows of the store's memory. Cheap enough for every request.
    var onceMemory: OnceMemory { get }

    /// True the first time, false when the id was presented before. It is remembered for at least `lifetime`;
    /// presenting it again does not prolong that.
    ///
    /// Fails with `.full` when the id cannot be remembered, and with `.unavailable` when it is unknown whether it was
    /// presented before; the caller must treat neither as a first time. If an answer is lost, the id may count as
    /// presented.
    func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool>
}

extension OnceStore {
    /// `eventualOnce` as a future.
    package func once(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.eventualOnce(id, for: lifetime, on: loop).future(on: loop)
    }
}
