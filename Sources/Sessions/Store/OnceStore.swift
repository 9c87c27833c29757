package import NIOCore
package import Vocabulary

/// An id that may be presented only once, and the scope in which it is unique: the id of a proof or of an answer
/// (`jti`, a nonce).
package struct OnceID: Sendable, Hashable {
    /// The issuer of the ids, e.g. `dpop <thumbprint>`: equal ids in different scopes are different ids.
    package let scope: String
    /// The id itself, as its issuer wrote it.
    package let id: String

    package init(scope: String, id: String) {
        self.scope = scope
        self.id = id
    }
}

/// The extent of a store's memory of ids.
package struct OnceMemory: Sendable, Hashable {
    /// A number that all gateways of the store share. It changes whenever the store may have forgotten ids.
    package let epoch: UInt64
    /// The time, by the store's clock, since which no id has been forgotten early.
    package let since: UnixTime

    package init(epoch: UInt64, since: UnixTime) {
        self.epoch = epoch
        self.since = since
    }

    /// Reports whether something made at `time` may have been presented before the store's memory began. Issuers state
    /// whole seconds, rounded down.
    package func mayFollow(_ time: UnixTime) -> Bool { time.advanced(by: .seconds(1)) <= self.since }
}

/// Remembers ids that were presented.
package protocol OnceStore: Sendable {
    /// The store's memory as far as this process knows it. Cheap enough for every request.
    var onceMemory: OnceMemory { get }

    /// Reports true the first time, and false if the id was presented before. The id is remembered for at least
    /// `lifetime`; presenting it again does not prolong that.
    ///
    /// Fails with `.full` if the id cannot be remembered, and with `.unavailable` if it is unknown whether it was
    /// presented before. An error must not be treated as a first time. If an answer is lost, the id may be remembered.
    func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool>
}

extension OnceStore {
    /// Returns the answer of `eventualOnce` as a future.
    package func once(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.eventualOnce(id, for: lifetime, on: loop).future(on: loop)
    }
}
