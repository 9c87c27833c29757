package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// A session as one event loop knows it, with identity bytes that are ready to be copied into requests. Confined to its
/// loop.
@usableFromInline
package final class CachedSession {
    /// The record as it was read. A reference: a copy would count references to its many parts.
    @usableFromInline let stored: Stored<Session>
    package let key: RecordKey
    /// When the last read that confirmed the session began; its age counts from here.
    package private(set) var readAt: UnixTime

    /// The names that the store uses for the session's subject in `Invalidation.subject`.
    package let subjectNames: [String]

    /// The raw token, compared byte by byte on every hit.
    let token: Secret
    let hash: Int
    /// How long further uses are not noted in the store after one was.
    let touchInterval: Duration
    private let touchMilliseconds: Int64
    /// The index of the next entry in the same bucket; negative if there is none.
    var next: Int32 = -1
    var slot: Int32 = -1
    /// The cache's turn when the last read that confirmed the session began. An entry of another turn is doubted.
    private(set) var turn: UInt64
    /// Whether it was used since the eviction hand last passed.
    var isReferenced = true
    /// The entry serves until this time, unless a read confirms it again.
    private var servesUntil: UnixTime
    /// From this time on, a use starts a read in the background.
    var refreshAt: UnixTime
    /// From this time on, a use is noted in the store.
    var touchAt: UnixTime

    /// Whether the token is a provider's, which is asked instead of the store.
    let isForeign: Bool
    /// How long an answer serves, in milliseconds. An integer: arithmetic with `Duration` shows in the profile of a
    /// read.
    private let hardMilliseconds: Int64

    /// When reads for a stream began to fail; nil if the last one succeeded.
    var unreadSince: UnixTime?

    private var rendering: ContiguousArray<UInt8>?
    private var generation: UInt64 = 0

    init(
        token: Secret,
        hash: Int,
        key: RecordKey,
        stored: Stored<Session>,
        subjectNames: [String],
        readAt: UnixTime,
        turn: UInt64,
        foreign: ForeignEntry?
    ) {
        self.token = token
        self.hash = hash
        self.key = key
        self.stored = stored
        self.subjectNames = subjectNames
        self.readAt = readAt
        self.turn = turn
        self.isForeign = foreign != nil
        self.hardMilliseconds = foreign?.hardMilliseconds ?? Self.hardMilliseconds
        self.servesUntil = Self.end(of: stored.record, readAt, self.hardMilliseconds)
        self.refreshAt = Self.refresh(readAt, self.hardMilliseconds)
        self.touchMilliseconds = min(60_000, stored.record.idleLifetime.wholeMilliseconds / 10)
        self.touchInterval = .milliseconds(self.touchMilliseconds)
        // Writing the session was its first use. The store holds no foreign session, so its uses are not noted.
        self.touchAt =
            foreign == nil
            ? UnixTime(milliseconds: (stored.usedAt ?? stored.record.issuedAt).milliseconds + self.touchMilliseconds)
            : UnixTime(milliseconds: .max)
    }

    @inlinable package var session: Session { self.stored.record }
    package var version: RecordVersion { self.stored.version }

    /// The key under which a read of the session is found while it is under way.
    var flightKey: RecordKey { self.isForeign ? .foreign(self.key.digest) : self.key }

    /// Whether the provider's answer for a foreign token equals this entry, including its lifetime.
    func says(_ session: Session, _ foreign: ForeignEntry) -> Bool {
        self.isForeign && self.hardMilliseconds == foreign.hardMilliseconds && self.session == session
    }

    private static let hardMilliseconds = SessionCache.hardAge.wholeMilliseconds
    private static let refreshMilliseconds = SessionCache.refreshAge.wholeMilliseconds

    private static func end(of session: Session, _ readAt: UnixTime, _ hardMilliseconds: Int64) -> UnixTime {
        min(session.expiresAt, UnixTime(milliseconds: readAt.milliseconds + hardMilliseconds))
    }

    private static func refresh(_ readAt: UnixTime, _ hardMilliseconds: Int64) -> UnixTime {
        UnixTime(milliseconds: readAt.milliseconds + min(Self.refreshMilliseconds, hardMilliseconds * 4 / 5))
    }

    /// Takes over the time of the last use that the store knows: uses that other loops and gateways noted need not be
    /// noted again.
    func noteUse(at usedAt: UnixTime?) {
        guard let usedAt else { return }
        self.touchAt = max(self.touchAt, UnixTime(milliseconds: usedAt.milliseconds + self.touchMilliseconds))
    }

    /// Notes that a read which began at `readAt` found the same record.
    func confirm(readAt: UnixTime, turn: UInt64) {
        self.readAt = readAt
        self.turn = turn
        self.unreadSince = nil
        self.servesUntil = Self.end(of: self.session, readAt, self.hardMilliseconds)
        self.refreshAt = Self.refresh(readAt, self.hardMilliseconds)
    }

    /// The identity bytes for this generation of the configuration; nil if they have not been made yet. Bytes of
    /// another generation are never returned.
    package func rendering(generation: UInt64) -> ContiguousArray<UInt8>? {
        generation == self.generation ? self.rendering : nil
    }

    /// Keeps identity bytes and drops those of any other generation.
    package func setRendering(_ bytes: ContiguousArray<UInt8>, generation: UInt64) {
        self.rendering = bytes
        self.generation = generation
    }

    /// True while the entry may serve: the session has not expired and the last read is younger than the hard limit. It
    /// is also false after the clock was set back.
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

/// How the entry of a foreign token differs from others.
struct ForeignEntry {
    /// For how long the provider's answer serves, in milliseconds.
    let hardMilliseconds: Int64

    /// - Parameter cacheLifetime: The provider's bound, below `SessionCache.hardAge`; nil: none.
    init(cacheLifetime: Duration?) {
        let lifetime = min(SessionCache.hardAge, cacheLifetime ?? SessionCache.hardAge)
        self.hardMilliseconds = max(.zero, lifetime).wholeMilliseconds
    }
}
