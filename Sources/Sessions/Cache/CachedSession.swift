package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// A session as one event loop knows it, with identity bytes ready to be copied into requests. Confined to its loop.
@usableFromInline
package final class CachedSession {
    /// The record as it was read. It is a reference, because a copy would count references to its many parts.
    @usableFromInline let stored: Stored<Session>
    package let key: RecordKey
    /// The time when the last read that confirmed the session began. The entry's age is measured from this time.
    package private(set) var readAt: UnixTime

    /// The state of the session as far as the entry knows.
    enum State: UInt8 { case known, changed, ended }

    /// The subject's names. `nil` if the only name is the subject in the record.
    private let otherNames: [String]?

    /// The raw token, compared byte by byte on every hit.
    let token: Secret
    let hash: UInt32
    /// The index of the next entry in the same bucket. Negative if none exists.
    var next: Int32 = -1
    /// The entry's slot in the table. Negative if the entry is in no table.
    var slot: Int32 = -1
    /// The entry's first link in the table's `SlotIndex`.
    var links: Int32 = -1
    /// The number of sweeps of the cache that began before the session was read.
    let sweepsBefore: Int
    /// How long after a noted use further uses are not noted in the store, in milliseconds.
    private let touchMilliseconds: Int32
    /// Whether the entry was used since it was added, or since the eviction hand last passed.
    var isReferenced = false
    private(set) var state = State.known
    /// Whether the token is accepted only by some routes, only with a proof, or only for some requests.
    package private(set) var isLimited: Bool
    /// The cache's turn (see `SessionCache`) when the last read that confirmed the session began.
    private(set) var turn: UInt64
    /// The time until which the entry may be used, unless a read confirms it again.
    private var servesUntil: UnixTime
    /// The time from which a use starts a read in the background.
    var refreshAt: UnixTime { didSet { self.setDue() } }
    /// The time from which a use is noted in the store.
    var touchAt: UnixTime { didSet { self.setDue() } }
    /// The time from which a use renews the provider's tokens, or looks whether it is time to ask the provider.
    var renewAt: UnixTime { didSet { self.setDue() } }
    /// The earliest of `refreshAt`, `touchAt`, `renewAt` and the id_token's end, so that a hit compares one time.
    private(set) var dueAt: UnixTime

    /// The token, if it replaced an earlier one. `nil` if it is the session's first token.
    @Rare private(set) var successor: PresentedToken?
    /// The provider's last verdict on a foreign token; `nil` for a token of the gateway.
    @Rare private(set) var verdict: ForeignVerdict?
    /// The provider's tokens, if header fields of the identity contain them.
    @Rare package private(set) var tokens: SessionTokens?
    /// The time from which the session does not suffice for an app that needs the provider's tokens.
    package let tokensEndAt: UnixTime
    /// The time when reads for a stream began to fail. `nil` if the last read succeeded.
    @Rare var unreadSince: UnixTime?

    private var rendering: ContiguousArray<UInt8>?
    /// The identity bytes for apps with the other encoding (`identity_encoding` of a route).
    private var otherRendering: ContiguousArray<UInt8>?
    private var assertions = CachedAssertions()
    /// The configuration's generation to which the renderings and the assertions belong.
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
        // Writing the session was its first use. Uses of foreign sessions are not noted: providers limit idle time.
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

    /// Removes the provider's id_token if it has expired. A renewal may bring no new id_token, and an app would have to
    /// reject the expired one.
    func leaveOutExpired(at now: UnixTime) {
        guard let tokens = self.tokens, let end = tokens.idExpiresAt, now >= end else { return }
        self.tokens = tokens.withoutID
        self.rendering = nil
        self.otherRendering = nil
        self.setDue()
    }

    @inlinable package var session: Session { self.stored.record }
    /// The names of the session's subject in `Invalidation.subject`.
    package var subjectNames: [String] { self.otherNames ?? [self.session.subject] }
    /// Reports whether `names` contains one of the subject's names.
    func isNamed(oneOf names: Set<String>) -> Bool {
        self.otherNames.map { !names.isDisjoint(with: $0) } ?? names.contains(self.session.subject)
    }

    /// Reports whether `name` is one of the subject's names, without making an array of them.
    func isNamed(_ name: String) -> Bool {
        if let otherNames = self.otherNames { otherNames.contains(name) } else { self.session.subject == name }
    }

    /// Reports whether the end of a client ends the session. False for a foreign token: the provider knows its client.
    func isEnded(withClient end: Invalidation) -> Bool { self.verdict == nil && end.endsClient(of: self.session) }

    var touchInterval: Duration { .milliseconds(Int64(self.touchMilliseconds)) }
    package var version: RecordVersion { self.stored.version }
    /// The fingerprint of the session's first token. It identifies the session in logs for the session's whole life.
    package var fingerprint: Fingerprint { self.key.fingerprint }
    /// The token with which the session is presented.
    package var presentedToken: PresentedToken { self.successor ?? .first(self.key) }

    /// Whether the entry has learned that the session ended. See `SessionCache.hasEnded`.
    var hasEnded: Bool { self.state == .ended }

    /// Whether the loop's cache contains the entry, so that ends of the session reach it there.
    package var isKept: Bool { self.slot >= 0 && self.state == .known }

    /// The foreign session as this loop knows it; `nil` for a token of the gateway.
    var foreign: ForeignSession? { self.verdict.map { ForeignSession(session: self.session, verdict: $0) } }

    /// Whether the entry only bridges an outage of the provider (`ForeignVerdict.isStale`).
    package var isStale: Bool { self.verdict?.isStale == true }

    private static func isLimited(_ session: Session, _ verdict: ForeignVerdict?) -> Bool {
        session.access != nil || session.keyThumbprint != nil || session.certificateHash != nil
            || verdict?.isStale == true
    }

    // Integers, because arithmetic with `Duration` shows in the profile of a read.
    private static let hardMilliseconds = SessionCache.hardAge.wholeMilliseconds
    private static let refreshMilliseconds = SessionCache.refreshAge.wholeMilliseconds
    private static let pauseMilliseconds = SessionCache.refreshPause.wholeMilliseconds

    /// Returns the time until which a read that began at `readAt` lets the entry be used.
    private func end(ofReadAt readAt: UnixTime) -> UnixTime {
        let hardEnd = UnixTime(milliseconds: readAt.milliseconds + Self.hardMilliseconds)
        let end = min(self.session.end(ofToken: self.successor?.number ?? 0), hardEnd)
        if let verdict = self.verdict { return min(end, verdict.usableUntil) }
        // Reads that are not uses, such as reads for streams, do not extend the session beyond its idle end.
        guard self.stored.usedAt != nil else { return end }
        let idle = self.session.idleLifetime.wholeMilliseconds - Int64(self.touchMilliseconds)
        return min(end, UnixTime(milliseconds: self.touchAt.milliseconds + idle))
    }

    private static func refresh(_ readAt: UnixTime, _ verdict: ForeignVerdict?) -> UnixTime {
        let refresh = UnixTime(milliseconds: readAt.milliseconds + Self.refreshMilliseconds)
        guard let verdict else { return refresh }
        // While a provider cannot be reached, it is not asked at every use.
        let earliest = UnixTime(milliseconds: readAt.milliseconds + Self.pauseMilliseconds)
        return max(earliest, min(refresh, verdict.askAgainAt))
    }

    /// Reports whether a use is to be noted in the store now.
    func isUseDue(at now: UnixTime) -> Bool { now >= self.touchAt }

    /// Records that the present use is noted in the store.
    func noteUse(now: UnixTime) {
        self.touchAt = now.advanced(byMilliseconds: self.touchMilliseconds)
        self.servesUntil = self.end(ofReadAt: self.readAt)
    }

    /// Adopts the last use that the store knows. Uses that other loops and gateways noted need not be noted again.
    func noteUse(at usedAt: UnixTime?) {
        guard let usedAt else { return }
        self.touchAt = max(self.touchAt, usedAt.advanced(byMilliseconds: self.touchMilliseconds))
    }

    /// Records that a read which began at `readAt` found an unchanged record.
    ///
    /// - Parameter verdict: The provider's verdict that the read found for a foreign token.
    func confirm(readAt: UnixTime, turn: UInt64, verdict: ForeignVerdict?) {
        self.readAt = readAt
        self.turn = turn
        self.verdict = verdict
        self.isLimited = Self.isLimited(self.session, verdict)
        self.unreadSince = nil
        self.servesUntil = self.end(ofReadAt: readAt)
        self.refreshAt = Self.refresh(readAt, verdict)
    }

    /// Requires another read before the entry is trusted again, because no cache has a turn of 0.
    func doubt() { self.turn = 0 }

    /// Takes the entry out of use: its session has ended, or its record changed, so that it must be read again.
    func leave(as state: State) {
        self.doubt()
        if self.state != .ended { self.state = state }
    }

    /// Returns the identity bytes for this generation of the configuration. `nil` if they have not been made yet. Bytes
    /// of another generation are never returned.
    package func rendering(generation: UInt64) -> ContiguousArray<UInt8>? {
        generation == self.generation ? self.rendering : nil
    }

    /// Keeps identity bytes, and drops all bytes of any other generation.
    package func setRendering(_ bytes: ContiguousArray<UInt8>, generation: UInt64) {
        self.begin(generation)
        self.rendering = bytes
    }

    /// Returns the identity bytes for apps with the other encoding (`identity_encoding`). `nil` if not yet made.
    package func otherRendering(generation: UInt64) -> ContiguousArray<UInt8>? {
        generation == self.generation ? self.otherRendering : nil
    }

    /// Keeps identity bytes for apps with the other encoding, and drops everything of any other generation.
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

    /// Returns the line of the assertion for an audience. `nil` if none of this generation may be sent at `now`, by the
    /// machine's clock. If `isDue` is true, the caller must have the next assertion made.
    package func assertion(
        for audience: Int,
        at now: UnixTime,
        generation: UInt64
    ) -> (line: ContiguousArray<UInt8>, isDue: Bool)? {
        generation == self.generation ? self.assertions.use(for: audience, at: now) : nil
    }

    /// Keeps an assertion and drops the earlier one for its audience. Does nothing if the generation differs.
    package func setAssertion(_ assertion: CachedAssertion, at now: UnixTime, generation: UInt64) {
        if generation == self.generation { self.assertions.keep(assertion, at: now) }
    }

    /// Reports whether the entry may be used: the session has not expired, and the last read is younger than the hard
    /// limit. False after the clock was set back.
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

    /// Returns a later time. Does not use `Duration`, because its arithmetic shows in the profile of a read.
    fileprivate func advanced(byMilliseconds milliseconds: Int32) -> UnixTime {
        UnixTime(milliseconds: self.milliseconds + Int64(milliseconds))
    }
}

/// The provider's tokens as far as header fields of the identity need them. They may be missing.
enum KnownTokens {
    case notNeeded
    case needed(SessionTokens?)
}
