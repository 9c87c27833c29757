import AddressIntelligence
package import NIOCore
package import Vocabulary

/// One event loop's read of one session, and the requests that wait for it. The read is found by the key, an HMAC of
/// the whole token, so that no answer reaches a request with another token (CVE-2026-71326).
final class SessionFlight {
    typealias Outcome = Result<CachedSession?, StoreError>

    let token: Secret
    /// The key that the token names. The flight is found by this key.
    let key: RecordKey
    /// The token, once it is known to be a later token of its session. `nil` until then.
    var successor: PresentedToken?
    /// Whether the session is live but another token has replaced this one.
    var isSucceeded = false
    /// The lookup at the providers of a foreign token; `nil` for a token of the gateway.
    var foreign: ForeignFlight?
    /// The time when the first read began. The answer's age is measured from this time.
    let begunAt: UnixTime
    var reading: Reading
    var reads = 1
    /// The reason why there is no session, once the read is over and found none.
    var refusal = Reason.sessionUnknown
    /// The demand of the provider on the user, if it is the reason why there is no session.
    var demand: ProviderDemand?
    /// The reason for a failure, once the read is over and failed.
    var failure = Reason.storeUnavailable
    /// Whether the read has waited for the renewal of the provider's tokens.
    var hasAwaitedRenewal = false
    /// The outcome. `nil` until the read is over.
    private(set) var outcome: Outcome?
    private var waiting: [Waiter] = []

    /// A receiver in a struct: an array of bare closures would allocate a wrapper for each.
    private struct Waiter {
        let receiver: (Outcome) -> Void
    }

    init(
        token: Secret,
        successor: PresentedToken? = nil,
        begunAt: UnixTime,
        reading: Reading,
        foreign: ForeignFlight? = nil
    ) {
        self.token = token
        self.key = successor?.key ?? reading.key
        self.successor = successor
        self.foreign = foreign
        self.begunAt = begunAt
        self.reading = reading
    }

    /// The key of the session, as far as it is known.
    var sessionKey: RecordKey { self.reading.key }

    /// Calls `receiver` with the outcome, at once if it is known.
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

/// The lookup of a foreign token at providers. A repeated read keeps the configuration under which it began.
struct ForeignFlight {
    private(set) var tokens: any ForeignTokens
    /// The way in which the token was presented.
    let kind: Session.Kind
    /// The configuration's number (`SessionResolver.foreignGeneration`).
    let generation: UInt64
    /// The foreign session as this loop knew it.
    private(set) var known: ForeignSession?
    /// The providers that are asked next if those that were asked do not know the token.
    private var others: [ForeignCandidate]
    private var asked: [RecordKey] = []
    /// Whether a provider that was asked did not answer.
    var hasMissedAnswer = false
    /// The trace of the request that asked first.
    let trace: CallTrace?
    /// The address of the client that asked first. `nil` if it is not known.
    let client: AddressKey?

    /// - Parameters:
    ///   - others: The providers that are asked after `tokens`, in this order.
    ///   - trace: The trace that records the calls. `nil` if they are not recorded.
    ///   - client: The address of the client that asks. `nil` if it is not known.
    init(
        tokens: any ForeignTokens,
        kind: Session.Kind,
        generation: UInt64,
        known: ForeignSession?,
        others: [ForeignCandidate] = [],
        trace: CallTrace? = nil,
        client: AddressKey? = nil
    ) {
        self.trace = trace
        self.client = client
        self.tokens = tokens
        self.kind = kind
        self.generation = generation
        self.known = known
        self.others = others
    }

    /// Adds providers to ask, unless they are or were asked. Called when a host with more providers awaits the token.
    ///
    /// - Parameter key: The key of the token at the provider that is being asked.
    mutating func add(_ candidates: some Sequence<ForeignCandidate>, after key: RecordKey) {
        for candidate in candidates where candidate.key != key && !self.asked.contains(candidate.key) {
            if !self.others.contains(where: { $0.key == candidate.key }) { self.others.append(candidate) }
        }
    }

    /// Moves on to the next provider and returns it. `nil` if all were asked.
    ///
    /// - Parameter key: The key of the token at the provider that was asked.
    mutating func next(after key: RecordKey) -> ForeignCandidate? {
        self.asked.append(key)
        guard !self.others.isEmpty else { return nil }
        let next = self.others.removeFirst()
        (self.tokens, self.known) = (next.tokens, nil)
        return next
    }
}

/// A read that a request waits for because its loop does not know the session. Confined to the loop.
package struct SessionRead {
    let resolver: SessionResolver
    let flight: SessionFlight
    let kind: Session.Kind
    let now: UnixTime

    /// Whether a provider may be asked. Its calls are recorded separately (`SessionResolver.asker`).
    package var asksProvider: Bool { self.flight.foreign != nil }

    /// The reason of the rejection if the answer is a failure.
    package var failure: Reason { self.flight.failure }

    /// The reason of the rejection if there is no session.
    package var refusal: Reason { self.flight.refusal }

    /// The fingerprint of the session's key, for logs.
    package var fingerprint: Fingerprint { self.flight.sessionKey.fingerprint }

    /// The demand of the provider on the user, if it is the reason why there is no session.
    package var demand: ProviderDemand? { self.flight.demand }

    /// The result of a read that is already over. `nil` if it must be awaited.
    package var result: Result<CachedSession?, StoreError>? {
        self.flight.outcome.map { self.resolver.use($0, for: self) }
    }

    /// Calls `receiver` once, possibly before this returns: with the session, with `nil` if there is no session of this
    /// kind, or with the store's error.
    package func whenFound(_ receiver: @escaping (Result<CachedSession?, StoreError>) -> Void) {
        self.flight.whenOver { outcome in receiver(self.resolver.use(outcome, for: self)) }
    }

    /// The session as a future. `nil` if there is no session of this kind.
    package var future: EventLoopFuture<CachedSession?> {
        let promise = self.resolver.loop.makePromise(of: CachedSession?.self)
        self.whenFound { promise.assumeIsolated().completeWith($0.mapError { $0 }) }
        return promise.futureResult
    }
}
