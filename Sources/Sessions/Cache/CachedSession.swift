package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// A session as one event loop knows it, with what is ready to be copied into requests. Confined to its loop.
@usableFromInline
package final class CachedSession {
    /// The record as it was read; not copied, for it has many parts to count.
    @usableFromInline let stored: Stored<Session>
    package let key: RecordKey
    /// When the read began that last confirmed the session; its age counts from here.
    package private(set) var readAt: UnixTime

    /// What the store calls the session's subject in `Invalidation.subject`.
    package let subjectNames: [String]

    /// The raw token, compared byte by byte on every hit.
    let token: Secret
    let hash: Int
    /// How long a use is not told to the store after the last that was.
    let touchInterval: Duration
    private let touchMilliseconds: Int64
    /// The next entry of the same bucket; negative: none.
    var next: Int32 = -1
    var slot: Int32 = -1
    /// The cache's turn when the read began that last confirmed the session: an entry of another turn is doubted.
    private(set) var turn: UInt64
    /// Used since the eviction hand last passed.
    var isReferenced = true
    /// The entry serves until here, unless a read confirms it again.
    private var servesUntil: UnixTime
    /// From here on a use starts a read in the background.
    var refreshAt: UnixTime
    /// From here on a use is told to the store.
    var touchAt: UnixTime

    /// The token is a provider's, which is asked instead of the store.
    let isForeign: Bool
    /// For how long an answer serves, in milliseconds: arithmetic with `Duration` shows in the profile of a read.
    private let hardMilliseconds: Int64

    /// When the first of the reads for a stream failed that have failed since the last one that did not.
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
        // Writing the session was its first use. A foreign one is in no store that could be told.
        self.touchAt =
            foreign == nil
            ? UnixTime(milliseconds: (stored.usedAt ?? stored.record.issuedAt).milliseconds + self.touchMilliseconds)
            : UnixTime(milliseconds: .max)
    }

    @inlinable package var session: Session { self.stored.record }
    package var version: RecordVersion { self.stored.version }

    /// By what a read of the session is found while it is under way.
    var flightKey: RecordKey { self.isForeign ? .foreign(self.key.digest) : self.key }

    /// Whether the answer for a foreign token says the same as this entry, its lifetime included.
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

    /// Takes from the store when it was told of a use: those that other loops and gateways told it need not be told again.
    func noteUse(at usedAt: UnixTime?) {
        guard let usedAt else { return }
        self.touchAt = max(self.touchAt, UnixTime(milliseconds: usedAt.milliseconds + self.touchMilliseconds))
    }

    /// Notes that a read which began then found the same record.
    func confirm(readAt: UnixTime, turn: UInt64) {
        self.readAt = readAt
        self.turn = turn
        self.unreadSince = nil
        self.servesUntil = Self.end(of: self.session, readAt, self.hardMilliseconds)
        self.refreshAt = Self.refresh(readAt, self.hardMilliseconds)
    }

    /// The identity bytes that are ready under this generation of the configuration; nil when they were not made yet.
    /// Bytes of another generation are never given.
    package func rendering(generation: UInt64) -> ContiguousArray<UInt8>? {
        generation == self.generation ? self.rendering : nil
    }

    /// Keeps identity bytes; those of any other generation are dropped.
    package func setRendering(_ bytes: ContiguousArray<UInt8>, generation: UInt64) {
        self.rendering = bytes
        self.generation = generation
    }

    /// True while the entry may serve: the session has not expired and the last read is younger than the hard limit.
    /// A clock that was set back ends it too.
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

/// What differs in the entry of a foreign token.
struct ForeignEntry {
    /// For how long the provider's answer serves, in milliseconds.
    let hardMilliseconds: Int64

    /// - Parameter cacheLifetime: The provider's bound, below `SessionCache.hardAge`; nil: none.
    init(cacheLifetime: Duration?) {
        let lifetime = min(SessionCache.hardAge, cacheLifetime ?? SessionCache.hardAge)
        self.hardMilliseconds = max(.zero, lifetime).wholeMilliseconds
    }
}
