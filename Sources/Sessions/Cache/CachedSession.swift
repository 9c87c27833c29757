package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// A session as one event loop knows it, with what is ready to be copied into requests. Confined to its loop.
package final class CachedSession {
    package let session: Session
    package let key: RecordKey
    package let version: RecordVersion
    /// When the read began that last confirmed the session; its age counts from here.
    package private(set) var readAt: UnixTime
    /// When the store was last told of a use; nil: not by this loop.
    package internal(set) var lastTouch: UnixTime?

    /// What the store calls the session's subject in `Invalidation.subject`.
    package let subjectNames: [String]

    /// The raw token, compared byte by byte on every hit.
    let token: Secret
    let hash: Int
    let touchInterval: Duration
    /// The next entry of the same bucket; negative: none.
    var next: Int32 = -1
    var slot: Int32 = -1
    /// The cache's turn when the read began that last confirmed the session: an entry of another turn is doubted.
    private(set) var turn: UInt64
    /// Used since the eviction hand last passed.
    var isReferenced = true
    /// From here on a use starts a read in the background.
    var refreshAt: UnixTime
    /// From here on a use is told to the store.
    var touchAt: UnixTime

    private var renderings: [ContiguousArray<UInt8>?] = []
    private var generation: UInt64 = 0

    init(
        token: Secret,
        hash: Int,
        key: RecordKey,
        stored: Stored<Session>,
        subjectNames: [String],
        readAt: UnixTime,
        turn: UInt64
    ) {
        self.token = token
        self.hash = hash
        self.key = key
        self.session = stored.record
        self.version = stored.version
        self.subjectNames = subjectNames
        self.readAt = readAt
        self.turn = turn
        self.refreshAt = readAt.advanced(by: SessionCache.refreshAge)
        self.touchInterval = min(.seconds(60), stored.record.idleLifetime / 10)
        // Writing the session was its first use.
        self.touchAt = (stored.usedAt ?? stored.record.issuedAt).advanced(by: self.touchInterval)
    }

    /// Takes from the store when it was told of a use: those that other loops and gateways told it need not be told again.
    func noteUse(at usedAt: UnixTime?) {
        guard let usedAt else { return }
        self.touchAt = max(self.touchAt, usedAt.advanced(by: self.touchInterval))
    }

    /// Notes that a read which began then found the same record.
    func confirm(readAt: UnixTime, turn: UInt64) {
        self.readAt = readAt
        self.turn = turn
        self.refreshAt = readAt.advanced(by: SessionCache.refreshAge)
    }

    /// The ready identity bytes for the profile with this index in this generation of the configuration; nil when they
    /// were not made yet. Bytes of another generation are never given.
    package func rendering(profile: Int, generation: UInt64) -> ContiguousArray<UInt8>? {
        guard generation == self.generation, profile < self.renderings.count else { return nil }
        return self.renderings[profile]
    }

    /// Keeps identity bytes; those of any other generation are dropped.
    package func setRendering(_ bytes: ContiguousArray<UInt8>, profile: Int, generation: UInt64) {
        if generation != self.generation {
            self.renderings = []
            self.generation = generation
        }
        while self.renderings.count <= profile { self.renderings.append(nil) }
        self.renderings[profile] = bytes
    }

    /// True while the entry may serve: the session has not expired and the last read is younger than the hard limit.
    /// A clock that was set back ends it too.
    func mayServe(at now: UnixTime) -> Bool {
        now < self.session.expiresAt && now >= self.readAt
            && now < self.readAt.advanced(by: SessionCache.hardAge)
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
