/// An index that finds the slots of a table by hashes. A slot has several hashes, and several slots may share a hash,
/// so the caller must compare the contents. The index takes 20 bytes per hash and 4 per bucket.
struct SlotIndex {
    private struct Link {
        var hash: UInt32
        var slot: Int32
        /// The next link in the same bucket, or in the list of free links; negative in the last one.
        var next: Int32 = -1
        /// The previous link in the same bucket; negative in the first one.
        var previous: Int32 = -1
        /// The next link of the same slot; negative in the last one.
        var sibling: Int32
    }

    /// The first link of each bucket.
    private var buckets = ContiguousArray<Int32>(repeating: -1, count: 16)
    private var links: ContiguousArray<Link> = []
    private var free: Int32 = -1

    /// Adds a hash of a slot.
    ///
    /// - Parameter first: The slot's first link, stored by the caller; negative if the slot has no link yet.
    mutating func add(_ hash: Int, of slot: Int32, to first: inout Int32) {
        let link = Link(hash: UInt32(truncatingIfNeeded: hash), slot: slot, sibling: first)
        if self.free >= 0 {
            first = self.free
            self.free = self.links[Int(first)].next
            self.links[Int(first)] = link
        } else {
            first = Int32(self.links.count)
            self.links.append(link)
            if self.links.count > self.buckets.count { return self.grow() }
        }
        self.chain(first)
    }

    /// Removes all hashes of a slot.
    mutating func remove(_ first: Int32) {
        var link = first
        while link >= 0 {
            let (next, previous) = (self.links[Int(link)].next, self.links[Int(link)].previous)
            if next >= 0 { self.links[Int(next)].previous = previous }
            if previous >= 0 {
                self.links[Int(previous)].next = next
            } else {
                self.buckets[self.bucket(of: self.links[Int(link)].hash)] = next
            }
            self.links[Int(link)].next = self.free
            self.free = link
            link = self.links[Int(link)].sibling
        }
    }

    /// Changes the number of a slot.
    mutating func move(_ first: Int32, to slot: Int32) {
        var link = first
        while link >= 0 {
            self.links[Int(link)].slot = slot
            link = self.links[Int(link)].sibling
        }
    }

    /// Calls `body` with each slot that has the hash, until it returns false. `body` must not change the index.
    func forEach(_ hash: Int, _ body: (Int32) -> Bool) {
        let hash = UInt32(truncatingIfNeeded: hash)
        var link = self.buckets[self.bucket(of: hash)]
        while link >= 0 {
            if self.links[Int(link)].hash == hash, !body(self.links[Int(link)].slot) { return }
            link = self.links[Int(link)].next
        }
    }

    private func bucket(of hash: UInt32) -> Int { Int(hash) & (self.buckets.count - 1) }

    private mutating func chain(_ link: Int32) {
        let bucket = self.bucket(of: self.links[Int(link)].hash)
        let next = self.buckets[bucket]
        self.links[Int(link)].next = next
        self.links[Int(link)].previous = -1
        if next >= 0 { self.links[Int(next)].previous = link }
        self.buckets[bucket] = link
    }

    /// Doubles the number of buckets. It is called only while no link is free.
    private mutating func grow() {
        self.buckets = ContiguousArray(repeating: -1, count: self.buckets.count * 2)
        for link in self.links.indices { self.chain(Int32(link)) }
    }
}
