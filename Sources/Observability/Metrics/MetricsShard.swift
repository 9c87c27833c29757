import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// One event loop's share of every metric: memory that only that loop uses, so that counting costs an addition and no
/// lock, no atomic and no shared cache line. With thousands of routes most slots are never used, and the system assigns
/// no memory to their pages.
///
/// Confined to the loop for which it was made (`MetricsRegistry.makeShard`); not `Sendable` on purpose.
@usableFromInline
package final class MetricsShard {
    @usableFromInline package private(set) var slots: UnsafeMutablePointer<UInt64>
    /// The number of registered slots when the shard last grew. `bounds` has all bounds that those slots need.
    @usableFromInline package private(set) var capacity: Int
    @usableFromInline package private(set) var bounds: UnsafeMutablePointer<Int64>
    /// The last trace in each bucket, by slot; `nil` until a trace is noted. The system assigns no memory to unused
    /// pages.
    @usableFromInline private(set) var traced: UnsafeMutablePointer<Exemplar>?
    /// The registry, which retains the shard and lives as long as the ids that the shard uses.
    private unowned let registry: MetricsRegistry

    init(registry: MetricsRegistry) {
        self.registry = registry
        self.slots = Self.zeroes(0)
        self.bounds = .allocate(capacity: 0)
        self.capacity = 0
        self.grow()
    }

    deinit {
        free(self.slots)
        free(self.traced)
        self.bounds.deallocate()
    }

    /// Adds `amount` to a counter.
    @inlinable @inline(__always)
    package func increment(_ id: CounterID, by amount: UInt64 = 1) {
        let slot = Int(id.slot)
        if slot >= self.capacity { self.grow(to: slot) }
        self.slots[slot] &+= amount
    }

    /// Changes a gauge by `delta`, which may be negative. The sum over all loops is shown.
    @inlinable @inline(__always)
    package func add(_ id: GaugeID, _ delta: Int64) {
        let slot = Int(id.slot)
        if slot >= self.capacity { self.grow(to: slot) }
        self.slots[slot] &+= UInt64(bitPattern: delta)
    }

    /// Records a duration in nanoseconds; a negative duration becomes 0.
    ///
    /// - Returns: The slot of the duration's bucket.
    @inlinable @inline(__always) @discardableResult
    package func observe(_ id: HistogramID, nanoseconds: Int64) -> Int {
        let slot = Int(id.slot)
        if slot >= self.capacity { self.grow(to: slot) }
        let value = max(nanoseconds, 0)
        let bounds = self.bounds + Int(id.bound)
        let count = Int(id.boundCount)
        var bucket = 0
        // Adding up comparisons has no branch to mispredict; a binary search over 17 bounds has four.
        for index in 0..<count {
            bucket &+= value > bounds[index] ? 1 : 0
        }
        self.slots[slot &+ bucket] &+= 1
        self.slots[slot &+ count &+ 1] &+= UInt64(bitPattern: value)
        return slot &+ bucket
    }

    /// Keeps the trace of a request whose duration was recorded, until another trace is kept in the same bucket.
    ///
    /// - Parameter slot: The slot that `observe` returned.
    @inlinable @inline(__always)
    package func note(_ exemplar: Exemplar, at slot: Int) {
        guard slot >= 0, slot < self.capacity else { return }
        (self.traced ?? self.makeTraced())[slot] = exemplar
    }

    /// Returns the last trace of each counted bucket that has one, by slot.
    ///
    /// - Parameter counted: The result of `counted`.
    func exemplars(in counted: [(slot: Int, value: UInt64)]) -> [Int: Exemplar] {
        guard let traced = self.traced else { return [:] }
        return counted.reduce(into: [:]) { found, counted in
            let exemplar = traced[counted.slot]
            if exemplar.at.milliseconds > 0 { found[counted.slot] = exemplar }
        }
    }

    @usableFromInline @inline(never)
    func makeTraced() -> UnsafeMutablePointer<Exemplar> {
        guard let memory = calloc(max(self.capacity, 1), MemoryLayout<Exemplar>.stride) else {
            preconditionFailure("no memory")
        }
        // All-zero memory is an exemplar with the time 0, which is treated as missing.
        let traced = memory.bindMemory(to: Exemplar.self, capacity: self.capacity)
        self.traced = traced
        return traced
    }

    /// Returns the slots that are not 0, with their values. A scrape calls this on the loop.
    func counted() -> [(slot: Int, value: UInt64)] {
        var counted: [(slot: Int, value: UInt64)] = []
        for first in stride(from: 0, to: self.capacity, by: 64) {
            let block = UnsafeBufferPointer(start: self.slots + first, count: min(64, self.capacity - first))
            // Most blocks are all zeros. This check reads many words at a time.
            guard block.reduce(0, |) != 0 else { continue }
            for (index, value) in block.enumerated() where value != 0 { counted.append((first + index, value)) }
        }
        return counted
    }

    private static func zeroes(_ count: Int) -> UnsafeMutablePointer<UInt64> {
        guard let memory = calloc(max(count, 1), MemoryLayout<UInt64>.stride) else { preconditionFailure("no memory") }
        return memory.bindMemory(to: UInt64.self, capacity: count)
    }

    /// Grows to the slots that are registered now.
    ///
    /// - Precondition: `slot` was registered with this shard's registry.
    @usableFromInline @inline(never)
    package func grow(to slot: Int = -1) {
        let (slotCount, allBounds) = self.registry.layout
        precondition(slot < slotCount, "this metric belongs to another registry")
        let slots = Self.zeroes(slotCount)
        let counted = self.counted()
        let exemplars = self.exemplars(in: counted)
        for (slot, value) in counted { slots[slot] = value }
        let bounds = UnsafeMutablePointer<Int64>.allocate(capacity: allBounds.count)
        for (index, bound) in allBounds.enumerated() {
            (bounds + index).initialize(to: bound)
        }
        free(self.slots)
        self.bounds.deallocate()
        self.slots = slots
        self.bounds = bounds
        self.capacity = slotCount
        free(self.traced)
        self.traced = nil
        if !exemplars.isEmpty {
            let traced = self.makeTraced()
            for (slot, exemplar) in exemplars { traced[slot] = exemplar }
        }
    }
}
