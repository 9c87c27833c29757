import Vocabulary

/// The entries of a `SessionCache`. They are found by token, and by what ends them.
///
/// **Eviction.** A new entry takes a waiting slot (one in 16), where it replaces the oldest entry. The replaced entry
/// moves to a main slot if one is free, if it was used while waiting, if the entry at the CLOCK hand has expired, or in
/// one of 32 other cases. Otherwise, it is evicted. If no main slot is free, the hand evicts an entry that was not used
/// since it last passed. So sessions that are used once displace no active sessions.
struct SessionTable {
    /// One slot in this many is a waiting slot.
    private static let waitingShare = 16
    /// One unused entry in this many moves to a main slot anyway, so that rarely used sessions also get slots in time.
    private static let luckyShare = 32
    /// The maximum number of entries that the hand passes. If all of them were used, the last one is evicted.
    private static let handReach = 32
    /// The maximum number of entries that one step of a sweep removes.
    private static let sweepStep = 8
    /// The number of hashed bytes at the end of a token: 96 random bits of a gateway token, or a part of a foreign
    /// token's signature. Only valid tokens have entries, so no client can choose tokens for one bucket.
    private static let hashedLength = 16

    private(set) var count = 0
    private(set) var evictions = 0
    private let capacity: Int
    /// The number of waiting slots. They come before the main slots.
    private let waitingCount: Int
    private var buckets: ContiguousArray<Int32>
    private var slots: ContiguousArray<CachedSession?>
    /// The free main slots.
    private var freeSlots: ContiguousArray<Int32> = []
    /// The waiting slot for the next new entry.
    private var nextWaiting = 0
    private var hand: Int
    private var departures = 0
    private var index = SlotIndex()
    /// The sweeps that have not reached every entry yet.
    private(set) var sweeps: ContiguousArray<EndSweep> = []

    init(capacity: Int) {
        self.capacity = max(0, min(capacity, 1 << 24))
        self.waitingCount = min(self.capacity, max(1, self.capacity / Self.waitingShare))
        self.hand = self.waitingCount
        self.slots = ContiguousArray(repeating: nil, count: self.waitingCount)
        var buckets = 1
        while buckets < self.capacity { buckets *= 2 }
        self.buckets = ContiguousArray(repeating: -1, count: buckets)
    }

