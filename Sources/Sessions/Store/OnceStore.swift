package import NIOCore
package import Vocabulary

/// An id that may be presented only once, such as the `jti` of a proof or a nonce.
package struct OnceID: Sendable, Hashable {
    /// The issuer of the id, such as `dpop <thumbprint>`. Equal ids in different scopes are different ids.
    package let scope: String
    /// The id itself, as its issuer wrote it.
    package let id: String

    package init(scope: String, id: String) {
        self.scope = scope
        self.id = id
    }
}

/// The period for which a store remembers ids.
package struct OnceMemory: Sendable, Hashable {
    /// A number that all gateways of the store share. It changes when the store may have forgotten ids.
    package let epoch: UInt64
    /// The time, by the store's clock, since which no id has been forgotten early.
    package let since: UnixTime

    package init(epoch: UInt64, since: UnixTime) {
        self.epoch = epoch
        self.since = since
    }

    /// Reports whether something made at `time` is certainly older than the memory, so that its presentation may have
    /// been forgotten. One second is added, because issuers round `time` down to whole seconds.
    package func mayFollow(_ time: UnixTime) -> Bool { time.advanced(by: .seconds(1)) <= self.since }
}

/// Remembers ids that were presented.
package protocol OnceStore: Sendable {
    /// What this process knows of the store's memory. Reading it costs no I/O.
    var onceMemory: OnceMemory { get }

    /// Returns true if the id is presented for the first time, and false if it was presented before. The id is
    /// remembered for `lifetime` or longer. Presenting it again does not extend that time.
    ///
    /// Fails with `.full` if there is no room for the id, and with `.unavailable` if the store does not know the
    /// answer. The caller must reject the id then. The failed call may have stored the id.
    func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool>
}

extension OnceStore {
    /// Returns the answer of `eventualOnce` as a future.
    package func once(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.eventualOnce(id, for: lifetime, on: loop).future(on: loop)
    }
}
