import Glibc
package import Vocabulary

/// A session in the cache of one event loop, with its identity header bytes. Used only on this loop.
@usableFromInline
package final class CachedSession {
    /// The record, as it was read.
    @usableFromInline let stored: Stored<Session>
    package let key: RecordKey
    /// The time when the last successful read of the session began. The age of the entry is measured from this time.
    package private(set) var readAt: UnixTime

    /// Whether the session has ended, or its record has changed and must be read again.
    enum State: UInt8 { case known, changed, ended }

    /// The subject's names in the store; `nil` if the only name is the subject itself.
    private let otherNames: [String]?

    /// The raw token. Every hit compares it in full.
    let token: Secret
    let hash: UInt32
    /// The next slot in the same bucket; negative if there is none.
    var next: Int32 = -1
    /// The entry's slot in the table; negative if the table does not contain the entry.
    var slot: Int32 = -1
    /// The entry's first link in the table's `SlotIndex`; negative if there is none.
    var links: Int32 = -1
    /// The number of sweeps of the cache that began before the entry was made.
    let sweepsBefore: Int
    /// The minimum time between two uses that are written to the store, in milliseconds.
    private let touchMilliseconds: Int32
    /// True if the entry was used since it was added, or since the CLOCK hand last passed it.
    var isReferenced = false
    private(set) var state = State.known
    /// True for an access token, a token bound to a key or certificate, and a stale foreign token.
    package private(set) var isLimited: Bool
    /// The cache's turn (`SessionCache`) when the last successful read of the session began.
    private(set) var turn: UInt64
    /// The time until which the entry may be used without another read.
    private var servesUntil: UnixTime
    /// The time from which a use starts a background read.
    var refreshAt: UnixTime { didSet { self.setDue() } }
    /// The time from which a use is written to the store.
    var touchAt: UnixTime { didSet { self.setDue() } }
    /// The time from which a use calls the renewer of the provider's tokens.
    var renewAt: UnixTime { didSet { self.setDue() } }
    /// The earliest of `refreshAt`, `touchAt`, `renewAt` and the id_token's expiry, so that a hit compares one time.
    private(set) var dueAt: UnixTime

    /// The token if it is a successor token; `nil` for the session's first token.
    @Rare private(set) var successor: PresentedToken?
    /// The provider's last verdict on a foreign token; `nil` for a token of the gateway.
    @Rare private(set) var verdict: ForeignVerdict?
    /// The provider's tokens; `nil` if no identity header contains them, or if there are none.
    @Rare package private(set) var tokens: SessionTokens?
    /// The time from which apps that need the provider's tokens reject the session.
    package let tokensEndAt: UnixTime
    /// The time when reads for a stream began to fail; `nil` if the last read succeeded.
    @Rare var unreadSince: UnixTime?

    private var rendering: ContiguousArray<UInt8>?
    /// The identity bytes in the other encoding (`identity_encoding` of a route).
    private var otherRendering: ContiguousArray<UInt8>?
    private var assertions = CachedAssertions()
    /// The number of the configuration from which the identity bytes and assertions were made.
    private var generation: UInt64 = 0

    init(
        token: Secret,
        hash: UInt32,
        key: RecordKey,
        stored: Stored<Session>,
        successor: PresentedToken?,
        subjectNames: [String],
        readAt: UnixTime,
        turn: UInt64,
        sweepsBefore: Int,
        verdict: ForeignVerdict?,
        tokens: KnownTokens = .notNeeded
    ) {
        self.token = token
        self.hash = hash
        self.key = key
        self.stored = stored
        self.otherNames = subjectNames == [stored.record.subject] ? nil : subjectNames
        self.readAt = readAt
        self.turn = turn
        self.sweepsBefore = sweepsBefore
        self.servesUntil = readAt
        self.refreshAt = Self.refresh(readAt, verdict)
        self.touchMilliseconds = Int32(clamping: stored.record.useMilliseconds)
        // Writing the session was its first use. The use of a foreign token is not written: its provider limits it.
        self.touchAt =
            verdict == nil
            ? (stored.usedAt ?? stored.record.issuedAt).advanced(byMilliseconds: self.touchMilliseconds) : .never
        self.renewAt = stored.record.provider?.renewAt ?? (stored.record.sharedGrant == nil ? .never : readAt)
        self.isLimited = Self.isLimited(stored.record, verdict)
        self.dueAt = .never
        self._successor = Rare(wrappedValue: successor)
        self._verdict = Rare(wrappedValue: verdict)
        self._unreadSince = Rare(wrappedValue: nil)
        switch tokens {
        case .notNeeded: (self._tokens, self.tokensEndAt) = (Rare(wrappedValue: nil), .never)
        case .needed(let tokens):
            self._tokens = Rare(wrappedValue: tokens)
            self.tokensEndAt = stored.record.provider?.tokensEndAt ?? .never
        }
        self.servesUntil = self.end(ofReadAt: readAt)
        self.setDue()
    }

    private func setDue() {
        self.dueAt = min(self.refreshAt, self.touchAt, self.renewAt, self.tokens?.idExpiresAt ?? .never)
    }

    /// Removes the provider's id_token if it has expired. Apps would reject it, and a renewal may bring no new one.
    func leaveOutExpired(at now: UnixTime) {
        guard let tokens = self.tokens, let end = tokens.idExpiresAt, now >= end else { return }
        self.tokens = tokens.withoutID
        self.rendering = nil
        self.otherRendering = nil
        self.setDue()
    }

    @inlinable package var session: Session { self.stored.record }
    /// The names of the session's subject in the store (`Invalidation.subject`).
    package var subjectNames: [String] { self.otherNames ?? [self.session.subject] }
    /// Reports whether `names` contains one of the subject's names in the store.
    func isNamed(oneOf names: Set<String>) -> Bool {
        self.otherNames.map { !names.isDisjoint(with: $0) } ?? names.contains(self.session.subject)
    }

    /// Reports whether `name` is one of the subject's names in the store. Makes no array of them.
    func isNamed(_ name: String) -> Bool {
        if let otherNames = self.otherNames { otherNames.contains(name) } else { self.session.subject == name }
    }

    /// Reports whether this end of a client ends the session. False for a foreign token: the provider knows its client.
    func isEnded(withClient end: Invalidation) -> Bool { self.verdict == nil && end.endsClient(of: self.session) }

    var touchInterval: Duration { .milliseconds(Int64(self.touchMilliseconds)) }
    package var version: RecordVersion { self.stored.version }
    /// The fingerprint of the session's key. It identifies the session in logs, even after its token was replaced.
    package var fingerprint: Fingerprint { self.key.fingerprint }
    /// The token that the entry was found by.
    package var presentedToken: PresentedToken { self.successor ?? .first(self.key) }

    /// True if an end of the session has reached the entry. `SessionCache.hasEnded` also asks the sweeps under way.
    var hasEnded: Bool { self.state == .ended }

    /// True if the cache contains the entry, so that ends of the session reach it.
    package var isKept: Bool { self.slot >= 0 && self.state == .known }

    /// The foreign session of the entry; `nil` for a token of the gateway.
    var foreign: ForeignSession? { self.verdict.map { ForeignSession(session: self.session, verdict: $0) } }

    /// True if the verdict of the provider has expired and only bridges an outage (`ForeignVerdict.isStale`).
    package var isStale: Bool { self.verdict?.isStale == true }

    private static func isLimited(_ session: Session, _ verdict: ForeignVerdict?) -> Bool {
        session.access != nil || session.keyThumbprint != nil || session.certificateHash != nil
            || verdict?.isStale == true
    }

    // Integers, because `Duration` arithmetic costs measurable time in every read.
    private static let hardMilliseconds = SessionCache.hardAge.wholeMilliseconds
    private static let refreshMilliseconds = SessionCache.refreshAge.wholeMilliseconds
    private static let pauseMilliseconds = SessionCache.refreshPause.wholeMilliseconds

    /// Returns the time until which the entry may be used after a read that began at `readAt`.
    private func end(ofReadAt readAt: UnixTime) -> UnixTime {
        let hardEnd = UnixTime(milliseconds: readAt.milliseconds + Self.hardMilliseconds)
        let end = min(self.session.end(ofToken: self.successor?.number ?? 0), hardEnd)
        if let verdict = self.verdict { return min(end, verdict.usableUntil) }
        // The entry must not outlive the idle timeout, because reads for streams are not uses.
        guard self.stored.usedAt != nil else { return end }
        let idle = self.session.idleLifetime.wholeMilliseconds - Int64(self.touchMilliseconds)
        return min(end, UnixTime(milliseconds: self.touchAt.milliseconds + idle))
    }

    private static func refresh(_ readAt: UnixTime, _ verdict: ForeignVerdict?) -> UnixTime {
        let refresh = UnixTime(milliseconds: readAt.milliseconds + Self.refreshMilliseconds)
        guard let verdict else { return refresh }
        // The pause applies also while the provider cannot be reached.
        let earliest = UnixTime(milliseconds: readAt.milliseconds + Self.pauseMilliseconds)
        return max(earliest, min(refresh, verdict.askAgainAt))
    }

    /// Reports whether a use must be written to the store now.
    func isUseDue(at now: UnixTime) -> Bool { now >= self.touchAt }

    /// Records that the present use is being written to the store.
    func noteUse(now: UnixTime) {
        self.touchAt = now.advanced(byMilliseconds: self.touchMilliseconds)
        self.servesUntil = self.end(ofReadAt: self.readAt)
    }

    /// Adopts the last use in the store. Uses that other loops and gateways have written need not be written again.
    func noteUse(at usedAt: UnixTime?) {
        guard let usedAt else { return }
        self.touchAt = max(self.touchAt, usedAt.advanced(byMilliseconds: self.touchMilliseconds))
    }

    /// Records a successful read of the session, which began at `readAt`.
    ///
    /// - Parameter verdict: The verdict that the read found; `nil` for a token of the gateway.
    func confirm(readAt: UnixTime, turn: UInt64, verdict: ForeignVerdict?) {
        self.readAt = readAt
        self.turn = turn
        self.verdict = verdict
        self.isLimited = Self.isLimited(self.session, verdict)
        self.unreadSince = nil
        self.servesUntil = self.end(ofReadAt: readAt)
        self.refreshAt = Self.refresh(readAt, verdict)
    }

    /// Requires another read before the entry is used. No cache has the turn 0.
    func doubt() { self.turn = 0 }

    /// Marks the entry as changed or ended, so that it is not used again.
    func leave(as state: State) {
        self.doubt()
        if self.state != .ended { self.state = state }
    }

    /// Returns the identity bytes of this configuration; `nil` if they have not been made.
    package func rendering(generation: UInt64) -> ContiguousArray<UInt8>? {
        generation == self.generation ? self.rendering : nil
    }

    /// Stores the identity bytes of this configuration, and drops all bytes of other configurations.
    package func setRendering(_ bytes: ContiguousArray<UInt8>, generation: UInt64) {
        self.begin(generation)
        self.rendering = bytes
    }

    /// Returns the identity bytes in the other encoding (`identity_encoding`); `nil` if they have not been made.
    package func otherRendering(generation: UInt64) -> ContiguousArray<UInt8>? {
        generation == self.generation ? self.otherRendering : nil
    }

    /// Stores the identity bytes in the other encoding, and drops all bytes of other configurations.
    package func setOtherRendering(_ bytes: ContiguousArray<UInt8>, generation: UInt64) {
        self.begin(generation)
        self.otherRendering = bytes
    }

    private func begin(_ generation: UInt64) {
        guard generation != self.generation else { return }
        self.rendering = nil
        self.otherRendering = nil
        self.assertions = CachedAssertions()
        self.generation = generation
    }

    /// Returns the header line of the assertion for an audience; `nil` if this configuration has none that may be sent
    /// at `now`, by the machine's clock. If `isDue` is true, the caller must make the next assertion.
    package func assertion(
        for audience: Int,
        at now: UnixTime,
        generation: UInt64
    ) -> (line: ContiguousArray<UInt8>, isDue: Bool)? {
        generation == self.generation ? self.assertions.use(for: audience, at: now) : nil
    }

    /// Stores an assertion, which replaces the earlier one for its audience. Does nothing if the configuration differs.
    package func setAssertion(_ assertion: CachedAssertion, at now: UnixTime, generation: UInt64) {
        if generation == self.generation { self.assertions.keep(assertion, at: now) }
    }

    /// Reports whether the entry is young enough and its session has not expired. False after the clock was set back.
    func mayServe(at now: UnixTime) -> Bool {
        now >= self.readAt && now < self.servesUntil
    }

    func matches(_ token: UnsafeRawBufferPointer) -> Bool {
        self.token.bytes.withUnsafeBytes { own in
            guard own.count == token.count, let left = own.baseAddress, let right = token.baseAddress else {
                return false
            }
            return memcmp(left, right, own.count) == 0
        }
    }
}

extension UnixTime {
    fileprivate static let never = UnixTime(milliseconds: .max)

    /// Returns a later time. `Duration` arithmetic would be slower.
    fileprivate func advanced(byMilliseconds milliseconds: Int32) -> UnixTime {
        UnixTime(milliseconds: self.milliseconds + Int64(milliseconds))
    }
}

/// The provider's tokens of a session; `needed(nil)` if identity headers contain them but none exist.
enum KnownTokens {
    case notNeeded
    case needed(SessionTokens?)
}
