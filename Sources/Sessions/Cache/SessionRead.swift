package import NIOCore
package import Vocabulary

/// A read of one session under way for one event loop, and whoever waits for it. Found by the key, an HMAC of the whole
/// token: no answer reaches another token's request (CVE-2026-71326).
final class SessionFlight {
    typealias Outcome = Result<CachedSession?, StoreError>

    let token: Secret
    /// The provider is asked and not the store.
    let isForeign: Bool
    /// When the first read began; the age of what it brings counts from here.
    let begunAt: UnixTime
    var reading: Reading
    var reads = 1
    private var outcome: Outcome?
    private var waiting: [Waiter] = []

    /// An array would wrap a bare closure anew.
    private struct Waiter {
        let receiver: (Outcome) -> Void
    }

    init(token: Secret, isForeign: Bool, begunAt: UnixTime, reading: Reading) {
        self.token = token
        self.isForeign = isForeign
        self.begunAt = begunAt
        self.reading = reading
    }

    var key: RecordKey { self.reading.key }

    /// By what the flight is found: the key of the session, or what stands for a foreign token.
    var id: RecordKey { self.isForeign ? .foreign(self.key.digest) : self.key }

    /// Calls `receiver` with the outcome, at once when it is there.
    func whenOver(_ receiver: @escaping (Outcome) -> Void) {
        if let outcome = self.outcome { receiver(outcome) } else { self.waiting.append(Waiter(receiver: receiver)) }
    }

    func end(_ outcome: Outcome) {
        self.outcome = outcome
        let waiting = self.waiting
        self.waiting = []
        for waiter in waiting { waiter.receiver(outcome) }
    }
}

/// What a request waits for whose session its loop does not know. Confined to the loop.
package struct SessionRead {
    let resolver: SessionResolver
    let flight: SessionFlight
    let kind: Session.Kind
    let now: UnixTime

    /// The reason of the refusal when the answer is a failure.
    package var failure: Reason { self.flight.isForeign ? .providerUnavailable : .storeUnavailable }

    /// Calls `receiver` once, maybe before this returns: with the session, with nil when there is none of this kind, or with
    /// why the store cannot say.
    package func whenFound(_ receiver: @escaping (Result<CachedSession?, StoreError>) -> Void) {
        self.flight.whenOver { outcome in receiver(self.resolver.use(outcome, for: self)) }
    }

    /// The same as a future.
    package var future: EventLoopFuture<CachedSession?> {
        let promise = self.resolver.loop.makePromise(of: CachedSession?.self)
        self.whenFound { promise.assumeIsolated().completeWith($0.mapError { $0 }) }
        return promise.futureResult
    }
}
