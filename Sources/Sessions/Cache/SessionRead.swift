import AddressIntelligence
package import NIOCore
package import Vocabulary

/// One event loop's read of one session, and the requests that wait for it. The read is found by an HMAC of the whole
/// token, so no request gets the answer for another token (CVE-2026-71326).
final class SessionFlight {
    typealias Outcome = Result<CachedSession?, StoreError>

    let token: Secret
    /// The key of the token, by which the read is found.
    let key: RecordKey
    /// The token, if it is known to be a successor token; otherwise `nil`.
    var successor: PresentedToken?
    /// True if the session is live but this token was replaced.
    var isSucceeded = false
    /// The lookup at the providers of a foreign token; `nil` for a token of the gateway.
    var foreign: ForeignFlight?
    /// The time when the first read began. The age of the entry is measured from this time.
    let begunAt: UnixTime
    var reading: Reading
    var reads = 1
    /// The reason if the read found no session.
    var refusal = Reason.sessionUnknown
    /// The provider's demand on the user, if that is why the read found no session.
    var demand: ProviderDemand?
    /// The reason if the read failed.
    var failure = Reason.storeUnavailable
    /// True if the read has waited for a renewal of the provider's tokens.
    var hasAwaitedRenewal = false
    /// The outcome; `nil` until the read is over.
    private(set) var outcome: Outcome?
    private var waiting: [Waiter] = []

    /// A struct, because an array of closures allocates a wrapper for each.
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

    /// The key of the session. It equals the token's key until the token is known to be a successor token.
    var sessionKey: RecordKey { self.reading.key }

    /// Calls `receiver` with the outcome, at once if the read is over.
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

/// The lookup of a foreign token at providers. A repeated lookup asks the providers of the first one.
struct ForeignFlight {
    private(set) var tokens: any ForeignTokens
    /// How the token was presented.
    let kind: Session.Kind
    /// The number of the configuration when the lookup began (`SessionResolver.foreignGeneration`).
    let generation: UInt64
    /// The foreign session that this loop knows; `nil` if it knows none.
    private(set) var known: ForeignSession?
    /// The providers to ask next if those asked so far do not know the token.
    private var others: [ForeignCandidate]
    private var asked: [RecordKey] = []
    /// True if a provider did not answer.
    var hasMissedAnswer = false
    /// The trace of the first request that waits.
    let trace: CallTrace?
    /// The address of the client of the first request; `nil` if unknown.
    let client: AddressKey?

    /// - Parameters:
    ///   - others: The providers to ask after `tokens`, in this order.
    ///   - trace: The trace that records the calls; `nil` if none does.
    ///   - client: The address of the client; `nil` if unknown.
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

    /// Adds providers to ask, except those that are or were asked. A request on another host may accept more providers.
    ///
    /// - Parameter key: The key of the token at the provider that is being asked now.
    mutating func add(_ candidates: some Sequence<ForeignCandidate>, after key: RecordKey) {
        for candidate in candidates where candidate.key != key && !self.asked.contains(candidate.key) {
            if !self.others.contains(where: { $0.key == candidate.key }) { self.others.append(candidate) }
        }
    }

    /// Moves on to the next provider and returns it; `nil` if all were asked.
    ///
    /// - Parameter key: The key of the token at the provider that has answered.
    mutating func next(after key: RecordKey) -> ForeignCandidate? {
        self.asked.append(key)
        guard !self.others.isEmpty else { return nil }
        let next = self.others.removeFirst()
        (self.tokens, self.known) = (next.tokens, nil)
        return next
    }
}

/// A read of a session that a request waits for. Used only on the loop.
package struct SessionRead {
    let resolver: SessionResolver
    let flight: SessionFlight
    let kind: Session.Kind
    let now: UnixTime

    /// True if a provider may be asked. These calls are traced separately (`SessionResolver.asker`).
    package var asksProvider: Bool { self.flight.foreign != nil }

    /// The reason of the rejection if the read failed.
    package var failure: Reason { self.flight.failure }

    /// The reason of the rejection if there is no session.
    package var refusal: Reason { self.flight.refusal }

    /// The fingerprint of the session's key, for logs.
    package var fingerprint: Fingerprint { self.flight.sessionKey.fingerprint }

    /// The provider's demand on the user, if that is why there is no session.
    package var demand: ProviderDemand? { self.flight.demand }

    /// The result if the read is over; otherwise `nil`.
    package var result: Result<CachedSession?, StoreError>? {
        self.flight.outcome.map { self.resolver.use($0, for: self) }
    }

    /// Calls `receiver` once, possibly before this returns, with the session, the store's error, or `nil` if there is
    /// no session of this kind.
    package func whenFound(_ receiver: @escaping (Result<CachedSession?, StoreError>) -> Void) {
        self.flight.whenOver { outcome in receiver(self.resolver.use(outcome, for: self)) }
    }

    /// The session as a future; `nil` if there is no session of this kind.
    package var future: EventLoopFuture<CachedSession?> {
        let promise = self.resolver.loop.makePromise(of: CachedSession?.self)
        self.whenFound { promise.assumeIsolated().completeWith($0.mapError { $0 }) }
        return promise.futureResult
    }
}