    static func hash(_ token: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: token.suffix(Self.hashedLength)))
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    /// Returns the entry for exactly these bytes.
    @inline(__always)
    func entry(for token: UnsafeRawBufferPointer, hash: UInt32) -> CachedSession? {
        var slot = self.buckets[self.bucket(of: hash)]
        while slot >= 0, let entry = self.slots[Int(slot)] {
            if entry.hash == hash && entry.matches(token) {
                self.mark(entry)
                return entry
            }
            slot = entry.next
        }
        return nil
    }

    /// Marks the entry as ended or changed if a sweep concerns it.
    @inline(__always)
    func mark(_ entry: CachedSession) {
        if !self.sweeps.isEmpty { self.markBySweeps(entry) }
    }

    @inline(never)
    private func markBySweeps(_ entry: CachedSession) {
        for sweep in self.sweeps { sweep.mark(entry) }
    }

    /// Begins a sweep. From now on, a lookup marks the entries that the sweep concerns.
    mutating func begin(_ sweep: EndSweep) { self.sweeps.append(sweep) }

    /// Removes a few entries that the sweep concerns. Returns false when none are left.
    mutating func advance(_ sweep: EndSweep) -> Bool {
        if sweep.position < sweep.endings.invalidations.count { self.removeSome(endedBy: sweep) }
        guard sweep.position == sweep.endings.invalidations.count else { return true }
        self.sweeps.removeAll { $0 === sweep }
        return false
    }

    private mutating func removeSome(endedBy sweep: EndSweep) {
        let end = sweep.endings.invalidations[sweep.position]
        var ended: ContiguousArray<CachedSession> = []
        if let hash = end.hash {
            self.index.forEach(hash) { slot in
                if let entry = self.slots[Int(slot)], !sweep.precedes(entry), end.concerns(entry) {
                    ended.append(entry)
                }
                return ended.count < Self.sweepStep
            }
        }
        for entry in ended { self.remove(entry) }
        if ended.count < Self.sweepStep { sweep.position += 1 }
    }

    /// Adds an entry. Its token must not have an entry yet.
    mutating func add(_ entry: CachedSession, now: UnixTime) {
        guard self.capacity > 0 else { return }
        let slot = Int32(self.nextWaiting)
        self.nextWaiting = (self.nextWaiting + 1) % self.waitingCount
        if let leaving = self.slots[Int(slot)] { self.settle(leaving, now: now) }
        self.slots[Int(slot)] = entry
        entry.slot = slot
        let bucket = self.bucket(of: entry.hash)
        entry.next = self.buckets[bucket]
        self.buckets[bucket] = slot
        for hash in entry.endingHashes { self.index.add(hash, of: slot, to: &entry.links) }
        self.count += 1
    }

    /// Removes an entry if the table has it. The entry is marked first, because a request may still use it.
    mutating func remove(_ entry: CachedSession) {
        let slot = entry.slot
        guard slot >= 0, Int(slot) < self.slots.count, self.slots[Int(slot)] === entry else { return }
        self.mark(entry)
        self.replaceInChain(entry, by: entry.next)
        self.index.remove(entry.links)
        self.slots[Int(slot)] = nil
        if slot >= self.waitingCount { self.freeSlots.append(slot) }
        entry.slot = -1
        entry.links = -1
        self.count -= 1
    }

    mutating func removeAll(where isUnwanted: (CachedSession) -> Bool) {
        for slot in self.slots.indices {
            if let entry = self.slots[slot], isUnwanted(entry) { self.remove(entry) }
        }
    }

    /// Releases a few entries of a replaced table. Returns false when none are left.
    mutating func releaseSome() -> Bool {
        for _ in 0..<min(8, self.slots.count) {
            guard let entry = self.slots.removeLast() else { continue }
            self.mark(entry)
            entry.slot = -1
        }
        return !self.slots.isEmpty
    }

    // MARK: Steps

    private func bucket(of hash: UInt32) -> Int { Int(hash) & (self.buckets.count - 1) }

    /// Replaces the entry's slot in its bucket with another slot, or with the rest of the chain.
    private mutating func replaceInChain(_ entry: CachedSession, by other: Int32) {
        let bucket = self.bucket(of: entry.hash)
        guard self.buckets[bucket] != entry.slot else {
            self.buckets[bucket] = other
            return
        }
        var slot = self.buckets[bucket]
        while slot >= 0, let before = self.slots[Int(slot)] {
            if before.next == entry.slot {
                before.next = other
                return
            }
            slot = before.next
        }
    }

    /// Moves an entry from its waiting slot to a main slot, or evicts it.
    private mutating func settle(_ entry: CachedSession, now: UnixTime) {
        guard let slot = self.place(for: entry, now: now) else {
            self.evictions += 1
            return self.remove(entry)
        }
        self.replaceInChain(entry, by: slot)
        self.index.move(entry.links, to: slot)
        self.slots[Int(entry.slot)] = nil
        self.slots[Int(slot)] = entry
        entry.slot = slot
        entry.isReferenced = false
    }

    private mutating func place(for entry: CachedSession, now: UnixTime) -> Int32? {
        if let free = self.freeSlots.popLast() { return free }
        guard self.slots.count == self.capacity else {
            self.slots.append(nil)
            return Int32(self.slots.count - 1)
        }
        guard self.capacity > self.waitingCount else { return nil }
        self.departures &+= 1
        guard entry.isReferenced || self.departures % Self.luckyShare == 0 || !self.serves(self.hand, now: now) else {
            self.advanceHand()
            return nil
        }
        self.evict(now: now)
        return self.freeSlots.popLast()
    }

    private func serves(_ slot: Int, now: UnixTime) -> Bool { self.slots[slot]?.mayServe(at: now) ?? false }

    private mutating func advanceHand() {
        self.hand = self.hand + 1 < self.capacity ? self.hand + 1 : self.waitingCount
    }

    /// Evicts the next entry at the hand that has expired or was not used since the hand last passed it. If the hand
    /// reaches its limit, evicts the last entry.
    private mutating func evict(now: UnixTime) {
        var victim: CachedSession?
        for _ in 0..<Self.handReach {
            victim = self.slots[self.hand]
            self.advanceHand()
            guard let entry = victim, entry.mayServe(at: now), entry.isReferenced else { break }
            entry.isReferenced = false
        }
        guard let victim else { return }
        self.remove(victim)
        self.evictions += 1
    }
}
